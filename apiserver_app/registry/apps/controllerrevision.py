"""ControllerRevisions: a numbered snapshot whose data never changes.

Models kubernetes pkg/apis/apps/validation/validation.go (ValidateControllerRevision) and
pkg/registry/apps/controllerrevision/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, gosyntax


class ControllerRevisionStrategy(Strategy):
    def default(self, obj: Object) -> None:
        obj.setdefault("revision", 0)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs = _revision(obj)
        data = obj.get("data")
        if data is None:
            errs.append(errors.required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            errs.append(errors.required("data", "data must be a valid JSON object"))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = _revision(obj)
        now, before = (gosyntax.raw_extension(each.get("data")) for each in (obj, old))
        if now != before:  # byte by byte, for 1 is not true there
            errs.append(errors.invalid_value("data", now, "field is immutable"))
        return errs


def _revision(obj: Object) -> list[FieldError]:
    errs: list[FieldError] = []
    checks.not_negative(obj.get("revision"), "revision", errs)
    return errs
