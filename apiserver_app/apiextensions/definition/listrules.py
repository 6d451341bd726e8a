"""What must hold of a schema's list and map types.

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
Found = list[FieldError]


def validate(schema: Schema, at: str, found: Found) -> None:
    """Append what is wrong with the list and map types of one place."""
    _of_type(schema, MAP_TYPE, "object", at, found)
    _one_of(schema, MAP_TYPE, ("atomic", "granular"), at, found)
    list_type, items = schema.get(LIST_TYPE), schema.get("items")
    if _of_type(schema, LIST_TYPE, "array", at, found) and list_type == "set":
        if isinstance(items, dict):
            _set_items(items, at, found)
    _one_of(schema, LIST_TYPE, ("atomic", "set", "map"), at, found)
    keys = schema.get(LIST_KEYS) or []
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        _wrong(list_type, f"{at}.{LIST_TYPE}", text, found)
    if list_type == "map":
        _map_list(keys, items, at, found)
    if list_type in ("set", "map") and isinstance(items, dict):
        _not_nullable(str(list_type), keys, items, at, found)


def _of_type(schema: Schema, name: str, wanted: str, at: str, found: Found) -> bool:
    if schema.get(name) is None or schema.get("type") == wanted:
        return schema.get(name) is not None
    _wrong(schema.get("type"), f"{at}.type", f"must be {wanted} if {name} is specified", found)
    return False


def _wrong(value: Any, at: str, text: str, found: Found) -> None:
    """Missing, or another than it must be."""
    if value:
        found.append(errors.invalid_value(at, value, text))
    else:
        found.append(errors.required(at, text))


def _one_of(schema: Schema, name: str, allowed: tuple[str, ...], at: str, found: Found) -> None:
    value = schema.get(name)
    if value is not None and value not in allowed:
        found.append(errors.not_supported(f"{at}.{name}", value, allowed))


def _set_items(items: Schema, at: str, found: Found) -> None:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        found.append(errors.invalid_value(f"{at}.items.{LIST_TYPE}", items[LIST_TYPE], text))
    elif items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        found.append(errors.invalid_value(f"{at}.items.{MAP_TYPE}", items.get(LIST_TYPE), text))


def _map_list(keys: list[str], items: Any, at: str, found: Found) -> None:
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        found.append(errors.required(f"{at}.{LIST_KEYS}", text))
    if items is None:
        text = "must have a schema if x-kubernetes-list-type is map"
        found.append(errors.required(f"{at}.items", text))
    if not isinstance(items, dict):
        if items is not None:
            text = "must only have a single schema if x-kubernetes-list-type is map"
            shown = errors.GoText("apiextensions.JSONSchemaPropsOrArray{...}")
            found.append(errors.invalid_value(f"{at}.items", shown, text))
        return
    type_ = items.get("type") or ""
    if type_ != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        found.append(errors.invalid_value(f"{at}.items.type", type_, text))
        return
    properties = items.get("properties") or {}
    seen: set[str] = set()
    for key in keys:
        if key not in properties:
            text = "entries must all be names of item properties"
            found.append(errors.invalid_value(f"{at}.{LIST_KEYS}", keys, text))
        elif properties[key].get("type") in ("array", "object"):
            where = f"{paths.key(f'{at}.items.properties', key)}.type"
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            found.append(errors.invalid_value(where, type_, text))
        if key in seen:
            text = "must not contain duplicate entries"
            found.append(errors.invalid_value(f"{at}.{LIST_KEYS}", keys, text))
        seen.add(key)


def _not_nullable(list_type: str, keys: list[str], items: Schema, at: str, found: Found) -> None:
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        found.append(errors.forbidden_value(f"{at}.items.nullable", text))
    required = items.get("required") or ()
    properties = items.get("properties") or {}
    for key in keys if list_type == "map" else ():
        one = properties.get(key)
        if one is None:
            continue
        where = paths.key(f"{at}.items.properties", key)
        if key not in required and one.get("default") is None:
            text = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
                "required property"
            )
            found.append(errors.required(f"{where}.default", text))
        if one.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            found.append(errors.forbidden_value(f"{where}.nullable", text))
