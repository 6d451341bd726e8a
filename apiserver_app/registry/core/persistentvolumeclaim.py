"""The strategy of PersistentVolumeClaims: the spec is immutable except for its size.

Models kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go and
pkg/registry/core/persistentvolumeclaim/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import datasources, resources
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, godiff, objectmeta, selectors

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
CLASS_NOTE = "volume.beta.kubernetes.io/storage-class"
CLASS_NOTE_TEXT = 'deprecated since v1.8; use "storageClassName" attribute instead'
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


class PersistentVolumeClaimStrategy(Strategy):
    def default(self, obj: Object) -> None:
        default(obj)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}
        _prepare(ctx, obj["spec"], {})

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status") or {}
        if obj["spec"] is not old["spec"]:
            _prepare(ctx, obj["spec"], old["spec"])

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        status, before = obj.get("status") or {}, old.get("status") or {}
        for field in ("currentVolumeAttributesClassName", "modifyVolumeStatus"):
            if not has_attributes(ctx) and before.get(field) is None:
                status.pop(field, None)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        validate_spec(obj["spec"], "spec", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        notes, before = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
        note, noted = (notes or {}).get(CLASS_NOTE) or "", (before or {}).get(CLASS_NOTE) or ""
        if obj["spec"] == old["spec"] and note == noted:
            return errs
        validate_spec(obj["spec"], "spec", errs, old["spec"])
        spec = _as_before(obj, old["spec"], noted)
        if not _moves_from_note(obj["spec"], old["spec"], notes or {}, before or {}):
            at = f"metadata.annotations.{CLASS_NOTE}"
            objectmeta.immutable(note, noted, at, errs)
        if spec != old["spec"]:
            text = (
                "spec is immutable after creation except resources.requests and "
                "volumeAttributesClassName for bound claims\n"
                + godiff.of(old["spec"], spec, "core.PersistentVolumeClaimSpec", ctx.version)
            )
            errs.append(errors.forbidden_value("spec", text))
        _shrinks(obj, old["spec"], errs)
        mode = obj["spec"].get("volumeMode")
        objectmeta.immutable(mode, old["spec"].get("volumeMode"), "volumeMode", errs)
        attributes_change(obj["spec"], old["spec"], errs, empty=True)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status = obj.get("status") or {}
        for name, value in (status.get("capacity") or {}).items():
            resources.basic(value, f"status.capacity[{name}]", errs)
        path = "status.allocatedResourceStatus"
        for name, word in (status.get("allocatedResourceStatuses") or {}).items():
            _resource_key(name, path, errs)
            if word not in _RESIZES:
                errs.append(errors.not_supported(path, name, _RESIZES))
        path = "status.allocatedResources"
        for name, value in (status.get("allocatedResources") or {}).items():
            _resource_key(name, path, errs)
            resources.basic(value, f"{path}[{name}]", errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings = []
        if CLASS_NOTE in (obj["metadata"].get("annotations") or {}):
            warnings.append(f"metadata.annotations[{CLASS_NOTE}]: {CLASS_NOTE_TEXT}")
        warn_of_fractions(obj["spec"], "spec", warnings)
        return warnings


def warn_of_fractions(spec: Mapping[str, Any], path: str, warnings: list[str]) -> None:
    """Warns of fractional byte counts in the requests of a claim or of a claim template."""
    amounts = spec.get("resources") or {}
    for kind in ("requests", "limits"):
        at = f"{path}.resources.{kind}"
        resources.fraction_warning(amounts.get(kind) or {}, "storage", at, warnings)


def default(obj: Object) -> None:
    """Sets the defaults, also in a StatefulSet's claim templates."""
    spec: dict[str, Any] = obj.get("spec") or {}
    obj["spec"] = spec
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    amounts: dict[str, Any] = spec.get("resources") or {}
    spec["resources"] = amounts
    for kind in ("limits", "requests"):
        if amounts.get(kind):
            resources.canonicalize(amounts[kind])
    gofields.arrange(spec, "core.v1.PersistentVolumeClaimSpec")
    status: dict[str, Any] = obj.get("status") or {}
    obj["status"] = status
    if not status.get("phase"):
        status["phase"] = "Pending"
        gofields.arrange(status, "core.v1.PersistentVolumeClaimStatus")


