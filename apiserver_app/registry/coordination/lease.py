"""Leases: their numbers.

Models kubernetes pkg/apis/coordination/validation/validation.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

# of coordinated leader election, which is off unless its feature gate is on
_ELECTION = ("strategy", "preferredHolder")


class LeaseStrategy(Strategy):
    create_on_update = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        _drop_election(obj)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        if not any(field in old["spec"] for field in _ELECTION):
            _drop_election(obj)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            text = "must be greater than 0"
            errs.append(errors.invalid_value("spec.leaseDurationSeconds", seconds, text))
        changes = spec.get("leaseTransitions")
        if changes is not None and changes < 0:
            text = "must be greater than or equal to 0"
            errs.append(errors.invalid_value("spec.leaseTransitions", changes, text))
        return errs


def _drop_election(obj: Object) -> None:
    for field in _ELECTION:
        obj["spec"].pop(field, None)
