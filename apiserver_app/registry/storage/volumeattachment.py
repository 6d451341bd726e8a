"""VolumeAttachments, CSINodes and CSIStorageCapacities: what storage drivers write.

Models kubernetes pkg/apis/storage/validation/validation.go and
pkg/registry/storage/{volumeattachment,csinode,csistoragecapacity}/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import persistentvolume
from apiserver_app.registry.core import resources as amounts
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, gosyntax, nodewarnings, selectors

NODE_ID_LENGTH = 256
ERROR_SIZE, METADATA_SIZE = 1024, 256 * 1024
_IMMUTABLE = "field is immutable"
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


class VolumeAttachmentStrategy(Strategy):
    unconditional_update = False

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        status: dict[str, Any] = obj.get("status") or {}
        obj["status"] = {"attached": False, **status}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"attached": False}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        spec, once = obj["spec"], ctx.version.has("AttachersValidatedOnce")
        errs = self._spec(spec, once)
        if not once:
            checks.csi_driver_name(spec.get("attacher") or "", "spec.attacher", errs)
        name = (spec.get("source") or {}).get("persistentVolumeName")
        if name is not None:
            path = "spec.source.persistentVolumeName"
            checks.named(name, path, names.dns1123_subdomain_errors, errs)
        return errs

    def _spec(self, spec: Mapping[str, Any], once: bool) -> list[FieldError]:
        """Validates what an update validates, too; `once`: the attacher as well."""
        errs: list[FieldError] = []
        attacher, source = spec.get("attacher") or "", spec.get("source") or {}
        if not attacher:
            errs.append(errors.required("spec.attacher"))
        elif once:
            checks.csi_driver_name(attacher, "spec.attacher", errs)
        name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
        if name is None and inline is None:
            errs.append(errors.required("spec.source", _ONE_SOURCE))
        elif name is not None and inline is not None:
            errs.append(errors.forbidden_value("spec.source", _ONE_SOURCE))
        elif name == "":
            text = "must specify non empty persistentVolumeName"
            errs.append(errors.required("spec.source.persistentVolumeName", text))
        if inline is not None and name is None:
            path = "spec.source.inlineVolumeSpec"
            persistentvolume.validate_spec(inline, "", path, errs, inline=True)
        node = spec.get("nodeName") or ""
        checks.named(node, "spec.nodeName", names.dns1123_subdomain_errors, errs)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status = obj.get("status") or {}
        metadata = status.get("attachmentMetadata") or {}
        size = sum(names.size(key) + names.size(value) for key, value in metadata.items())
        if size > METADATA_SIZE:
            errs.append(errors.too_long("status.attachmentMetadata", "", METADATA_SIZE))
        for field in ("attachError", "detachError"):
            _failure(status.get(field) or {}, f"status.{field}", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        spec = obj["spec"]
        source = spec.get("source") or {}
        parts = ", ".join(
            (
                f"Attacher:{errors.go_value(spec.get('attacher') or '')}",
                "Source:storage.VolumeAttachmentSource{PersistentVolumeName:"
                f"{gosyntax.pointer('string', source.get('persistentVolumeName'))}, "
                "InlineVolumeSpec:"
                f"{gosyntax.pointer('core.PersistentVolumeSpec', source.get('inlineVolumeSpec'))}"
                "}",
                f"NodeName:{errors.go_value(spec.get('nodeName') or '')}",
            )
        )
        printed = errors.GoText(f"storage.VolumeAttachmentSpec{{{parts}}}")
        errs = self._spec(spec, ctx.version.has("AttachersValidatedOnce"))
        return [*errs, *errs, errors.invalid_value("spec", printed, _IMMUTABLE)]


class CSINodeStrategy(Strategy):
    unconditional_update = False

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        spec.setdefault("drivers", None)
        for driver in spec["drivers"] or ():
            driver.setdefault("topologyKeys", None)
            gofields.arrange(driver, "storage.v1.CSINodeDriver")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        seen: set[str] = set()
        for index, driver in enumerate(obj["spec"].get("drivers") or ()):
            _driver(driver, seen, f"spec.drivers[{index}]", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = self.validate(ctx, obj)
        now = {driver.get("name"): driver for driver in obj["spec"].get("drivers") or ()}
        is_open = ctx.version.has("MutableCSINodeAllocatableCount")
        fixed = ("name", "nodeID", "topologyKeys", *(() if is_open else ("allocatable",)))
        for before in old["spec"].get("drivers") or ():
            after = now.get(before.get("name"))
            if after is not None and any(after.get(name) != before.get(name) for name in fixed):
                printed = errors.GoText(_driver_text(after))
                errs.append(errors.invalid_value("spec.drivers", printed, _IMMUTABLE))
        return errs


class CSIStorageCapacityStrategy(Strategy):
    unconditional_update = False

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        selectors.validate(obj.get("nodeTopology"), "nodeTopology", errs)
        value = obj.get("storageClassName") or ""
        checks.named(value, "storageClassName", names.dns1123_subdomain_errors, errs)
        capacity = obj.get("capacity")
        if capacity is not None and amounts.nano(capacity) < 0:
            printed = amounts.canonical(capacity)
            errs.append(errors.invalid_value("capacity", printed, checks.NOT_NEGATIVE))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if obj.get("nodeTopology") != old.get("nodeTopology"):
            printed = gosyntax.label_selector(obj.get("nodeTopology"))
            errs.append(errors.invalid_value("nodeTopology", printed, _IMMUTABLE))
        value = obj.get("storageClassName") or ""
        if value != (old.get("storageClassName") or ""):
            errs.append(errors.invalid_value("storageClassName", value, _IMMUTABLE))
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        nodewarnings.selector(obj.get("nodeTopology"), "nodeTopology", warnings)
        return warnings


def _failure(error: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Why a volume is not attached, or still is."""
    if names.size(error.get("message") or "") > ERROR_SIZE:
        # the limit that upstream names is the other one
        errs.append(errors.too_long(f"{path}.message", "", METADATA_SIZE))


def _driver(driver: Mapping[str, Any], seen: set[str], path: str, errs: list[FieldError]) -> None:
    name, identity = driver.get("name") or "", driver.get("nodeID") or ""
    checks.csi_driver_name(name, f"{path}.name", errs)
    if not identity:
        errs.append(errors.required(f"{path}.nodeID"))
    if names.size(identity) > NODE_ID_LENGTH:
        text = f"must be {NODE_ID_LENGTH} characters or less"
        errs.append(errors.invalid_value(f"{path}.nodeID", identity, text))
    count = (driver.get("allocatable") or {}).get("count")
    checks.not_negative(count, f"{path}.allocatable.count", errs)
    if name in seen:
        errs.append(errors.duplicate(f"{path}.name", name))
    seen.add(name)
    keys: set[str] = set()
    for key in driver.get("topologyKeys") or ():
        if not key:
            errs.append(errors.required(path))
        if key in keys:
            errs.append(errors.duplicate(path, key))
        keys.add(key)
        checks.named(key, path, names.qualified_name_errors, errs)


def _driver_text(driver: Mapping[str, Any]) -> str:
    """A storage.CSINodeDriver in Go's syntax."""
    words = ", ".join(
        (
            f"Name:{errors.go_value(driver.get('name') or '')}",
            f"NodeID:{errors.go_value(driver.get('nodeID') or '')}",
            f"TopologyKeys:{errors.go_value(gosyntax.strings(driver.get('topologyKeys')))}",
            "Allocatable:"
            f"{gosyntax.pointer('storage.VolumeNodeResources', driver.get('allocatable'))}",
        )
    )
    return f"storage.CSINodeDriver{{{words}}}"
