"""Which custom resources are served: it follows the definitions and keeps everything that knows
kinds in line with them: resources, types, strategies, watch cache.

Definitions that are stored are read before the first request. A watch of a resource whose
definition changes ends, as its schema is another one; its client lists again.

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
from apiserver_app.registry.strategy import Strategy
from apiserver_app.registry.watchcache import DELETED, Change, Subscription, WatchCache

NAME = "apiextensions-apiserver"

Strategies = dict[tuple[str, str, str], Strategy]


class Definitions:
    """The definitions of one cluster and what they serve."""

    def __init__(
        self, resources: Resources, types: Types, strategies: Strategies, cache: WatchCache
    ) -> None:
        self._resources = resources
        self._types = types
        self._strategies = strategies
        self._cache = cache
        self._served: dict[str, dict[str, CustomType]] = {}
        # told when the first definition is there
        self.on_first: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Serve what is stored, and follow the definitions from here."""
        info = self._resources.by_key.get(customresources.DEFINITIONS)
        if info is None:
            return
        for definition in self._cache.list(customresources.DEFINITIONS):
            self._serve(definition)
        watch = Subscription(NAME, info.storage, info.etcd_prefix(), None, self._hear)
        self._cache.subscribe(watch, None)

    def __len__(self) -> int:
        """How many definitions there are, served or not."""
        return len(self._cache.list(customresources.DEFINITIONS))

    def types(self, name: str) -> dict[str, CustomType]:
        """The served versions of a definition."""
        return self._served.get(name, {})

    def _hear(self, kind: str, change: Change, definition: Object) -> None:
        if kind == DELETED:
            self._withdraw(meta.name_of(definition))
            return
        self._serve(definition)
        self.on_first()

    # -- inside ---------------------------------------------------------------------------------

    def _serve(self, definition: Object) -> None:
        name = meta.name_of(definition)
        known = self._served.get(name)
        if known and _same(next(iter(known.values())).definition, definition):
            for one in known.values():
                one.refresh(definition)
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
            self._strategies[info.group, info.version, info.plural] = CustomResourceStrategy(custom)
            self._types.serve(self._schema(custom), custom.decode)
            self._cache.serve(custom.info)
        self._resources.serve(name, tuple(infos))

    def _compiled(self, definition: Object) -> dict[str, CustomType]:
        """All versions, also those that are stored but not served."""
        types: dict[str, CustomType] = {}
        asked = definition["spec"].get("conversion") or {}
        webhook = None
        if asked.get("strategy") == "Webhook":
            webhook = conversion.Webhook(asked.get("webhook") or {})
        for version in customresources.versions(definition):
            info = customresources.resource(definition, version)
            custom = CustomType(definition, version, info, self._types.metadata, types)
            custom.info = dataclasses.replace(info, custom=custom)
            custom.webhook = webhook
            types[info.version] = custom
        return types

    def _schema(self, custom: CustomType) -> Any:
        return typedschema.schema(
            custom.node, custom.info.definition, custom.info.kind, self._types.metadata_field,
            resets_status=custom.has_status,
        )  # fmt: skip

    def _withdraw(self, name: str, again: bool = False) -> None:
        types = self._served.pop(name, {})
        if not types:
            return
        for custom in types.values():
            info = custom.info
            self._strategies.pop((info.group, info.version, info.plural), None)
            self._types.withdraw(info.definition)
            self._cache.end(info.storage)
        if not again:
            self._resources.serve(name, ())

    def _overlaps(self, definition: Object) -> bool:
        """Group versions that the server itself serves are never asked of definitions."""
        group = definition["spec"]["group"]
        own = {(info.group, info.version) for info in self._resources.built_in}
        return any((group, one["name"]) in own for one in customresources.versions(definition))


def _same(old: Object, new: Object) -> bool:
    """Whether what is compiled of it stays as it is."""
    names = "acceptedNames"
    return bool(
        old["spec"] == new["spec"]
        and meta.uid_of(old) == meta.uid_of(new)
        and (old.get("status") or {}).get(names) == (new.get("status") or {}).get(names)
        and customresources.is_served(new)
    )
