"""Rows of storage: volumes, claims, classes, attachments, CSI drivers.

Models the print functions of kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.http.tables import cells
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULTS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_ATTRIBUTES_DEFAULTS = ("volumeattributesclass.alpha.kubernetes.io/is-default-class",)


def volume(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    claim = spec.get("claimRef")
    return [
        cells.name(obj),
        str((spec.get("capacity") or {}).get("storage", "0")),
        _modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if meta.is_deleting(obj) else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj, spec),
        _or_unset(spec, "volumeAttributesClassName"),
        status.get("reason", ""),
        cells.age(obj, now),
        _or_unset(spec, "volumeMode"),
    ]


def claim(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    bound = spec.get("volumeName", "")
    return [
        cells.name(obj),
        "Terminating" if meta.is_deleting(obj) else status.get("phase", ""),
        bound,
        str((status.get("capacity") or {}).get("storage", "0")) if bound else "",
        _modes(status) if bound else "",
        _class(obj, spec),
        _or_unset(spec, "volumeAttributesClassName"),
        cells.age(obj, now),
        _or_unset(spec, "volumeMode"),
    ]


def storage_class(obj: Object, now: int) -> list[Any]:
    return [
        _named(obj, _DEFAULTS),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        cells.age(obj, now),
    ]


def attributes_class(obj: Object, now: int) -> list[Any]:
    return [_named(obj, _ATTRIBUTES_DEFAULTS), obj.get("driverName", ""), cells.age(obj, now)]


def attachment(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    return [
        cells.name(obj),
        spec.get("attacher", ""),
        cells.part(spec, "source").get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool(cells.part(obj, "status").get("attached")),
        cells.age(obj, now),
    ]


def csi_node(obj: Object, now: int) -> list[Any]:
    drivers = cells.part(obj, "spec").get("drivers") or ()
    return [cells.name(obj), len(drivers), cells.age(obj, now)]


def csi_driver(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    tokens = spec.get("tokenRequests")
    required = spec.get("attachRequired")
    return [
        cells.name(obj),
        required is None or bool(required),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        cells.UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        bool(spec.get("requiresRepublish")),
        cells.joined(spec.get("volumeLifecycleModes")),
        cells.age(obj, now),
    ]


def _modes(holder: Object) -> str:
    wanted = holder.get("accessModes") or ()
    return ",".join(short for mode, short in _MODES.items() if mode in wanted)


def _class(obj: Object, spec: Object) -> str:
    annotations = meta.annotations_of(obj)
    if _CLASS in annotations:
        return annotations[_CLASS]
    return str(spec.get("storageClassName") or "")


def _named(obj: Object, defaults: tuple[str, ...]) -> str:
    annotations = meta.annotations_of(obj)
    is_default = any(annotations.get(key) == "true" for key in defaults)
    return f"{cells.name(obj)} (default)" if is_default else cells.name(obj)


def _or_unset(spec: Object, field: str) -> str:
    value = spec.get(field)
    return cells.UNSET if value is None else str(value)
