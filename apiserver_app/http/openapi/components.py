"""The schemas of OpenAPI documents, from the published definitions of a version.

A document's definitions are read from the file when it is built and dropped again: only what a
group version refers to is ever unpacked.

Models kubernetes api/openapi-spec/v3 and kube-openapi pkg/builder3 (openapi.go).
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import orjson

from apiserver_app.machinery.kinds import history
from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields, published

Schema = dict[str, Any]

KINDS = "x-kubernetes-group-version-kind"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
V3_PREFIX = "#/components/schemas/"
V2_PREFIX = "#/definitions/"
SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}

_SOURCE_PREFIX = "#/$defs/"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_NESTED = frozenset(("items", "additionalProperties"))
# only kubernetes-validate adds these: the values of apiVersion and kind
_LEFT_OUT = frozenset(("enum",))


class _Document(msgspec.Struct, gc=False):
    defs: dict[str, msgspec.Raw] = msgspec.field(name="$defs")


class Definitions:
    """Every definition of a version, still as text. Short-lived: hold it while building only."""

    def __init__(self, version: Release) -> None:
        self._raw: dict[str, msgspec.Raw] = {}
        for path in published.paths_of(version):
            self._raw |= msgspec.json.decode(path.read_bytes(), type=_Document).defs
        if version.has("MetadataInitializers"):
            metadata = self.load(published.OBJECT_META)
            metadata["properties"]["initializers"] = published.INITIALIZERS
            self._raw[published.OBJECT_META] = msgspec.Raw(orjson.dumps(metadata))

    def __contains__(self, name: str) -> bool:
        return name in self._raw

    def names(self) -> Iterable[str]:
        return self._raw

    def load(self, name: str) -> Schema:
        return orjson.loads(memoryview(self._raw[name]))  # type: ignore[no-any-return]


def v3(definitions: Definitions, roots: Iterable[str]) -> dict[str, Schema]:
    """The roots and all they refer to, in the form of OpenAPI 3, sorted by name."""
    schemas: dict[str, Schema] = {}
    waiting = [name for name in roots if name in definitions]
    while waiting:
        name = waiting.pop()
        if name in schemas:
            continue
        seen: list[str] = []
        schemas[name] = _V3_SPECIAL.get(name) or _convert(definitions.load(name), seen.append)
        _complete(schemas[name], gofields.short(name))
        waiting += [other for other in seen if other not in schemas and other in definitions]
    return {name: schemas[name] for name in sorted(schemas)}


def name_kinds(schemas: dict[str, Schema], infos: Iterable[ResourceInfo]) -> dict[str, Schema]:
    """With every kind that a schema is served as: an old version may share a newer one's, which
    then requires no more than the old one did."""
    for info in infos:
        if info.stored_as and info.gvr in history.GONE:
            _relax(schemas, info.definition.rpartition(".")[0])
        for tail in ("", "List"):
            name, kind = info.definition + tail, info.kind + tail
            if name not in schemas or info.custom is not None:
                continue
            kinds = schemas[name].setdefault(KINDS, [])
            gvk = {"group": info.group, "version": info.version, "kind": kind}
            if gvk not in kinds:
                kinds.append(gvk)
    return schemas


def _relax(schemas: dict[str, Schema], package: str) -> None:
    for name, fields in history.LENIENT.items():
        if name.startswith(package) and name in schemas:
            required = [field for field in schemas[name].get("required", ()) if field not in fields]
            schemas[name]["required"] = required


def reference(name: str) -> Schema:
    return {"$ref": V3_PREFIX + name}


def _complete(schema: Schema, message: str) -> None:
    """Adds what kube-openapi knows of the Go types: defaults, and the values of enums."""
    facts = _facts()
    go = {field.name: field for field in gofields.flat(message)}
    for name, prop in schema.get("properties", {}).items():
        field, place = go.get(name), f"{message}.{name}"
        for nested in _NESTED & prop.keys():
            _zero(prop[nested])
        if place in facts["defaults"]:
            prop["default"] = facts["defaults"][place]
        elif field is not None and field.known and not field.pointer:
            _zero(prop, field.always)
        named = f"{message.rpartition('.')[0]}.{field.go_type}" if field else ""
        values = facts["enums"].get(place) or facts["enums"].get(_ELEMENTS.sub("", named))
        if not values and field is not None:
            values = facts["enums"].get(_ELEMENTS.sub("", field.go_type).lstrip("*"))
        if values:
            _restrict(prop, values)


def _restrict(prop: Schema, values: list[str]) -> None:
    """To an enum's values, which are described where they are not those of items."""
    for nested in _NESTED & prop.keys():
        prop[nested]["enum"] = values
        return
    listed = "".join(f'\n - `"{value}"`' for value in values)
    prop["description"] = f"{prop.get('description', '')}\n\nPossible enum values:{listed}"
    prop["enum"] = values


def _zero(schema: Any, always: bool = True) -> None:
    """A struct is always written; a scalar where it is not left out when empty."""
    if not isinstance(schema, dict):
        return
    for nested in _NESTED & schema.keys():
        _zero(schema[nested])
    to = schema.get("$ref") or schema.get("allOf", [{}])[0].get("$ref", "")
    if to:
        if not to.endswith(_WITHOUT_ZERO):
            schema.pop("$ref", None)
            schema |= {"default": {}, "allOf": [{"$ref": to}]}
    elif always and schema.get("type") in _ZEROS and schema.get("format") != "byte":
        schema["default"] = _ZEROS[schema["type"]]


@functools.cache
def _facts() -> dict[str, dict[str, Any]]:
    """By field `+default` of types.go, and by Go type or field the values of `+enum`."""
    file = importlib.resources.files("apiserver_app.machinery.types.data") / "openapi.json"
    return orjson.loads(file.read_bytes())  # type: ignore[no-any-return]


_ELEMENTS = re.compile(r"\[\]|map\[string\]")
_ZEROS = {"string": "", "integer": 0, "boolean": False, "number": 0}
# their Go types are no plain structs
_WITHOUT_ZERO = tuple(
    """
    .Time .MicroTime .Quantity .IntOrString .RawExtension .FieldsV1 .JSON .JSONSchemaPropsOrBool
    .JSONSchemaPropsOrArray .JSONSchemaPropsOrStringArray .Duration
    """.split()
)


def _convert(schema: Schema, see: Callable[[str], None]) -> Schema:
    """One schema: nulls unwrapped, references renamed and wrapped where they have a description."""
    out: Schema = {}
    for key, value in schema.items():
        if key == "type":
            out[key] = value[0] if isinstance(value, list) else value
        elif key == "properties":
            out[key] = {name: _convert(value[name], see) for name in sorted(value)}
        elif key in _NESTED and isinstance(value, dict):
            out[key] = _convert(value, see)
        elif key == "$ref":
            name = value.removeprefix(_SOURCE_PREFIX)
            see(name)
            if len(schema) == 1:
                out[key] = V3_PREFIX + name
            else:
                out["allOf"] = [reference(name)]
        elif key not in _LEFT_OUT:
            out[key] = value
    return out


_V3_SPECIAL: dict[str, Schema] = {
    _INT_OR_STRING: {
        "description": "IntOrString is a type that can hold an int32 or a string.  When used in "
        "JSON or YAML marshalling and unmarshalling, it produces or consumes the inner type.  "
        "This allows you to have, for example, a JSON field that can accept a name or number.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    _QUANTITY: {
        "description": "Quantity is a fixed-point representation of a number. It is written as a "
        "number with an optional suffix: 100m, 1.5, 128Mi, 2G.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
}
