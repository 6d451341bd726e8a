"""Validation that a schema is structural: every value has exactly one node that gives its type.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,
complete}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apiextensions.schema import goregex, paths
from apiserver_app.apiextensions.schema.structural import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    VALIDATIONS,
)
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError

Schema = Mapping[str, Any]
Errors = list[FieldError]

ROOT, ITEM, FIELD = "root", "item", "field"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNTYPED = {
    ROOT: "must not be empty at the root",
    ITEM: "must not be empty for specified array items",
    FIELD: "must not be empty for specified object fields",
}
# keywords of the structural part only -> the error for using them elsewhere
_FORBIDDEN = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (PRESERVE, "must be false to be structural"),
    (EMBEDDED, "must be false to be structural"),
    (INT_OR_STRING, "must be false to be structural"),
    (LIST_KEYS, "must be empty to be structural"),
    (LIST_TYPE, "must be undefined to be structural"),
    (MAP_TYPE, "must be undefined to be structural"),
    (VALIDATIONS, "must be empty to be structural"),
)


def validate(schema: Schema, path: str) -> list[FieldError]:
    """The errors that keep the schema from being structural, sorted."""
    errs: Errors = []
    _invariants(schema, ROOT, path, errs)
    _complete(schema, schema, path, path, errs)
    return sorted(errs, key=str)


# -- the structural part ------------------------------------------------------------------------


def _invariants(schema: Schema, level: str, path: str, errs: Errors) -> None:
    items, additional = schema.get("items"), schema.get("additionalProperties")
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if schema.get("type") == "array" and items is None:
        errs.append(errors.required(f"{path}.items", "must be specified"))
    if isinstance(items, dict):
        _invariants(items, ITEM, f"{path}.items", errs)
    for name in sorted(properties):
        _invariants(properties[name], FIELD, paths.key(f"{path}.properties", name), errs)
    if additional is not None:
        if level == ROOT:
            at = f"{path}.additionalProperties"
            errs.append(errors.forbidden_value(at, "must not be used at the root"))
        if isinstance(additional, dict):
            _invariants(additional, FIELD, f"{path}.additionalProperties", errs)
    _extensions(schema, path, errs)
    any_of, all_of = _patterns(schema)
    _values(schema, any_of, all_of, level, path, errs)
    _type(schema, level, path, errs)
    if schema.get(EMBEDDED) and additional is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errs.append(errors.forbidden_value(f"{path}.additionalProperties", text))
    _metadata(schema, properties, level, path, errs)
    if schema.get(EMBEDDED) and not schema.get(PRESERVE) and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields"
        )
        errs.append(errors.required(f"{path}.properties", text))


def _type(schema: Schema, level: str, path: str, errs: Errors) -> None:
    type_ = schema.get("type") or ""
    if schema.get(EMBEDDED) and type_ != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        if type_:
            errs.append(errors.invalid_value(f"{path}.type", type_, text))
        else:
            errs.append(errors.required(f"{path}.type", text))
    elif not type_ and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        errs.append(errors.required(f"{path}.type", _UNTYPED[level]))
    if level == ROOT and type_ and type_ != "object":
        errs.append(errors.invalid_value(f"{path}.type", type_, "must be object at the root"))


def _extensions(schema: Schema, path: str, errs: Errors) -> None:
    text = "must be false if x-kubernetes-int-or-string is true"
    for name in (PRESERVE, EMBEDDED):
        if schema.get(INT_OR_STRING) and schema.get(name):
            errs.append(errors.invalid_value(f"{path}.{name}", True, text))


def _metadata(
    schema: Schema, properties: Mapping[str, Schema], level: str, path: str, errs: Errors
) -> None:
    """Only the name and generateName of the root's metadata may be restricted."""
    is_resource = level == ROOT or schema.get(EMBEDDED)
    for name in ("kind", "apiVersion"):
        type_ = (properties.get(name) or {}).get("type") or ""
        if is_resource and name in properties and type_ != "string":
            at = f"{paths.key(f'{path}.properties', name)}.type"
            errs.append(errors.invalid_value(at, type_, "must be string"))
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = paths.key(f"{path}.properties", "metadata")
    type_ = metadata.get("type") or ""
    if is_resource and type_ != "object":
        errs.append(errors.invalid_value(f"{at}.type", type_, "must be object"))
    if level != ROOT:
        return
    rest = {key: value for key, value in metadata.items() if value}
    for key in ("type", "default"):
        rest.pop(key, None)
    if set(rest.get("properties") or ("",)) <= {"name", "generateName"}:
        del rest["properties"]
    if rest:
        text = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        errs.append(errors.forbidden_value(at, text))


