"""The audit log as a file: one event a line, a new file when one is full, old ones forgotten.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/options/audit.go and
plugin/pkg/audit/log/backend.go.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from apiserver_app.flags import Flags

TERMINAL = "-"
BACKUPS_MAX = 10  # kept when no number is given: nothing here grows without bound
MEGABYTE = 1 << 20


def sink(given: Flags, terminal: Callable[[str], None]) -> Callable[[list[bytes]], None]:
    """What takes the lines of a commit. ValueError when the file cannot be written."""
    if given.audit_log_path == TERMINAL:
        return lambda lines: terminal("\n".join(line.decode() for line in lines))
    return File(
        Path(given.audit_log_path).expanduser(), given.audit_log_maxsize,
        given.audit_log_maxbackup,
    ).write  # fmt: skip


class File:
    """`megabytes` is how big it gets, `backups` how many older ones stay beside it."""

    def __init__(self, path: Path, megabytes: int, backups: int) -> None:
        self._path = path
        self._limit = max(1, megabytes) * MEGABYTE
        self._backups = backups or BACKUPS_MAX
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
        except OSError as error:
            raise ValueError(
                f"ensureLogFile: open {path}: {(error.strerror or str(error)).lower()}"
            ) from error

    def write(self, lines: list[bytes]) -> None:
        data = b"\n".join(lines) + b"\n"
        if self._file.tell() and self._file.tell() + len(data) > self._limit:
            self._rotate()
        self._file.write(data)
        self._file.flush()

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self._backups, 0, -1):
            old = self._numbered(number)
            if number == self._backups:
                old.unlink(missing_ok=True)
            elif old.exists():
                old.rename(self._numbered(number + 1))
        self._path.rename(self._numbered(1))
        self._file = self._path.open("ab")

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.stem}-{number}{self._path.suffix}")
