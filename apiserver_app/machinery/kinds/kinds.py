"""The resources that a version of Kubernetes serves, in discovery order, with an index.

Built once per cluster from `builtin` and `history`; `serve` adds and removes custom resources
behind the built-in ones. Nothing here reads the schemas.

Models kubernetes pkg/controlplane/instance.go (DefaultAPIResourceConfigSource),
pkg/controlplane/apiserver/aggregator.go (group priorities) and api/discovery.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from apiserver_app.machinery.kinds import builtin, customresources, history, runtimeconfig
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

_VERBS_OF = {
    "componentstatuses": ("get", "list"),
    "namespaces": tuple(verb for verb in VERBS if verb != "deletecollection"),
}
# the one whose singular is not its kind in small letters
_SINGULARS = {"endpoints": "endpoints"}


class SubresourceInfo(msgspec.Struct, frozen=True):
    """A subresource: the kind of its body, and its verbs."""

    name: str  # "status"
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Resources:
    """The index of what one version serves."""

    def __init__(self, version: Release, config: RuntimeConfig = ()) -> None:
        self.version = version
        self.config = config
        every = resources(version, config)
        _check_installable(every)
        self.built_in = tuple(info for info in every if not info.is_hidden)
        self._hidden = tuple(info for info in every if info.is_hidden)
        self.all = (*self.built_in, *self._hidden)
        self.generation = 0  # grows whenever what is served changes
        self._custom: dict[str, tuple[ResourceInfo, ...]] = {}
        # GroupResource -> its preferred version
        self.by_key: dict[str, ResourceInfo] = {}
        self._by_path: dict[tuple[str, str, str], ResourceInfo] = {}
        self._by_gvk: dict[tuple[str, str, str], ResourceInfo] = {}
        self._subresources: dict[tuple[str, str, str], tuple[SubresourceInfo, ...]] = {}
        self._subresource: dict[tuple[str, str, str, str], SubresourceInfo] = {}
        self._by_storage: dict[str, ResourceInfo] = {}
        for info in sorted(self.all, key=_is_converted):
            self._index(info)
        for group, api, kind, definition in builtin.BODIES:
            body = ResourceInfo(group, api, kind, "", "", True, (), definition=definition)
            self._by_gvk.setdefault((group, api, kind), body)

    def serve(self, name: str, infos: tuple[ResourceInfo, ...]) -> None:
        """Serves these, the most preferred first, in place of those of definition `name`."""
        for info in self._custom.pop(name, ()):
            self._withdraw(info)
        if infos:
            self._custom[name] = infos
        for info in infos:
            self._index(info)
        custom = [info for served in self._custom.values() for info in served]
        custom.sort(key=_custom_order)
        self.all = (*self.built_in, *self._hidden, *custom)
        self.generation += 1

    def _withdraw(self, info: ResourceInfo) -> None:
        group_version = (info.group, info.version)
        if self.by_key.get(info.key) == info:
            del self.by_key[info.key]
        if self._by_storage.get(info.storage) == info:
            del self._by_storage[info.storage]
        self._by_path.pop((*group_version, info.plural), None)
        self._by_gvk.pop((*group_version, info.kind), None)
        for sub in self._subresources.pop((*group_version, info.plural), ()):
            self._subresource.pop((*group_version, info.plural, sub.name), None)

    def _index(self, info: ResourceInfo) -> None:
        self.by_key.setdefault(info.key, info)
        if not info.is_hidden:
            self._by_path[info.gvr] = info
        self._by_gvk[info.group, info.version, info.kind] = info
        if info.storage:
            self._by_storage.setdefault(info.storage, info)
        subresources = tuple(_subresource(info, name) for name in info.subresources)
        self._subresources[info.gvr] = subresources
        for sub in subresources:
            self._subresource[*info.gvr, sub.name] = sub

    def find(self, group: str, version: str, plural: str) -> ResourceInfo | None:
        """The resource served at `/apis/<group>/<version>/…/<plural>`."""
        return self._by_path.get((group, version, plural))

    def by_gvk(self, group: str, version: str, kind: str) -> ResourceInfo | None:
        """The resource of a kind. Kinds that are only the body of a subresource (Scale, Eviction,
        TokenRequest) have an empty plural."""
        return self._by_gvk.get((group, version, kind))

    def by_storage(self, storage: str) -> ResourceInfo | None:
        """The resource kept under `/registry/<storage>/`, in its preferred version."""
        return self._by_storage.get(storage)

    def subresources(self, info: ResourceInfo) -> tuple[SubresourceInfo, ...]:
        """Its subresources in discovery order."""
        return self._subresources[info.gvr]

    def subresource(self, info: ResourceInfo, name: str) -> SubresourceInfo | None:
        return self._subresource.get((*info.gvr, name))

    def subresource_verbs(self, info: ResourceInfo, name: str) -> tuple[str, ...]:
        """The verbs of a subresource; none if it does not exist."""
        subresource = self._subresource.get((*info.gvr, name))
        return subresource.verbs if subresource else ()

    @property
    def listed(self) -> tuple[ResourceInfo, ...]:
        """The resources that discovery lists."""
        return tuple(
            info
            for info in self.all
            if not info.is_hidden and (info.custom is None or info.custom.listed)
        )

    @property
    def group_versions(self) -> tuple[tuple[str, str], ...]:
        """Served (group, version) pairs, most preferred first."""
        return tuple(dict.fromkeys((info.group, info.version) for info in self.listed))

    def storage_version_hash(self, info: ResourceInfo) -> str:
        """The storageVersionHash of discovery; empty if the resource is not stored."""
        if not info.storage:
            return ""
        stored = self._by_storage.get(info.storage, info)
        version = stored.stored_version or self._written(stored)
        text = f"{stored.group}/{version}/{stored.kind}"
        return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()

    def _written(self, stored: ResourceInfo) -> str:
        """The version a built-in kind is written in."""
        for until, version in builtin.ENCODED.get(stored.key, ()):
            if self.version.minor <= until:
                return version
        return stored.version


class InstallError(ValueError):
    """The server cannot start with these resources; the message is upstream's."""


