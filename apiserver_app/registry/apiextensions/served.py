"""Serves custom resources: follows the definitions and keeps the resources, types, strategies and
the watch cache in line with them.

Stored definitions are read before the first request. When a definition's schema changes, the
watches of its resource end and their clients list again.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
customresource_handler.go (createCustomResourceDefinition, getOrCreateServingInfoFor).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from apiserver_app.apiextensions import conversion
from apiserver_app.apiextensions.customtype import CustomType
from apiserver_app.apiextensions.schema import typedschema
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.types.scheme import Types
from apiserver_app.registry.apiextensions.customresource import CustomResourceStrategy
from apiserver_app.registry.strategy import Strategies
from apiserver_app.registry.watchcache import DELETED, Change, Subscription, WatchCache

NAME = "apiextensions-apiserver"


class Definitions:
    """The definitions of one cluster and what they serve."""

    def __init__(
        self,
        resources: Resources,
        types: Types,
        strategies: Strategies,
        cache: WatchCache,
        on_definition: Callable[[], None],
    ) -> None:
        """`on_definition` is called when a definition is created or changed."""
        self._resources = resources
        self._types = types
        self._strategies = strategies
        self._cache = cache
        self._served: dict[str, dict[str, CustomType]] = {}
        self._on_definition = on_definition

    def start(self) -> None:
        """Serves the stored definitions and follows their changes from here on."""
        info = self._resources.by_key.get(customresources.DEFINITIONS)
        if info is None:
            return
        for definition in self._cache.list(customresources.DEFINITIONS):
            self._serve(definition)
        watch = Subscription(NAME, info.storage, info.etcd_prefix(), None, self._hear)
        self._cache.subscribe(watch, None)

    def __len__(self) -> int:
        """The number of definitions, served or not."""
        return len(self._cache.list(customresources.DEFINITIONS))

    def types(self, name: str) -> dict[str, CustomType]:
        """The served versions of a definition."""
        return self._served.get(name, {})

    def _hear(self, kind: str, change: Change, definition: Object) -> None:
        if kind == DELETED:
            self._withdraw(meta.name_of(definition))
            return
        self._serve(definition)
        self._on_definition()

    # -- inside ---------------------------------------------------------------------------------

    def _serve(self, definition: Object) -> None:
        name = meta.name_of(definition)
        known = self._served.get(name)
        if known and _same(next(iter(known.values())).definition, definition):
            for custom in known.values():
                custom.refresh(definition)
            self._resources.generation += 1
            return
        built: tuple[ResourceInfo, ...] = ()
        if not self._overlaps(definition):
            built = customresources.resources(definition)
        if not built:
            self._withdraw(name)
            return
        self._withdraw(name, again=True)
        types = self._compiled(definition)
        self._served[name] = types
        infos = []
        for info in built:
            custom = types[info.version]
            infos.append(custom.info)
            self._strategies[info.gvr] = CustomResourceStrategy(custom)
            self._types.serve(self._schema(custom), custom.decode)
            self._cache.serve(custom.info)
        self._resources.serve(name, tuple(infos))

    def _compiled(self, definition: Object) -> dict[str, CustomType]:
        """Compiles all versions, also stored ones that are not served."""
        types: dict[str, CustomType] = {}
        conversion_spec = definition["spec"].get("conversion") or {}
        webhook = None
        if conversion_spec.get("strategy") == "Webhook":
            webhook = conversion.Webhook(conversion_spec.get("webhook") or {})
        for version in customresources.versions(definition):
            info = customresources.resource(definition, version)
            custom = CustomType(definition, version, info, self._types.metadata, types)
            custom.info = dataclasses.replace(info, custom=custom)
            custom.webhook = webhook
            types[info.version] = custom
        return types

    def _schema(self, custom: CustomType) -> Any:
        return typedschema.schema(
            custom.node,
            custom.info.definition,
            custom.info.kind,
            self._types.metadata_field,
            resets_status=custom.has_status,
        )

    def _withdraw(self, name: str, again: bool = False) -> None:
        types = self._served.pop(name, {})
        if not types:
            return
        for custom in types.values():
            info = custom.info
            self._strategies.pop(info.gvr, None)
            self._types.withdraw(info.definition)
            self._cache.end(info.storage)
        if not again:
            self._resources.serve(name, ())

    def _overlaps(self, definition: Object) -> bool:
        """Whether the server itself serves a group version of the definition."""
        group = definition["spec"]["group"]
        own = {(info.group, info.version) for info in self._resources.built_in}
        return any(
            (group, version["name"]) in own for version in customresources.versions(definition)
        )


def _same(old: Object, new: Object) -> bool:
    """Whether nothing that is compiled differs."""
    names = "acceptedNames"
    return bool(
        old["spec"] == new["spec"]
        and meta.uid_of(old) == meta.uid_of(new)
        and (old.get("status") or {}).get(names) == (new.get("status") or {}).get(names)
        and customresources.is_served(new)
    )
