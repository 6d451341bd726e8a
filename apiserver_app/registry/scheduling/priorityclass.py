"""PriorityClasses: a number that never changes; `system-` names belong to the system.

Models kubernetes pkg/apis/scheduling/v1/defaults.go and
pkg/apis/scheduling/validation/validation.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.registry.strategy import Context, Strategy

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "


class PriorityClassStrategy(Strategy):
    counts_generation = False

    def default(self, obj: Object) -> None:
        if obj.get("preemptionPolicy") is None:
            obj["preemptionPolicy"] = "PreemptLowerPriority"
        obj.setdefault("value", 0)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        name, value = name_of(obj), obj.get("value") or 0
        if name.startswith("system-"):
            if name not in SYSTEM_CLASSES:
                message = f"{name} is not a known system priority class"
                errs.append(errors.forbidden_value("metadata.name", _RESERVED + message))
            elif SYSTEM_CLASSES[name] != value:
                message = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
                errs.append(errors.forbidden_value("metadata.name", _RESERVED + message))
        elif value > HIGHEST_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            errs.append(errors.forbidden_value("value", text))
        policy = obj.get("preemptionPolicy")
        if not policy:
            errs.append(errors.required("preemptionPolicy"))
        elif policy not in ("PreemptLowerPriority", "Never"):
            allowed = ("PreemptLowerPriority", "Never")
            errs.append(errors.not_supported("preemptionPolicy", policy, allowed))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if obj.get("value") != old.get("value"):
            errs.append(errors.forbidden_value("value", "may not be changed in an update."))
        if obj.get("preemptionPolicy") != old.get("preemptionPolicy"):
            value = obj.get("preemptionPolicy")
            errs.append(errors.invalid_value("preemptionPolicy", value, "field is immutable"))
        return errs
