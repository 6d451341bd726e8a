"""The files of the page as they are served: joined, packed, and called by what is in them.

They are made when the page is asked for (making.py), and anew once a file they are made of has
changed. A source that cannot be joined is no reason to have no page: then its files are served one
by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from lifecycle.hosting.edge import making

FOLDERS = ("js", "css")


class PageFiles:
    """What is made of the files below `root`. May be asked by several threads."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        self._root = root
        self._say = say
        self._lock = threading.Lock()
        self._seen: list[tuple[str, int, int]] = []
        self._made = making.Made()

    def addresses(self) -> making.Addresses:
        """Returns where the page's script and style sheet are."""
        with self._lock:
            seen = self._look()
            if seen and seen != self._seen:
                try:
                    self._made = making.apart(self._root)
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

    def _look(self) -> list[tuple[str, int, int]]:
        try:
            files = [file for folder in FOLDERS for file in (self._root / folder).rglob("*.*s")]
            stats = [(str(file), file.stat()) for file in files]
        except OSError:  # one goes away meanwhile, or there is no descriptor
            return []
        return sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
