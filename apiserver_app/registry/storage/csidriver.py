"""CSIDrivers: what a volume driver wants, where it does not say; part of it is fixed.

Models kubernetes pkg/apis/storage/v1/defaults.go (SetDefaults_CSIDriver) and
pkg/apis/storage/validation/validation.go (ValidateCSIDriver).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

TOKEN_SECONDS_MIN = 600
UPDATE_SECONDS_MIN = 10
_PERIOD = "nodeAllocatableUpdatePeriodSeconds"
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
    unconditional_update = False

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        for field, value in _DEFAULTS:
            if spec.get(field) is None:
                spec[field] = value
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        _drop_period(ctx, obj["spec"])

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        if old["spec"].get(_PERIOD) is None:
            _drop_period(ctx, obj["spec"])
        if obj["spec"] != old["spec"]:
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        policy = spec.get("fsGroupPolicy")
        if policy not in _GROUP_POLICIES:
            errs.append(errors.not_supported("spec.fsGroupPolicy", policy, _GROUP_POLICIES))
        _tokens(spec.get("tokenRequests") or (), "spec.tokenRequests", errs)
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in _MODES:
                errs.append(errors.not_supported("spec.volumeLifecycleModes", mode, _MODES))
        seconds = spec.get(_PERIOD)
        if seconds is not None and seconds < UPDATE_SECONDS_MIN:
            path = f"spec.{_PERIOD}"
            text = f"must be greater than or equal to {UPDATE_SECONDS_MIN} seconds"
            errs.append(errors.invalid_value(path, seconds, text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = self.validate(ctx, obj)
        spec, before, text = obj["spec"], old["spec"], "field is immutable"
        if spec.get("attachRequired") != before.get("attachRequired"):
            value = spec.get("attachRequired")
            errs.append(errors.invalid_value("spec.attachedRequired", value, text))
        modes = spec.get("volumeLifecycleModes") or []
        if modes != before.get("volumeLifecycleModes"):
            words = ", ".join(map(errors.go_value, modes))
            printed = errors.GoText(f"[]storage.VolumeLifecycleMode{{{words}}}")
            errs.append(errors.invalid_value("spec.volumeLifecycleModes", printed, text))
        return errs


def _drop_period(ctx: Context, spec: dict[str, Any]) -> None:
    if not ctx.version.has("MutableCSINodeAllocatableCount"):
        spec.pop(_PERIOD, None)


def _tokens(requests: Sequence[Mapping[str, Any]], path: str, errs: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            errs.append(errors.duplicate(f"{path}[{index}].audience", audience))
            continue
        seen.add(audience)
        at = f"{path}[{index}].expirationSeconds"
        if seconds is None:
            continue
        if seconds < TOKEN_SECONDS_MIN:
            text = "may not specify a duration less than 10 minutes"
            errs.append(errors.invalid_value(at, seconds, text))
        if seconds > 1 << 32:
            text = "may not specify a duration larger than 2^32 seconds"
            errs.append(errors.invalid_value(at, seconds, text))
