"""Backends of the log of revisions: the protocol, and the backend in memory.

The database backend is in log.py; both pass the same tests.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

ERASED = "~"  # begins the name of a cluster that is to be deleted; no other name does
ROWS_MAX = 1 << 31
FORK = "-fork-"  # in the name of a fork, which ends with its worker; in no other name


class LogRow(NamedTuple):
    """One revision. `old_value` is kept for deletes, whose own value is empty."""

    revision: int
    key: str
    value: bytes
    old_value: bytes | None
    create_revision: int
    prev_revision: int
    version: int
    lease: int
    deleted: bool


class ClusterState(msgspec.Struct):
    """The state that a cluster needs, beside the log, to continue after a restart."""

    name: str
    seed: int
    version: str  # of Kubernetes
    profile: str
    epoch: int  # µs since 1970 at which virtual time began
    revision: int = 0
    compacted: int = 0
    now: int = 0  # µs since 1970
    rand: int = 0
    steps: int = 0
    seq: int = 0  # of the last trace record
    control: dict[str, Any] = msgspec.field(default_factory=dict)
    leases: dict[str, Any] = msgspec.field(default_factory=dict)
    incarnation: int = 0
    # contents of volumes: all when loaded; at a commit those that changed (None: deleted)
    volumes: dict[str, bytes | None] = msgspec.field(default_factory=dict)


class Segment(NamedTuple):
    """The trace records of one commit: JSON objects joined by commas, without stored objects."""

    first: int
    last: int
    t: int
    data: bytes


class InputRow(NamedTuple):
    """One input and the step, time and record at which it was admitted."""

    n: int
    step: int
    t: int
    seq: int
    data: bytes


class Backend(Protocol):
    """Keeps the rows of one cluster. Reads see committed rows only."""

    def load(self) -> ClusterState | None: ...

    def commit(
        self,
        state: ClusterState,
        rows: list[LogRow],
        segments: Sequence[Segment],
        inputs: list[InputRow],
    ) -> None:
        """Writes everything in one transaction."""
        ...

    def newest(self) -> Iterable[LogRow]:
        """The newest row of every key, deletes included."""
        ...

    def at(self, key: str, revision: int) -> LogRow | None: ...

    def until(self, prefix: str, revision: int, *, exact: bool) -> Iterable[LogRow]:
        """The newest row of each matching key not after `revision`, deletes included."""
        ...

    def since(self, prefix: str, revision: int) -> Iterable[LogRow]:
        """Every row after `revision`, in order."""
        ...

    def note_compaction(self, revision: int) -> None: ...

    def clear(self, after: int, until: int) -> int:
        """Deletes the rows that rows behind `after` up to `until` replaced, and the deletes among
        these; up to `after` it was done before. Returns the number of rows."""
        ...

    def size(self, after: int, until: int) -> int:
        """Bytes of the values behind revision `after` up to `until`."""
        ...

    def forget(self, seq: int) -> int:
        """Deletes trace segments and inputs before record `seq`; returns the number of segments."""
        ...

    def segments(self, first: int, last: int) -> Iterable[Segment]:
        """The segments that hold records first..last, in order."""
        ...

    def values(self, revisions: Sequence[int]) -> dict[int, bytes]:
        """revision -> value (the last value of a deleted key), of those that there still are."""
        ...

    def inputs(self, after: int = 0, limit: int = ROWS_MAX) -> Iterable[InputRow]:
        """Those numbered behind `after`, at most `limit`, in order."""
        ...

    def inputs_before(self, seq: int, limit: int) -> list[InputRow]:
        """The last inputs, at most `limit`, admitted before record `seq`, in order."""
        ...


class MemoryBackend:
    """The log in lists: for tests, benchmarks and recordings that need no restart."""

    def __init__(self) -> None:
        self.state: ClusterState | None = None
        self.rows: list[LogRow] = []
        self._segments: list[Segment] = []
        self.input_rows: list[InputRow] = []
        self._volumes: dict[str, bytes | None] = {}

    def load(self) -> ClusterState | None:
        if self.state is not None:
            self.state.volumes = dict(self._volumes)
        return self.state

    def commit(
        self,
        state: ClusterState,
        rows: list[LogRow],
        segments: Sequence[Segment],
        inputs: list[InputRow],
    ) -> None:
        self.state = state
        self._volumes.update(state.volumes)
        self.rows += rows
        self._segments += segments
        self.input_rows += inputs

    def newest(self) -> Iterable[LogRow]:
        return list(self._newest(self.rows).values())

    def at(self, key: str, revision: int) -> LogRow | None:
        rows = self._between(revision, revision)
        return rows[0] if rows and rows[0].key == key else None

    def until(self, prefix: str, revision: int, *, exact: bool) -> Iterable[LogRow]:
        rows = [
            row
            for row in self._between(0, revision)
            if (row.key == prefix if exact else row.key.startswith(prefix))
        ]
        return list(self._newest(rows).values())

    def since(self, prefix: str, revision: int) -> Iterable[LogRow]:
        rows = self._between(revision + 1, None)
        return [row for row in rows if row.key.startswith(prefix)]

    def size(self, after: int, until: int) -> int:
        rows = self._between(after + 1, until)
        return sum(len(row.value) + len(row.old_value or b"") for row in rows)

    def note_compaction(self, revision: int) -> None: ...

    def clear(self, after: int, until: int) -> int:
        newest = self._newest(row for row in self.rows if row.revision <= until)
        keep = [
            row
            for row in self.rows
            if row.revision > until or (newest[row.key] is row and not row.deleted)
        ]
        gone = len(self.rows) - len(keep)
        self.rows = keep
        return gone

    def forget(self, seq: int) -> int:
        before = len(self._segments)
        self._segments = [segment for segment in self._segments if segment.last >= seq]
        self.input_rows = [row for row in self.input_rows if row.seq >= seq]
        return before - len(self._segments)

    def segments(self, first: int, last: int) -> Iterable[Segment]:
        return [
            segment for segment in self._segments if segment.last >= first and segment.first <= last
        ]

    def values(self, revisions: Sequence[int]) -> dict[int, bytes]:
        return {
            row.revision: row.old_value if row.deleted and row.old_value else row.value
            for revision in revisions
            for row in self._between(revision, revision)
        }

    def inputs(self, after: int = 0, limit: int = ROWS_MAX) -> Iterable[InputRow]:
        return [row for row in self.input_rows if row.n > after][:limit]

    def inputs_before(self, seq: int, limit: int) -> list[InputRow]:
        end = bisect_left(self.input_rows, seq, key=lambda row: row.seq)
        return self.input_rows[max(0, end - limit) : end]

    def _between(self, first: int, last: int | None) -> list[LogRow]:
        """The rows of revisions first..last; they are kept in order, with gaps where compacted."""
        start = bisect_left(self.rows, (first,))
        return self.rows[start : None if last is None else bisect_left(self.rows, (last + 1,))]

    @staticmethod
    def _newest(rows: Iterable[LogRow]) -> dict[str, LogRow]:
        return {row.key: row for row in rows}
