"""Types and helpers for every object and request: resources, users, credentials, metadata, time.

Plain values only. Objects are dicts that are never changed once stored or handed out: copy the
path you change (`with_path`).

Models kubernetes staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 and pkg/runtime/schema.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

Object = dict[str, Any]

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Custom(Protocol):
    """One version of a custom resource, compiled from its definition."""

    warnings: tuple[str, ...]  # sent with every answer
    listed: bool  # whether discovery lists it
    scale: Object | None  # the paths of its scale subresource
    columns: Sequence[Object]  # its additionalPrinterColumns
    source: Mapping[str, Any]  # its schema
    webhook: Any  # the conversion webhook; None when no conversion is needed

    @property
    def verbs(self) -> tuple[str, ...]: ...

    def check(self, verb: str) -> None: ...

    def settled_at(self) -> int: ...

    def to_served(self, stored: Object) -> Object: ...

    def to_stored(self, obj: Object) -> Object: ...


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """A served resource in one version: its discovery data and where it is stored."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    # names of its subresources: ("status", "scale", ...)
    subresources: tuple[str, ...] = ()
    # path below /registry, e.g. "pods", "minions", "services/specs"
    storage: str = ""
    # definition name in the official schema, e.g. "io.k8s.api.core.v1.Pod"
    definition: str = ""
    # apiVersion in which objects are stored, when it differs from the served one
    stored_as: str = ""
    # GroupResource under which objects are stored, when an old version serves them in another group
    stored_key: str = ""
    # not yet served in this version: only the cluster's own components use it
    is_hidden: bool = False
    # custom resources only: the list kind, the storage version, the compiled version
    list_kind: str = ""
    stored_version: str = ""
    custom: Custom | None = field(default=None, compare=False, repr=False)

    # GroupResource: `deployments.apps`, `pods`
    key: str = field(init=False, compare=False, repr=False)
    # the key of the strategy: that of the resource it is stored as
    hub: str = field(init=False, compare=False, repr=False)
    # GroupVersionResource
    gvr: tuple[str, str, str] = field(init=False, compare=False, repr=False)
    # as objects name its group version: `apps/v1`, `v1`
    api_version: str = field(init=False, compare=False, repr=False)
    # where its group version is served: `/apis/apps/v1`, `/api/v1`
    root: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        key = f"{self.plural}.{self.group}" if self.group else self.plural
        api_version = group_version(self.group, self.version)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "hub", self.stored_key or key)
        object.__setattr__(self, "gvr", (self.group, self.version, self.plural))
        object.__setattr__(self, "api_version", api_version)
        object.__setattr__(self, "root", api_root(api_version))

    def etcd_key(self, namespace: str, name: str) -> str:
        if self.namespaced:
            return f"/registry/{self.storage}/{namespace}/{name}"
        return f"/registry/{self.storage}/{name}"

    def etcd_prefix(self, namespace: str = "") -> str:
        if self.namespaced and namespace:
            return f"/registry/{self.storage}/{namespace}/"
        return f"/registry/{self.storage}/"


@dataclass(frozen=True, slots=True)
class User:
    """The authenticated user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    def info(self) -> Object:
        """The UserInfo of authentication.k8s.io; empty fields are absent."""
        out: Object = {"username": self.name}
        if self.uid:
            out["uid"] = self.uid
        if self.groups:
            out["groups"] = list(self.groups)
        if self.extra:
            out["extra"] = {key: list(values) for key, values in sorted(self.extra.items())}
        return out


class TlsPeer(msgspec.Struct, frozen=True):
    """The client certificate of a connection. `error` is set when verification failed."""

    common_name: str = ""
    organizations: tuple[str, ...] = ()
    issuer: str = ""
    error: str = ""
    fingerprint: str = ""  # SHA-256 of the certificate in hex
    chain: tuple[bytes, ...] = ()  # DER, as received; empty inside the cluster


class Credential(msgspec.Struct, frozen=True):
    """The credentials of a request, not yet verified."""

    bearer: str = ""
    basic: str = ""
    tls: TlsPeer | None = None
    # Impersonate-* and X-Remote-* headers, lower-case name -> values
    headers: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    # Sec-WebSocket-Protocol of an upgrade: browsers send a token there
    protocols: tuple[str, ...] = ()


def group_version(group: str, version: str) -> str:
    """What objects have as apiVersion: the core group has no name."""
    return f"{group}/{version}" if group else version


def api_root(api_version: str) -> str:
    """The path below which a group version is served."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def name_of(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("name", ""))


def namespace_of(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("namespace", ""))


def uid_of(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("uid", ""))


def labels_of(obj: Object) -> dict[str, str]:
    return obj.get("metadata", {}).get("labels") or {}


def annotations_of(obj: Object) -> dict[str, str]:
    return obj.get("metadata", {}).get("annotations") or {}


def revision_of(obj: Object) -> int:
    """The resourceVersion as a number; 0 when there is none."""
    return int(obj.get("metadata", {}).get("resourceVersion") or 0)


def key_of(obj: Object) -> str:
    """`namespace/name`, or `name` for a cluster-scoped object: the work queue's key."""
    namespace = namespace_of(obj)
    return f"{namespace}/{name_of(obj)}" if namespace else name_of(obj)


def split_key(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name


def controller_of(obj: Object) -> Object | None:
    """The owner reference with `controller: true`, if any (GetControllerOf)."""
    for owner in obj.get("metadata", {}).get("ownerReferences") or ():
        if owner.get("controller"):
            return owner  # type: ignore[no-any-return]
    return None


def is_deleting(obj: Object) -> bool:
    return bool(obj.get("metadata", {}).get("deletionTimestamp"))


def with_path(obj: Object, path: Sequence[str], value: Any) -> Object:
    """A copy of obj with the value at path set; only the dicts along the path are copied."""
    out = dict(obj)
    target = out
    for step in path[:-1]:
        target[step] = dict(target.get(step) or {})
        target = target[step]
    target[path[-1]] = value
    return out


def without_path(obj: Object, path: Sequence[str]) -> Object:
    """A copy of obj without the value at path; obj itself when there is none."""
    parent: Any = obj
    for step in path[:-1]:
        parent = parent.get(step) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or path[-1] not in parent:
        return obj
    out = dict(obj)
    target = out
    for step in path[:-1]:
        target[step] = dict(target[step])
        target = target[step]
    del target[path[-1]]
    return out


def rfc3339(micros: int) -> str:
    """metav1.Time: whole seconds. `micros` counts from 1970."""
    return _seconds_text(micros // 1_000_000)


@functools.lru_cache(1024)
def _seconds_text(seconds: int) -> str:
    moment = EPOCH + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(micros: int) -> str:
    """metav1.MicroTime: six digits of a second."""
    seconds, rest = divmod(micros, 1_000_000)
    return f"{_seconds_text(seconds)[:-1]}.{rest:06d}Z"


def parse_time(text: str) -> int:
    """Microseconds since 1970 of an RFC 3339 time."""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    delta = moment - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
