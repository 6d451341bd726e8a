"""The APIServices of one cluster as routes: which group versions others serve, and in what order
discovery shows all of them.

It follows the stored objects; who is remote and not available is known from the object's own
condition, as every replica of a real server would know it. What a remote server said it serves is
kept here as well, so that discovery has something to show while that server is away.

Models kubernetes staging/src/k8s.io/kube-aggregator/pkg/apiserver/apiserver.go (AddAPIService),
handler_apis.go, handler_discovery.go and pkg/apis/apiregistration/v1/helper/helpers.go
(SortedByGroupAndVersion).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import msgspec

from apiserver_app.egress.outbound import ServiceTarget
from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.watchcache import DELETED, Change, Subscription, WatchCache

KEY = "apiservices.apiregistration.k8s.io"
OWN_GROUP = "apiregistration.k8s.io"
AGGREGATOR = "kube-aggregator"
CUSTOM_PRIORITIES = (1000, 100)  # of a group and a version of custom resources

GroupVersion = tuple[str, str]


class Remote(msgspec.Struct, frozen=True):
    """An APIService that a Service of the cluster answers for."""

    name: str
    group: str
    version: str
    target: ServiceTarget
    ca_pem: str
    insecure: bool
    available: bool

    @property
    def path(self) -> str:
        """Where its group version begins."""
        return meta.api_root(meta.group_version(self.group, self.version))


class Discovered(msgspec.Struct, frozen=True):
    """What a remote server said when it was asked last."""

    resources: tuple[Object, ...]  # of its APIResourceList
    openapi: bytes = b""  # its document of version 3, if it has one


class Services:
    """The routes of one cluster. `generation` grows whenever discovery would look different."""

    def __init__(
        self, resources: Resources, cache: WatchCache, on_remote: Callable[[], None]
    ) -> None:
        """`on_remote` is called when there is a remote one."""
        self.remote: dict[GroupVersion, Remote] = {}
        self.discovered: dict[str, Discovered] = {}  # by the name of the APIService
        self.generation = 0
        self.is_registered = False  # whether the server's own group versions have their objects
        self._on_remote = on_remote
        self._resources = resources
        self._cache = cache

    def start(self) -> None:
        """Serve what is stored, and follow the objects from here."""
        info = self._resources.by_key.get(KEY)
        if info is None:
            return
        for service in self._cache.list(KEY):
            self._serve(service)
        watch = Subscription(AGGREGATOR, info.storage, info.etcd_prefix(), None, self._hear)
        self._cache.subscribe(watch, None)

    def registered(self) -> None:
        """The server's own group versions have their objects; these decide from here."""
        self.is_registered = True
        self.generation += 1

    def route(self, path: str) -> Remote | None:
        """Who answers for a path, when it is not this process."""
        parts = path.split("/", 4)
        if len(parts) > 3 and parts[1] == "apis":
            return self.remote.get((parts[2], parts[3]))
        if len(parts) > 2 and parts[1] == "api":
            return self.remote.get(("", parts[2]))
        return None

    def keep(self, name: str, errs: Discovered) -> None:
        """What a remote server serves now."""
        if self.discovered.get(name) != errs:
            self.discovered[name] = errs
            self.generation += 1

    @property
    def group_versions(self) -> list[GroupVersion]:
        """What discovery lists, the most preferred first."""
        if not self.is_registered:
            known = list(self._resources.group_versions)
            return [
                *known,
                *(
                    group_version
                    for group_version in sorted(self.remote)
                    if group_version not in known
                ),
            ]
        custom = {(info.group, info.version) for info in self._resources.listed if info.custom}
        priorities = {
            (spec.get("group") or "", spec.get("version") or ""): (
                int(spec.get("groupPriorityMinimum") or 0),
                int(spec.get("versionPriority") or 0),
            )
            for spec in (service["spec"] for service in self._cache.list(KEY))
        }
        served = set(self._resources.group_versions)
        listed = [
            priority for priority in priorities if priority in served or priority in self.remote
        ]
        listed += [
            group_version for group_version in sorted(custom) if group_version not in priorities
        ]
        groups: dict[str, int] = {}
        for group, version in listed:
            least, _ = priorities.get((group, version), CUSTOM_PRIORITIES)
            groups[group] = max(groups.get(group, 0), least)

        def rank(group_version: GroupVersion) -> tuple[Any, ...]:
            _, of_version = priorities.get(group_version, CUSTOM_PRIORITIES)
            return (of_version, customresources.version_rank(group_version[1]))

        listed.sort(key=rank, reverse=True)
        listed.sort(key=lambda group_version: (-groups[group_version[0]], group_version[0]))
        own = [
            group_version
            for group_version in self._resources.group_versions
            if group_version[0] == OWN_GROUP
        ]
        core = [group_version for group_version in listed if not group_version[0]]
        return [
            *core,
            *own,
            *(group_version for group_version in listed if group_version[0] not in ("", OWN_GROUP)),
        ]

    # -- inside ---------------------------------------------------------------------------------

    def _hear(self, kind: str, change: Change, service: Object) -> None:
        self.generation += 1
        if kind == DELETED:
            spec = service.get("spec") or {}
            self.remote.pop((spec.get("group") or "", spec.get("version") or ""), None)
            self.discovered.pop(meta.name_of(service), None)
            return
        self._serve(service)

    def _serve(self, service: Object) -> None:
        spec = service["spec"]
        place = (spec.get("group") or "", spec.get("version") or "")
        reference = spec.get("service")
        if reference is None:
            self.remote.pop(place, None)
            self.discovered.pop(meta.name_of(service), None)
            return
        self.remote[place] = Remote(
            meta.name_of(service),
            *place,
            ServiceTarget(
                reference.get("namespace", ""),
                reference.get("name", ""),
                int(reference.get("port") or 443),
            ),
            _decoded(spec.get("caBundle") or ""),
            bool(spec.get("insecureSkipTLSVerify")),
            is_available(service),
        )
        self._on_remote()


def condition_of(service: Object) -> Object:
    """Its condition Available; empty when nobody has looked yet."""
    return conditions.find(service.get("status"), "Available") or {}


def is_available(service: Object) -> bool:
    return condition_of(service).get("status") == "True"


def _decoded(bundle: str) -> str:
    try:
        return base64.b64decode(bundle).decode()
    except (binascii.Error, UnicodeDecodeError):
        return "(no PEM)"
