"""Informers: a read-only indexed cache, filled by list and watch, that calls handlers.

One task per informer follows the watch. Objects in the cache are the API server's own: never
modify them. Handlers run in the informer's task, must not suspend, and get the revision that caused
them, so that a work queue can remember it. There is no periodic resync.

Models kubernetes staging/src/k8s.io/client-go/tools/cache (reflector, shared_informer,
thread_safe_store) and informers/factory.go.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.waiting import Signal
from controllers_app.runtime import indexes
from controllers_app.runtime.taskgroup import TaskGroup

OnAdd = Callable[[Object, int], None]
OnUpdate = Callable[[Object, Object, int], None]
OnDelete = Callable[[Object, int], None]

BACKOFF_SECONDS_BASE = 0.8
BACKOFF_SECONDS_MAX = 30.0


# how something was looked up, beside by an index or a count
BY_KEY, WHOLE = "", "*"


class Registrar(msgspec.Struct):
    """The owner that is registering handlers, and the informers each owner has requested."""

    owner: str = ""
    used: dict[str, dict[str, Informer]] = msgspec.field(default_factory=dict)


class Informer:
    """The cache of one resource, possibly limited to a namespace or selector. `synced` is set once
    the first list has reached the cache and every handler."""

    def __init__(
        self,
        kernel: Kernel,
        client: clients.Client,
        probe: Probe,
        resource: str,
        *,
        component: str = "",
        namespace: str = "",
        fields: str = "",
        labels: str = "",
        registrar: Registrar | None = None,
    ) -> None:
        self.resource = resource
        self.synced = Signal(kernel)
        self.revision = 0  # the newest one received
        self._kernel = kernel
        self._client = client
        self._probe = probe
        self._component = component or client.identity
        self._namespace = namespace
        self._fields = fields
        self._labels = labels
        self._objects: dict[str, Object] = {}
        self._indexes: dict[str, indexes.Index] = {}
        self._censuses: dict[str, indexes.Census] = {}
        self._views: tuple[indexes.View, ...] = ()
        self._registrar = registrar or Registrar()
        self.readers: tuple[str, ...] = ()
        self._watch: clients.Watch | None = None
        self._ended = False
        # each handler with its owner
        self._on_add: list[tuple[str, OnAdd]] = []
        self._on_update: list[tuple[str, OnUpdate]] = []
        self._on_delete: list[tuple[str, OnDelete]] = []

    # -- reading --------------------------------------------------------------------------------

    def get(self, key: str) -> Object | None:
        """The cached object with that `namespace/name` (or `name`)."""
        obj = self._objects.get(key)
        task = self._kernel.current
        if task is not None and task.looked is not None:
            _note(task.looked, (self.resource, BY_KEY), int(obj is not None))
        return obj

    def list(self, namespace: str = "") -> Iterable[Object]:
        """All objects, or those of a namespace, in no guaranteed order."""
        if namespace:
            return self.by("namespace", namespace).values()
        self._looked(WHOLE, len(self._objects))
        return self._objects.values()

    def by(self, index: str, value: str) -> Mapping[str, Object]:
        """The objects of an index under a value, by key. The mapping is live: do not keep it."""
        group = self._indexes[index].group(value)
        self._looked(index, len(group))
        return group

    def count(self, census: str, value: str) -> Mapping[Any, int]:
        """The number of objects under a value, by facts; updated at each change."""
        group = self._censuses[census].group(value)
        self._looked(census, sum(group.values()))
        return group

    def owned_by(self, uid: str) -> Mapping[str, Object]:
        """Objects whose controller has this uid."""
        return self.by("controller", uid)

    def orphans(self, namespace: str) -> Mapping[str, Object]:
        """Objects in the namespace without a controller."""
        return self.by("controller", indexes.ORPHANS + namespace)

    def __len__(self) -> int:
        return len(self._objects)

    def _looked(self, how: str, count: int) -> None:
        """The reconcile that looks something up records it when it ends."""
        task = self._kernel.current
        if task is not None and task.looked is not None:
            _note(task.looked, (self.resource, how), count)

    # -- setup (before or after the start) ------------------------------------------------------

    def index(self, name: str, of: indexes.ValuesOf) -> Informer:
        """Adds an index of objects by the values that `of` returns; a known name is ignored."""
        if name not in self._indexes:
            index = indexes.Index(of)
            self._indexes[name] = index
            self._add_view(index)
        return self

    def census(self, name: str, of: indexes.ValueOf, facts: indexes.FactsOf) -> Informer:
        """Adds a count of objects by value and facts, which costs nothing to read."""
        if name not in self._censuses:
            census = indexes.Census(of, facts)
            self._censuses[name] = census
            self._add_view(census)
        return self

    def handle(
        self,
        on_add: OnAdd | None = None,
        on_update: OnUpdate | None = None,
        on_delete: OnDelete | None = None,
    ) -> None:
        """Registers handlers. A late `on_add` is called for every object already cached."""
        owner = self._registrar.owner
        if on_add is not None:
            self._on_add.append((owner, on_add))
            for obj in list(self._objects.values()):
                on_add(obj, meta.revision_of(obj))
        if on_update is not None:
            self._on_update.append((owner, on_update))
        if on_delete is not None:
            self._on_delete.append((owner, on_delete))

    def handled_by(self, owner: str) -> tuple[str, ...]:
        """The events after which handlers of the owner are called."""
        owners = {
            "added": {name for name, _ in self._on_add},
            "updated": {name for name, _ in self._on_update},
            "deleted": {name for name, _ in self._on_delete},
        }
        return tuple(event for event, known in owners.items() if owner in known)

    def read_by(self, owners: Iterable[str]) -> None:
        """Sets the components that read this cache, if not just the process."""
        self.readers = tuple(owners)
        if self._watch is not None and self.readers:
            self._watch.fills(self.readers)

    def detach(self, owner: str) -> None:
        """Removes the handlers of an owner that has stopped."""
        self.read_by(reader for reader in self.readers if reader != owner)
        self._on_add = [item for item in self._on_add if item[0] != owner]
        self._on_update = [item for item in self._on_update if item[0] != owner]
        self._on_delete = [item for item in self._on_delete if item[0] != owner]

    # -- the reflector --------------------------------------------------------------------------

    async def run(self) -> None:
        """Lists, then watches; lists again when the watch's revision has expired. Returns only
        when the resource is no longer served."""
        failures = 0
        while not self._ended:
            try:
                await self._list()
                failures = 0
                while await self._follow() and not self._ended:
                    pass
            except errors.ApiError as error:
                if error.code != 410 or failures:
                    self._record("waiting", error.message)
            backoff = min(BACKOFF_SECONDS_BASE * 2.0 ** min(failures, 16), BACKOFF_SECONDS_MAX)
            failures += 1
            await self._kernel.sleep(backoff, background=True)

    def end(self) -> None:
        """Stop after the current watch: the resource is no longer served."""
        self._ended = True

    async def _list(self) -> None:
        self._record("listing", "")
        answer = await self._client.list(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            from_cache=True,
        )
        revision = meta.revision_of(answer)
        seen = set()
        for obj in answer.get("items") or ():
            await self._kernel.spend(1)
            key = meta.key_of(obj)
            seen.add(key)
            self._put(key, obj, meta.revision_of(obj))
        for key in [key for key in self._objects if key not in seen]:
            self._remove(key, self._objects[key], revision)
        self.revision = revision
        self._record("synced", f"{len(seen)} at revision {revision}")
        self.synced.set()

    async def _follow(self) -> bool:
        """Follows one watch; False when the next one cannot resume where this one ended."""
        started = self._kernel.now
        watch = await self._client.watch(
            self.resource,
            self._namespace,
            labels=self._labels,
            fields=self._fields,
            resource_version=str(self.revision),
        )
        self._watch = watch
        self.read_by(self.readers)
        delivered = False
        try:
            while (event := await watch.next()) is not None:
                if event.type == "ERROR":
                    return False
                delivered = True
                self._apply(event)
        finally:
            self._watch = None
            watch.stop()
        if not delivered and self._kernel.now - started < 1_000_000:
            await self._kernel.sleep(BACKOFF_SECONDS_BASE, background=True)
        return True

    def _apply(self, event: clients.WatchEvent) -> None:
        obj = event.object
        self.revision = revision = meta.revision_of(obj)
        if event.type == "BOOKMARK":
            return
        key = meta.key_of(obj)
        if event.type == "DELETED":
            self._remove(key, obj, revision)
        else:
            self._put(key, obj, revision)

    def _put(self, key: str, obj: Object, revision: int) -> None:
        old = self._objects.get(key)
        self._objects[key] = obj
        for view in self._views:
            view.move(key, old, obj)
        if old is None:
            for _, on_add in self._on_add:
                on_add(obj, revision)
            return
        if revision == meta.revision_of(old):
            return  # listed again unchanged
        if old["metadata"].get("uid") != obj["metadata"].get("uid"):
            for _, on_delete in self._on_delete:
                on_delete(old, revision)
            for _, on_add in self._on_add:
                on_add(obj, revision)
            return
        for _, on_update in self._on_update:
            on_update(old, obj, revision)

    def _remove(self, key: str, last: Object, revision: int) -> None:
        """Removes an object; `last` is its last known state."""
        old = self._objects.pop(key, None)
        if old is None:
            return
        for view in self._views:
            view.move(key, old, None)
        for _, on_delete in self._on_delete:
            on_delete(last, revision)

    def _add_view(self, view: indexes.View) -> None:
        self._views = (*self._views, view)
        for key, obj in self._objects.items():
            view.move(key, None, obj)

    def _record(self, state: str, message: str) -> None:
        detail = {"resource": self.resource}
        if message:
            detail["why"] = message
        self._probe.tell("component", self._component, state, detail)


def _note(looked: dict[tuple[str, str], list[int]], what: tuple[str, str], count: int) -> None:
    known = looked.get(what)
    if known is None:
        looked[what] = [1, count]
    else:
        known[0] += 1
        known[1] += count


class InformerFactory:
    """The shared informers of one process: each selection of a resource is cached once.

    Informers requested and handlers registered inside `registering(owner)` belong to that owner,
    which can wait for its own caches and be detached from all of them.
    """

    def __init__(
        self, kernel: Kernel, client: clients.Client, probe: Probe, component: str, group: TaskGroup
    ) -> None:
        self._kernel = kernel
        self._client = client
        self._probe = probe
        self.component = component
        self._group = group
        self._registrar = Registrar()
        self._informers: dict[str, Informer] = {}
        self._running: set[str] = set()

    def informer(
        self, resource: str, namespace: str = "", fields: str = "", labels: str = ""
    ) -> Informer:
        """The informer of this selection, created on first use. `start` runs it."""
        key = " ".join((resource, namespace, fields, labels))
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(
                self._kernel,
                self._client,
                self._probe,
                resource,
                component=self.component,
                namespace=namespace,
                fields=fields,
                labels=labels,
                registrar=self._registrar,
            )
        owner = self._registrar.owner
        used = self._registrar.used.setdefault(owner, {})
        if key not in used:
            used[key] = informer
            if owner:
                informer.read_by((*informer.readers, owner))
        return informer

    @contextlib.contextmanager
    def registering(self, owner: str) -> Iterator[None]:
        """Everything requested or registered inside belongs to the owner. Must not suspend."""
        before, self._registrar.owner = self._registrar.owner, owner
        try:
            yield
        finally:
            self._registrar.owner = before

    def detach(self, owner: str) -> None:
        """Removes the handlers of an owner that has stopped. The caches stay."""
        for informer in self._registrar.used.pop(owner, {}).values():
            informer.detach(owner)

    @property
    def owner(self) -> str:
        """The owner that is registering at the moment."""
        return self._registrar.owner

    def drop(self, resource: str) -> None:
        """Drops the caches of a resource that is no longer served."""
        for key in [
            key for key, informer in self._informers.items() if informer.resource == resource
        ]:
            self._informers.pop(key).end()
            self._running.discard(key)
            for used in self._registrar.used.values():
                used.pop(key, None)

    def read_by(self, owner: str) -> list[str]:
        """The resources whose caches the owner requested, in that order."""
        used = self._registrar.used.get(owner, {})
        return list(dict.fromkeys(informer.resource for informer in used.values()))

    def handled_by(self, owner: str) -> dict[str, tuple[str, ...]]:
        """The resources with handlers of the owner, each with the events that call them."""
        used = self._registrar.used.get(owner, {}).values()
        return {informer.resource: on for informer in used if (on := informer.handled_by(owner))}

    def start(self) -> None:
        """Starts every informer that is not running yet."""
        for key, informer in self._informers.items():
            if key not in self._running:
                self._running.add(key)
                name = f"{self.component}/informer {informer.resource}"
                self._group.spawn(name, informer.run())

    async def synced(self, owner: str = "") -> None:
        """Waits until every informer (of the owner, if given) has its first list."""
        informers = self._registrar.used.get(owner, {}) if owner else self._informers
        for informer in list(informers.values()):
            await informer.synced.wait()
