"""Validation of x-kubernetes-list-type and x-kubernetes-map-type.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go (the part on x-kubernetes-list-type, and validateMapListKeysMapSet).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.apiextensions.schema import paths
from apiserver_app.apiextensions.schema.structural import LIST_KEYS, LIST_TYPE, MAP_TYPE
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError

Schema = Mapping[str, Any]
Errors = list[FieldError]


def validate(schema: Schema, at: str, errs: Errors) -> None:
    """Appends the errors of the list and map types of one schema node."""
    _of_type(schema, MAP_TYPE, "object", at, errs)
    _one_of(schema, MAP_TYPE, ("atomic", "granular"), at, errs)
    list_type, items = schema.get(LIST_TYPE), schema.get("items")
    if _of_type(schema, LIST_TYPE, "array", at, errs) and list_type == "set":
        if isinstance(items, dict):
            _set_items(items, at, errs)
    _one_of(schema, LIST_TYPE, ("atomic", "set", "map"), at, errs)
    keys = schema.get(LIST_KEYS) or []
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        _append_error(list_type, f"{at}.{LIST_TYPE}", text, errs)
    if list_type == "map":
        _map_list(keys, items, at, errs)
    if list_type in ("set", "map") and isinstance(items, dict):
        _not_nullable(str(list_type), keys, items, at, errs)


def _of_type(schema: Schema, name: str, expected: str, at: str, errs: Errors) -> bool:
    if schema.get(name) is None or schema.get("type") == expected:
        return schema.get(name) is not None
    _append_error(
        schema.get("type"), f"{at}.type", f"must be {expected} if {name} is specified", errs
    )
    return False


def _append_error(value: Any, at: str, text: str, errs: Errors) -> None:
    """Appends an error for a missing or an invalid value."""
    if value:
        errs.append(errors.invalid_value(at, value, text))
    else:
        errs.append(errors.required(at, text))


def _one_of(schema: Schema, name: str, allowed: tuple[str, ...], at: str, errs: Errors) -> None:
    value = schema.get(name)
    if value is not None and value not in allowed:
        errs.append(errors.not_supported(f"{at}.{name}", value, allowed))


def _set_items(items: Schema, at: str, errs: Errors) -> None:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        errs.append(errors.invalid_value(f"{at}.items.{LIST_TYPE}", items[LIST_TYPE], text))
    elif items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        errs.append(errors.invalid_value(f"{at}.items.{MAP_TYPE}", items.get(LIST_TYPE), text))


def _map_list(keys: list[str], items: Any, at: str, errs: Errors) -> None:
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        errs.append(errors.required(f"{at}.{LIST_KEYS}", text))
    if items is None:
        text = "must have a schema if x-kubernetes-list-type is map"
        errs.append(errors.required(f"{at}.items", text))
    if not isinstance(items, dict):
        if items is not None:
            text = "must only have a single schema if x-kubernetes-list-type is map"
            printed = errors.GoText("apiextensions.JSONSchemaPropsOrArray{...}")
            errs.append(errors.invalid_value(f"{at}.items", printed, text))
        return
    type_ = items.get("type") or ""
    if type_ != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        errs.append(errors.invalid_value(f"{at}.items.type", type_, text))
        return
    properties = items.get("properties") or {}
    seen: set[str] = set()
    for key in keys:
        if key not in properties:
            text = "entries must all be names of item properties"
            errs.append(errors.invalid_value(f"{at}.{LIST_KEYS}", keys, text))
        elif properties[key].get("type") in ("array", "object"):
            where = f"{paths.key(f'{at}.items.properties', key)}.type"
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errs.append(errors.invalid_value(where, type_, text))
        if key in seen:
            text = "must not contain duplicate entries"
            errs.append(errors.invalid_value(f"{at}.{LIST_KEYS}", keys, text))
        seen.add(key)


def _not_nullable(list_type: str, keys: list[str], items: Schema, at: str, errs: Errors) -> None:
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errs.append(errors.forbidden_value(f"{at}.items.nullable", text))
    required = items.get("required") or ()
    properties = items.get("properties") or {}
    for key in keys if list_type == "map" else ():
        key_schema = properties.get(key)
        if key_schema is None:
            continue
        where = paths.key(f"{at}.items.properties", key)
        if key not in required and key_schema.get("default") is None:
            text = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                "required property"
            )
            errs.append(errors.required(f"{where}.default", text))
        if key_schema.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errs.append(errors.forbidden_value(f"{where}.nullable", text))
