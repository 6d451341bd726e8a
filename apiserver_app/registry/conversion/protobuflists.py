"""Drops empty lists, as etcd's protobuf encoding does: they read back as null.

Built-in kinds are stored as protobuf, which cannot tell an empty list from a missing one. Custom
resources, their definitions and APIServices are stored as JSON.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/runtime/serializer/protobuf.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.meta import Object, ResourceInfo

MARK = b":[]"
_AS_JSON = ("apiextensions.k8s.io", "apiregistration.k8s.io")
# fields of any content: of devices, and of ControllerRevisions, which have nothing else
_RAW = ("parameters",)


def without(info: ResourceInfo, obj: Object) -> Object:
    """The object as it reads back, if its bytes contain MARK. Never changes its argument."""
    if info.custom is not None or info.group in _AS_JSON or info.kind == "ControllerRevision":
        return obj
    return {name: _without(name, value) for name, value in obj.items()}


def _without(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        if name in _RAW:
            return value
        return {key: _without(key, inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_without("", item) for item in value] or None
    return value
