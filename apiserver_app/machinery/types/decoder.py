"""Compiles a type into the function that decodes it: one pass, one lookup and one store a field.

A compiled struct is a dict from field name to (position, plain type, converter). A non-zero value
of the plain type is stored unchanged; any other value goes through the converter. Fields that hold
structs are compiled at first use. Never walks a schema while decoding.

Models sigs.k8s.io/json/internal/golang/encoding/json/decode.go and the zero value rules of Go's
encoder (omitempty).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields, scalars
from apiserver_app.machinery.types.scalars import ABSENT, Convert, WrongType, wrong
from apiserver_app.machinery.types.schema import ZEROS, Field, Schema, SchemaReader

# position in Go's order, the type that needs no conversion, the converter of other values
Entry = tuple[int, type | None, Convert]

_ORDERS_MAX = 64  # field orders cached per struct


class Compiler:
    """Compiled decoders by definition; `pruned` is empty unless the last decode dropped fields."""

    def __init__(self, reader: SchemaReader, version: Release) -> None:
        self.decoders: dict[str, Convert] = {}
        self.pruned: list[str] = []
        self.wraps: list[bool] = []  # holds True while a patched object is decoded
        self._reader = reader
        self._omits_zero_times = version.has("ZeroCreationTimestampOmitted")
        self._tells_embedded = version.has("EmbeddedStructsInPaths")

    def compile(self, definition: str) -> Convert | None:
        """The decoder of a struct; None if there is no such definition."""
        if definition in self.decoders:
            return self.decoders[definition]
        schema = self._reader.get(definition)
        if schema is None:
            return None
        fields: dict[str, Entry] = {}
        always: list[tuple[str, Any, bool]] = []
        for position, (name, field) in enumerate(schema.fields.items()):
            fields[name] = self._entry(schema, fields, position, field)
            if (zero := self._zero(field)) is not None:
                always.append((name, *zero))
        embedded = gofields.embedded(gofields.short(definition)) if self._tells_embedded else {}
        go_type = _go_name(definition)
        decode = _struct(schema.name, go_type, fields, tuple(always), self.pruned, embedded)
        self.decoders[definition] = decode
        return decode

    # -- fields ------------------------------------------------------------------------------------

    def _entry(
        self, schema: Schema, fields: dict[str, Entry], position: int, field: Field
    ) -> Entry:
        if field.kind in ("struct", "list", "map") or field.format.startswith("apiextensions."):
            return self._lazy_entry(schema, fields, position, field)
        plain = {"string": str, "boolean": bool}.get(field.kind)
        return position, plain, self._scalar(field, _go_type(field, schema), _keeps_zero(field))

    def _lazy_entry(
        self, schema: Schema, fields: dict[str, Entry], position: int, field: Field
    ) -> Entry:
        """An entry that compiles its converter at first use, so that rare types cost nothing and
        types may be recursive."""

        def first(value: Any) -> Any:
            if value is None:
                return ABSENT
            convert = self._converter(schema, field)
            fields[field.name] = (position, None, convert)
            return convert(value)

        return position, None, first

    def _converter(self, schema: Schema, field: Field) -> Convert:
        if field.kind == "struct":
            return self._decoder(field.definition)
        if field.kind == "raw":
            return self._either(field)
        assert field.item is not None
        go_type, keep_empty = _go_type(field, schema), _keeps_zero(field)
        prefix = "[]" if field.kind == "list" else "map[string]"
        # a list or map with a name of its own does not tell the type of what it holds
        item_type = (
            go_type.removeprefix(prefix)
            if go_type.startswith(prefix)
            else _go_type(field.item, schema)
        )
        if field.kind == "list":
            return self._list(field.item, go_type, keep_empty, item_type)
        return self._map(field.item, go_type, keep_empty, item_type)

    def _decoder(self, definition: str) -> Convert:
        decode = self.compile(definition)
        # a reference to a definition the version does not have is kept as it is
        return decode if decode is not None else scalars.anything

    def _scalar(self, field: Field, go_type: str, keep_zero: bool) -> Convert:
        kind = field.kind
        if kind == "string":
            return scalars.string(go_type, keep_zero)
        if kind == "boolean":
            return scalars.boolean(keep_zero)
        if kind == "integer":
            bits = 32 if field.format == "int32" else 64
            return scalars.integer(bits, keep_zero, self.wraps)
        if kind == "number":
            return scalars.number(keep_zero)
        if kind == "intorstring":
            return scalars.int_or_string(keep_zero and not _is_pointer(field))
        if kind == "bytes":
            return scalars.base64(keep_zero)
        return _LEAVES.get(kind) or (
            scalars.shared if field.format == "meta.v1.FieldsV1" else scalars.anything
        )

    # -- lists and maps ----------------------------------------------------------------------------

    def _item(self, item: Field, go_type: str) -> Convert:
        """The converter of one element, where null becomes the zero value."""
        if item.kind == "struct":
            decode = self._decoder(item.definition)
            return lambda value: decode({} if value is None else value)
        if item.kind == "list":
            assert item.item is not None
            return _or_null(self._list(item.item, go_type, True, "string"))
        if item.kind == "map":
            assert item.item is not None
            inside = go_type.removeprefix("map[string]")
            return _or_null(self._map(item.item, go_type, True, inside))
        if item.kind == "raw":
            return self._either(item) if item.format.startswith("apiext") else scalars.copied
        convert = self._scalar(item, go_type, True)
        zero = "" if item.kind == "bytes" else ZEROS.get(item.kind)
        return lambda value: zero if value is None else convert(value)

    def _list(self, item: Field, go_type: str, keep_empty: bool, item_type: str) -> Convert:
        if item.kind == "string":
            return _strings(go_type, keep_empty, item_type)
        if item.kind == "struct":
            return self._structs(item.definition, go_type, keep_empty)
        each = self._item(item, item_type)

        def convert(value: Any) -> Any:
            if type(value) is list:
                if value:
                    return [each(element) for element in value]
                return [] if keep_empty else ABSENT
            if value is None:
                return ABSENT
            raise wrong(value, go_type, "slice")

        return convert

    def _structs(self, definition: str, go_type: str, keep_empty: bool) -> Convert:
        decode = self._decoder(definition)

        def convert(value: Any) -> Any:
            if type(value) is list:
                for element in value:
                    if element is None:
                        return [decode({} if item is None else item) for item in value]
                if value or keep_empty:
                    return [decode(element) for element in value]
                return ABSENT
            if value is None:
                return ABSENT
            raise wrong(value, go_type, "slice")

        return convert

    def _map(self, item: Field, go_type: str, keep_empty: bool, item_type: str) -> Convert:
        plain = item.kind == "string"
        each = self._item(item, item_type)

        def convert(value: Any) -> Any:
            if type(value) is not dict:
                if value is None:
                    return ABSENT
                raise wrong(value, go_type, "map")
            if not value:
                return {} if keep_empty else ABSENT
            keys = sorted(value)
            if not plain or not all(type(text) is str for text in value.values()):
                made = {key: each(item) for key, item in value.items()}  # the first error counts
                return {key: made[key] for key in keys}
            if len(keys) == 1 or keys == list(value):
                return value.copy()
            return {key: value[key] for key in keys}

        return convert

    def _either(self, field: Field) -> Convert:
        """The converter of the JSON schema fields that have one of two types."""
        package, _, name = field.format.rpartition(".")
        if not name.startswith("JSONSchemaPropsOr"):
            return scalars.anything if field.name else scalars.copied
        decode = self._decoder(f"io.k8s.apiextensions-apiserver.pkg.apis.{package}.JSONSchemaProps")

        def convert(value: Any) -> Any:
            if isinstance(value, dict):
                return decode(value)
            if isinstance(value, list):
                return [decode(item) if isinstance(item, dict) else item for item in value]
            return ABSENT if value is None else value

        return convert

    def _zero(self, field: Field) -> tuple[Any, bool] | None:
        """What is written for a missing field: (value, whether it results from decoding an empty
        struct); None if the field is omitted."""
        go = field.go
        if go is None or not go.always or not go.known:
            return None
        if field.name == "creationTimestamp" and self._omits_zero_times:
            return None
        if field.kind == "struct":
            return None, True
        if field.kind in ("list", "map", "time", "microtime", "raw", "bytes"):
            return None, False
        return ZEROS[field.kind], False


_LEAVES: dict[str, Convert] = {
    "quantity": scalars.quantity,
    "time": scalars.time,
    "microtime": scalars.micro_time,
}


def _struct(
    name: str,
    go_type: str,
    fields: dict[str, Entry],
    always: tuple[tuple[str, Any, bool], ...],
    pruned: list[str],
    embedded: Mapping[str, tuple[str, ...]],
) -> Convert:
    """The decoder of one struct. This is the innermost loop of every write: keep it flat."""
    place_of = {field: place for place, field in enumerate(fields)}.__getitem__
    # received field orders -> Go's order of the same fields
    orders: dict[tuple[str, ...], tuple[str, ...]] = {}

    def decode(obj: Any) -> Any:
        if type(obj) is not dict:
            if obj is None:
                return ABSENT
            raise wrong(obj, go_type)
        out = {}
        last = -1
        in_order = True
        key = ""
        try:
            for key, value in obj.items():
                try:
                    place, plain, convert = fields[key]
                except KeyError:
                    pruned.append(key)
                    continue
                if type(value) is plain and value:
                    out[key] = value
                else:
                    value = convert(value)
                    if value is ABSENT:
                        continue
                    out[key] = value
                if place < last:
                    in_order = False
                last = place
        except WrongType as error:
            error.path += (key, *reversed(embedded.get(key, ())))
            if not error.struct:
                error.struct = name
            raise
        for key, zero, is_struct in always:
            if key not in out:
                out[key] = fields[key][2]({}) if is_struct else zero
                in_order = False
        if in_order:
            return out
        came = tuple(out)
        order = orders.get(came)
        if order is None:
            order = tuple(sorted(came, key=place_of))
            if len(orders) < _ORDERS_MAX:
                orders[came] = order
        return {key: out[key] for key in order}

    return decode


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _strings(go_type: str, keep_empty: bool, element: str) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is not list:
            if value is None:
                return ABSENT
            raise wrong(value, go_type, "slice")
        for item in value:
            if type(item) is not str:
                return [_text(item, element) for item in value]
        return value[:] if value or keep_empty else ABSENT

    return convert


def _text(value: Any, go_type: str) -> str:
    if value is None:
        return ""
    if type(value) is not str:
        raise wrong(value, go_type, "string")
    return value


_LOCAL_NAME = re.compile(r"(?<![.\w])(?=[A-Z])")

# -- properties of Go fields -----------------------------------------------------------------------


def _is_pointer(field: Field) -> bool:
    return field.go is not None and field.go.pointer


def _keeps_zero(field: Field) -> bool:
    """Whether Go writes the field's zero value if the client sent it."""
    go = field.go
    if field.item is not None and field.item.definition.endswith(".v2.HPAScalingPolicy"):
        return True  # an empty list is not defaulted, but refused
    if field.kind in ("list", "map", "bytes"):
        return field.required or (go is not None and go.always)
    if go is None or not go.known:
        return True
    return go.pointer or go.always


def _go_name(definition: str) -> str:
    return ".".join(definition.rsplit(".", 2)[1:])


def _go_type(field: Field, schema: Schema) -> str:
    """The Go type's name in error messages."""
    named = field.go.go_type if field.go is not None else ""
    if named:
        return _LOCAL_NAME.sub(f"{schema.version}.", named)
    kind = field.kind
    if kind == "list" and field.item is not None:
        return f"[]{_go_type(field.item, schema)}"
    if kind == "map" and field.item is not None:
        return f"map[string]{_go_type(field.item, schema)}"
    if kind == "struct":
        return _go_name(field.definition)
    if kind == "integer":
        return field.format or "int64"
    return _GO_TYPES.get(kind) or field.format.split("/")[-1]


_GO_TYPES = {
    "string": "string", "boolean": "bool", "number": "float64", "bytes": "[]uint8",
    "quantity": "resource.Quantity", "time": "v1.Time", "microtime": "v1.MicroTime",
    "intorstring": "intstr.IntOrString",
}  # fmt: skip
