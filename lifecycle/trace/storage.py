"""Reading back what the recorder told: records by number, with the objects they wrote.

A segment holds the records of one commit without stored objects; a `write` record gets its object
from the log at its revision, so nothing is kept twice. Reads never disturb the writer.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson

from apiserver_app.etcd.backend import Backend, ClusterState, Segment
from lifecycle.trace import comparison, keyframes, moments, redaction

LEVEL = 1  # of compression: segments are written on the way to an acknowledgement
RECORDS_MAX = 5000  # given at once


class _Head(msgspec.Struct):
    seq: int
    kind: str
    rev: Any = 0
    resource: Any = ""


_heads = msgspec.json.Decoder(list[_Head])
_raws = msgspec.json.Decoder(list[msgspec.Raw])


def pack(stored: bytes) -> bytes:
    """Records joined by commas, as they are kept."""
    return zlib.compress(stored, LEVEL)


def unpack(segment: Segment) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = orjson.loads(b"[" + zlib.decompress(segment.data) + b"]")
    return records


def texts(backend: Backend, first: int, last: int) -> list[msgspec.Raw]:
    """Records first..last as they are kept."""
    return [
        raw
        for segment in backend.segments(first, last)
        for seq, raw in enumerate(
            _raws.decode(b"[" + zlib.decompress(segment.data) + b"]"), segment.first
        )
        if first <= seq <= last
    ]


def cut(backend: Backend, last: int) -> list[Segment]:
    """The records up to `last` of a segment that continues after it, if there is one."""
    return [
        Segment(segment.first, last, msgspec.json.decode(raws[-1])["t"], pack(b",".join(raws)))
        for segment in backend.segments(last, last)
        if segment.last > last
        for raws in (texts(backend, segment.first, last),)
    ]


def read(backend: Backend, first: int, last: int) -> Iterator[dict[str, Any]]:
    """Records first..last in order, `write` records with their objects."""
    for segment in backend.segments(first, last):
        records = [record for record in unpack(segment) if first <= record["seq"] <= last]
        yield from with_objects(backend, records)


def with_objects(backend: Backend, records: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    revisions = [record["rev"] for record in records if record["kind"] == "write"]
    if not revisions:
        return records
    values = backend.values(revisions)
    for record in records:
        if record["kind"] == "write":
            value = values.get(record["rev"])
            obj = orjson.loads(value) if value else None
            record["object"] = (
                redaction.masked(obj) if record["resource"] == redaction.SECRETS else obj
            )
    return records


def read_bytes(
    backend: Backend, first: int, last: int, limit: int = RECORDS_MAX
) -> tuple[bytes, int]:
    """Records from `first` on as JSON joined by commas, at most `limit`; the last one's number.

    The number is first - 1 when there is none yet.
    """
    last = min(last, first + limit - 1)
    parts: list[bytes] = []
    end = first - 1
    for segment in backend.segments(first, last):
        text = b"[" + zlib.decompress(segment.data) + b"]"
        heads = [head for head in _heads.decode(text) if first <= head.seq <= last]
        if not heads:
            continue
        revisions = [head.rev for head in heads if head.kind == "write"]
        values = backend.values(revisions)
        skipped = heads[0].seq - segment.first
        for head, raw in zip(heads, _raws.decode(text)[skipped:], strict=False):
            record = bytes(raw)
            if head.kind == "write":
                obj = values.get(head.rev) or b"null"
                if head.resource == redaction.SECRETS:
                    obj = redaction.object_bytes(obj)
                record = b'%s,"object":%s}' % (record[:-1], obj)
            parts.append(record)
        end = heads[-1].seq
    return b",".join(parts), end


def read_records(
    cluster: str, first: int, last: int, limit: int = RECORDS_MAX
) -> tuple[bytes, int]:
    """As read_bytes, from the database, for the edge. Gives (b"", first - 1) for no cluster."""
    from apiserver_app.etcd.log import DatabaseBackend

    backend = DatabaseBackend(cluster)
    if backend.load() is None:
        return b"", first - 1
    return read_bytes(backend, first, last, limit)


def keyframes_of(cluster: str) -> keyframes.Keyframes | None:
    """From the database, for the edge; None for no cluster."""
    from apiserver_app.etcd.log import DatabaseBackend

    backend = DatabaseBackend(cluster)
    return None if backend.load() is None else keyframes.Keyframes(backend)


def moment(cluster: str, revision: int) -> dict[str, Any]:
    """When a cluster had a revision, None when that is not kept, and the oldest that is; from the
    database, for the edge. What was compacted away has no objects to look at."""
    from apiserver_app.etcd.log import DatabaseBackend

    backend = DatabaseBackend(cluster)
    state = backend.load()
    if state is None:
        return {"moment": None, "oldest": 0, "newest": 0}
    moment = moments.at_revision(backend, revision, state.seq)
    if moment is not None and moment.revision >= state.compacted:
        return {"moment": moment._asdict(), "oldest": None, "newest": state.revision}
    oldest = max(state.compacted, moments.oldest_revision(backend, state.seq))
    return {"moment": None, "oldest": oldest, "newest": state.revision}


def compared(cluster: str, fork: str, seq: int) -> dict[str, Any]:
    """What diverged behind record `seq`; from the database, for the edge."""
    from apiserver_app.etcd.log import DatabaseBackend

    there, here = DatabaseBackend(cluster), DatabaseBackend(fork)
    there.load()
    here.load()
    return comparison.compare(there, here, seq)


def open_store(data_dir: Path, cluster: str) -> tuple[Backend, ClusterState]:
    """The log of a data directory's cluster, for reading. FileNotFoundError when there is none."""
    from django.db import connection

    from apiserver_app.etcd import log

    file = data_dir / "store.sqlite3"
    if not file.is_file():
        raise FileNotFoundError(errno.ENOENT, "no cluster was ever started here", str(data_dir))
    connection.settings_dict["NAME"] = str(file)
    backend = log.DatabaseBackend(cluster)
    state = backend.load()
    if state is None:
        raise FileNotFoundError(errno.ENOENT, f'there is no cluster "{cluster}"', str(data_dir))
    return backend, state
