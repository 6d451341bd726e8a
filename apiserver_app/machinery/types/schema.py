"""The schemas that patches and server-side apply use: fields, patch strategies, list keys.

Built per definition when first asked for, from the published schema and Go's field order. Never
decodes anything.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/meta.go and the typed
schema of sigs.k8s.io/structured-merge-diff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields
from apiserver_app.machinery.types.gofields import GoField
from apiserver_app.machinery.types.published import Definitions, Prop

# kind of a scalar -> Go's zero of it
ZEROS: dict[str, Any] = {
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
    "quantity": "0",
    "intorstring": 0,
}
# types with a JSON form of their own -> kind
LEAVES = {
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intorstring",
    "meta.v1.Time": "time",
    "meta.v1.MicroTime": "microtime",
    "meta.v1.FieldsV1": "raw",
    "runtime.RawExtension": "raw",
    "meta.v1.Patch": "raw",
    "apiextensions.v1.JSON": "raw",
    "apiextensions.v1.JSONSchemaPropsOrArray": "raw",
    "apiextensions.v1.JSONSchemaPropsOrBool": "raw",
    "apiextensions.v1.JSONSchemaPropsOrStringArray": "raw",
}


# defaults of fields that are list keys (`+default` in types.go)
_KEY_DEFAULTS = {
    ("core.v1.ContainerPort", "protocol"): "TCP",
    ("core.v1.ServicePort", "protocol"): "TCP",
}


@dataclass(slots=True)
class Field:
    """One field, or the items of a list or the values of a map (`item`, with an empty name)."""

    name: str
    # string boolean integer number quantity intorstring time microtime bytes raw struct list map
    kind: str
    definition: str = ""  # of a struct
    format: str = ""
    item: Field | None = None
    patch_strategies: tuple[str, ...] = ()  # merge, replace, retainKeys
    merge_key: str = ""
    list_type: str = ""  # atomic, set, map; empty means atomic
    list_keys: tuple[str, ...] = ()
    atomic: bool = False  # a map or struct that is owned and replaced as one value
    required: bool = False
    default: str | int | None = None  # the value of an omitted list key
    go: GoField | None = field(default=None, repr=False)
    _lookup: Callable[[str], Schema | None] | None = field(default=None, repr=False)

    @property
    def schema(self) -> Schema | None:
        """The schema of a struct, or of the structs in a list or map."""
        if self.definition and self._lookup is not None:
            return self._lookup(self.definition)
        return self.item.schema if self.item is not None else None

    @property
    def key_defaults(self) -> dict[str, str | int]:
        """The values of a list's keys that may be omitted."""
        item = self.schema
        if item is None:
            return {}
        pairs = (
            (name, item.fields[name].default) for name in self.list_keys if name in item.fields
        )
        return {name: default for name, default in pairs if default is not None}

    @property
    def is_leaf(self) -> bool:
        return self.kind not in ("struct", "list", "map")


class Schema(msgspec.Struct):
    """One struct: its fields in Go's order."""

    definition: str
    name: str  # the Go struct's name
    fields: dict[str, Field]
    atomic: bool = False
    open: bool = False  # other fields may be there, too
    resets_status: bool = True  # an update of the object leaves its status as it is

    def field(self, name: str) -> Field | None:
        return self.fields.get(name)

    @property
    def version(self) -> str:
        return self.definition.rsplit(".", 2)[1]


class SchemaReader:
    """Schemas of one version by definition."""

    def __init__(self, version: Release) -> None:
        self._definitions = Definitions(version)
        self._schemas: dict[str, Schema | None] = {}

    def get(self, definition: str) -> Schema | None:
        """The schema of a definition; None if the version has no such struct."""
        try:
            return self._schemas[definition]
        except KeyError:
            made = self._schemas[definition] = self._make(definition)
            return made

    def _make(self, definition: str) -> Schema | None:
        prop = self._definitions.get(definition)
        if prop is None:
            return None
        name = definition.rsplit(".", 1)[1]
        required = frozenset(prop.required or ())
        short = gofields.short(definition)
        go = {known.name: known for known in gofields.flat(short)}
        fields = {}
        properties = prop.properties or {}
        for key in _ordered(properties, go):
            made = self._field(key, properties[key])
            made.required = key in required
            made.go = go.get(key)
            made.default = _KEY_DEFAULTS.get((short, key), _zero(made))
            fields[key] = made
        is_stored = not name.endswith("Review")  # a review is only answered, with what was sent
        return Schema(definition, name, fields, prop.map_type == "atomic", resets_status=is_stored)

    def _field(self, name: str, prop: Prop) -> Field:
        out = Field(
            name,
            prop.kind,
            format=prop.format,
            patch_strategies=tuple(prop.strategy.split(",")) if prop.strategy else (),
            merge_key=prop.merge_key,
            list_type=prop.list_type,
            list_keys=tuple(prop.list_keys or ()),
            atomic=prop.map_type == "atomic",
        )
        if prop.ref:
            self._refer(out, prop.definition, granular=prop.map_type == "granular")
        elif out.kind == "array":
            out.kind = "list"
            if not out.list_type and "merge" in out.patch_strategies:
                # versions that do not say how a list is owned, as kube-openapi's schemaconv has it
                out.list_type = "map" if out.merge_key else "set"
                out.list_keys = (out.merge_key,) if out.merge_key else ()
            out.item = self._field("", prop.items or Prop())
            out.atomic = out.list_type in ("", "atomic")
        elif out.kind == "object":
            value = prop.value
            out.kind = "map" if value is not None else "raw"
            out.item = self._field("", value) if value is not None else None
        elif out.kind == "string" and out.format == "byte":
            out.kind, out.list_type = "bytes", ""
        elif not out.kind:
            out.kind = "raw"
        return out

    def _refer(self, out: Field, definition: str, *, granular: bool) -> None:
        short = gofields.short(definition)
        if short in LEAVES:
            out.kind = LEAVES[short]
            out.format = short
            return
        target = self._definitions.get(definition)
        out.kind = "struct"
        out.definition = definition
        out._lookup = self.get
        if target is not None and not granular:
            out.atomic = out.atomic or target.map_type == "atomic"


def _zero(field: Field) -> str | int | None:
    """The default of a field that Go always writes, as OpenAPI has it."""
    go = field.go
    if go is None or not go.always or go.pointer:
        return None
    return "" if field.kind == "string" else 0 if field.kind == "integer" else None


def _ordered(properties: dict[str, Prop], go: dict[str, GoField]) -> list[str]:
    """Property names in Go's order: TypeMeta first, what is not in the table last."""
    head = [name for name in ("kind", "apiVersion") if name in properties and name not in go]
    known = [name for name in go if name in properties]
    rest = [name for name in properties if name not in go and name not in head]
    return head + known + rest
