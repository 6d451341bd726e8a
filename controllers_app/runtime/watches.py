"""The declarations of what a controller watches and which keys the changes enqueue.

The runtime turns a controller's declaration into informers, indexes and handlers:

    watches = (
        For("replicasets.apps"),                    # what it reconciles: the object's own key
        Owns("pods", "ReplicaSet"),                 # their children: the key of the controller
        Watches("nodes", on=DELETED, keys=...),     # anything else: keys from a function
        Reads("namespaces"),                        # a cache for look-ups: no keys
    )

`on` filters by event, `when` by object, `changed` by update; `after` delays the key, in seconds.
`keys` is a function of the controller and the object. Handlers run in the informer's task and must
not suspend.

Models controller-runtime pkg/builder/controller.go (For, Owns, Watches) and pkg/predicate, and
kubernetes pkg/controller/replicaset/replica_set.go (addPod, updatePod, deletePod).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime import indexes
from controllers_app.runtime.customresources import CustomResourceInformers
from controllers_app.runtime.expectations import Expectations
from controllers_app.runtime.informer import Informer, InformerFactory, OnAdd, OnDelete, OnUpdate
from controllers_app.runtime.workqueue import WorkQueue


class On(enum.Flag):
    """The kind of a watch event."""

    ADDED = enum.auto()
    UPDATED = enum.auto()
    DELETED = enum.auto()


ADDED, UPDATED, DELETED = On.ADDED, On.UPDATED, On.DELETED

SelectorOf = Callable[[Object], labels.Selector]
Handlers = tuple[OnAdd | None, OnUpdate | None, OnDelete | None]


class Watcher(Protocol):
    """The part of a controller that its declarations use."""

    watches: tuple[Watch, ...]
    queue: WorkQueue
    expectations: Expectations
    caches: dict[str, Informer]
    every: dict[str, Informer]

    @property
    def resources(self) -> kinds.Resources: ...


def label_selector(owner: Object) -> labels.Selector:
    """The `spec.selector` of an object, a LabelSelector."""
    return labels.from_label_selector(owner["spec"].get("selector"))


@dataclass(frozen=True)
class Reads:
    """A cache for look-ups; its changes enqueue no keys.

    An `optional` resource gets no cache if the API server does not serve it.
    """

    resource: str
    index: indexes.NamedIndex | None = field(default=None, kw_only=True)
    optional: bool = field(default=False, kw_only=True)
    enqueues: ClassVar[str] = ""  # whose keys, in a word for the trace

    def handlers(self, controller: Watcher) -> Handlers:
        return None, None, None


@dataclass(frozen=True)
class Filtered(Reads):
    """Base of watches that choose which events enqueue keys, and after which delay."""

    on: On = field(default=ADDED | UPDATED | DELETED, kw_only=True)
    when: Callable[[Object], Any] | None = field(default=None, kw_only=True)
    changed: Callable[[Object, Object], bool] | None = field(default=None, kw_only=True)
    after: float = field(default=0.0, kw_only=True)
    background: bool | None = field(default=None, kw_only=True)

    def filtered(self, controller: Watcher, keys: Callable[[Object], Iterable[str]]) -> Handlers:
        """Handlers that enqueue the keys of an object's new state."""
        when, changed = self.when, self.changed
        add = _adding(controller.queue, self.after, self.background)

        def enqueue(obj: Object, revision: int) -> None:
            if when is None or when(obj):
                for key in keys(obj):
                    add(key, revision)

        def update(old: Object, obj: Object, revision: int) -> None:
            if changed is None or changed(old, obj):
                enqueue(obj, revision)

        return (
            enqueue if ADDED in self.on else None,
            update if UPDATED in self.on else None,
            enqueue if DELETED in self.on else None,
        )


def _adding(
    queue: WorkQueue, after: float, background: bool | None = None
) -> Callable[[str, int], None]:
    """How a key is added after so many seconds."""
    if not after:
        return queue.add

    def add(key: str, revision: int) -> None:
        queue.add_after(key, after, revision, background=background)

    return add


@dataclass(frozen=True)
class For(Filtered):
    """The objects that the controller reconciles. The key is `namespace/name`, or `name`."""

    enqueues: ClassVar[str] = "own"

    def handlers(self, controller: Watcher) -> Handlers:
        on_add, on_update, on_delete = self.filtered(controller, lambda obj: (meta.key_of(obj),))
        if on_delete is None or not any(isinstance(watch, Owns) for watch in controller.watches):
            return on_add, on_update, on_delete
        expectations, queue = controller.expectations, controller.queue

        def deleted(obj: Object, revision: int) -> None:
            key = meta.key_of(obj)
            expectations.forget(key)
            queue.add(key, revision)

        return on_add, on_update, deleted


