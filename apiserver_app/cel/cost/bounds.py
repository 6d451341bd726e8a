"""How much there can be of what a schema describes: items, properties, bytes of a text; and how
little of it takes how many bytes.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/common/schemas.go and pkg/cel/limits.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.cel import schema as schemas
from apiserver_app.machinery.net.httpwire import REQUEST_BYTES_MAX

Schema = Mapping[str, Any]

# the longest text of a format, and the shortest
_LONGEST = {"duration": 32, "date": 12, "date-time": 32}
_SHORTEST = {"duration": 3, "date": 12, "date-time": 21}
_SMALLEST = {"boolean": 4, "integer": 1, "number": 1, "string": 2, "array": 2}
_BYTES_A_CHARACTER = 4
_TEXT: Schema = {"type": "string"}
_KEY: Schema = {}  # of a map: nothing is known of it
_META: Schema = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}


def largest(root: Schema, path: Sequence[str], *, is_resource: bool) -> int | None:
    """The bound of what stands at a path of names, `@items`, `@keys` and `@values`; None when
    there is no such place. Simple values have none to speak of: 0."""
    here, resource = root, is_resource
    for name in path:
        below = _below(here, name, resource)
        if below is None:
            return None
        here = below
        resource = bool(here.get("x-kubernetes-embedded-resource"))
    return _largest(here)


def most(root: Schema, *, is_resource: bool) -> int:
    """How often such a value can be in one request, if nothing else bounds it."""
    return REQUEST_BYTES_MAX // (smallest(root, is_resource=is_resource) + 1)


def smallest(schema: Schema, *, is_resource: bool = False) -> int:
    """The least bytes a value takes in JSON."""
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    kind = str(schema.get("type"))
    if kind == "string":
        return _SHORTEST.get(schema.get("format") or "", 2)
    if kind != "object" or isinstance(schema.get("additionalProperties"), Mapping):
        return _SMALLEST.get(kind, 2)
    size = 2
    properties = _properties(schema, is_resource)
    for name in schema.get("required") or ():
        inner = properties.get(name)
        if inner is not None and inner.get("default") is None and schemas.is_shown(inner):
            resource = bool(inner.get("x-kubernetes-embedded-resource"))
            size += len(name) + smallest(inner, is_resource=resource) + 4
    return size


def _below(schema: Schema, name: str, is_resource: bool) -> Schema | None:
    if schema.get("x-kubernetes-int-or-string"):
        return None
    kind, extra = schema.get("type"), schema.get("additionalProperties")
    if name in ("@items", "@values"):
        if kind == "array":
            items = schema.get("items")
            return items if isinstance(items, Mapping) else None
        return extra if kind == "object" and isinstance(extra, Mapping) else None
    if name == "@keys":
        return _KEY if kind == "object" and isinstance(extra, Mapping) else None
    if kind != "object" and not is_resource:
        return None
    for key, inner in _properties(schema, is_resource).items():
        if schemas.escaped(key) == name:
            return inner if schemas.is_shown(inner) else None
    return None


def _properties(schema: Schema, is_resource: bool) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    if is_resource:
        return {**properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": _META}
    return properties


def _largest(schema: Schema) -> int:
    if schema.get("x-kubernetes-int-or-string"):
        return REQUEST_BYTES_MAX - 2
    kind = schema.get("type")
    if kind == "array":
        return _bounded(schema.get("maxItems"), schema.get("items") or {}, 1)
    if kind == "object":
        extra = schema.get("additionalProperties")
        if isinstance(extra, Mapping):
            return _bounded(schema.get("maxProperties"), extra, 6)
        return 0
    return _longest(schema) if kind == "string" else 0


def _bounded(given: Any, part: Schema, around: int) -> int:
    if given is not None:
        return max(0, int(given))
    resource = bool(part.get("x-kubernetes-embedded-resource"))
    return (REQUEST_BYTES_MAX - 2) // (smallest(part, is_resource=resource) + around)


def _longest(schema: Schema) -> int:
    form, given = schema.get("format") or "", schema.get("maxLength")
    if form in _LONGEST:
        return _LONGEST[form]
    if given is not None:
        return max(0, int(given)) * (1 if form == "byte" else _BYTES_A_CHARACTER)
    words = schema.get("enum") or ()
    if words and form != "byte":
        return max((len(word.encode()) for word in words if isinstance(word, str)), default=0)
    return REQUEST_BYTES_MAX - 2