def _patterns(schema: Schema) -> tuple[bool, bool]:
    """Whether anyOf, or the first allOf, only repeats x-kubernetes-int-or-string."""
    all_of = schema.get("allOf") or ()
    first = all_of[0] if all_of else {}
    return schema.get("anyOf") == _INT_OR_STRING, first.get("anyOf") == _INT_OR_STRING


# -- value validation ---------------------------------------------------------------------------


def _values(
    schema: Schema, skip_any: bool, skip_first: bool, level: str, path: str, errs: Errors
) -> None:
    if not skip_any:
        for index, branch in enumerate(schema.get("anyOf") or ()):
            _nested(branch, False, level, f"{path}.anyOf[{index}]", errs)
    for index, branch in enumerate(schema.get("allOf") or ()):
        _nested(branch, skip_first and index == 0, level, f"{path}.allOf[{index}]", errs)
    for index, branch in enumerate(schema.get("oneOf") or ()):
        _nested(branch, False, level, f"{path}.oneOf[{index}]", errs)
    if isinstance(schema.get("not"), dict):
        _nested(schema["not"], False, level, f"{path}.not", errs)
    pattern = schema.get("pattern")
    message = goregex.finding(pattern) if pattern else ""
    if message:
        text = f"must be a valid regular expression, but isn't: {message}"
        errs.append(errors.invalid_value(f"{path}.pattern", pattern, text))


def _nested(schema: Schema, skip_any: bool, level: str, path: str, errs: Errors) -> None:
    _values(schema, skip_any, False, level, path, errs)
    if isinstance(schema.get("items"), dict):
        _nested(schema["items"], False, level, f"{path}.items", errs)
    properties = schema.get("properties") or {}
    for name in sorted(properties):
        at = paths.key(f"{path}.properties", name)
        _nested(properties[name], False, FIELD, at, errs)
    for name, text in _FORBIDDEN:
        value = schema.get(name)
        if value if name not in ("default", "additionalProperties") else value is not None:
            errs.append(errors.forbidden_value(f"{path}.{name}", text))
    if "metadata" in properties:
        at = paths.key(f"{path}.properties", "metadata")
        errs.append(errors.forbidden_value(at, "must not be specified in a nested context"))


# -- completeness -------------------------------------------------------------------------------


def _complete(values: Schema, there: Schema | None, at: str, path: str, errs: Errors) -> None:
    """Every node under a junctor must also exist in the structural part."""
    junctors: Sequence[tuple[str, Schema]] = [
        (f"{path}.{word}[{index}]", branch)
        for word in ("allOf", "anyOf", "oneOf")
        for index, branch in enumerate(values.get(word) or ())
    ]
    if isinstance(values.get("not"), dict):
        junctors = [(f"{path}.not", values["not"]), *junctors]
    for below, branch in junctors:
        _complete_nested(branch, there, at, below, errs)


def _complete_nested(
    values: Schema, there: Schema | None, at: str, path: str, errs: Errors
) -> None:
    if there is None:
        errs.append(errors.required(at, f"because it is defined in {path}"))
        return
    _complete(values, there, at, path, errs)
    if isinstance(values.get("items"), dict):
        below = there.get("items")
        _complete_nested(values["items"], below, f"{at}.items", f"{path}.items", errs)
    properties = values.get("properties") or {}
    known = there.get("properties") or {}
    for name in sorted(properties):
        where = paths.key(f"{at}.properties", name)
        from_ = paths.key(f"{path}.properties", name)
        if name not in known:
            errs.append(errors.required(where, f"because it is defined in {from_}"))
        else:
            _complete_nested(properties[name], known[name], where, from_, errs)
