"""StorageClasses: who provisions, and how; fixed once created.

Models kubernetes pkg/apis/storage/v1/defaults.go and pkg/apis/storage/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, nodewarnings

PARAMETERS_MAX = 512
PARAMETERS_SIZE = 256 * 1024
_FIXED = ("parameters", "provisioner", "reclaimPolicy")


class StorageClassStrategy(Strategy):
    def default(self, obj: Object) -> None:
        if obj.get("reclaimPolicy") is None:
            obj["reclaimPolicy"] = "Delete"
        if obj.get("volumeBindingMode") is None:
            obj["volumeBindingMode"] = "Immediate"

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        provisioner = obj.get("provisioner") or ""
        if not provisioner:
            errs.append(errors.required("provisioner", provisioner))
        else:
            lower = provisioner.lower()
            checks.named(lower, "provisioner", names.qualified_name_errors, errs)
        parameters(obj.get("parameters") or {}, "parameters", errs)
        policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
        if policy and policy not in ("Delete", "Retain"):
            errs.append(errors.not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
        allowed = ("Immediate", "WaitForFirstConsumer")
        if mode is None:
            errs.append(errors.required("volumeBindingMode"))
        elif mode not in allowed:
            errs.append(errors.not_supported("volumeBindingMode", mode, allowed))
        # upstream's list of known terms begins with as many empty ones
        known: list[dict[str, set[str]]] = [{}] * len(obj.get("allowedTopologies") or ())
        for index, term in enumerate(obj.get("allowedTopologies") or ()):
            rules = term.get("matchLabelExpressions") or ()
            path = f"allowedTopologies[{index}].matchLabelExpressions"
            _topology(rules, path, errs)
            places = {rule.get("key") or "": set(rule.get("values") or ()) for rule in rules}
            errs += [errors.duplicate(path, "")] * known.count(places)
            known.append(places)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        plainly = ctx.version.has("StorageClassUpdatesReworded")
        for field in _FIXED:
            if (obj.get(field) or None) != (old.get(field) or None):
                text = f"updates to {field} are forbidden."
                forbidden = errors.forbidden_value(field, text)
                fixed = errors.invalid_value(field, obj.get(field), "field is immutable")
                errs.append(fixed if plainly else forbidden)
        if obj.get("volumeBindingMode") != old.get("volumeBindingMode"):
            value = obj.get("volumeBindingMode")
            errs.append(errors.invalid_value("volumeBindingMode", value, "field is immutable"))
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        for index, term in enumerate(obj.get("allowedTopologies") or ()):
            for position, rule in enumerate(term.get("matchLabelExpressions") or ()):
                path = f"allowedTopologies[{index}].matchLabelExpressions[{position}]"
                nodewarnings.unnamed((rule.get("key") or "",), path, warnings)
        return warnings


class VolumeAttributesClassStrategy(Strategy):
    """What volumes of a driver may be like; fixed once created."""

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        driver = obj.get("driverName") or ""
        if not driver:
            errs.append(errors.required("driverName"))
        else:
            checks.named(driver.lower(), "driverName", names.qualified_name_errors, errs)
        values = obj.get("parameters") or {}
        parameters(values, "parameters", errs)
        if not values:
            text = "must contain at least one key/value pair"
            errs.append(errors.required("parameters", text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        for field in ("driverName", "parameters"):
            if (obj.get(field) or None) != (old.get(field) or None):
                text = f"updates to {field} are forbidden."
                errs.append(errors.forbidden_value(field, text))
        return errs


def parameters(values: Mapping[str, str], path: str, errs: list[FieldError]) -> None:
    if len(values) > PARAMETERS_MAX:
        errs.append(errors.too_long(path, "", PARAMETERS_MAX))
        return
    for key in values:
        if not key:
            errs.append(errors.invalid_value(path, "", "field can not be empty."))
    if sum(names.size(key) + names.size(value) for key, value in values.items()) > PARAMETERS_SIZE:
        errs.append(errors.too_long(path, "", PARAMETERS_SIZE))


def _topology(rules: Sequence[Mapping[str, Any]], path: str, errs: list[FieldError]) -> None:
    taken: set[str] = set()
    for index, rule in enumerate(rules):
        key, values, at = rule.get("key") or "", rule.get("values") or (), f"{path}[{index}]"
        if not values:
            errs.append(errors.required(f"{at}.values"))
        seen: set[str] = set()
        for position, value in enumerate(values):
            if value in seen:
                errs.append(errors.duplicate(f"{at}.values[{position}]", value))
            seen.add(value)
        checks.named(key, f"{at}.key", names.qualified_name_errors, errs)
        if key in taken:
            errs.append(errors.duplicate(f"{at}.key", key))
        taken.add(key)