@dataclass(frozen=True)
class Watches(Filtered):
    """Related objects: `keys` returns the keys that a change of the object enqueues.

    For updates `update_keys`, if given, is called instead, with the old and the new object.
    """

    enqueues: ClassVar[str] = "related"
    keys: Callable[[Any, Object], Iterable[str]] = field(kw_only=True)
    update_keys: Callable[[Any, Object, Object], Iterable[str]] | None = field(
        default=None, kw_only=True
    )

    def handlers(self, controller: Watcher) -> Handlers:
        keys, update_keys, queue = self.keys, self.update_keys, controller.queue
        on_add, on_update, on_delete = self.filtered(controller, lambda obj: keys(controller, obj))
        if update_keys is None:
            return on_add, on_update, on_delete

        def updated(old: Object, obj: Object, revision: int) -> None:
            for key in update_keys(controller, old, obj):
                queue.add(key, revision)

        return on_add, updated, on_delete


@dataclass(frozen=True)
class Owns(Reads):
    """Children of the reconciled objects, which are of `kind`.

    A change enqueues the key of the controlling object, or for an orphan the keys of all objects
    whose `selector` matches it (None: they adopt nothing), `after` some seconds. Expected creations
    and deletions are marked as observed.
    """

    enqueues: ClassVar[str] = "owner"
    kind: str
    selector: SelectorOf | None = field(default=label_selector, kw_only=True)
    after: float = field(default=0.0, kw_only=True)

    def handlers(self, controller: Watcher) -> Handlers:
        owned = _Owned(controller, self)
        return owned.added, owned.updated, owned.deleted


class _Owned:
    """The handlers of an `Owns`."""

    def __init__(self, controller: Watcher, watch: Owns) -> None:
        self._add = _adding(controller.queue, watch.after)
        self._expectations = controller.expectations
        self._owners = controller.caches[reconciled(controller)]
        self._kind = watch.kind
        self._selector_of = watch.selector

    def added(self, obj: Object, revision: int) -> None:
        if meta.is_deleting(obj):
            self.deleted(obj, revision)
            return
        if meta.controller_of(obj) is None:
            self._wake_adopters(obj, revision)
            return
        key = owner_key(obj, self._kind, self._owners)
        if key:
            self._expectations.creation_observed(key)
            self._add(key, revision)

    def updated(self, old: Object, obj: Object, revision: int) -> None:
        if meta.is_deleting(obj):
            self.deleted(obj, revision)
            return
        controller = before = meta.controller_of(obj)
        if old["metadata"].get("ownerReferences") != obj["metadata"].get("ownerReferences"):
            before = meta.controller_of(old)
            if before is not None and before != controller:
                self._wake_owner(old, revision)
        if controller is not None:
            self._wake_owner(obj, revision)
        elif before is not None or meta.labels_of(old) != meta.labels_of(obj):
            self._wake_adopters(obj, revision)

    def deleted(self, obj: Object, revision: int) -> None:
        key = owner_key(obj, self._kind, self._owners)
        if key:
            self._expectations.deletion_observed(key, meta.uid_of(obj))
            self._add(key, revision)

    def _wake_owner(self, obj: Object, revision: int) -> None:
        key = owner_key(obj, self._kind, self._owners)
        if key:
            self._add(key, revision)

    def _wake_adopters(self, obj: Object, revision: int) -> None:
        if self._selector_of is None or not meta.labels_of(obj):
            return
        for key in selecting(self._owners, obj, self._selector_of):
            self._add(key, revision)


