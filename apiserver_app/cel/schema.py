"""Converts OpenAPI schemas to types, and values by their schemas: times, durations, bytes, doubles,
sets, maps.

Schemas that need no conversion are detected once; their values are used unchanged.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/common/{schemas,values,maplist}.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from apiserver_app.cel import types
from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.syntax.lexer import KEYWORDS
from apiserver_app.cel.types import DYN, Type
from apiserver_app.cel.values import MapList, SetList, duration, timestamp

Schema = Mapping[str, Any]

_PROPERTY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_SIMPLE = {"boolean": types.BOOL, "integer": types.INT, "number": types.DOUBLE}
_TIMES = {
    "date-time": types.TIMESTAMP,
    "date": types.TIMESTAMP,
    "duration": types.DURATION,
    "byte": types.BYTES,
}
_META: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}


def escaped(name: str) -> str:
    """Returns a property's name in expressions; empty when it cannot be expressed."""
    if name in KEYWORDS:
        return f"__{name}__"
    out = name
    for char, replacement in _ESCAPES:
        out = out.replace(char, replacement)
    return out if _PROPERTY.fullmatch(out) else ""


def type_of(schema: Schema) -> Type:
    """Returns the type of a structural schema's values."""
    if schema.get("x-kubernetes-int-or-string"):
        return DYN
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return types.list_of(type_of(items) if isinstance(items, Mapping) else DYN)
    if kind == "object" or (kind is None and _is_embedded(schema)):
        return _object_type(schema)
    if kind == "string":
        return _TIMES.get(schema.get("format", ""), types.STRING)
    return _SIMPLE.get(str(kind), DYN)


def _is_embedded(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def is_shown(schema: Schema) -> bool:
    """Reports whether expressions see it: not when its parts are unknown."""
    if schema.get("x-kubernetes-int-or-string"):
        return True
    kind, extra = schema.get("type"), schema.get("additionalProperties")
    if kind == "array":
        items = schema.get("items")
        return isinstance(items, Mapping) and is_shown(items)
    if kind == "object" and isinstance(extra, Mapping):
        return is_shown(extra)
    return kind in ("object", "string", "boolean", "number", "integer")


def _object_type(schema: Schema) -> Type:
    properties = _properties(schema)
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping) and not properties:
        return types.map_of(types.STRING, type_of(extra))
    if properties:
        fields = {
            name: type_of(property_schema)
            for key, property_schema in properties.items()
            if (name := escaped(key)) and is_shown(property_schema)
        }
        return Type("object", (), fields)
    return Type("object", (), {})


def _properties(schema: Schema) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if _is_embedded(schema):
        text = {"type": "string"}
        return {"apiVersion": text, "kind": text, "metadata": _META, **properties}
    return properties


def adapts(schema: Schema) -> bool:
    """Reports whether values of the schema need conversion from plain JSON."""
    if schema.get("x-kubernetes-int-or-string"):
        return False
    kind = schema.get("type")
    if kind == "string":
        return schema.get("format", "") in _TIMES
    if kind == "number":
        return True
    if kind == "array":
        special = schema.get("x-kubernetes-list-type") in ("set", "map")
        return special or adapts(schema.get("items") or {})
    extra = schema.get("additionalProperties")
    if isinstance(extra, Mapping) and adapts(extra):
        return True
    return any(
        escaped(key) != key or property_schema.get("nullable") or adapts(property_schema)
        for key, property_schema in (schema.get("properties") or {}).items()
    )


def adapt(schema: Schema, value: Any) -> Any:
    """Converts a value by its schema. Raises EvaluationError."""
    if value is None or not adapts(schema):
        return value
    kind = schema.get("type")
    if kind == "string":
        return _text(schema.get("format", ""), value) if isinstance(value, str) else value
    if kind == "number":
        return float(value) if type(value) is int else value
    if kind == "array" and isinstance(value, list):
        return _items(schema, value)
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        rest: Schema = extra if isinstance(extra, Mapping) else {}
        return {
            (escaped(key) or key) if key in properties else key: adapt(
                properties.get(key, rest), item
            )
            for key, item in value.items()
            if item is not None or key not in properties  # a null field is absent
        }
    return value


def _text(form: str, value: str) -> Any:
    if form == "duration":
        return duration(value)
    if form == "byte":
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise EvaluationError(f"byte conversion error on: {value}") from None
    return timestamp(f"{value}T00:00:00Z" if form == "date" else value)


def _items(schema: Schema, value: list[Any]) -> list[Any]:
    items = schema.get("items") or {}
    adapted = [adapt(items, item) for item in value]
    list_type = schema.get("x-kubernetes-list-type")
    if list_type == "set":
        return SetList(adapted)
    if list_type == "map":
        out = MapList(adapted)
        out.keys = tuple(escaped(key) for key in schema.get("x-kubernetes-list-map-keys") or ())
        return out
    return adapted
