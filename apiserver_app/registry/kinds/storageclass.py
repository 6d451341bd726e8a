"""StorageClasses: who provisions, and how; fixed once created.

Models kubernetes pkg/apis/storage/v1/defaults.go and pkg/apis/storage/validation/validation.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.kinds import checks
from apiserver_app.registry.strategy import Context, Strategy

_FIXED = ("parameters", "provisioner", "reclaimPolicy")


class StorageClassStrategy(Strategy):
    def default(self, obj: Object) -> None:
        if obj.get("reclaimPolicy") is None:
            obj["reclaimPolicy"] = "Delete"
        if obj.get("volumeBindingMode") is None:
            obj["volumeBindingMode"] = "Immediate"

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        provisioner = obj.get("provisioner") or ""
        if not provisioner:
            found.append(errors.required("provisioner", provisioner))
        else:
            lower = provisioner.lower()
            checks.named(lower, "provisioner", names.qualified_name_errors, found)
        for key in obj.get("parameters") or ():
            if not key:
                found.append(errors.invalid_value("parameters", "", "field can not be empty."))
        policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
        if policy not in ("Delete", "Retain"):
            found.append(errors.not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
        allowed = ("Immediate", "WaitForFirstConsumer")
        if mode is None:
            found.append(errors.required("volumeBindingMode"))
        elif mode not in allowed:
            found.append(errors.not_supported("volumeBindingMode", mode, allowed))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        found: list[FieldError] = []
        for field in _FIXED:
            if (obj.get(field) or None) != (old.get(field) or None):
                text = f"updates to {field} are forbidden."
                found.append(errors.forbidden_value(field, text))
        if obj.get("volumeBindingMode") != old.get("volumeBindingMode"):
            value = obj.get("volumeBindingMode")
            found.append(errors.invalid_value("volumeBindingMode", value, "field is immutable"))
        return found
