"""The log of revisions in Django's tables: the only user of apiserver_app.models.

One commit is one transaction: the slice's revisions, its trace segment, its inputs and the
cluster's new state, by one executemany each. The tables are made by migrations; the hot path
never builds a model instance.

Models k3s-io/kine pkg/drivers/generic/generic.go (one table, previous revision as the guard).
"""

from __future__ import annotations

import contextlib
import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import OperationalError, connection, transaction

from apiserver_app.etcd.backend import (
    ERASED,
    FORK,
    ROWS_MAX,
    ClusterState,
    InputRow,
    LogRow,
    Segment,
)
from apiserver_app.etcd.errors import NO_SPACE, StoreError
from apiserver_app.models import Cluster, InputEntry, LogEntry, TraceSegment, Volume

LOCK_SECONDS = 1
DAMAGED = b"\xff"  # before a value that is not the one that was written: no object begins so
VALUES_BATCH = 500  # revisions asked for at once

_COLUMNS = (
    "revision, key, value, old_value, create_revision, prev_revision, version, lease, deleted"
)
_LOG = LogEntry._meta.db_table
_SEGMENTS = TraceSegment._meta.db_table
_INPUTS = InputEntry._meta.db_table
_VOLUMES = Volume._meta.db_table
_CLUSTERS = Cluster._meta.db_table

_INSERT_LOG = (
    f"INSERT INTO {_LOG} (cluster_id, {_COLUMNS}, checksum) "
    "VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)"
)
_INSERT_SEGMENT = (
    f"INSERT INTO {_SEGMENTS} (cluster_id, first, last, t, data) VALUES (%s,%s,%s,%s,%s)"
)
_INSERT_INPUT = (
    f"INSERT INTO {_INPUTS} (cluster_id, n, step, t, seq, data) VALUES (%s,%s,%s,%s,%s,%s)"
)
_KEEP_VOLUME = (
    f"INSERT INTO {_VOLUMES} (cluster_id, name, data) VALUES (%s,%s,%s) "
    "ON CONFLICT (cluster_id, name) DO UPDATE SET data=excluded.data"
)
_DROP_VOLUME = f"DELETE FROM {_VOLUMES} WHERE cluster_id=%s AND name=%s"
_UPDATE_CLUSTER = (
    f"UPDATE {_CLUSTERS} SET revision=%s, compacted=%s, now=%s, rand=%s, steps=%s, seq=%s, "
    "control=%s, leases=%s, incarnation=%s WHERE id=%s"
)
_SWEPT = ((_LOG, 100), (_SEGMENTS, 100), (_INPUTS, 1000), (_VOLUMES, 10))  # rows a step: 5 ms
_COMPACTED = f"UPDATE {_CLUSTERS} SET compacted=%s WHERE id=%s"
# table, columns, the one that numbers its rows, rows a step: 5 ms
_COPIED = (
    (_LOG, f"{_COLUMNS}, checksum", "revision", 200),
    (_SEGMENTS, "first, last, t, data", "last", 4000),
    (_INPUTS, "n, step, t, seq, data", "n", 500),
)


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Raises etcd's error for one of the database."""
    try:
        yield
    except OperationalError as error:
        if "is full" in str(error):
            raise StoreError(NO_SPACE) from error
        raise StoreError(f"etcdserver: the store cannot be written: {error}") from error


