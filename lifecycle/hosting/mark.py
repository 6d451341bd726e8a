"""The mark of a cluster: the last acknowledged revision, in a file beside the database.

A database that lost its end is a good database of an earlier moment; only something outside of it
can tell. The mark is written behind every commit that is acknowledged and before its answers leave,
by one write in place, so that it survives the process. It is never ahead of the store: a commit is
on the disk before it, and the mark waits for no disk.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

SUFFIX = ".mark"


class Mark:
    """That of one cluster."""

    def __init__(self, data_dir: Path, cluster: str) -> None:
        self.path = data_dir / f"{cluster}{SUFFIX}"
        self._file = -1

    def read(self) -> int:
        """The revision; 0 when there is no mark, or one that is not whole."""
        try:
            line = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        digits = line[:20]
        return int(digits) if digits.isdigit() and line == _line(int(digits)) else 0

    def write(self, revision: int) -> None:
        """A disk that takes no mark is noticed by the next commit."""
        with contextlib.suppress(OSError):
            if self._file < 0:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.pwrite(self._file, _line(revision), 0)


def _line(revision: int) -> bytes:
    digits = b"%020d" % revision
    return b"%b %08x\n" % (digits, zlib.crc32(digits))