def _check_installable(every: tuple[ResourceInfo, ...]) -> None:
    """Refuses a group without a version.

    Models staging/src/k8s.io/apiserver/pkg/server/genericapiserver.go (InstallAPIGroups) and
    pkg/controlplane/apiserver/apis.go (InstallAPIs).
    """
    for info in every:
        if not info.version:
            why = f"cannot register handler with an empty version for {info.group}"
            raise InstallError(f"error in registering group versions: {why}")


@functools.lru_cache(maxsize=16)
def resources(version: Release, config: RuntimeConfig = ()) -> tuple[ResourceInfo, ...]:
    """Every built-in resource that version serves, in discovery order; `config` is what
    runtime-config says about it."""
    minor = version.minor
    served = runtimeconfig.served(minor, config)
    infos: list[ResourceInfo] = []
    for versions in history.EVERY:
        single = served.get((versions.group, versions.version))
        if single is None:
            if not versions.inside or minor >= versions.since:
                continue
            single = {}
        if minor > versions.until or (minor < versions.since and not versions.inside):
            continue
        for line in versions.lines.strip().splitlines():
            info = _parse(versions, line, minor)
            if info is not None and single.get(info.plural, single.get("*", True)):
                infos.append(info)
    return tuple(_stored(infos))


def _stored(infos: list[ResourceInfo]) -> Iterator[ResourceInfo]:
    """The resources with their storage version: the most preferred one that components use."""
    hubs: dict[str, ResourceInfo] = {}
    for info in sorted(infos, key=_is_old):
        if info.storage:
            hubs.setdefault(info.storage, info)
    for info in infos:
        hub = hubs.get(info.storage, info)
        if hub is not info:
            key = hub.key if info.group in history.LEFT else ""
            info = dataclasses.replace(info, stored_as=hub.api_version, stored_key=key)
        yield info


def _is_old(info: ResourceInfo) -> bool:
    return info.gvr in history.GONE and info.key not in history.WITHOUT_SUCCESSOR


def _parse(served: builtin.GroupVersion, line: str, minor: int) -> ResourceInfo | None:
    """One line of the table; None when that version does not have the resource."""
    columns = [column.strip() for column in line.split("|")]
    columns += [""] * (7 - len(columns))
    plural, kind, scope, short_names, categories, subresources, range_ = columns
    since, _, until = range_.removeprefix("~").partition("-")
    inside = range_.startswith("~") or (served.inside and not since)
    first = max(served.since, int(since or 0))
    if minor > int(until or 999) or (minor < first and not inside):
        return None
    key = f"{plural}.{served.group}" if served.group else plural
    virtual = kind in builtin.VIRTUAL
    return ResourceInfo(
        group=served.group,
        version=served.version,
        kind=kind,
        plural=plural,
        singular=_SINGULARS.get(plural, kind.lower()),
        namespaced=scope == "ns",
        verbs=("create",) if virtual else _VERBS_OF.get(plural, VERBS),
        short_names=tuple(short_names.split()),
        categories=tuple(categories.split()),
        subresources=_since(subresources, minor),
        storage="" if virtual or kind == "ComponentStatus" else builtin.STORAGE.get(key, plural),
        definition=f"{served.package}.{kind}",
        is_hidden=minor < first,
    )


def _since(names: str, minor: int) -> tuple[str, ...]:
    """Names of subresources; `resize@33` is there from 1.33 on."""
    pairs = [name.partition("@") for name in names.split()]
    return tuple(name for name, _, since in pairs if int(since or 0) <= minor)


def _custom_order(info: ResourceInfo) -> tuple[Any, ...]:
    """By group, then the most preferred version first, then by name."""
    return (info.group, _Descending(customresources.version_rank(info.version)), info.plural)


def _is_converted(info: ResourceInfo) -> bool:
    return bool(info.stored_as)


class _Descending:
    """Reverses the order of a rank."""

    __slots__ = ("rank",)

    def __init__(self, rank: tuple[Any, ...]) -> None:
        self.rank = rank

    def __lt__(self, other: _Descending) -> bool:
        return self.rank > other.rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.rank == other.rank

    def __hash__(self) -> int:
        return hash(self.rank)


def _subresource(info: ResourceInfo, name: str) -> SubresourceInfo:
    table = builtin.SUBRESOURCES
    if info.stored_version:  # a custom resource, whatever it is called
        scale = ("autoscaling", "v1", "Scale") if name == "scale" else None
        shown = scale or (info.group, info.version, info.kind)
        return SubresourceInfo(name, *shown, verbs=("get", "patch", "update"))
    row = table.get(f"{info.plural}/{name}") or table.get(f"*/{name}") or table["*/*"]
    group, version, kind, verbs = row
    if not version:
        group, version = info.group, info.version
    return SubresourceInfo(name, group, version, kind or info.kind, verbs)
