"""Decodes `application/vnd.kubernetes.protobuf` into the value of the equivalent JSON body.

Reads the envelope (`k8s\\0` and runtime.Unknown), finds the message by kind and decodes it with the
table of field numbers. Drops zero values that Go always writes to protobuf but never to JSON. A
malformed body is a 400. protoencode.py is the encoder.

Models apimachinery pkg/runtime/serializer/protobuf/protobuf.go and the generated.pb.go files.
"""

from __future__ import annotations

import base64
import datetime
import functools
import struct
from collections.abc import Callable
from typing import Any

import orjson

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import bodies
from apiserver_app.machinery.types import gofields
from apiserver_app.machinery.types.gofields import GoField

PREFIX = b"k8s\x00"
DEPTH_MAX = 100
FIELDS_MAX = 60_000  # of a body, with those of its messages; upstream limits only its size

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # the wire types; groups are not read

# kinds every group has
_META_KINDS = frozenset(
    """
    DeleteOptions CreateOptions UpdateOptions PatchOptions Status List APIVersions APIGroup
    APIGroupList APIResourceList PartialObjectMetadata
    """.split()
)
_PACKAGES = {"": "core", "internal.apiserver.k8s.io": "apiserverinternal", "meta.k8s.io": "meta"}


class Malformed(Exception):
    type = ""  # of what is malformed, once it is known


def decode(body: bytes, into: str = "") -> Object:
    """The object in a body, with its kind and apiVersion. `into` is the kind that is expected."""
    _budget.left = FIELDS_MAX
    try:
        return _envelope(body, 0)
    except Malformed as error:
        if error.type and into:
            message = f"{error.type} cannot be handled as a {into}: {error}"
            raise errors.bad_request(message) from error
        raise bodies.refusal(body, str(error), into) from error


def name_in(body: bytes) -> str:
    """The name in the metadata of the object in a body, whose other fields are not read; empty when
    it cannot be told."""
    _budget.left = FIELDS_MAX
    try:
        unknown = _raw_fields(memoryview(body)[len(PREFIX) :])
        raw = _last_bytes(unknown, 2)
        if not len(raw) or raw[0] != 0x0A:  # field 1 comes first
            return ""
        length, start = _varint(raw, 1)
        return _text(_last_bytes(_raw_fields(_slice(raw, start, length)[0]), 1))
    except (Malformed, errors.ApiError):
        return ""


