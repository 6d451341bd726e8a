"""LeaseCandidates: who would hold a lease, with which versions, and how it is chosen.

Models kubernetes pkg/apis/coordination/validation/validation.go (ValidateLeaseCandidateSpec) and
pkg/registry/coordination/leasecandidate/strategy.go.
"""

from __future__ import annotations

import re

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta

OLDEST = "OldestEmulationVersion"
_version = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:[-+].*)?", re.ASCII).fullmatch


def _name(name: str, prefix: bool) -> list[str]:
    return checks.config_key_errors(name)


class LeaseCandidateStrategy(Strategy):
    name_rule = staticmethod(_name)
    create_on_update = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {})

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        if not spec.get("leaseName"):
            errs.append(errors.required("spec.leaseName"))
        numbers = {}
        for field in ("emulationVersion", "binaryVersion"):
            text = spec.get(field) or ""
            match = _version(text)
            numbers[field] = tuple(map(int, match.groups())) if match else (0, 0, 0)
            if not text and field == "binaryVersion":
                errs.append(errors.required(f"spec.{field}"))
            elif text and match is None:
                message = "must be a valid semantic version"
                errs.append(errors.invalid_value(f"spec.{field}", text, message))
        given = spec.get("binaryVersion") and spec.get("emulationVersion")
        if given and numbers["binaryVersion"] < numbers["emulationVersion"]:
            text = "must be greater than or equal to `emulationVersion`"
            errs.append(errors.invalid_value("spec.binaryVersion", spec["binaryVersion"], text))
        _strategy(spec.get("strategy") or "", numbers["emulationVersion"], errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = self.validate(ctx, obj)
        now, then = (each["spec"].get("leaseName") or "" for each in (obj, old))
        objectmeta.immutable(now, then, "spec.leaseName", errs)
        return errs


def _strategy(value: str, emulation: tuple[int, ...], errs: list[FieldError]) -> None:
    path = "spec.strategy"
    if not value:
        errs.append(errors.required(path))
        return
    if value == OLDEST and emulation == (0, 0, 0):
        text = "must be specified when `strategy` is 'OldestEmulationVersion'"
        errs.append(errors.required("spec.emulationVersion", text))
    if "/" not in value:
        if value != OLDEST:
            errs.append(errors.not_supported(f"{path}.strategy", value, (OLDEST,)))
    else:
        checks.named(value, f"{path}.strategy", names.qualified_name_errors, errs)
