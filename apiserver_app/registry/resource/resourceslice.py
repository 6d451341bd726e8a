"""DeviceClasses and ResourceSlices: kinds of devices, and the devices that drivers publish.

Models kubernetes pkg/apis/resource/validation/validation.go,
pkg/apis/resource/v1/conversion.go (fields that select) and
pkg/registry/resource/{deviceclass,resourceslice}/strategy.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core.pod import scheduling
from apiserver_app.registry.resource import devicenames, deviceversions
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta

Part = Mapping[str, Any]

DEVICES_MAX = 128
ATTRIBUTES_MAX = 32
VALUE_MAX = 64
_NUMBER = r"(?:0|[1-9]\d*)"
_PRE = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_is_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
).fullmatch
_SELECTIONS = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE = f"exactly one of {', '.join(f'`{name}`' for name in _SELECTIONS)} is required"
_VALUES = ("bool", "int", "string", "version", "bools", "ints", "strings", "versions")


class DeviceClassStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        devicenames.selectors(spec.get("selectors") or (), "spec.selectors", ctx.version, errs)
        configs = spec.get("config") or ()
        if devicenames.within(configs, devicenames.LIST_MAX, "spec.config", errs):
            for index, config in enumerate(configs):
                devicenames.opaque(config, f"spec.config[{index}]", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return [] if obj["spec"] == old["spec"] else self.validate(ctx, obj)


class ResourceSliceStrategy(Strategy):
    counts_generation = True
    selects_namespace = False
    selectable = ("spec.nodeName", "spec.driver")

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        later = deviceversions.newer(obj, "") if self.info.version == "v1beta1" else obj
        spec = later["spec"]
        checks.csi_driver_name(spec.get("driver") or "", "spec.driver", errs)
        _pool(spec.get("pool") or {}, "spec.pool", errs)
        _where(spec, "spec", errs)
        devices = spec.get("devices") or ()
        if devicenames.within(devices, DEVICES_MAX, "spec.devices", errs):
            for index, device in enumerate(devices):
                _device(device, f"spec.devices[{index}]", errs)
            keys = [device.get("name") or "" for device in devices]
            devicenames.distinct(keys, "spec.devices", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        errs = self.validate(ctx, obj)
        spec, before = obj["spec"], old["spec"]
        now, then = ((each.get("pool") or {}).get("name") or "" for each in (spec, before))
        objectmeta.immutable(now, then, "spec.pool.name", errs)
        for field in ("driver", "nodeName"):
            now, then = (each.get(field) or "" for each in (spec, before))
            objectmeta.immutable(now, then, f"spec.{field}", errs)
        return errs

    def field_refusal(self, path: str) -> str:
        if path == "metadata.name" or path in self.selectable:
            return ""
        kind = f"{self.info.group}/{self.info.version}, Kind={self.info.kind}"
        return f"field label not supported for {kind}: {path}"


def _pool(pool: Part, path: str, errs: list[FieldError]) -> None:
    devicenames.pool(pool.get("name") or "", f"{path}.name", errs)
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        at, text = f"{path}.resourceSliceCount", "must be greater than zero"
        errs.append(errors.invalid_value(at, count, text))
    if generation < 0:
        at, text = f"{path}.generation", "must be greater than or equal to zero"
        errs.append(errors.invalid_value(at, generation, text))


def _where(spec: Part, path: str, errs: list[FieldError]) -> None:
    """On which nodes the devices are: one way of saying so."""
    given = []
    node = spec.get("nodeName")
    if node:
        given.append("nodeName")
        checks.named(node, f"{path}.nodeName", names.dns1123_subdomain_errors, errs)
    elif node is not None:
        text = "must be either unset or set to a non-empty string"
        errs.append(errors.invalid_value(f"{path}.nodeName", node, text))
    selector = spec.get("nodeSelector")
    if selector is not None:
        given.append("nodeSelector")
        scheduling.node_selector(selector, f"{path}.nodeSelector", errs)
        terms = selector.get("nodeSelectorTerms") or ()
        if len(terms) != 1:
            at, text = (
                f"{path}.nodeSelector.nodeSelectorTerms",
                "must have exactly one node selector term",
            )
            printed = errors.GoText("[]core.NodeSelectorTerm{...}")
            errs.append(errors.invalid_value(at, printed, text))
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field):
            given.append(field)
        elif spec.get(field) is not None:
            text = "must be either unset or set to true"
            errs.append(errors.invalid_value(f"{path}.{field}", False, text))
    if not given:
        errs.append(errors.required(path, _ONE))
    elif len(given) > 1:
        fields = "{" + ", ".join(f"`{name}`" for name in given) + "}"
        text = f"{_ONE}, but multiple fields are set"
        errs.append(errors.invalid_value(path, fields, text))


def _device(device: Part, path: str, errs: list[FieldError]) -> None:
    name = device.get("name") or ""
    checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    count = len(attributes) + len(capacity)
    if count > ATTRIBUTES_MAX:
        text = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_MAX}"
        errs.append(errors.invalid_value(path, count, text))
    for key, value in attributes.items():
        devicenames.qualified(key, f"{path}.attributes", errs)
        _attribute(value or {}, f"{path}.attributes[{key}]", errs)
    for key in capacity:
        devicenames.qualified(key, f"{path}.capacity", errs)


def _attribute(value: Part, path: str, errs: list[FieldError]) -> None:
    text = value.get("string")
    if text is not None and names.size(text) > VALUE_MAX:
        errs.append(errors.too_long(f"{path}.string", "", VALUE_MAX))
    version = value.get("version")
    if version is not None:
        at = f"{path}.version"
        if not _is_version(version):
            message = "must be a string compatible with semver.org spec 2.0.0"
            errs.append(errors.invalid_value(at, version, message))
        if names.size(version) > VALUE_MAX:
            errs.append(errors.too_long(at, "", VALUE_MAX))
    given = [kind for kind in _VALUES if value.get(kind) is not None]
    if len(given) != 1:
        printed: Any = errors.GoText("resource.DeviceAttribute{...}") if given else ""
        errs.append(errors.invalid_value(path, printed, "exactly one value must be specified"))