class DatabaseBackend:
    """The log of one cluster in the database. `name` must not be open anywhere else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pk = 0

    def load(self) -> ClusterState | None:
        row = Cluster.objects.filter(name=self.name).first()
        if row is None:
            return None
        self.pk = row.pk
        return ClusterState(
            name=row.name,
            seed=row.seed,
            version=row.version,
            profile=row.profile,
            epoch=row.epoch,
            revision=row.revision,
            compacted=row.compacted,
            now=row.now,
            rand=int(row.rand),
            steps=row.steps,
            seq=row.seq,
            control=row.control,
            leases=row.leases,
            incarnation=row.incarnation,
            volumes=self._volumes(),
        )

    @_refusing()
    def commit(
        self,
        state: ClusterState,
        rows: list[LogRow],
        segments: Sequence[Segment],
        inputs: list[InputRow],
    ) -> None:
        _wait_for_the_disk(connection, bool(rows))
        with transaction.atomic(durable=False), connection.cursor() as cursor:
            if not self.pk:
                self.pk = self._create(state)
            cluster = self.pk
            if rows:
                cursor.executemany(
                    _INSERT_LOG, [(cluster, *row, zlib.crc32(row.value)) for row in rows]
                )
            cursor.executemany(_INSERT_SEGMENT, [(cluster, *segment) for segment in segments])
            if inputs:
                cursor.executemany(_INSERT_INPUT, [(cluster, *row) for row in inputs])
            for name, data in state.volumes.items():
                if data is None:
                    cursor.execute(_DROP_VOLUME, (cluster, name))
                else:
                    cursor.execute(_KEEP_VOLUME, (cluster, name, data))
            cursor.execute(
                _UPDATE_CLUSTER,
                (
                    state.revision,
                    state.compacted,
                    state.now,
                    str(state.rand),
                    state.steps,
                    state.seq,
                    json.dumps(state.control),
                    json.dumps(state.leases),
                    state.incarnation,
                    cluster,
                ),
            )

    @_refusing()
    def check_writable(self) -> None:
        """Raises StoreError if the database takes no write at present; waits for no lock."""
        try:
            _wait_for_locks(0)
            with transaction.atomic(durable=False), connection.cursor() as cursor:
                cursor.execute(f"UPDATE {_CLUSTERS} SET name=name WHERE id=%s", (self.pk,))
        finally:
            _wait_for_locks(LOCK_SECONDS)

    def _volumes(self) -> dict[str, bytes | None]:
        rows = Volume.objects.filter(cluster_id=self.pk).order_by("name")
        return {name: bytes(data) for name, data in rows.values_list("name", "data")}

    def newest(self) -> Iterator[LogRow]:
        yield from self._rows(
            f"WHERE cluster_id=%s AND revision IN (SELECT MAX(revision) FROM {_LOG} "
            "WHERE cluster_id=%s GROUP BY key) ORDER BY revision",
            (self.pk, self.pk),
        )

    def at(self, key: str, revision: int) -> LogRow | None:
        where = "WHERE cluster_id=%s AND key=%s AND revision=%s"
        return next(self._rows(where, (self.pk, key, revision)), None)

    def until(self, prefix: str, revision: int, *, exact: bool) -> Iterator[LogRow]:
        keys = "key=%s" if exact else "key>=%s AND key<%s"
        bounds = (prefix,) if exact else (prefix, prefix + "\U0010ffff")
        where = f"cluster_id=%s AND {keys} AND revision<=%s"
        yield from self._rows(
            f"WHERE cluster_id=%s AND revision IN "
            f"(SELECT MAX(revision) FROM {_LOG} WHERE {where} GROUP BY key) ORDER BY revision",
            (self.pk, self.pk, *bounds, revision),
        )

    def since(self, prefix: str, revision: int) -> Iterator[LogRow]:
        # the log is read in revision order and filtered here: an index on keys would sort it all
        rows = self._rows(
            "WHERE cluster_id=%s AND revision>%s ORDER BY revision", (self.pk, revision)
        )
        return (row for row in rows if row.key.startswith(prefix))

    def size(self, after: int, until: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT SUM(LENGTH(value) + COALESCE(LENGTH(old_value), 0)) "
                f"FROM {_LOG} WHERE cluster_id=%s AND revision>%s AND revision<=%s",
                (self.pk, after, until),
            )
            return int(cursor.fetchone()[0] or 0)

    def note_compaction(self, revision: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_COMPACTED, (revision, self.pk))

    def clear(self, after: int, until: int) -> int:
        steps, bounds = "cluster_id=%s AND revision>%s AND revision<=%s", (self.pk, after, until)
        replaced = f"revision IN (SELECT prev_revision FROM {_LOG} WHERE {steps})"
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {_LOG} WHERE cluster_id=%s AND {replaced}", (self.pk, *bounds)
            )
            gone = cursor.rowcount
            cursor.execute(f"DELETE FROM {_LOG} WHERE {steps} AND deleted", bounds)
            return int(gone + cursor.rowcount)

    def forget(self, seq: int) -> int:
        of_cluster = "WHERE cluster_id=%s AND"
        with transaction.atomic(), connection.cursor() as cursor:
            bounds = (self.pk, *self._inputs_until(cursor, seq))
            cursor.execute(f"DELETE FROM {_INPUTS} {of_cluster} n>=%s AND n<%s", bounds)
            cursor.execute(f"DELETE FROM {_SEGMENTS} {of_cluster} last<%s", (self.pk, seq))
            return int(cursor.rowcount)

    @_refusing()
    def erase(self) -> None:
        """Frees the name for a new cluster; what was stored is deleted by `sweep`, in steps.
        Raises StoreError."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {_CLUSTERS} SET name=%s WHERE id=%s", (f"{ERASED}{self.pk}", self.pk)
            )

    def copy(
        self, source: DatabaseBackend, revision: int, seq: int, inputs: int
    ) -> Iterator[float]:
        """Copies another cluster's revisions up to one, the segments that end at a record or before
        it, and the inputs up to one, in steps; yields the part that is done. Raises StoreError."""
        with _refusing():
            for done, (end, table) in enumerate(zip((revision, seq, inputs), _COPIED, strict=True)):
                yield from ((done + part) / 3 for part in self._copy(source.pk, end, *table))

    def _copy(
        self, source: int, end: int, table: str, columns: str, by: str, step: int
    ) -> Iterator[float]:
        begin = self._number(f"SELECT MIN({by}) FROM {table} WHERE cluster_id=%s", source) - 1
        for after in range(max(0, begin), end, step):
            until = min(after + step, end)
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(
                    f"INSERT INTO {table} (cluster_id, {columns}) SELECT %s, {columns} "
                    f"FROM {table} WHERE cluster_id=%s AND {by}>%s AND {by}<=%s",
                    (self.pk, source, after, until),
                )
            yield until / end

    def _number(self, query: str, *values: int) -> int:
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return int(cursor.fetchone()[0] or 0)

    def segments(self, first: int, last: int) -> Iterator[Segment]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT first, last, t, data FROM {_SEGMENTS} "
                "WHERE cluster_id=%s AND last>=%s AND first<=%s ORDER BY last",
                (self.pk, first, last),
            )
            for row in cursor:
                yield Segment(row[0], row[1], row[2], bytes(row[3]))

    def values(self, revisions: Sequence[int]) -> dict[int, bytes]:
        values: dict[int, bytes] = {}
        with connection.cursor() as cursor:
            for start in range(0, len(revisions), VALUES_BATCH):
                some = revisions[start : start + VALUES_BATCH]
                cursor.execute(
                    "SELECT revision, CASE WHEN deleted THEN COALESCE(old_value, value) ELSE value "
                    f"END FROM {_LOG} WHERE cluster_id=%s AND revision IN "
                    f"({','.join(['%s'] * len(some))})",
                    (self.pk, *some),
                )
                values.update((revision, bytes(value)) for revision, value in cursor)
        return values

    def inputs(self, after: int = 0, limit: int = ROWS_MAX) -> Iterable[InputRow]:
        return self._input_rows("AND n>%s", (after,), limit)

    def inputs_before(self, seq: int, limit: int) -> list[InputRow]:
        with connection.cursor() as cursor:
            _, last = self._inputs_until(cursor, seq)
        return self._input_rows("AND n >= %s AND n < %s", (last - limit, last))

    def _inputs_until(self, cursor: Any, seq: int) -> tuple[int, int]:
        """The number of the first input, and that behind the last one before record `seq`. Numbers
        and records both grow, so the place is found by halving."""
        cursor.execute(f"SELECT MIN(n), MAX(n) FROM {_INPUTS} WHERE cluster_id=%s", (self.pk,))
        low, high = cursor.fetchone()
        if low is None:
            return 0, 0
        end = bisect_left(range(low, high + 1), seq, key=lambda n: self._seq_of(cursor, n))
        return low, low + end

    def _seq_of(self, cursor: Any, n: int) -> int:
        cursor.execute(f"SELECT seq FROM {_INPUTS} WHERE cluster_id=%s AND n=%s", (self.pk, n))
        return int(cursor.fetchone()[0])

    def _input_rows(
        self, where: str, values: tuple[int, ...], limit: int = ROWS_MAX
    ) -> list[InputRow]:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT n, step, t, seq, data FROM {_INPUTS} WHERE cluster_id=%s {where} "
                "ORDER BY n LIMIT %s",
                (self.pk, *values, limit),
            )
            return [InputRow._make((*row[:4], bytes(row[4]))) for row in cursor.fetchall()]

    def _create(self, state: ClusterState) -> int:
        row = Cluster.objects.create(
            name=state.name,
            seed=state.seed,
            version=state.version,
            profile=state.profile,
            epoch=state.epoch,
        )
        return int(row.pk)

    def _rows(self, where: str, values: tuple[Any, ...]) -> Iterator[LogRow]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {_COLUMNS}, checksum FROM {_LOG} {where}", values)
            for row in cursor:
                old, value = None if row[3] is None else bytes(row[3]), bytes(row[2])
                if row[9] is not None and zlib.crc32(value) != row[9]:
                    value = DAMAGED + value
                yield LogRow._make((*row[:2], value, old, *row[4:8], bool(row[8])))


def _wait_for_locks(seconds: float) -> None:
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")


def _wait_for_the_disk(connection: Any, wanted: bool) -> None:
    """Whether the next commit does.

    One without a revision acknowledges no write: it outlives the process at once, and the machine
    with the next commit that waits.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        connection.ensure_connection()
        connection.connection.execute(f"PRAGMA synchronous={'FULL' if wanted else 'NORMAL'}")


def erase_forks() -> None:
    """As `erase`, of all forks."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {_CLUSTERS} SET name='{ERASED}' || id WHERE name LIKE %s", (f"%{FORK}%",)
        )


@_refusing()
def sweep() -> bool:
    """Deletes a part of what erased clusters left; False when nothing is left."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {_CLUSTERS} WHERE name LIKE %s", (f"{ERASED}%",))
        erased = cursor.fetchone()
        if erased is None:
            return False
        for table, rows in _SWEPT:
            some = f"SELECT id FROM {table} WHERE cluster_id=%s LIMIT {rows}"
            cursor.execute(f"DELETE FROM {table} WHERE id IN ({some})", erased)
            if cursor.rowcount:
                return True
        cursor.execute(f"DELETE FROM {_CLUSTERS} WHERE id=%s", erased)
    return True