@dataclass(frozen=True)
class Every:
    """All served resources that `select` chooses, built-in and custom.

    The functions get the controller, the resource and the object (for updates the old and the new
    one). The caches are in the controller's `every`.
    """

    enqueues: ClassVar[str] = "related"
    select: Callable[[Sequence[ResourceInfo]], Sequence[ResourceInfo]]
    index: indexes.NamedIndex = field(kw_only=True)
    add_keys: Callable[[Any, str, Object], Iterable[str]] = field(kw_only=True)
    update_keys: Callable[[Any, str, Object, Object], Iterable[str]] = field(kw_only=True)
    delete_keys: Callable[[Any, str, Object], Iterable[str]] = field(kw_only=True)

    def register(self, controller: Watcher, informers: InformerFactory) -> None:
        """Watches the built-in resources, and custom resources as they appear and disappear."""

        def appear(info: ResourceInfo, cache: Informer) -> None:
            if self.select((info,)):
                self._follow(controller, info.key, cache)

        def disappear(info: ResourceInfo) -> None:
            controller.every.pop(info.key, None)

        for info in self.select(controller.resources.all):
            self._follow(controller, info.key, informers.informer(info.key))
        CustomResourceInformers(informers, controller.resources, appear, disappear)

    def _follow(self, controller: Watcher, resource: str, cache: Informer) -> None:
        add, add_keys, update_keys = controller.queue.add, self.add_keys, self.update_keys
        delete_keys = self.delete_keys

        def added(obj: Object, revision: int) -> None:
            for key in add_keys(controller, resource, obj):
                add(key, revision)

        def updated(old: Object, obj: Object, revision: int) -> None:
            for key in update_keys(controller, resource, old, obj):
                add(key, revision)

        def deleted(obj: Object, revision: int) -> None:
            for key in delete_keys(controller, resource, obj):
                add(key, revision)

        controller.every[resource] = cache.index(*self.index)
        cache.handle(added, updated, deleted)


Watch = Reads | Every


def caches(controller: Watcher, informers: InformerFactory) -> dict[str, Informer]:
    """Returns the informers of the declared resources, with the indexes they need."""
    informers_by_resource: dict[str, Informer] = {}
    for watch in controller.watches:
        if isinstance(watch, Every):
            continue
        if watch.optional and watch.resource not in controller.resources.by_key:
            continue
        cache = informers_by_resource[watch.resource] = informers.informer(watch.resource)
        if watch.index is not None:
            cache.index(*watch.index)
        if isinstance(watch, Owns):
            cache.index(*indexes.BY_CONTROLLER)
    return informers_by_resource


def register(controller: Watcher, informers: InformerFactory) -> None:
    """Registers the handlers of each declared resource, in the order of declaration."""
    by_resource: dict[str, list[Handlers]] = {}
    for watch in controller.watches:
        if isinstance(watch, Every):
            continue
        if isinstance(watch, Owns) and watch.selector is not None:
            controller.caches[reconciled(controller)].index(*indexes.BY_NAMESPACE)
        if watch.resource in controller.caches and type(watch) is not Reads:
            by_resource.setdefault(watch.resource, []).append(watch.handlers(controller))
    for resource, handlers in by_resource.items():
        adds, updates, deletes = zip(*handlers, strict=True)
        controller.caches[resource].handle(_joined(adds), _joined(updates), _joined(deletes))
    for watch in controller.watches:
        if isinstance(watch, Every):
            watch.register(controller, informers)


def enqueued(controller: Watcher) -> dict[str, str]:
    """Whose keys the handlers of a resource enqueue: the object's `own`, its `owner`'s, or those of
    `related` objects."""
    keys: dict[str, str] = {}
    for watch in controller.watches:
        if isinstance(watch, Every):
            keys |= dict.fromkeys(controller.every, watch.enqueues)
        elif watch.enqueues:
            keys.setdefault(watch.resource, watch.enqueues)
    return keys


def reconciled(controller: Watcher) -> str:
    """The resource of the first `For`; empty if there is none."""
    return next((watch.resource for watch in controller.watches if isinstance(watch, For)), "")


def owner_key(obj: Object, kind: str, owners: Informer) -> str:
    """The key of the object's controller if it has that kind and still exists; else empty."""
    controller = meta.controller_of(obj)
    if controller is None or controller["kind"] != kind:
        return ""
    key = f"{meta.namespace_of(obj)}/{controller['name']}"
    owner = owners.get(key)
    return key if owner is not None and meta.uid_of(owner) == controller["uid"] else ""


def selecting(owners: Informer, obj: Object, selector_of: SelectorOf = label_selector) -> list[str]:
    """The keys of the owners in the object's namespace whose selector matches its labels."""
    object_labels = meta.labels_of(obj)
    return [
        key
        for key, owner in sorted(owners.by("namespace", meta.namespace_of(obj)).items())
        if selector_of(owner).matches(object_labels)
    ]


def own_key(controller: Any, obj: Object) -> tuple[str]:
    """The key of the reconciled object that has the same namespace and name."""
    return (meta.key_of(obj),)


def _joined(handlers: Sequence[Any]) -> Any:
    """Combines handlers into one that calls all of them; None if there are none."""
    present = [handler for handler in handlers if handler is not None]
    if len(present) < 2:
        return present[0] if present else None

    def call(*args: Any) -> None:
        for handler in present:
            handler(*args)

    return call
