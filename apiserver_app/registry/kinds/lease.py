"""Leases: their numbers.

Models kubernetes pkg/apis/coordination/validation/validation.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy


class LeaseStrategy(Strategy):
    create_on_update = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            text = "must be greater than 0"
            found.append(errors.invalid_value("spec.leaseDurationSeconds", seconds, text))
        changes = spec.get("leaseTransitions")
        if changes is not None and changes < 0:
            text = "must be greater than or equal to 0"
            found.append(errors.invalid_value("spec.leaseTransitions", changes, text))
        return found
