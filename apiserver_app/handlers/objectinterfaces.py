"""What admission plugins need of the API server to ask others: its kernel, its way out, its types.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/{interfaces,conversion}.go
(ObjectInterfaces).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import ObjectInterfaces
from apiserver_app.egress.outbound import Outbound
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import typedvalues
from apiserver_app.machinery.types.schema import Field
from apiserver_app.machinery.types.scheme import Types
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.strategy import Strategies


def build(
    kernel: Kernel, outbound: Outbound, resources: Resources, types: Types, strategies: Strategies
) -> ObjectInterfaces:
    """Made once a cluster."""

    def equivalents(info: ResourceInfo, subresource: str) -> tuple[ResourceInfo, ...]:
        """Others that serve what is stored in the same place, as discovery orders them."""
        return tuple(
            other
            for other in resources.all
            if other.storage
            and other.storage == info.storage
            and other != info
            and (not subresource or subresource in other.subresources)
        )

    def kind_of(info: ResourceInfo, subresource: str) -> tuple[str, str, str]:
        served = resources.subresource(info, subresource) if subresource else None
        if served is None:
            return info.group, info.version, info.kind
        return served.group, served.version, served.kind

    def to_version(obj: Object, info: ResourceInfo) -> Object:
        if obj.get("apiVersion") == info.api_version:
            return obj
        asked = resources.by_gvk(*_group_version(obj), str(obj.get("kind", "")))
        stored = convert.to_stored(asked, obj) if asked is not None else obj
        served = convert.to_served(info, stored)
        return served if served is not obj else {**obj, "apiVersion": info.api_version}

    def decode(info: ResourceInfo, subresource: str, obj: Object) -> Object:
        asked = resources.by_gvk(*kind_of(info, subresource))
        made, _ = types.decode((asked or info).definition, obj)
        metadata = made.get("metadata") or {}
        if "creationTimestamp" not in (obj.get("metadata") or {}):
            metadata.pop("creationTimestamp", None)  # the type's null is nobody's change
        if subresource in ("", "status"):
            strategies[info.gvr].default(made)
        return made

    def root(info: ResourceInfo, subresource: str) -> Field:
        asked = resources.by_gvk(*kind_of(info, subresource)) or info
        return typedvalues.root(types.schema(asked.definition))

    return ObjectInterfaces(kernel, outbound, equivalents, kind_of, to_version, decode, root)


def _group_version(obj: Object) -> tuple[str, str]:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return group, version
