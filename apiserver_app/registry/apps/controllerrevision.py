"""ControllerRevisions: a numbered snapshot whose data never changes.

Models kubernetes pkg/apis/apps/validation/validation.go (ValidateControllerRevision) and
pkg/registry/apps/controllerrevision/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks


class ControllerRevisionStrategy(Strategy):
    def default(self, obj: Object) -> None:
        obj.setdefault("revision", 0)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if obj.get("data") is None:
            errs.append(errors.required("data", "data is mandatory"))
        checks.not_negative(obj.get("revision"), "revision", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = self.validate(ctx, obj)
        if obj.get("data") != old.get("data"):
            printed = errors.GoText("runtime.RawExtension{...}")
            errs.append(errors.invalid_value("data", printed, "field is immutable"))
        return errs
