"""Moments of a trace: the time and the revision of the store at a record, and the other way round.

Only segments are read, and few of them: both numbers grow with the records.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from typing import Any, NamedTuple

import msgspec

from apiserver_app.etcd.backend import Backend

WINDOW_RECORDS = 500  # looked through at once for a write


class Moment(NamedTuple):
    """Right after record `seq`: µs since the epoch, and the last revision that a record names."""

    seq: int
    t: int
    revision: int


class _Head(msgspec.Struct):
    seq: int
    t: int
    kind: str
    rev: Any = 0


_heads = msgspec.json.Decoder(list[_Head])


def at_record(backend: Backend, seq: int) -> Moment | None:
    """None for a record that the store does not have."""
    heads = _read(backend, seq, seq)
    return Moment(seq, heads[0].t, _revision(backend, seq)) if heads else None


def at_revision(backend: Backend, revision: int, last: int) -> Moment | None:
    """The first record up to `last` at which the store has a revision; None when what was before
    it is forgotten: it may have been there for long."""
    seq = bisect_left(range(1, last + 1), revision, key=lambda seq: _revision(backend, seq)) + 1
    moment = at_record(backend, seq) if seq <= last else None
    is_first = _revision(backend, seq - 1) == 0 and not _read(backend, 1, 1)
    is_its_write = moment is not None and moment.revision == revision
    return moment if is_its_write or not is_first else None


def oldest_revision(backend: Backend, last: int) -> int:
    """The first that a record up to `last` names; 0 when none does."""
    seqs = range(1, last + 1)
    seq = bisect_left(seqs, 1, key=lambda seq: len(_read(backend, seq, seq))) + 1
    for first in range(seq, last + 1, WINDOW_RECORDS):
        for head in _read(backend, first, min(last, first + WINDOW_RECORDS - 1)):
            if head.kind == "write":
                return int(head.rev)
    return 0


def _revision(backend: Backend, seq: int) -> int:
    """Of the last write up to a record; 0 when there was none, or it was forgotten."""
    while seq > 0:
        first = max(1, seq - WINDOW_RECORDS + 1)
        heads = _read(backend, first, seq)
        for head in reversed(heads):
            if head.kind == "write":
                return int(head.rev)
        if not heads:
            return 0
        seq = first - 1
    return 0


def _read(backend: Backend, first: int, last: int) -> list[_Head]:
    return [
        head
        for segment in backend.segments(first, last)
        for head in _heads.decode(b"[" + zlib.decompress(segment.data) + b"]")
        if first <= head.seq <= last
    ]