def validate_spec(
    spec: Mapping[str, Any], path: str, errs: list[FieldError], before: Mapping[str, Any] = {}
) -> None:
    modes = spec.get("accessModes") or ()
    if not modes:
        text = "at least 1 access mode is required"
        errs.append(errors.required(f"{path}.accessModes", text))
    selectors.validate(spec.get("selector"), f"{path}.selector", errs)
    access_modes(modes, f"{path}.accessModes", errs)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        errs.append(errors.required(f"{path}.resources[storage]"))
    else:
        resources.positive(size, f"{path}.resources[storage]", errs)
    for field in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(field):
            checks.named(spec[field], f"{path}.{field}", names.dns1123_subdomain_errors, errs)
        if field == "storageClassName":
            mode = spec.get("volumeMode")
            if mode is not None and mode not in VOLUME_MODES:
                errs.append(errors.not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
            datasources.validate(spec, path, errs, before)


def validate_template(template: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Validates a pod's ephemeral volume: labels, annotations and a spec, nothing else."""
    template_metadata(template.get("metadata") or {}, path, errs)
    validate_spec(template.get("spec") or {}, f"{path}.spec", errs)


def template_metadata(metadata: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Validates the metadata of a template: labels and annotations only."""
    objectmeta.annotation_errors(
        metadata.get("annotations") or {}, f"{path}.metadata.annotations", errs
    )
    objectmeta.label_errors(metadata.get("labels") or {}, f"{path}.metadata.labels", errs)
    for field in gofields.order("meta.v1.ObjectMeta"):
        if metadata.get(field) and field not in ("annotations", "labels"):
            word = "uID" if field == "uid" else field
            errs.append(errors.forbidden_value(f"{path}.metadata.{word}", "cannot be set"))


def access_modes(modes: Any, path: str, errs: list[FieldError]) -> None:
    for mode in modes:
        if mode not in ACCESS_MODES:
            errs.append(errors.not_supported(path, mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and len(set(modes).intersection(ACCESS_MODES)) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        errs.append(errors.forbidden_value(path, text))


def has_attributes(ctx: Context) -> bool:
    """Whether claims and volumes name a VolumeAttributesClass."""
    return ctx.version.has("VolumeAttributesClass")


def attributes_change(
    spec: Mapping[str, Any],
    before: Mapping[str, Any],
    errs: list[FieldError],
    *,
    empty: bool = False,
) -> None:
    """A VolumeAttributesClass may be replaced but not removed; a claim's may not be emptied."""
    now, then = (holder.get("volumeAttributesClassName") for holder in (spec, before))
    path = "spec.volumeAttributesClassName"
    if then is None or now == then:
        return
    if now is None:
        errs.append(errors.forbidden_value(path, "update from non-nil value to nil is forbidden"))
    elif not now and empty:
        text = "update from non-nil value to an empty string is forbidden"
        errs.append(errors.forbidden_value(path, text))


# -- inside -------------------------------------------------------------------------------------


def _prepare(ctx: Context, spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    field = "volumeAttributesClassName"
    if before.get(field) is None and not has_attributes(ctx):
        spec.pop(field, None)
    datasources.prepare(spec, before)
    gofields.arrange(spec, "core.v1.PersistentVolumeClaimSpec")


def _as_before(obj: Object, before: Mapping[str, Any], noted: str) -> dict[str, Any]:
    """The new spec with every mutable field reset to its old value."""
    spec = dict(obj["spec"])
    if not before.get("volumeName"):
        spec.pop("volumeName", None)
    name = spec.get("storageClassName")
    if before.get("storageClassName") is None and name is not None and noted in ("", name):
        spec.pop("storageClassName")
    if (obj.get("status") or {}).get("phase") == "Bound":
        amounts = dict(spec.get("resources") or {})
        if amounts.get("requests") is not None:
            size = ((before.get("resources") or {}).get("requests") or {}).get("storage")
            amounts["requests"] = {**amounts["requests"], "storage": size}
        spec["resources"] = amounts
        if spec.get("volumeAttributesClassName") is not None:
            spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    return {key: value for key, value in spec.items() if value is not None}


def _moves_from_note(
    spec: Mapping[str, Any],
    before: Mapping[str, Any],
    notes: Mapping[str, str],
    noted: Mapping[str, str],
) -> bool:
    """Whether the update moves the storage class from the annotation to the field."""
    return (
        CLASS_NOTE in noted
        and before.get("storageClassName") is None
        and spec.get("storageClassName") == noted[CLASS_NOTE]
        and notes.get(CLASS_NOTE, noted[CLASS_NOTE]) == noted[CLASS_NOTE]
    )


def _resource_key(name: str, path: str, errs: list[FieldError]) -> None:
    messages = names.qualified_name_errors(name)
    for text in messages:
        errs.append(errors.invalid_value(path, name, text))
    native = "/" not in name or "kubernetes.io/" in name
    if not messages and native and name != "storage":
        errs.append(errors.not_supported(path, name, ("storage",)))


def _shrinks(obj: Object, before: Mapping[str, Any], errs: list[FieldError]) -> None:
    def storage(spec: Mapping[str, Any]) -> int:
        amounts = (spec.get("resources") or {}).get("requests") or {}
        return resources.nano(amounts.get("storage") or 0)

    if storage(obj["spec"]) >= storage(before):
        return
    capacity = ((obj.get("status") or {}).get("capacity") or {}).get("storage") or 0
    if storage(obj["spec"]) <= resources.nano(capacity):
        path, text = "spec.resources.requests.storage", "field can not be less than status.capacity"
        errs.append(errors.forbidden_value(path, text))
