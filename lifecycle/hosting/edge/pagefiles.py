"""The files of the page as they are served: joined, packed, and called by what is in them.

They are made when the page is asked for, and anew once a file they are made of has changed. A
source that cannot be joined is no reason to have no page: then its files are served one by one.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from lifecycle.hosting.edge import joining, scripts

PREFIX = "/static/"
JOINED = "joined/"
SCRIPT, SHEET, MAP = "js/main.js", "css/page.css", ".map"
FOLDERS = ("js", "css")


class Addresses(msgspec.Struct, frozen=True):
    script: str = PREFIX + SCRIPT
    style: str = PREFIX + SHEET


class Made(msgspec.Struct, frozen=True):
    """A file that is on no disk. `packed` is its text by gzip."""

    version: str
    packed: bytes


class PageFiles:
    """What is made of the files below `root`. May be asked by several threads."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        self._root = root
        self._say = say
        self._lock = threading.Lock()
        self._seen: list[tuple[str, int, int]] = []
        self._made: dict[str, Made] = {}
        self._addresses = Addresses()

    def addresses(self) -> Addresses:
        """Returns where the page's script and style sheet are."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                self._make()
            return self._addresses

    def find(self, name: str) -> Made | None:
        """Returns the file of that name, behind JOINED."""
        if not self._seen:
            self.addresses()
        return self._made.get(name)

    def _look(self) -> list[tuple[str, int, int]]:
        files = [file for folder in FOLDERS for file in (self._root / folder).rglob("*.*s")]
        try:
            stats = [(str(file), file.stat()) for file in files]
        except OSError:  # one goes away meanwhile
            return []
        return sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)

    def _make(self) -> None:
        try:
            joined = joining.script(self._root, SCRIPT, _address)
            sheet = joining.sheet(self._root, SHEET)
        except (scripts.Unreadable, OSError, UnicodeDecodeError) as error:
            self._say(f"the page is served file by file: {error}")
            self._made, self._addresses = {}, Addresses()
            return
        made = {name: one.text for name, one in joined.items()} | {SHEET: sheet}
        self._addresses = Addresses(_address(SCRIPT, made[SCRIPT]), _address(SHEET, sheet))
        made |= {name + MAP: one.source_map(PREFIX) for name, one in joined.items()}
        self._made = {name: _pack(text) for name, text in made.items()}


def _address(name: str, text: str) -> str:
    """Changes with the text, so that it may be kept for good."""
    return f"{PREFIX}{JOINED}{name}?v={joining.version(text)}"


def _pack(text: str) -> Made:
    return Made(joining.version(text), gzip.compress(text.encode(), mtime=0))
