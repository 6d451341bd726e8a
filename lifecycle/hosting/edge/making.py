"""Makes the files of the page as they are served, in a process of its own.

To join the modules takes a third of a second of a processor and some megabytes, which a process
that goes on would keep. So the edge has it done by `python -m lifecycle.hosting.edge.making ROOT`,
which writes one message and ends; meanwhile the edge serves. Where no process can be had it is
done in place.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec

PREFIX = "/static/"
JOINED = "joined/"
SCRIPT, SHEET, MAP = "js/main.js", "css/page.css", ".map"
PROJECT = Path(__file__).resolve().parents[3]
SECONDS_MAX = 60
# as small as zlib makes it: the level, its method, gzip's frame around it, and the memory for it
GZIP = (9, zlib.DEFLATED, 16 + zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL + 1)


class File(msgspec.Struct, frozen=True, array_like=True):
    """A file that is on no disk. `packed` is its text by gzip."""

    version: str
    packed: bytes


class Addresses(msgspec.Struct, frozen=True, array_like=True):
    """Where the page's script and its style sheet are."""

    script: str = PREFIX + SCRIPT
    style: str = PREFIX + SHEET


class Made(msgspec.Struct, frozen=True, array_like=True):
    """The page's files by name; or why there are none."""

    files: dict[str, File] = {}
    addresses: Addresses = Addresses()
    refused: str = ""


def apart(root: Path) -> Made:
    """Makes the files below `root` in another process, which a Ctrl-C does not reach."""
    command = [sys.executable, "-m", __name__, str(root)]
    try:
        ended = subprocess.run(
            command,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=SECONDS_MAX,
            check=True,
        )
        return msgspec.msgpack.decode(ended.stdout, type=Made)
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError):
        return here(root)


def here(root: Path) -> Made:
    """Makes the files below `root`. Raises OSError when one cannot be read just now."""
    from lifecycle.hosting.edge import joining, scripts

    try:
        joined = joining.script(root, SCRIPT, _address)
        sheet = joining.sheet(root, SHEET)
    except (scripts.Unreadable, UnicodeDecodeError) as error:
        return Made(refused=str(error))
    texts = {name: joint.text for name, joint in joined.items()} | {SHEET: sheet}
    addresses = Addresses(*(_address(name, texts[name]) for name in (SCRIPT, SHEET)))
    texts |= {name + MAP: joint.source_map(PREFIX) for name, joint in joined.items()}
    return Made({name: _pack(text) for name, text in texts.items()}, addresses)


def _address(name: str, text: str) -> str:
    """Changes with the text, so that it may be kept for good."""
    return f"{PREFIX}{JOINED}{name}?v={_version(text)}"


def _pack(text: str) -> File:
    packing = zlib.compressobj(*GZIP)
    return File(_version(text), packing.compress(text.encode()) + packing.flush())


def _version(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.msgpack.encode(here(Path(sys.argv[1]))))
