"""The strategy of custom resources: applies their definition's schema at every write.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,
status_strategy,validator}.go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from apiserver_app.apiextensions import jsonpath
from apiserver_app.apiextensions.customtype import CustomType, copied
from apiserver_app.apiextensions.schema import listtypes, validation
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.apiextensions import embedded
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta

INT32_MAX = 2**31 - 1
_BLOCKING = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


class CustomResourceStrategy(Strategy):
    unconditional_update = False

    def __init__(self, custom: CustomType) -> None:
        super().__init__(custom.info)
        self.custom = custom
        self.selectable = tuple(custom.selectable)
        self.selects_namespace = custom.info.namespaced

    def default(self, obj: Object) -> None:
        self.custom.default(obj)

    # -- create ---------------------------------------------------------------------------------

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        if self.custom.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        custom = self.custom
        errs = validation.validate(obj, custom.source)
        errs += self._scale(obj, ("specReplicasPath", "statusReplicasPath"))
        errs += embedded.validate(obj, custom.node)
        errs += listtypes.validate(obj, custom.node)
        return errs + self._rules(ctx, obj, None, errs)

    # -- update ---------------------------------------------------------------------------------

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        if self.custom.has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        generation = old["metadata"].get("generation") or 0
        if _without_metadata(obj) != _without_metadata(old):
            generation += 1
        obj["metadata"]["generation"] = generation

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        custom = self.custom
        errs = validation.validate(obj, custom.source, old)
        errs += self._scale(obj, ("specReplicasPath", "statusReplicasPath"))
        errs += embedded.validate(obj, custom.node)
        errs += self._new_duplicates(obj, old)
        return errs + self._rules(ctx, obj, old, errs)

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, copied(old))

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        schema = (self.custom.source.get("properties") or {}).get("status")
        if schema is not None and "status" in obj:
            before = old.get("status", validation.ABSENT)
            errs += validation.validate(obj["status"], schema, before, "status")
        errs += self._scale(obj, ("statusReplicasPath",))
        errs += self._new_duplicates(obj, old)
        return errs + self._rules(ctx, obj, old, errs)

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        had = old["metadata"].get("finalizers") or () if old else ()
        new = set(obj["metadata"].get("finalizers") or ()) - set(had)
        out = [text for name in sorted(new) for text in _finalizer_warnings(name)]
        if old is not None and self.custom.has_rules:
            out += self.custom.check_rules(ctx.version, obj, old)[1]
        return out

    def field_refusal(self, path: str) -> str:
        refusal = super().field_refusal(path)
        return f"field label not supported: {path}" if refusal else ""

    def selectable_value(self, obj: Object, path: str) -> str | None:
        where = self.custom.selectable.get(path)
        if where is None:
            return super().selectable_value(obj, path)
        values = jsonpath.find(obj, where)
        if not values or values[0] is None:
            return ""
        value = values[0]
        return str(value).lower() if isinstance(value, bool) else str(value)

    # -- inside ---------------------------------------------------------------------------------

    def _new_duplicates(self, obj: Object, old: Object) -> list[FieldError]:
        """The duplicates in lists, unless the old object had duplicates too."""
        errs = listtypes.validate(obj, self.custom.node)
        return errs if errs and not listtypes.validate(old, self.custom.node) else []

    def _rules(
        self, ctx: Context, obj: Object, old: Object | None, before: Sequence[FieldError]
    ) -> list[FieldError]:
        """The errors of the schema's CEL rules, which run only if no blocking error came before."""
        if not self.custom.has_rules:
            return []
        if any(err.type in _BLOCKING for err in before):
            return [errors.invalid_value("<nil>", None, _UNCHECKED)]
        return self.custom.check_rules(ctx.version, obj, old)[0]

    def _scale(self, obj: Object, names: Sequence[str]) -> list[FieldError]:
        """Validates the values at the paths of the scale subresource."""
        errs: list[FieldError] = []
        scale = self.custom.scale or {}
        for name in names if scale else ():
            path = scale[name]
            value, message = nested(obj, path, int)
            if message:
                errs.append(errors.invalid_value(path, 0, message))
            elif (value or 0) < 0:
                reason = "should be a non-negative integer"
                errs.append(errors.invalid_value(path, value, reason))
            elif (value or 0) > INT32_MAX:
                reason = f"should be less than or equal to {INT32_MAX}"
                errs.append(errors.invalid_value(path, value, reason))
        path = scale.get("labelSelectorPath")
        if path:
            _, message = nested(obj, path, str)
            if message:
                errs.append(errors.invalid_value(path, "", message))
        return errs


def nested(obj: Object, path: str, kind: type) -> tuple[Any, str]:
    """(value at the path, error): None and no error if the path does not exist."""
    steps = path.removeprefix(".").split(".")
    value: Any = obj
    for number, step in enumerate(steps):
        if not isinstance(value, dict):
            printed = ".".join(["", *steps[: number + 1]])
            word = f"{_go_word(value)}, expected map[string]interface{{}}"
            return None, f"{printed} accessor error: {_shown(value)} is of the type {word}"
        if step not in value:
            return None, ""
        value = value[step]
    if isinstance(value, bool) or not isinstance(value, kind):
        word = "int64" if kind is int else "string"
        path = ".".join(["", *steps])
        type_ = f"{_go_word(value)}, expected {word}"
        return None, f"{path} accessor error: {_shown(value)} is of the type {type_}"
    return value, ""


def _go_word(value: Any) -> str:
    for kind, word in (
        (bool, "bool"),
        (int, "int64"),
        (float, "float64"),
        (str, "string"),
        (list, "[]interface {}"),
        (dict, "map[string]interface {}"),
    ):
        if isinstance(value, kind):
            return word
    return "<nil>"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _without_metadata(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _finalizer_warnings(name: str) -> list[str]:
    printed = f"metadata.finalizers: {errors.go_value(name)}"
    out = [f"{printed}: {text}" for text in names.qualified_name_errors(name)]
    if "/" not in name and name not in objectmeta.STANDARD_FINALIZERS:
        more = " including a path (/)" if re.search(r"\.", name) else ""
        to = " to avoid accidental conflicts with other finalizer writers"
        out.append(f"{printed}: prefer a domain-qualified finalizer name{more}{to}")
    return out
