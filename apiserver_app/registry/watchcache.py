"""The watch cache: the decoded current objects of every resource, and the open watches.

It receives every revision from etcd, keeps a window of recent ones, and delivers each to the
watches that select the object: as ADDED, MODIFIED or DELETED, depending on whether the object
entered, stayed in or left the selection. Authorizers and admission plugins read from it (Reader).

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go and watch_cache.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec
import orjson

from apiserver_app.apis import initializers
from apiserver_app.etcd import mvcc
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import CompactedError
from apiserver_app.machinery import errors, memos, meta
from apiserver_app.machinery import probe as probes
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.reader import Mark
from apiserver_app.registry import corrupt, sharing

HEADS_MAX = 16_384
WINDOW = 512  # revisions kept for watches that start slightly in the past
WINDOW_BYTES = 8 << 20  # of all of them; who starts before them reads from the log
MANY, SMALL_BYTES = 1000, 1024  # equal parts are kept once where more, and larger, objects are

# not kept decoded: there are many, they are rarely read and no decision depends on them
_UNDECODED = ("events",)

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Change(msgspec.Struct, frozen=True):
    """One decoded revision of an object. The obj of a delete carries the delete's revision."""

    revision: int
    storage: str
    key: str
    type: str
    obj: Object
    previous: Object | None
    value: bytes | None  # the stored bytes; None after a delete
    size: int = 0  # of what is stored, or was until the delete


Selects = Callable[[Object], bool]
Sink = Callable[[str, Change, Object], None]


