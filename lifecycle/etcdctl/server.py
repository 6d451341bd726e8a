"""etcd as its clients see it: ranges, puts, deletes, transactions, watches, leases, maintenance.

Every write goes to the cluster's own store, where the API server and all watches see it, and is
told as a `write` inside a `work` span of the component `etcdctl`. A transaction that writes
several keys is done whole, but each of its writes has a revision of its own.

Models etcd server/etcdserver/{v3_server.go,apply/apply.go}, server/lease/lessor.go and
api/v3rpc/rpctypes/error.go.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.store import errors as refusals
from apiserver_app.store.etcd import Entry, Event
from controllers_app.kubelet.kubelet import address_of
from lifecycle.etcdctl.members import Member, Members, identity
from lifecycle.etcdctl.values import Values

if TYPE_CHECKING:
    from lifecycle.composition import Cluster

VALUE_BYTES_MAX = 1_572_864  # 1.5 MiB, of one request
TTL_SECONDS_MIN, TTL_SECONDS_MAX = 2, 9_000_000_000
OPERATIONS_MAX = 128  # of one transaction
EVENT_LEASE_SECONDS = 3660
RAFT_ENTRIES = 6  # in the log before the first write: members, version
QUOTA_BYTES = 2_147_483_648
_RELEASES = {
    "1.37": "3.6.5", "1.36": "3.6.5", "1.35": "3.6.5", "1.34": "3.6.4", "1.33": "3.5.21",
    "1.32": "3.5.16", "1.31": "3.5.15", "1.30": "3.5.12", "1.29": "3.5.10", "1.28": "3.5.9",
    "1.27": "3.5.7", "1.26": "3.5.6", "1.25": "3.5.4", "1.24": "3.5.3", "1.23": "3.5.1",
    "1.22": "3.5.0",
}  # fmt: skip


def release_of(version: str) -> str:
    """The etcd that comes with a version of Kubernetes."""
    return _RELEASES.get(version, "3.5.21")


class RpcError(Exception):
    """The server's refusal, in its words."""


COMPACTED = "etcdserver: mvcc: required revision has been compacted"
LEASE_NOT_FOUND = "etcdserver: requested lease not found"


@dataclass(frozen=True, slots=True)
class Keys:
    """One key, or those from `first` up to but not with `end`; "\\0" is no end at all."""

    first: str
    end: str = ""

    def has(self, key: str) -> bool:
        if not self.end:
            return key == self.first
        return key >= self.first and (self.end == "\0" or key < self.end)

    def prefix(self) -> str:
        """What all of them begin with."""
        if not self.end:
            return self.first
        if self.end == prefix_end(self.first):
            return self.first
        return ""


def prefix_end(prefix: str) -> str:
    """The first key behind all that begin with `prefix`."""
    for at in range(len(prefix) - 1, -1, -1):
        if ord(prefix[at]) < 0x10FFFF:
            return prefix[:at] + chr(ord(prefix[at]) + 1)
    return "\0"


