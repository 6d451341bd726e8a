"""The audit log as a file: one event a line, a new file when one is full, old ones forgotten.

A file that is put aside carries the cluster's time in its name, by which its age is judged.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/options/audit.go,
plugin/pkg/audit/log/backend.go and gopkg.in/natefinch/lumberjack.v2.
"""

from __future__ import annotations

import datetime
import gzip
from collections.abc import Callable
from pathlib import Path

from apiserver_app.flags import Flags

TERMINAL = "-"
BACKUPS_MAX = 10  # kept when no number is given: nothing here grows without bound
MEGABYTE = 1 << 20
_STAMP = "%Y-%m-%dT%H-%M-%S.%f"


def sink(
    given: Flags, terminal: Callable[[str], None], now: Callable[[], int]
) -> Callable[[list[bytes]], None]:
    """What takes the lines of a commit; `now` is the cluster's time in µs. ValueError when the
    file cannot be written."""
    if not given.audit_log_path:
        return lambda lines: None
    if given.audit_log_path == TERMINAL:
        return lambda lines: terminal("\n".join(line.decode() for line in lines))
    return File(
        Path(given.audit_log_path).expanduser(),
        now,
        megabytes=given.audit_log_maxsize,
        backups=given.audit_log_maxbackup,
        days=given.audit_log_maxage,
        compress=given.audit_log_compress,
    ).write


class File:
    """`megabytes` is how big it gets, `backups` how many older ones stay beside it, for how many
    `days`; 0 is for ever."""

    def __init__(
        self,
        path: Path,
        now: Callable[[], int],
        *,
        megabytes: int,
        backups: int = 0,
        days: int = 0,
        compress: bool = False,
    ) -> None:
        self._path = path
        self._now = now
        self._limit = (megabytes or 100) * MEGABYTE
        self._backups = backups or BACKUPS_MAX
        self._days = days
        self._compress = compress
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
        micros = self._now()
        while (aside := self._named(micros)).exists():
            micros += 1000
        self._path.rename(aside)
        if self._compress:
            aside.with_name(f"{aside.name}.gz").write_bytes(gzip.compress(aside.read_bytes()))
            aside.unlink()
        self._forget()
        self._file = self._path.open("ab")

    def _forget(self) -> None:
        oldest = self._named(self._now() - self._days * 86_400_000_000).name
        for number, name in enumerate(sorted(self._aside(), reverse=True), 1):
            if number > self._backups or (self._days and name < oldest):
                self._path.with_name(name).unlink(missing_ok=True)

    def _aside(self) -> list[str]:
        """The names of those put aside."""
        stem, suffix = self._path.stem, self._path.suffix
        return [
            file.name
            for file in self._path.parent.iterdir()
            if file.name.startswith(f"{stem}-") and file.name.endswith((suffix, f"{suffix}.gz"))
        ]

    def _named(self, micros: int) -> Path:
        moment = datetime.datetime.fromtimestamp(micros // 1000 / 1000, datetime.UTC)
        stamp = moment.strftime(_STAMP)[:-3]
        return self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}")