class Subscription:
    """An open watch. Calls `sink(type, change, object)` for the changes that it selects."""

    __slots__ = (
        "key",
        "named",
        "node",
        "on_end",
        "outside",
        "own",
        "prefix",
        "readers",
        "selects",
        "sink",
        "storage",
    )

    def __init__(
        self,
        name: str,
        storage: str,
        prefix: str,
        selects: Selects | None,
        sink: Sink,
        *,
        node: str | None = None,
        named: str = "",
        key: str = "",
        outside: bool = False,
        own: bool = False,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self.on_end = on_end  # called when the resource is no longer served
        self.readers: tuple[str, ...] = (name,)  # components that read the cache this watch fills
        self.storage = storage
        self.prefix = prefix
        self.selects = selects
        self.sink = sink
        self.named = named  # the name of the only object that it selects
        # index: the key of the only object that it can select
        self.key = "" if node else key
        self.node = node  # index: the node whose pods it selects
        self.outside = outside
        self.own = own  # opened by the API server itself: survives its restart

    def offer(self, change: Change) -> bool:
        """Delivers the change if the watch selects it, and reports whether it did."""
        if not change.key.startswith(self.prefix):
            return False
        selects = self.selects
        if selects is None:
            self.sink(change.type, change, change.obj)
            return True
        before = change.previous is not None and selects(change.previous)
        after = change.type != DELETED and selects(change.obj)
        if not before and not after:
            return False
        if not after:
            last_state = (
                change.obj
                if change.type == DELETED
                else _with_revision(change.previous, change.revision)
            )
            self.sink(DELETED, change, last_state)
        else:
            self.sink(MODIFIED if before else ADDED, change, change.obj)
        return True


Subscriptions = list[Subscription]
Names = list[str]


class WatchCache:
    """Current objects by storage path and key, and their watches."""

    def __init__(
        self, store: mvcc.Store, resources: Iterable[ResourceInfo], probe: probes.Probe
    ) -> None:
        self.store = store
        self.probe = probe
        self._storage: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._heads: dict[str, str] = {}  # a key up to its last slash -> storage path
        for info in resources:
            if info.storage:
                self._storage.setdefault(info.key, info.storage)
                self._names.setdefault(info.storage, info.key)
        self._objects: dict[str, dict[str, Object]] = {}
        # keys whose values do not decode: they were written to etcd past the API server
        self.unreadable: dict[str, None] = {}
        self.names_unreadable = False  # the errors say which: AllowUnsafeMalformedObjectDeletion
        self.hides_uninitialized = False  # keeps none that wait for initializers: Initializers
        self._changed: dict[str, int] = {}
        self._marks: dict[str, list[Mark]] = {}
        self._lists: dict[str, tuple[int, tuple[Object, ...]]] = {}
        self._sharing = sharing.Sharing()
        self.window: deque[Change] = deque()
        self.window_bytes = 0  # as they are stored
        self.window_start = 0
        self._began = 0  # the revision from which on all changes are known by `_changed`
        self.watches: dict[str, Subscriptions] = {}
        self._node_watches: dict[str, Subscriptions] = {}
        self.key_watches: dict[str, Subscriptions] = {}
        # number of watches by prefix or by key; watches of one node's pods are not counted
        self._watching: dict[str, int] = {}
        self._pods_on: dict[str, dict[str, Object]] = {}

    def start(self) -> None:
        """Decodes the stored objects and watches the store from here on."""
        for entry in self.store.range("/registry/").entries:
            storage = self.storage_of(entry.key)
            if storage not in _UNDECODED:
                obj = decode(entry)
                if obj is None:
                    self.unreadable[entry.key] = None
                    continue
                if not self._hides(obj):
                    self._objects.setdefault(storage, {})[entry.key] = obj
                if storage == "pods" and _node(obj):
                    self._pods_on.setdefault(_node(obj), {})[entry.key] = obj
                self._changed[storage] = max(self._changed.get(storage, 0), entry.mod_revision)
        self.window_start = self._began = self.store.revision
        self.store.watch("/registry/", self._on_event)

    # -- reading --------------------------------------------------------------------------------

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        storage = self._storage.get(resource, resource)
        key = (
            f"/registry/{storage}/{namespace}/{name}"
            if namespace
            else (f"/registry/{storage}/{name}")
        )
        return self._objects.get(storage, {}).get(key)

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        storage = self._storage.get(resource, resource)
        objects = self._objects.get(storage)
        if not objects:
            return ()
        if namespace:
            prefix = f"/registry/{storage}/{namespace}/"
            entries = self.store.range(prefix).entries
            return [objects[entry.key] for entry in entries if entry.key in objects]
        generation = self._changed.get(storage, 0)
        cached = self._lists.get(storage)
        if cached is None or cached[0] != generation:
            cached = (generation, tuple(objects[key] for key in sorted(objects)))
            self._lists[storage] = cached
        return cached[1]

    def each(self, resource: str) -> Collection[Object]:
        """Returns the objects in no order, which costs nothing. Do not keep."""
        return self._objects.get(self._storage.get(resource, resource), {}).values()

    def mark(self, resources: Iterable[str]) -> Mark:
        mark = Mark()
        for resource in resources:
            self._marks.setdefault(self._storage.get(resource, resource), []).append(mark)
        return mark

    def generation(self, resource: str) -> int:
        """Grows whenever an object of the resource changes."""
        return self._changed.get(self._storage.get(resource, resource), 0)

    def pods_on(self, node: str) -> Iterable[Object]:
        """The pods bound to a node."""
        return self._pods_on.get(node, {}).values()

    def decoded(self, entry: Entry) -> Object:
        """Decodes an entry of the store, or takes it from the cache. Raises 500 if it does not
        decode."""
        objects = self._objects.get(self.storage_of(entry.key))
        cached = objects.get(entry.key) if objects else None
        if cached is not None and meta.revision_of(cached) == entry.mod_revision:
            return cached
        obj = decode(entry)
        if obj is None:
            if self.names_unreadable:
                raise errors.internal(corrupt.message(entry, entry.key.removeprefix("/registry")))
            raise errors.ApiError(500, "", corrupt.undecodable(entry.value))
        return obj

    def check_readable(self, info: ResourceInfo, entries: Sequence[Entry]) -> None:
        """Raises a 500 that names what cannot be read in a list, where such an error is known."""
        unreadable = [entry for entry in entries if entry.key in self.unreadable]
        if not unreadable or not self.names_unreadable:
            return
        raise corrupt.list_error(info, unreadable)

    def changed_since(self, storage: str, revision: int) -> bool:
        return self._changed.get(storage, 0) > revision

    # -- watching -------------------------------------------------------------------------------

    def subscribe(self, watch: Subscription, after: int | None) -> None:
        """Opens a watch and first delivers the changes after revision `after`, if given."""
        if after is not None:
            for change in self._since(watch.storage, watch.prefix, after):
                watch.offer(change)
        self._group(watch).append(watch)
        self._count(watch, 1)

    def unsubscribe(self, watch: Subscription) -> None:
        group = self._group(watch)
        if watch in group:
            group.remove(watch)
            self._count(watch, -1)
        if watch.key and not group:
            del self.key_watches[watch.key]

    def watchers(self, info: ResourceInfo, namespace: str, name: str) -> int:
        """The number of watches that a change may reach, by resource, namespace and name; watches
        of one node's pods are not counted.

        Models staging/src/k8s.io/apiserver/pkg/util/flowcontrol/watch_tracker.go.
        """
        counts, prefix = self._watching, info.etcd_prefix()
        count = counts.get(prefix, 0)
        if namespace and info.namespaced:
            prefix = info.etcd_prefix(namespace)
            count += counts.get(prefix, 0)
        return count + counts.get(prefix + name, 0) if name else count

    def serve(self, info: ResourceInfo) -> None:
        """Adds a custom resource."""
        self._storage[info.key] = info.storage
        self._names[info.storage] = info.key
        self._heads.clear()

    def end(self, storage: str) -> None:
        """Ends the watches of a resource that is no longer served, or has another schema."""
        self._end(
            [watch for group in self._groups() for watch in group if watch.storage == storage]
        )

    def end_others(self) -> int:
        """Ends all watches but the API server's own, and returns how many there were."""
        watches = [watch for group in self._groups() for watch in group if not watch.own]
        self._end(watches)
        return len(watches)

    def storage_of(self, key: str) -> str:
        head = key[: key.rfind("/")]
        storage = self._heads.get(head)
        if storage is not None:
            return storage
        parts = key.split("/", 4)
        storage = self._storage_at(parts)
        if len(parts) > 4:  # then the head has all of what decides
            memos.make_room(self._heads, HEADS_MAX)
            self._heads[head] = storage
        return storage

    def _storage_at(self, parts: Names) -> str:
        if len(parts) > 3 and "." in parts[2]:  # a group: also of custom resources
            return f"{parts[2]}/{parts[3]}"
        if len(parts) > 3 and f"{parts[2]}/{parts[3]}" in self._names:
            return f"{parts[2]}/{parts[3]}"
        return parts[2] if len(parts) > 2 else ""

    def open_watches(self) -> dict[tuple[str, str], int]:
        """The number of watches by storage path and scope."""
        counts: dict[tuple[str, str], int] = {}
        for group in self._groups():
            for watch in group:
                all_namespaces = watch.prefix == f"/registry/{watch.storage}/"
                scope = "resource" if watch.named else "cluster" if all_namespaces else "namespace"
                counts[watch.storage, scope] = counts.get((watch.storage, scope), 0) + 1
        return counts

    def resource_of(self, key: str) -> str:
        """The GroupResource of the object that a key holds."""
        storage = self.storage_of(key)
        return self._names.get(storage, storage)

    def _end(self, watches: Iterable[Subscription]) -> None:
        for watch in watches:
            self.unsubscribe(watch)
            if watch.on_end is not None:
                watch.on_end()

    def _count(self, watch: Subscription, change: int) -> None:
        if watch.node is None:
            key = watch.prefix + watch.named
            self._watching[key] = self._watching.get(key, 0) + change

    # -- inside ---------------------------------------------------------------------------------

    def _group(self, watch: Subscription) -> Subscriptions:
        if watch.node is not None:
            return self._node_watches.setdefault(watch.node, [])
        if watch.key:
            return self.key_watches.setdefault(watch.key, [])
        return self.watches.setdefault(watch.storage, [])

    def _groups(self) -> Sequence[Subscriptions]:
        return (*self.watches.values(), *self._node_watches.values(), *self.key_watches.values())

    def _on_event(self, event: mvcc.Event) -> None:
        storage = self.storage_of(event.key)
        for mark in self._marks.get(storage, ()):
            mark.revision = event.revision
        change = self._change(event, storage)
        if change is None:
            self._changed[storage] = event.revision
            return
        if storage not in _UNDECODED:
            objects = self._objects.setdefault(storage, {})
            if change.type == DELETED or self._hides(change.obj):
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.obj
        if storage == "pods":
            self._note_node(change)
        self._changed[storage] = change.revision
        self._keep(change)
        self._deliver(change)

    def _hides(self, obj: Object) -> bool:
        return self.hides_uninitialized and initializers.uninitialized(obj)

    def _keep(self, change: Change) -> None:
        self.window.append(change)
        self.window_bytes += change.size
        while len(self.window) > WINDOW or self.window_bytes > WINDOW_BYTES:
            oldest = self.window.popleft()
            self.window_bytes -= oldest.size
            self._settle(oldest)

    def _settle(self, change: Change) -> None:
        """A change leaves the window; an object that is still as it was then rather stays so."""
        self.window_start = change.revision
        objects = self._objects.get(change.storage, {})
        if len(objects) > MANY and len(change.value or b"") > SMALL_BYTES:
            if objects.get(change.key) is change.obj:
                self._sharing.share(change.obj)

    def _note_node(self, change: Change) -> None:
        node = _node(change.obj)
        if not node:
            return
        if change.type == DELETED:
            self._pods_on.get(node, {}).pop(change.key, None)
        else:
            self._pods_on.setdefault(node, {})[change.key] = change.obj

    def _deliver(self, change: Change) -> None:
        readers: Names = []
        outside = 0
        groups = [self.watches.get(change.storage, ()), self.key_watches.get(change.key, ())]
        if change.storage == "pods" and self._node_watches:
            nodes = {_node(change.obj): None, _node(change.previous): None}
            groups += [self._node_watches.get(node, ()) for node in nodes if node]
        for group in groups:
            for watch in tuple(group):
                if watch.offer(change):
                    if watch.outside:
                        outside += 1
                    else:
                        readers.extend(watch.readers)
        resource = self._names.get(change.storage, change.storage)
        self.probe.tell("watch", change.revision, change.type, resource, readers, outside)

    def _change(self, event: mvcc.Event, storage: str) -> Change | None:
        """The event as a Change; None if there was no object before and after it."""
        previous: Object | None = None
        if event.previous is not None:
            previous = self._objects.get(storage, {}).get(event.key) or decode(event.previous)
        obj = None if event.entry is None else event.payload or decode(event.entry)
        if event.entry is None or obj is not None:
            if self.unreadable:
                self.unreadable.pop(event.key, None)
        else:
            self.unreadable[event.key] = None
        return _change_of(event, storage, obj, previous)

    def _since(self, storage: str, prefix: str, after: int) -> Sequence[Change]:
        if after >= self.window_start:
            return [
                change
                for change in self.window
                if change.revision > after and change.storage == storage
            ]
        oldest = max(self._began, self.store.compacted)
        if after >= oldest and not self.changed_since(storage, after):
            return ()  # the log, in which others have written much, need not be read
        try:
            history = self.store.history(prefix, after)
        except CompactedError as error:
            raise too_old(after, error.compacted) from error
        changes = (_past(storage, event) for event in history)
        return [change for change in changes if change is not None]


def _past(storage: str, event: mvcc.Event) -> Change | None:
    """A change from the store's history: its previous object is read from the log, as the cache
    holds a later one."""
    previous = None if event.previous is None else decode(event.previous)
    obj = None if event.entry is None else decode(event.entry)
    return _change_of(event, storage, obj, previous)


def _change_of(
    event: mvcc.Event, storage: str, obj: Object | None, previous: Object | None
) -> Change | None:
    if obj is None:  # deleted, or overwritten by a value that does not decode
        if previous is None:
            return None
        last_state = _with_revision(previous, event.revision)
        size = len(event.previous.kept) if event.previous is not None else 0
        return Change(event.revision, storage, event.key, DELETED, last_state, previous, None, size)
    kind = ADDED if previous is None else MODIFIED
    value = event.entry.value if event.entry is not None else None
    size = len(value or b"")
    return Change(event.revision, storage, event.key, kind, obj, previous, value, size)


def decode(entry: Entry) -> Object | None:
    """Decodes an entry; None if the API server did not write it. Every object that the API server
    writes carries its own revision."""
    try:
        obj: Any = orjson.loads(entry.value)
        stamp = obj["metadata"]["resourceVersion"]
    except (ValueError, TypeError, KeyError):
        return None
    return obj if stamp == str(entry.mod_revision) else None


def too_old(requested: int, oldest: int) -> errors.ApiError:
    return errors.expired(f"too old resource version: {requested} ({oldest})")


def _with_revision(obj: Object | None, revision: int) -> Object:
    """The last state of an object, with the revision at which it was deleted."""
    if obj is None:
        return {"metadata": {"resourceVersion": str(revision)}}
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def _node(obj: Object | None) -> str:
    spec: Any = obj.get("spec") if obj else None
    return str(spec.get("nodeName") or "") if spec else ""
