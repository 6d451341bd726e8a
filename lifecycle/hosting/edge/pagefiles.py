"""The files of the page as they are served: joined, packed, and called by what is in them.

They are made when the page is asked for (making.py), and anew once a file they are made of has
changed. What was made of the same files by an earlier start is kept beside Python's compiled
modules, and left out where Python leaves those out. A source that cannot be joined is no reason to
have no page: then its files are served one by one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from lifecycle.hosting.edge import making

FOLDERS = ("js", "css")
MAKERS = ("making.py", "joining.py", "scripts.py")
KEPT = Path(importlib.util.cache_from_source(making.__file__)).with_name("page.msgpack")
Seen = list[tuple[str, int, int]]  # name, time of the last change, size


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """What was made, and of what and by what."""

    seen: Seen
    made: making.Made


class PageFiles:
    """What is made of the files below `root`. May be asked by several threads."""

    def __init__(self, root: Path, say: Callable[[str], None], kept: Path | None = None) -> None:
        """`kept` is where another start finds what this one makes."""
        self._root = root
        self._say = say
        self._kept = kept
        self._lock = threading.Lock()
        self._seen: Seen = []
        self._made = making.Made()

    def addresses(self) -> making.Addresses:
        """Returns where the page's script and style sheet are."""
        with self._lock:
            seen = self._look()
            if seen and seen != self._seen:
                try:
                    self._made = self._find_kept(seen) or self._make(seen)
                except OSError:  # a file that is gone, no descriptor: perhaps the next time
                    return making.Addresses()
                self._seen = seen
                if self._made.refused:
                    self._say(f"the page is served file by file: {self._made.refused}")
            return self._made.addresses

    def find(self, name: str) -> making.File | None:
        """Returns the file of that name, behind making.JOINED."""
        if not self._seen:
            self.addresses()
        return self._made.files.get(name)

    def _find_kept(self, seen: Seen) -> making.Made | None:
        if self._kept is None:
            return None
        try:
            kept = msgspec.msgpack.decode(self._kept.read_bytes(), type=Kept)
        except (OSError, msgspec.DecodeError):
            return None
        return kept.made if kept.seen == seen else None

    def _make(self, seen: Seen) -> making.Made:
        made = making.apart(self._root)
        if self._kept is not None and not made.refused and not sys.dont_write_bytecode:
            written = self._kept.with_name(f".{self._kept.name}.{os.getpid()}")
            with contextlib.suppress(OSError):
                written.write_bytes(msgspec.msgpack.encode(Kept(seen, made)))
                written.replace(self._kept)
        return made

    def _look(self) -> Seen:
        """Of all files below the root, and of what makes one of them."""
        try:
            files = [file for folder in FOLDERS for file in (self._root / folder).rglob("*.*s")]
            files += [Path(making.__file__).with_name(name) for name in MAKERS]
            stats = [(str(file), file.stat()) for file in files]
        except OSError:  # one goes away meanwhile, or there is no descriptor
            return []
        return sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
