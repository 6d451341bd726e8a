"""The store: revisions, ranges, watches from a revision, compaction.

The index of current values lives in memory; every change is also a LogRow handed to the backend,
which keeps the log (a database table, or a list). A write is visible at once to the components of
the same cluster and leaves the process only after the host committed it: both are lost together.
Every write has a revision of its own.

Models etcd server/storage/mvcc (kvstore_txn.go, watchable_store.go).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from apiserver_app.etcd.backend import Backend, LogRow
from apiserver_app.etcd.entries import Entry, Packer
from apiserver_app.etcd.errors import CompactedError, FutureRevError, StoreError
from apiserver_app.etcd.tombstones import Tombstones

PLAIN = 8192  # so many changes back nothing is compressed


class Event(msgspec.Struct, frozen=True):
    """One change: `entry` is None after a delete. `payload` is what the writer attached."""

    revision: int
    key: str
    entry: Entry | None
    previous: Entry | None
    payload: Any = None


class Range(NamedTuple):
    entries: Sequence[Entry]
    total: int  # how many keys match, whatever the limit
    revision: int  # of the store when it was read


class Lease(NamedTuple):
    """A lease that somebody asked for: the seconds it was granted, and when it ends in µs."""

    ttl: int
    until: int


Listener = Callable[[Event], None]


class Store:
    """The store of one cluster."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.revision = 0
        self.compacted = 0
        self._cleared = 0  # the revision up to which it is
        self.pending: list[LogRow] = []
        self.bytes = 0  # of all current values
        self._bytes_in: dict[str, int] = {}  # the same by the last folder of the key
        self.alarm = ""  # why writes are refused, e.g. NO_SPACE
        self._index: dict[str, Entry] = {}
        self._buckets: dict[str, list[str]] = {}
        self._recent: deque[str] = deque()  # the keys that were written last
        self._packer = Packer()
        self._listeners: list[tuple[str, Listener]] = []
        self._lease_keys: dict[int, dict[str, None]] = {}
        self.granted: dict[
            int, Lease
        ] = {}  # those that were asked for; others end as their id says
        self._tombstones = Tombstones(self._find_tombstone)

    def recover(
        self, revision: int, compacted: int, granted: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        """Fill the index from the log, as after a restart."""
        self.revision = revision
        self.compacted = compacted
        self.granted = {int(lease): Lease(*values) for lease, values in (granted or {}).items()}
        for row in self.backend.newest():
            if row.deleted:
                self._tombstones.add(row.key, row.revision, revision)
            else:
                self._set(_entry(row))
                if row.lease:
                    self._lease_keys.setdefault(row.lease, {})[row.key] = None

    # -- reads ----------------------------------------------------------------------------------

    def get(self, key: str) -> Entry | None:
        return self._index.get(key)

    def get_at(self, key: str, revision: int) -> Entry | None:
        """The value the key had at an older revision."""
        entries = self.range_at(key, revision, exact=True)
        return entries.entries[0] if entries.entries else None

    def range(self, prefix: str, *, after: str = "", limit: int = 0) -> Range:
        """Current values under a prefix in key order, those behind the key `after`."""
        keys = self._keys(prefix)
        count = len(keys)
        if after:
            start = bisect_left(keys, after)
            if start < len(keys) and keys[start] == after:
                start += 1
            keys = keys[start:]
        if limit:
            keys = keys[:limit]
        index = self._index
        return Range([index[key] for key in keys], count, self.revision)

    def range_at(self, prefix: str, revision: int, *, exact: bool = False) -> Range:
        """Values under a prefix as they were at `revision`."""
        if revision > self.revision:
            raise FutureRevError(revision)
        if revision < self.compacted:
            raise CompactedError(self.compacted)
        rows: dict[str, LogRow] = {}
        for row in self.backend.until(prefix, revision, exact=exact):
            rows[row.key] = row
        for row in self.pending:
            matches = row.key == prefix if exact else row.key.startswith(prefix)
            if row.revision <= revision and matches:
                rows[row.key] = row
        entries = [_entry(rows[key]) for key in sorted(rows) if not rows[key].deleted]
        return Range(entries, len(entries), self.revision)

    def count(self, prefix: str) -> int:
        name = _bucket(prefix)
        if name and prefix.startswith(name):
            low, high = _bounds(self._buckets.get(name, []), prefix)
            return high - low
        return len(self._keys(prefix))

    def total(self) -> int:
        """How many keys there are."""
        return len(self._index)

    def bytes_in(self, namespace: str) -> int:
        """The bytes of all current values of a namespace."""
        return self._bytes_in.get(namespace, 0)

    # -- writes ---------------------------------------------------------------------------------

    def put(
        self,
        key: str,
        value: bytes,
        *,
        expect: int | None = None,
        lease: int = 0,
        payload: Any = None,
    ) -> Entry | None:
        """Store a value at revision `self.revision + 1`.

        `expect` is the mod_revision the key must have (0: it must not exist). None is returned
        when the guard fails; nothing changed then. Raises StoreError while there is an alarm.
        """
        if self.alarm:
            raise StoreError(self.alarm)
        old = self._index.get(key)
        if expect is not None and (old.mod_revision if old else 0) != expect:
            return None
        revision = self.revision + 1
        if old is None:
            entry = Entry(key, value, revision, revision, 1, lease)
            deleted = self._tombstones.take(key)
            row = LogRow(revision, key, value, None, revision, deleted, 1, lease, False)
        else:
            version = old.version + 1
            create = old.create_revision
            entry = Entry(key, value, create, revision, version, lease)
            row = LogRow(
                revision, key, value, None, create, old.mod_revision, version, lease, False
            )
        self.revision = revision
        self.pending.append(row)
        self._set(entry)
        if old is not None and old.lease and old.lease != lease:
            self._lease_keys.get(old.lease, {}).pop(key, None)
        if lease:
            self._lease_keys.setdefault(lease, {})[key] = None
        self._notify(Event(revision, key, entry, old, payload))
        return entry

    def delete(self, key: str, *, expect: int | None = None) -> Entry | None:
        """Remove a key; what it held, or None when it was absent or the guard failed. Raises
        StoreError while there is an alarm."""
        if self.alarm:
            raise StoreError(self.alarm)
        old = self._index.get(key)
        if old is None or (expect is not None and old.mod_revision != expect):
            return None
        revision = self.revision + 1
        self.revision = revision
        self.pending.append(
            LogRow(
                revision,
                key,
                b"",
                old.value,
                old.create_revision,
                old.mod_revision,
                old.version,
                0,
                True,
            )
        )
        del self._index[key]
        self._count(key, -len(old.value))
        self._tombstones.add(key, revision, self.pending[0].revision - 1)
        bucket = self._buckets[_bucket(key)]
        del bucket[bisect_left(bucket, key)]
        if old.lease:
            self._lease_keys.get(old.lease, {}).pop(key, None)
        self._notify(Event(revision, key, None, old))
        return old

    def compact(self, revision: int) -> None:
        """Refuse from now on what asks for something older than `revision`; `clear` deletes it."""
        if revision > self.revision:
            raise FutureRevError(revision)
        if revision <= self.compacted:
            raise CompactedError(self.compacted)
        self.compacted = revision
        self.backend.note_compaction(revision)

    def clear(self, until: int) -> int:
        """Delete what is older than a compacted revision, except current values, as far as it is
        committed; how many rows went."""
        until = min(until, self.compacted)
        if self.pending:
            until = min(until, self.pending[0].revision - 1)
        if until <= self._cleared:
            return 0
        self._tombstones.clear(until)
        after, self._cleared = self._cleared, until
        return self.backend.clear(after, until)

    # -- watches --------------------------------------------------------------------------------

    def watch(self, prefix: str, listener: Listener, *, after: int | None = None) -> None:
        """Call `listener` for every change under a prefix; first for those since `after`."""
        if after is not None:
            for event in self.history(prefix, after):
                listener(event)
        self._listeners.append((prefix, listener))

    def unwatch(self, listener: Listener) -> None:
        self._listeners = [known for known in self._listeners if known[1] is not listener]

    def history(self, prefix: str, after: int) -> list[Event]:
        """The changes behind revision `after`, in order, from the log."""
        if after < self.compacted:
            raise CompactedError(self.compacted)
        if after > self.revision:
            raise FutureRevError(after)
        rows = list(self.backend.since(prefix, after))
        rows += [row for row in self.pending if row.revision > after and row.key.startswith(prefix)]
        last: dict[str, Entry] = {}
        events = []
        for row in rows:
            previous = last.get(row.key)
            if previous is None and row.version > 1 or row.deleted and previous is None:
                previous = self._previous(row)
            entry = None if row.deleted else _entry(row)
            events.append(Event(row.revision, row.key, entry, previous))
            if entry is not None:
                last[row.key] = entry
            else:
                last.pop(row.key, None)
        return events

    # -- leases ---------------------------------------------------------------------------------

    def leases(self) -> list[int]:
        return sorted({**self._lease_keys, **self.granted})

    def grant(self, lease: int, ttl: int, until: int) -> None:
        """Know a lease before a key has it. Whoever asked for it also ends it."""
        if self.alarm:
            raise StoreError(self.alarm)
        self.granted[lease] = Lease(ttl, until)

    def lease_keys(self, lease: int) -> list[str]:
        return list(self._lease_keys.get(lease, ()))

    def revoke(self, lease: int) -> int:
        """Delete every key attached to a lease; how many there were."""
        keys = self.lease_keys(lease)
        for key in keys:
            self.delete(key)
        self._lease_keys.pop(lease, None)
        self.granted.pop(lease, None)
        return len(keys)

    # -- inside ---------------------------------------------------------------------------------

    def _find_tombstone(self, key: str) -> int:
        row = next(iter(self.backend.until(key, self.revision, exact=True)), None)
        return row.revision if row is not None and row.deleted else 0

    def _previous(self, row: LogRow) -> Entry | None:
        if row.old_value is not None:
            return Entry(
                row.key, row.old_value, row.create_revision, row.prev_revision, row.version
            )
        replaced = self.backend.at(row.key, row.prev_revision)
        return _entry(replaced) if replaced else None

    def _count(self, key: str, more: int) -> None:
        self.bytes += more
        folder = key.rpartition("/")[0].rpartition("/")[2]
        self._bytes_in[folder] = self._bytes_in.get(folder, 0) + more

    def _set(self, entry: Entry) -> None:
        old = self._index.get(entry.key)
        if old is None:
            insort(self._buckets.setdefault(_bucket(entry.key), []), entry.key)
        before = len(old.value) if old is not None else 0
        self._count(entry.key, len(entry.value) - before)
        self._index[entry.key] = entry
        self._recent.append(entry.key)
        if len(self._recent) > PLAIN:
            self._pack(self._recent.popleft())

    def _pack(self, key: str) -> None:
        """Compresses a value that was written PLAIN writes ago, unless it has changed since."""
        entry = self._index.get(key)
        if entry is not None and entry.mod_revision <= self.revision - PLAIN:
            self._packer.pack(entry, _bucket(key))

    def _keys(self, prefix: str) -> list[str]:
        name = _bucket(prefix)
        if name and prefix.startswith(name):
            return _slice(self._buckets.get(name, []), prefix)
        keys: list[str] = []
        for bucket in sorted(self._buckets):
            keys += _slice(self._buckets[bucket], prefix)
        return keys

    def _notify(self, event: Event) -> None:
        for prefix, listener in self._listeners:
            if event.key.startswith(prefix):
                listener(event)


def _entry(row: LogRow) -> Entry:
    return Entry(row.key, row.value, row.create_revision, row.revision, row.version, row.lease)


def _bucket(key: str) -> str:
    """`/registry/pods/` of `/registry/pods/default/x`; "" when the key is not that deep."""
    end = key.find("/", 10)
    return key[: end + 1] if end > 0 else ""


def _slice(keys: list[str], prefix: str) -> list[str]:
    low, high = _bounds(keys, prefix)
    return keys[low:high]


def _bounds(keys: list[str], prefix: str) -> tuple[int, int]:
    return bisect_left(keys, prefix), bisect_left(keys, prefix + "\U0010ffff")
