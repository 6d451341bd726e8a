"""Informers of custom resources: one for each definition, for as long as it is established.

A controller that watches every resource gives two callbacks: one for a new informer, one for a
resource that is gone. Upstream asks discovery every thirty seconds; this watches the definitions.

Models kubernetes pkg/controller/garbagecollector/garbagecollector.go (Sync) and
pkg/controller/resourcequota/resource_quota_controller.go (Sync).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import customresources, kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.runtime.informer import Informer, InformerFactory

Appeared = Callable[[ResourceInfo, Informer], None]
Gone = Callable[[ResourceInfo], None]


class CustomResourceInformers:
    """Construct it inside `registering`: later informers are registered for the same owner."""

    def __init__(
        self, informers: InformerFactory, resources: kinds.Resources, appeared: Appeared, gone: Gone
    ) -> None:
        self._informers = informers
        self._resources = resources
        self._appeared = appeared
        self._gone = gone
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
                self._appeared(infos[0], self._informers.informer(infos[0].key))
            self._informers.start()

    def _updated(self, old: Object, definition: Object, revision: int) -> None:
        self._changed(definition, revision)

    def _deleted(self, definition: Object, revision: int) -> None:
        name = meta.name_of(definition)
        self._resources.serve(name, ())
        info = self._known.pop(name, None)
        if info is not None:
            self._gone(info)
            self._informers.drop(info.key)
