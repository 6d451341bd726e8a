"""Validation of values against the schema: types, bounds, enums, patterns, combined schemas.

On an update, errors of unchanged values are dropped (ratcheting). Arguments are never changed.

Models kube-openapi pkg/validation/validate and kubernetes
staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/validation/{validation,ratcheting}.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.apiextensions.schema import formats, goregex, govalues
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError

Schema = Mapping[str, Any]

ABSENT: Any = object()  # no old value to compare with
_NO_PATH = "<nil>"
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
_FORMATS = {"integer": "int64", "number": "float64"}  # of values, by their type


def validate(
    value: Any, schema: Schema, old: Any = ABSENT, prefix: str = "", *, every_format: bool = False
) -> list[FieldError]:
    """The errors of a value under the schema. `prefix` is the path of the value. `every_format`: a
    number of another type does not fit a format either that custom resources ignore."""
    checked = _Check(prefix, every_format)
    checked.node(value, schema, "", old)
    return checked.errs


class _Check:
    """The errors so far, and the number of passed checks: of failed alternatives the one that
    passed most is reported."""

    def __init__(self, prefix: str, every_format: bool) -> None:
        self.errs: list[FieldError] = []
        self.count = 0
        self._prefix = prefix
        self._every_format = every_format

    def node(self, value: Any, schema: Schema, path: str, old: Any = ABSENT) -> None:
        before = len(self.errs)
        self._node(value, schema, path, old)
        if len(self.errs) > before and old is not ABSENT and value == old:
            del self.errs[before:]
        self.count += 1

    def _node(self, value: Any, schema: Schema, path: str, old: Any) -> None:
        self._type(value, schema, path)
        if value is None:
            self._enum(value, schema, path)
            return
        self._combined(value, schema, path, old)
        if isinstance(value, str):
            self._string(value, schema, path)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._number(value, schema, path)
        elif isinstance(value, list):
            self._items(value, schema, path, old)
        self._enum(value, schema, path)
        if isinstance(value, dict):
            self._fields(value, schema, path, old)

    # -- one value ------------------------------------------------------------------------------

    def _type(self, value: Any, schema: Schema, path: str) -> None:
        allowed = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else []
        if not allowed and schema.get("type"):
            allowed = [schema["type"]]
        if not allowed:
            return
        self.count += 1
        if value is None:
            if not schema.get("nullable"):
                self._mistyped(path, ",".join(allowed), "null")
            return
        is_number = "number" in allowed or "integer" in allowed
        form = schema.get("format") or ""
        is_format = form and (self._every_format or formats.is_known(form))
        if isinstance(value, (str, list)) and not is_number and is_format:
            return  # the format is checked instead
        kind = next(name for type_, name in _TYPES if isinstance(value, type_))
        if kind in allowed or (kind == "integer" and "number" in allowed):
            return
        if kind == "number" and "integer" in allowed and value.is_integer():
            return
        self.count -= 1
        if is_format and not isinstance(value, (str, list)):
            self._mistyped(path, form, _FORMATS.get(kind, ""))
        else:
            self._mistyped(path, ",".join(allowed), kind)

    def _mistyped(self, path: str, allowed: str, value: str) -> None:
        printed = errors.go_value(value)
        text = f"{path} in body must be of type {allowed}: {printed}"
        at = self._at(path)
        self.errs.append(FieldError("FieldValueTypeInvalid", at, value, text))

    def _string(self, value: str, schema: Schema, path: str) -> None:
        most, least = schema.get("maxLength"), schema.get("minLength")
        if most is not None and len(value) > most:
            self.errs.append(errors.too_long(self._at(path), "", most))
        elif least is not None and len(value) < least:
            self._invalid(path, value, f"should be at least {least} chars long")
        elif schema.get("pattern") and not goregex.matches(schema["pattern"], value):
            self._invalid(path, value, f"should match '{schema['pattern']}'")
        form = schema.get("format") or ""
        if form and formats.is_known(form) and not formats.fits(form, value):
            self._mistyped(path, form, value)
        self.count += 1

    def _number(self, value: int | float, schema: Schema, path: str) -> None:
        factor = schema.get("multipleOf")
        if factor is not None and not _is_multiple(value, factor):
            self._invalid(path, value, f"should be a multiple of {_bound(value, factor)}")
        most, least = schema.get("maximum"), schema.get("minimum")
        if most is not None:
            exclusive = schema.get("exclusiveMaximum")
            if value >= most if exclusive else value > most:
                word = "less than" if exclusive else "less than or equal to"
                self._invalid(path, value, f"should be {word} {_bound(value, most)}")
        if least is not None:
            exclusive = schema.get("exclusiveMinimum")
            if value <= least if exclusive else value < least:
                word = "greater than" if exclusive else "greater than or equal to"
                self._invalid(path, value, f"should be {word} {_bound(value, least)}")
        self.count += 1

    def _enum(self, value: Any, schema: Schema, path: str) -> None:
        allowed = schema.get("enum")
        if not allowed or any(_same(value, choice) for choice in allowed):
            self.count += 1
            return
        choices = [
            choice if isinstance(choice, str) else orjson.dumps(choice).decode()
            for choice in allowed
        ]
        self.errs.append(errors.not_supported(self._at(path), govalues.printed(value), choices))

    # -- parts ----------------------------------------------------------------------------------

    def _items(self, value: list[Any], schema: Schema, path: str, old: Any) -> None:
        items = schema.get("items")
        if isinstance(items, dict):
            matched = _correlated(value, schema, old)
            for index, item in enumerate(value):
                self.node(item, items, f"{path}[{index}]", matched[index] if matched else ABSENT)
        most, least = schema.get("maxItems"), schema.get("minItems")
        if least is not None and len(value) < least:
            self._invalid(path, len(value), f"should have at least {least} items")
        if most is not None and len(value) > most:
            self.errs.append(errors.too_many(self._at(path), len(value), most))
        if schema.get("uniqueItems") and len(value) != len({orjson.dumps(item) for item in value}):
            self._invalid(path, "", "shouldn't contain duplicates")

    def _fields(self, value: dict[str, Any], schema: Schema, path: str, old: Any) -> None:
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and len(value) < least:
            self._invalid(path, len(value), f"should have at least {least} properties")
        if most is not None and len(value) > most:
            self.errs.append(errors.too_many(self._at(path), len(value), most))
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        before: Mapping[str, Any] = {}
        if isinstance(old, dict) and schema.get("x-kubernetes-map-type") != "atomic":
            before = old
        for name, item in value.items():
            if name in properties or additional is None or additional is True:
                continue
            if additional is False:
                at = self._at(path)
                text = f"{path}.{name} in body is a forbidden property"
                self.errs.append(errors.invalid_value(at, name, text))
            else:
                self.node(item, additional, f"{path}.{name}", before.get(name, ABSENT))
        for name in sorted(properties):
            if name in value:
                was = before.get(name, ABSENT)
                if not path and name in ("kind", "apiVersion"):
                    was = ABSENT
                self.node(value[name], properties[name], f"{path}.{name}" if path else name, was)
        for name in schema.get("required") or ():
            if name not in value:
                self.errs.append(errors.required(self._at(f"{path}.{name}")))

    # -- combinations ---------------------------------------------------------------------------

    def _combined(self, value: Any, schema: Schema, path: str, old: Any) -> None:
        any_of = schema.get("anyOf")
        if schema.get("x-kubernetes-int-or-string") and not any_of:
            any_of = None
        if any_of:
            self._any_of(self._tries(any_of, value, path, old), path)
        if schema.get("oneOf"):
            self._one_of(self._tries(schema["oneOf"], value, path, old), path)
        if schema.get("allOf"):
            tries = self._tries(schema["allOf"], value, path, old)
            for attempt in tries:
                self._merge(attempt)
            valid = sum(not attempt.errs for attempt in tries)
            if valid != len(tries):
                more = "" if valid else ". None validated"
                self._composite(f"{_quoted(path)} must validate all the schemas (allOf){more}")
        if schema.get("not") is not None:
            if not self._tries([schema["not"]], value, path, old)[0].errs:
                self._composite(f"{_quoted(path)} must not validate the schema (not)")
        self.count += 1

    def _tries(self, schemas: Sequence[Schema], value: Any, path: str, old: Any) -> list[_Check]:
        out = []
        for schema in schemas:
            attempt = _Check(self._prefix, self._every_format)
            attempt._node(value, schema, path, old)
            out.append(attempt)
        return out

    def _any_of(self, tries: list[_Check], path: str) -> None:
        for attempt in tries:
            if not attempt.errs:
                self._merge(attempt)
                return
        self._composite(f"{_quoted(path)} must validate at least one schema (anyOf)")
        self._merge(_best(tries))

    def _one_of(self, tries: list[_Check], path: str) -> None:
        valid = [attempt for attempt in tries if not attempt.errs]
        if len(valid) == 1:
            self._merge(valid[0])
            return
        more = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        text = f"{_quoted(path)} must validate one and only one schema (oneOf). {more}"
        self._composite(text)
        if not valid:
            self._merge(_best(tries))

    def _merge(self, other: _Check) -> None:
        self.errs += other.errs
        self.count += other.count

    def _composite(self, text: str) -> None:
        self.errs.append(errors.invalid_value(self._prefix or _NO_PATH, "", text))

    # -- words ----------------------------------------------------------------------------------

    def _invalid(self, path: str, value: Any, text: str) -> None:
        self.errs.append(errors.invalid_value(self._at(path), value, f"{path} in body {text}"))

    def _at(self, path: str) -> str:
        below = path.removeprefix(".")
        if not self._prefix:
            return below or _NO_PATH
        return f"{self._prefix}.{below}" if below else self._prefix


def _best(tries: list[_Check]) -> _Check:
    """The first of the attempts that passed most checks."""
    return max(tries, key=lambda attempt: attempt.count)


def _correlated(value: list[Any], schema: Schema, old: Any) -> list[Any]:
    """The old item of each item of a map-type list; nothing for other lists."""
    names = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return []
    before = {_key(item, names): item for item in reversed(old)}
    return [before.get(_key(item, names), ABSENT) for item in value]


def _key(item: Any, names: Sequence[str]) -> bytes:
    known = {name: item.get(name) for name in names} if isinstance(item, dict) else item
    return orjson.dumps(known, option=orjson.OPT_SORT_KEYS)


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _is_multiple(value: int | float, factor: int | float) -> bool:
    if factor <= 0:
        return False
    if isinstance(value, int):
        return int(factor) != 0 and value % int(factor) == 0
    quotient = value / factor
    return math.isfinite(quotient) and abs(quotient - round(quotient)) < 1e-9


def _bound(value: int | float, bound: int | float) -> str:
    """A bound, formatted like the value's number type."""
    if isinstance(value, int) or float(bound).is_integer():
        return str(int(bound))
    return repr(float(bound))


def _quoted(path: str) -> str:
    return errors.go_value(path)
