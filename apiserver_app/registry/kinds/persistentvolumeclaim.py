"""PersistentVolumeClaims: what is asked of a volume; fixed once asked, but for its size.

Models kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go and
pkg/registry/core/persistentvolumeclaim/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.kinds import checks, godiff, gosyntax, resources, selectors
from apiserver_app.registry.strategy import Context, Strategy

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_SPEC = (
    "accessModes", "selector", "resources", "volumeName", "storageClassName", "volumeMode",
    "dataSource", "dataSourceRef", "volumeAttributesClassName",
)  # fmt: skip
_STATUS = (
    "phase", "accessModes", "capacity", "conditions", "allocatedResources",
    "allocatedResourceStatuses",
)  # fmt: skip


class PersistentVolumeClaimStrategy(Strategy):
    def default(self, obj: Object) -> None:
        default(obj)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        validate_spec(obj["spec"], "spec", found)
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        found = self.validate(ctx, obj)
        munged = dict(spec)
        if not before.get("volumeName"):
            munged.pop("volumeName", None)
        if before.get("storageClassName") is None and spec.get("storageClassName") is not None:
            munged.pop("storageClassName", None)
        if (obj.get("status") or {}).get("phase") == "Bound":
            munged["resources"] = before.get("resources")
            if spec.get("volumeAttributesClassName") is not None:
                munged["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        munged = {key: value for key, value in munged.items() if value is not None}
        if munged != before:
            text = (
                "spec is immutable after creation except resources.requests and "
                "volumeAttributesClassName for bound claims\n"
                + godiff.of(before, munged, "core.PersistentVolumeClaimSpec", ctx.version)
            )
            found.append(errors.forbidden_value("spec", text))
        _shrinks(obj, before, found)
        return found


def default(obj: Object) -> None:
    """Also for the templates in a StatefulSet."""
    spec: dict[str, Any] = obj.get("spec") or {}
    obj["spec"] = spec
    if not spec.get("volumeMode"):
        spec["volumeMode"] = "Filesystem"
    amounts: dict[str, Any] = spec.get("resources") or {}
    spec["resources"] = amounts
    for kind in ("limits", "requests"):
        if amounts.get(kind):
            resources.canonicalize(amounts[kind])
    gosyntax.arrange(spec, _SPEC)
    status: dict[str, Any] = obj.get("status") or {}
    obj["status"] = status
    if not status.get("phase"):
        status["phase"] = "Pending"
        gosyntax.arrange(status, _STATUS)


def validate_spec(spec: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    modes = spec.get("accessModes") or ()
    if not modes:
        text = "at least 1 access mode is required"
        found.append(errors.required(f"{path}.accessModes", text))
    selectors.validate(spec.get("selector"), f"{path}.selector", found)
    access_modes(modes, f"{path}.accessModes", found)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        found.append(errors.required(f"{path}.resources[storage]"))
    else:
        resources.positive(size, f"{path}.resources[storage]", found)
    if spec.get("storageClassName"):
        value = spec["storageClassName"]
        checks.named(value, f"{path}.storageClassName", names.dns1123_subdomain_errors, found)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        found.append(errors.not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))


def access_modes(modes: Any, path: str, found: list[FieldError]) -> None:
    for mode in modes:
        if mode not in ACCESS_MODES:
            found.append(errors.not_supported(path, mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        found.append(errors.forbidden_value(path, text))


def _shrinks(obj: Object, before: Mapping[str, Any], found: list[FieldError]) -> None:
    def storage(spec: Mapping[str, Any]) -> int:
        amounts = (spec.get("resources") or {}).get("requests") or {}
        return resources.nano(amounts.get("storage") or 0)

    if storage(obj["spec"]) >= storage(before):
        return
    capacity = ((obj.get("status") or {}).get("capacity") or {}).get("storage") or 0
    if storage(obj["spec"]) <= resources.nano(capacity):
        path, text = "spec.resources.requests.storage", "field can not be less than status.capacity"
        found.append(errors.forbidden_value(path, text))
