"""Informers of custom resources: one per established CustomResourceDefinition.

A controller that watches every resource passes two callbacks: one for a new informer, one for a
removed resource. Upstream polls discovery every 30 seconds; this watches the definitions.

Models kubernetes pkg/controller/garbagecollector/garbagecollector.go (Sync) and
pkg/controller/resourcequota/resource_quota_controller.go (Sync).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import customresources, kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.runtime.informer import Informer, InformerFactory

Added = Callable[[ResourceInfo, Informer], None]
Removed = Callable[[ResourceInfo], None]


class CustomResourceInformers:
    """Construct it inside `registering`: informers started later get the same owner."""

    def __init__(
        self, informers: InformerFactory, resources: kinds.Resources, added: Added, removed: Removed
    ) -> None:
        self._informers = informers
        self._resources = resources
        self._added = added
        self._removed = removed
        self._owner = informers.owner
        self._known: dict[str, ResourceInfo] = {}
        definitions = informers.informer(customresources.DEFINITIONS)
        definitions.handle(self._changed, self._updated, self._deleted)

    def _changed(self, definition: Object, revision: int) -> None:
        name = meta.name_of(definition)
        infos: tuple[ResourceInfo, ...] = ()
        if customresources.is_true(definition, "Established"):
            infos = customresources.resources(definition)
        self._resources.serve(name, infos)
        if infos and name not in self._known:
            self._known[name] = infos[0]
            with self._informers.registering(self._owner):
                self._added(infos[0], self._informers.informer(infos[0].key))
            self._informers.start()

    def _updated(self, old: Object, definition: Object, revision: int) -> None:
        self._changed(definition, revision)

    def _deleted(self, definition: Object, revision: int) -> None:
        name = meta.name_of(definition)
        self._resources.serve(name, ())
        info = self._known.pop(name, None)
        if info is not None:
            self._removed(info)
            self._informers.drop(info.key)
