"""CSIDrivers: what a volume driver wants, where it does not say; part of it is fixed.

Models kubernetes pkg/apis/storage/v1/defaults.go (SetDefaults_CSIDriver) and
pkg/apis/storage/validation/validation.go (ValidateCSIDriver).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

DRIVER_LENGTH = 63
TOKEN_SECONDS_MIN = 600
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_MODES = ("Persistent", "Ephemeral")
_DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("attachRequired", True),
    ("podInfoOnMount", False),
    ("storageCapacity", False),
    ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
    ("requiresRepublish", False),
    ("seLinuxMount", False),
)


class CSIDriverStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        for field, value in _DEFAULTS:
            if spec.get(field) is None:
                spec[field] = value
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        policy = spec.get("fsGroupPolicy")
        if policy not in _GROUP_POLICIES:
            found.append(errors.not_supported("spec.fsGroupPolicy", policy, _GROUP_POLICIES))
        _tokens(spec.get("tokenRequests") or (), "spec.tokenRequests", found)
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in _MODES:
                found.append(errors.not_supported("spec.volumeLifecycleModes", mode, _MODES))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        found = self.validate(ctx, obj)
        spec, before, text = obj["spec"], old["spec"], "field is immutable"
        if spec.get("attachRequired") != before.get("attachRequired"):
            value = spec.get("attachRequired")
            found.append(errors.invalid_value("spec.attachedRequired", value, text))
        modes = spec.get("volumeLifecycleModes") or []
        if modes != before.get("volumeLifecycleModes"):
            words = ", ".join(map(errors.go_value, modes))
            shown = errors.GoText(f"[]storage.VolumeLifecycleMode{{{words}}}")
            found.append(errors.invalid_value("spec.volumeLifecycleModes", shown, text))
        return found


def name(value: str, path: str, found: list[FieldError]) -> None:
    """A driver's name inside another object."""
    if not value:
        found.append(errors.required(path))
    if names.size(value) > DRIVER_LENGTH:
        found.append(errors.too_long(path, "", DRIVER_LENGTH))
    for text in names.dns1123_subdomain_errors(value.lower()):
        found.append(errors.invalid_value(path, value, text))


def _tokens(requests: Sequence[Mapping[str, Any]], path: str, found: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            found.append(errors.duplicate(f"{path}[{index}].audience", audience))
            continue
        seen.add(audience)
        at = f"{path}[{index}].expirationSeconds"
        if seconds is None:
            continue
        if seconds < TOKEN_SECONDS_MIN:
            text = "may not specify a duration less than 10 minutes"
            found.append(errors.invalid_value(at, seconds, text))
        if seconds > 1 << 32:
            text = "may not specify a duration larger than 2^32 seconds"
            found.append(errors.invalid_value(at, seconds, text))