def _envelope(body: bytes, depth: int) -> Object:
    if not body:
        raise Malformed("empty data")
    if body == PREFIX:
        raise Malformed("empty body")
    if not body.startswith(PREFIX):
        expected = " ".join(str(byte) for byte in PREFIX)
        raise Malformed(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    unknown = _raw_fields(memoryview(body)[len(PREFIX) :])
    type_meta = _raw_fields(_last_bytes(unknown, 1))
    version, kind = _text(_last_bytes(type_meta, 1)), _text(_last_bytes(type_meta, 2))
    if _last_bytes(unknown, 3):
        raise Malformed("a protobuf body with a contentEncoding is not supported")
    out: Object = {"kind": kind, "apiVersion": version}
    try:
        out.update(_message(message_of(version, kind), _last_bytes(unknown, 2), depth))
    except Malformed as error:
        error.type = f'{kind} in version "{version.rpartition("/")[2]}"' if kind else ""
        raise
    return out


def message_of(version: str, kind: str) -> str:
    group, _, tail = version.rpartition("/")
    package = _PACKAGES.get(group) or group.split(".", 1)[0]
    message = f"{package}.{tail}.{kind}"
    if gofields.fields_of(message) is None and kind in _META_KINDS:
        message = f"meta.v1.{kind}"
    if not kind or gofields.fields_of(message) is None:
        raise Malformed(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"'
        )
    return message


# -- messages -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def _table(message: str) -> dict[int, GoField]:
    fields = gofields.fields_of(message)
    if fields is None:
        raise Malformed(f"the message {message} is not supported")
    return {field.number: field for field in fields}


def _message(message: str, data: memoryview, depth: int) -> Object:
    """Decodes a message into a JSON object, in Go's field order."""
    if depth > DEPTH_MAX:
        raise Malformed("proto: exceeded max depth")
    table = _table(message)
    values: dict[int, Any] = {}
    for number, wire, value in _walk(data):
        field = table.get(number)
        if field is not None:
            _store(values, field, wire, value, depth)
    out: Object = {}
    for number, field in table.items():
        if number not in values:
            continue
        value = values[number]
        if field.inline:
            out.update(value)
        elif value is not None and not _is_left_out(field, value):
            out[field.name] = value
    return out


def _store(values: dict[int, Any], field: GoField, wire: int, value: Any, depth: int) -> None:
    type_ = field.type
    if type_.startswith("[]"):
        into = values.setdefault(field.number, [])
        into.extend(_elements(field, type_[2:], wire, value, depth))
    elif type_.startswith("{}"):
        into = values.setdefault(field.number, {})
        key, item = _entry(field, type_[2:], wire, value, depth)
        into[key] = item
    else:
        values[field.number] = _value(field, type_, wire, value, depth)


def _is_left_out(field: GoField, value: Any) -> bool:
    """Whether it is the zero value of a non-pointer field: in protobuf always, in JSON never."""
    if field.pointer or (field.always and not isinstance(value, (dict, list))):
        return False
    if isinstance(value, dict):
        return not value and field.known
    return not value


def _elements(field: GoField, type_: str, wire: int, value: Any, depth: int) -> list[Any]:
    if wire == _BYTES and type_ in ("i", "l", "b"):  # packed
        out, offset = [], 0
        while offset < len(value):
            number, offset = _varint(value, offset)
            out.append(_value(field, type_, _VARINT, number, depth))
        return out
    return [_value(field, type_, wire, value, depth)]


def _entry(field: GoField, type_: str, wire: int, value: Any, depth: int) -> tuple[str, Any]:
    """One entry of a map: a message of key and value."""
    _expect(field, wire, _BYTES)
    key, item = "", None
    for number, inner_wire, inner in _walk(value):
        if number == 1:
            _expect(field, inner_wire, _BYTES)
            key = _text(inner)
        elif number == 2:
            item = _value(field, type_, inner_wire, inner, depth)
    return key, _zero(type_) if item is None else item


def _zero(type_: str) -> Any:
    if type_ in ("s", "y"):
        return ""
    if type_ == "@resource.Quantity":
        return "0"
    return {} if type_.startswith("@") else 0


def _value(field: GoField, type_: str, wire: int, value: Any, depth: int) -> Any:
    if type_ in ("i", "l", "b"):
        _expect(field, wire, _VARINT)
        if type_ == "b":
            return value != 0
        return _signed(value, 32 if type_ == "i" else 64)
    if type_ == "d":
        _expect(field, wire, _FIXED64)
        return struct.unpack("<d", value)[0]
    _expect(field, wire, _BYTES)
    if type_ == "s":
        return _text(value)
    if type_ == "y":
        return base64.b64encode(value).decode()
    message = type_[1:]
    special = _SPECIAL.get(message)
    if special is not None:
        return special(value, depth + 1)
    fields = _table(message)
    if len(fields) == 1 and fields.get(1, field).name == "items" and fields[1].type == "[]s":
        return _message(message, value, depth + 1).get("items", [])
    return _message(message, value, depth + 1)


def _expect(field: GoField, wire: int, expected: int) -> None:
    if wire != expected:
        name = field.name[:1].upper() + field.name[1:]
        raise Malformed(f"proto: wrong wireType = {wire} for field {name}")


# -- messages with a JSON form of their own -------------------------------------------------------


def _quantity(data: memoryview, depth: int) -> Any:
    return _text(_last_bytes(_raw_fields(data), 1)) or "0"


def _int_or_string(data: memoryview, depth: int) -> Any:
    fields = _raw_fields(data)
    if _last_number(fields, 1) == 0:
        return _signed(_last_number(fields, 2), 32)
    return _text(_last_bytes(fields, 3))


def _time(data: memoryview, depth: int) -> Any:
    """Whole seconds; the empty message is the zero time."""
    if not len(data):
        return None
    moment = _moment(_raw_fields(data), 0)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _micro_time(data: memoryview, depth: int) -> Any:
    if not len(data):
        return None
    fields = _raw_fields(data)
    moment = _moment(fields, _signed(_last_number(fields, 2), 32) // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _moment(fields: dict[int, list[Any]], micros: int) -> datetime.datetime:
    try:
        return meta.EPOCH + datetime.timedelta(
            seconds=_signed(_last_number(fields, 1), 64), microseconds=micros
        )
    except OverflowError as error:
        raise Malformed("proto: a time is out of range") from error


def _raw_json(data: memoryview, depth: int) -> Any:
    """FieldsV1, RawExtension and JSON: bytes that are JSON, or an object in protobuf again."""
    raw = bytes(_last_bytes(_raw_fields(data), 1))
    if not raw:
        return None
    if raw.startswith(PREFIX):
        return _envelope(raw, depth + 1)
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"proto: a raw field holds no JSON: {error}") from error


def _schema_or_bool(data: memoryview, depth: int) -> Any:
    fields = _raw_fields(data)
    if 2 in fields:
        return _message(_JSON_SCHEMA, _last_bytes(fields, 2), depth)
    return _last_number(fields, 1) != 0


def _schema_or_list(data: memoryview, depth: int) -> Any:
    fields = _raw_fields(data)
    if 1 in fields:
        return _message(_JSON_SCHEMA, _last_bytes(fields, 1), depth)
    return [_message(_JSON_SCHEMA, _as_bytes(item), depth) for item in fields.get(2, ())]


def _schema_or_strings(data: memoryview, depth: int) -> Any:
    fields = _raw_fields(data)
    if 1 in fields:
        return _message(_JSON_SCHEMA, _last_bytes(fields, 1), depth)
    return [_text(_as_bytes(item)) for item in fields.get(2, ())]


_CRD = "apiextensions.v1"
_JSON_SCHEMA = f"{_CRD}.JSONSchemaProps"
_SPECIAL: dict[str, Callable[[memoryview, int], Any]] = {
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.FieldsV1": _raw_json,
    "runtime.RawExtension": _raw_json,
    f"{_CRD}.JSON": _raw_json,
    f"{_CRD}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_CRD}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_CRD}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}


# -- the wire -------------------------------------------------------------------------------------


def _raw_fields(data: memoryview) -> dict[int, list[Any]]:
    out: dict[int, list[Any]] = {}
    for number, _, value in _walk(data):
        out.setdefault(number, []).append(value)
    return out


def _last_bytes(fields: dict[int, list[Any]], number: int) -> memoryview:
    return _as_bytes(fields[number][-1]) if number in fields else memoryview(b"")


def _as_bytes(value: Any) -> memoryview:
    if not isinstance(value, memoryview):
        raise Malformed("proto: wrong wireType = 0 for a message")
    return value


def _last_number(fields: dict[int, list[Any]], number: int) -> int:
    value = fields[number][-1] if number in fields else 0
    if not isinstance(value, int):
        raise Malformed("proto: wrong wireType = 2 for a number")
    return value


class _Budget:
    """How many fields may still be read of the body that is decoded."""

    left = 0


_budget = _Budget()


def _walk(data: memoryview) -> list[tuple[int, int, Any]]:
    """(field number, wire type, value) in the order sent."""
    out: list[tuple[int, int, Any]] = []
    offset, end, left = 0, len(data), _budget.left
    while offset < end:
        left -= 1
        if left < 0:
            raise errors.too_many_values(f"{FIELDS_MAX} fields")
        key, offset = _varint(data, offset)
        number, wire = key >> 3, key & 7
        if number <= 0:
            raise Malformed(f"proto: illegal tag {number} (wire type {key})")
        value: Any
        if wire == _VARINT:
            value, offset = _varint(data, offset)
        elif wire == _BYTES:
            length, offset = _varint(data, offset)
            value, offset = _slice(data, offset, length)
        elif wire == _FIXED64:
            value, offset = _slice(data, offset, 8)
        elif wire == _FIXED32:
            value, offset = _slice(data, offset, 4)
        else:
            raise Malformed(f"proto: illegal wireType {wire}")
        out.append((number, wire, value))
    _budget.left = left
    return out


def _slice(data: memoryview, offset: int, length: int) -> tuple[memoryview, int]:
    if offset + length > len(data):
        raise Malformed("unexpected EOF")
    return data[offset : offset + length], offset + length


def _varint(data: memoryview, offset: int) -> tuple[int, int]:
    if offset < len(data) and data[offset] < 0x80:
        return data[offset], offset + 1
    value = shift = 0
    while True:
        if offset >= len(data):
            raise Malformed("unexpected EOF")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, offset
        shift += 7
        if shift >= 70:
            raise Malformed("proto: integer overflow")


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _text(data: memoryview) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise Malformed("proto: invalid UTF-8 in a string") from error