class Shown(NamedTuple):
    """A key and its value, as a client gets them."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int


class Change(NamedTuple):
    """An event of a watch: PUT or DELETE."""

    type: str
    kv: Shown
    prev: Shown | None


@dataclass(slots=True)
class Watcher:
    """What a watch has seen and nobody has taken yet."""

    waiting: deque[Change] = field(default_factory=deque)
    stop: Callable[[], None] = lambda: None


class Server:
    """The etcd of one cluster, as its first member serves it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.store = cluster.store
        self.values = Values(cluster)
        self.version = release_of(cluster.state.version)
        saved = cluster.state.control.get("members") or ()
        led = cluster.state.control.get("leader") or ()
        self.members = Members(cluster.name, cluster.kernel, self._is_node, saved, led)
        self._held: set[int] = set()  # leases that a command keeps alive
        self.cluster_id = identity(f"{cluster.name} cluster")
        for lease, granted in sorted(self.store.granted.items()):
            self._end_at(lease, granted.until)

    @property
    def member(self) -> Member:
        return self.members.own

    def _is_node(self, host: str) -> bool:
        """Whether a node of the cluster has that address."""
        inputs = self._cluster.inputs
        return any(address_of(number) == host for number in range(1, inputs.nodes + 1))

    @property
    def now(self) -> int:
        return self._cluster.kernel.now

    # -- reading --------------------------------------------------------------------------------

    def range(self, keys: Keys, revision: int = 0) -> list[Entry]:
        """The entries in key order, now or as they were at a revision."""
        _check_key(keys.first)
        store = self.store
        if revision > store.revision:
            raise RpcError(str(refusals.FutureRevError(revision)))
        if revision and revision < store.compacted:
            raise RpcError(COMPACTED)
        if not keys.end and not revision:
            one = store.get(keys.first)
            return [] if one is None else [one]
        prefix = keys.prefix()
        found = store.range_at(prefix, revision) if revision else store.range(prefix)
        return sorted((one for one in found.entries if keys.has(one.key)), key=_key)

    def shown(self, entry: Entry) -> Shown:
        """What a client gets of an entry."""
        value = self.values.shown(entry)
        return Shown(entry.key, value, *entry[2:6])

    def watch(self, keys: Keys, revision: int, wake: Callable[[], None]) -> Watcher:
        """The changes from a revision on, or from now on; `wake` is called for each that comes."""
        _check_key(keys.first)
        watcher = Watcher()
        if revision and revision <= self.store.compacted:
            raise RpcError(COMPACTED)

        def hear(event: Event) -> None:
            if keys.has(event.key) and (not revision or event.revision >= revision):
                watcher.waiting.append(self._change(event))
                wake()

        watcher.stop = lambda: self.store.unwatch(hear)
        after = revision - 1 if 0 < revision <= self.store.revision else None
        self.store.watch(keys.prefix(), hear, after=after)
        return watcher

    def _change(self, event: Event) -> Change:
        prev = None if event.previous is None else self.shown(event.previous)
        if event.entry is None:
            return Change("DELETE", Shown(event.key, b"", 0, event.revision, 0, 0), prev)
        return Change("PUT", self.shown(event.entry), prev)

    # -- writing --------------------------------------------------------------------------------

    def begin(self, line: str) -> int:
        """Open the span of a command that is going to write."""
        return self._cluster.recorder.tell("work", "etcdctl", line[:200], [])

    def end(self, span: int, said: str, *, ok: bool = True) -> None:
        self._cluster.recorder.tell("done", "ok" if ok else "error", said[:200], 0, span=span)

    def check_put(self, key: str, value: bytes, lease: int) -> None:
        """Raises what a put would be refused with."""
        _check_key(key)
        if len(key) + len(value) > VALUE_BYTES_MAX:
            raise RpcError("etcdserver: request is too large")
        if lease and lease not in self.store.leases():
            raise RpcError(LEASE_NOT_FOUND)

    def put(self, key: str, value: bytes, lease: int, span: int) -> Entry | None:
        """Store a value; what was there before."""
        self.check_put(key, value, lease)
        old = self.store.get(key)
        taken = self.values.taken(key, value, self.store.revision + 1)
        if taken.info is not None and taken.obj is not None:
            before = None if old is None else self.values.object_of(old)[1]
            self._tell(
                "create" if before is None else "update", taken.info.key, taken.obj, old, span
            )
        self.store.put(key, taken.data, lease=lease, payload=taken.obj)
        return old

    def keep(self, key: str, lease: int, span: int) -> Entry:
        """Put a key's own value once more, with a lease."""
        old = self.store.get(key)
        if old is None:
            raise RpcError("etcdserver: key not found")
        self.put(key, self.values.shown(old), lease, span)
        return old

    def delete(self, keys: Keys, span: int) -> list[Entry]:
        """Remove keys; what they held."""
        found = self.range(keys)
        for entry in found:
            self._remove(entry, span)
        return found

    def _remove(self, entry: Entry, span: int | None) -> None:
        info, obj = self.values.object_of(entry)
        if info is not None and obj is not None:
            self._tell("delete", info.key, obj, entry, span)
        self.store.delete(entry.key)

    def _tell(
        self, op: str, resource: str, obj: dict[str, object], old: Entry | None, span: int | None
    ) -> None:
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        self._cluster.recorder.tell(
            "write", self.store.revision + 1, op, resource, metadata.get("namespace", ""),
            metadata["name"], old.mod_revision if old else 0, "", span=span,
        )  # fmt: skip

    def compact(self, revision: int) -> None:
        try:
            self.store.compact(revision)
        except refusals.StoreError as error:
            raise RpcError(str(error)) from error

    # -- leases ---------------------------------------------------------------------------------

    def grant(self, ttl: int, lease: int = 0) -> tuple[int, int]:
        """A new lease: (its id, the seconds it was granted)."""
        if ttl > TTL_SECONDS_MAX:
            raise RpcError("etcdserver: too large lease TTL")
        lease = lease or int(self._cluster.rand.hex(16), 16) >> 1
        ttl = max(ttl, TTL_SECONDS_MIN)
        until = self.now + ttl * SECOND
        self.store.grant(lease, ttl, until)
        self._end_at(lease, until)
        return lease, ttl

    def renew(self, lease: int) -> int:
        """Begin the lease's time anew; its seconds."""
        granted = self.store.granted.get(lease)
        if granted is None:
            raise RpcError(LEASE_NOT_FOUND)
        self.store.grant(lease, granted.ttl, self.now + granted.ttl * SECOND)
        return granted.ttl

    def hold(self, lease: int) -> None:
        """Keep a lease alive, as its client does three times in its time, until `let_go`."""
        self._held.add(lease)
        self._keep_alive(lease)

    def let_go(self, lease: int) -> None:
        self._held.discard(lease)

    def _keep_alive(self, lease: int) -> None:
        if lease in self._held and lease in self.store.granted:
            due = self.now + self.renew(lease) * SECOND // 3
            self._cluster.kernel.call_at(due, self._keep_alive, lease, background=True)

    def left(self, lease: int) -> tuple[int, int]:
        """(seconds granted, seconds left); (0, -1) when there is no such lease."""
        granted = self.store.granted.get(lease)
        if granted is not None:
            return granted.ttl, -(-(granted.until - self.now) // SECOND)
        if lease in self.store.leases():  # of events, whose ids are the second at which they end
            return EVENT_LEASE_SECONDS, lease - self.now // SECOND
        return 0, -1

    def revoke(self, lease: int, span: int | None) -> None:
        """End a lease, and with it its keys."""
        if lease not in self.store.leases():
            raise RpcError(LEASE_NOT_FOUND)
        for key in self.store.lease_keys(lease):
            entry = self.store.get(key)
            if entry is not None:
                self._remove(entry, span)
        self.store.revoke(lease)

    def _end_at(self, lease: int, until: int) -> None:
        self._cluster.kernel.call_at(until, self._due, lease, background=True)

    def _due(self, lease: int) -> None:
        granted = self.store.granted.get(lease)
        if granted is None:
            return
        if granted.until > self.now:
            self._end_at(lease, granted.until)
            return
        if not self.store.lease_keys(lease):
            self.store.revoke(lease)
            return
        span = self.begin(f"lease {lease:016x} expired")
        self.revoke(lease, span)
        self.end(span, "its keys are gone")

    # -- maintenance ----------------------------------------------------------------------------

    @property
    def raft_index(self) -> int:
        return self.store.revision + RAFT_ENTRIES

    def size_bytes(self) -> int:
        """Of the values that are there now, in whole pages: modelled, not measured."""
        used = sum(len(one.key) + len(one.value) + 64 for one in self.store.range("").entries)
        return -(-used // 4096) * 4096 + 20_480

    def hash(self, revision: int = 0) -> int:
        """A sum over all keys and values, now or as they were."""
        total = 0
        for entry in self.range(Keys("\0", "\0"), max(revision, 0)):
            total = zlib.crc32(f"{entry.key}\0{entry.mod_revision}\0".encode(), total)
            total = zlib.crc32(entry.value, total)
        return total


def _key(entry: Entry) -> str:
    return entry.key


def _check_key(key: str) -> None:
    if not key:
        raise RpcError("etcdserver: key is not provided")


def sorted_by(entries: Sequence[Entry], target: str, *, descending: bool) -> list[Entry]:
    """By create, key, modify, value or version."""
    position = {"CREATE": 2, "KEY": 0, "MODIFY": 3, "VALUE": 1, "VERSION": 4}[target]
    return sorted(entries, key=lambda one: one[position], reverse=descending)
