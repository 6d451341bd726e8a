"""Encodes objects in protobuf (`k8s\\0` and runtime.Unknown), for answers and for etcd's values.

The inverse of protobuf.py, with the same table of field numbers: fields in order of their numbers,
non-pointer values written even if zero, maps sorted. Each message is compiled at first use into one
function per field.

Models apimachinery pkg/runtime/serializer/protobuf/protobuf.go, pkg/util/framer/framer.go and the
generated.pb.go files.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import protobuf
from apiserver_app.machinery.types import gofields
from apiserver_app.machinery.types.gofields import GoField

Encode = Callable[[Any], bytes]
Append = Callable[[bytes], None]
Write = Callable[[Any, Append], None]  # one field of an object

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_SMALL = tuple(bytes((value,)) for value in range(0x80))


class NotEncodable(Exception):
    """The kind has no protobuf message, or the object does not fit it."""


def encode(obj: Object) -> bytes:
    """The bytes of an object. Raises NotEncodable."""
    version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    return enveloped(version, kind, _encoded(_message(version, kind), obj))


def item_encoder(version: str, kind: str) -> Encode:
    """Encodes the items of a list one by one, without a kind of their own."""
    return functools.partial(_encoded, _message(version, kind))


def list_of(version: str, kind: str, metadata: Object, items: Iterable[bytes]) -> bytes:
    """The bytes of a list of encoded items."""
    fields = gofields.fields_of(_message(version, kind)) or ()
    numbers = {field.name: field.number for field in fields}
    parts = {numbers["metadata"]: [_encoded("meta.v1.ListMeta", metadata)], numbers["items"]: items}
    raw = b"".join(delimited(number, part) for number in sorted(parts) for part in parts[number])
    return enveloped(version, kind, raw)


def enveloped(version: str, kind: str, raw: bytes) -> bytes:
    """A message in the envelope: the prefix and its type."""
    type_meta = delimited(1, version.encode()) + delimited(2, kind.encode())
    return b"".join((protobuf.PREFIX, delimited(1, type_meta), delimited(2, raw), _NO_CONTENT))


def watch_event(kind: str, obj: bytes) -> bytes:
    """A frame of a watch: its length, and a WatchEvent with the enveloped object."""
    event = delimited(1, kind.encode()) + delimited(2, delimited(1, obj))
    return len(event).to_bytes(4, "big") + event


def knows(version: str, kind: str) -> bool:
    """Whether there is a message of that kind."""
    try:
        protobuf.message_of(version, kind)
    except protobuf.Malformed:
        return False
    return True


def _message(version: str, kind: str) -> str:
    try:
        return protobuf.message_of(version, kind)
    except protobuf.Malformed as error:
        raise NotEncodable(str(error)) from error


def _encoded(message: str, obj: Any) -> bytes:
    try:
        return _encoder(message)(obj)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise NotEncodable(f"the object does not fit {message}: {error}") from error


# -- messages, compiled ---------------------------------------------------------------------------


@functools.cache
def _encoder(message: str) -> Encode:
    special = _SPECIAL.get(message)
    if special is not None:
        return special
    fields = gofields.fields_of(message)
    if fields is None:
        raise NotEncodable(f"the message {message} is not known")
    writers = tuple(_writer(field) for field in sorted(fields))
    is_slice = len(fields) == 1 and fields[0].name == "items"  # a Go slice with a name of its own

    def run(obj: Any) -> bytes:
        if is_slice and isinstance(obj, (list, tuple)):
            obj = {"items": obj}
        out: list[bytes] = []
        append = out.append
        for write in writers:
            write(obj, append)
        return b"".join(out)

    return run


def _writer(field: GoField) -> Write:
    """Writes one field of a message, as often as it is there."""
    name, type_, number = field.name, field.type, field.number
    if field.inline:
        inner = _nested(type_[1:])
        return lambda obj, append: append(delimited(number, inner(obj)))
    if type_.startswith("[]"):
        return _list_writer(name, _value(number, type_[2:]))
    if type_.startswith("{}"):
        return _map_writer(name, number, _value(2, type_[2:]))
    value_of = _value(number, type_)
    if field.pointer or not field.known or type_ == "y":
        return _pointer_writer(name, value_of)
    return _value_writer(name, value_of, _zero(type_))


def _pointer_writer(name: str, value_of: Encode) -> Write:
    def write(obj: Any, append: Append) -> None:
        value = obj.get(name)
        if value is not None:
            append(value_of(value))

    return write


def _value_writer(name: str, value_of: Encode, zero: Any) -> Write:
    @functools.cache
    def nothing() -> bytes:
        return value_of(zero)

    def write(obj: Any, append: Append) -> None:
        value = obj.get(name)
        append(nothing() if value is None else value_of(value))

    return write


def _list_writer(name: str, value_of: Encode) -> Write:
    def write(obj: Any, append: Append) -> None:
        for value in obj.get(name) or ():
            append(value_of(value))

    return write


def _map_writer(name: str, number: int, value_of: Encode) -> Write:
    def write(obj: Any, append: Append) -> None:
        values = obj.get(name)
        if values:
            for key in sorted(values):
                append(delimited(number, delimited(1, key.encode()) + value_of(values[key])))

    return write


def _zero(type_: str) -> Any:
    """The zero value of a missing field; None for messages, which encode it themselves."""
    if type_.startswith("@"):
        return None if type_[1:] in _SPECIAL else {}
    return _ZEROS[type_]


_ZEROS: dict[str, Any] = {"s": "", "i": 0, "l": 0, "b": False, "d": 0.0}


def _value(number: int, type_: str) -> Encode:
    """Writes one value under a number."""
    if type_ in ("i", "l", "b"):
        tag = varint(number << 3 | _VARINT)
        return lambda value: tag + varint(int(value) & 0xFFFFFFFFFFFFFFFF)
    if type_ == "d":
        tag = varint(number << 3 | _FIXED64)
        return lambda value: tag + struct.pack("<d", float(value))
    if type_ == "s":
        return lambda value: delimited(number, str(value).encode())
    if type_ == "y":
        return lambda value: delimited(number, base64.b64decode(value))
    inner = _nested(type_[1:])
    return lambda value: delimited(number, inner(value))


def _nested(message: str) -> Encode:
    """The encoder of a nested message, looked up at first use, as messages may be recursive."""
    encoders: list[Encode] = []

    def run(value: Any) -> bytes:
        if not encoders:
            encoders.append(_encoder(message))
        return encoders[0](value)

    return run


# -- the wire -------------------------------------------------------------------------------------


def delimited(number: int, data: bytes) -> bytes:
    """A field of bytes: its number, its length and itself."""
    return b"".join((varint(number << 3 | _BYTES), varint(len(data)), data))


def varint(value: int) -> bytes:
    if value < 0x80:
        return _SMALL[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_NO_CONTENT = delimited(3, b"") + delimited(4, b"")  # neither an encoding nor another type


# -- messages with a JSON form of their own -------------------------------------------------------


def _quantity(value: Any) -> bytes:
    return delimited(1, str("0" if value is None else value).encode())


def _int_or_string(value: Any) -> bytes:
    text = isinstance(value, str)
    number = 0 if text else value or 0
    return b"".join(
        (
            varint(1 << 3),
            varint(int(text)),
            varint(2 << 3),
            varint(int(number) & 0xFFFFFFFFFFFFFFFF),
            delimited(3, value.encode() if text else b""),
        )
    )


def _time(value: Any) -> bytes:
    """Seconds and nanoseconds; the zero time is the empty message."""
    if value is None:
        return b""
    micros = meta.parse_time(str(value))
    seconds, rest = divmod(micros, 1_000_000)
    return b"".join(
        (varint(1 << 3), varint(seconds & 0xFFFFFFFFFFFFFFFF), varint(2 << 3), varint(rest * 1000))
    )


def _raw_json(value: Any) -> bytes:
    return b"" if value is None else delimited(1, orjson.dumps(value))


def _schema_or_bool(value: Any) -> bytes:
    allows = value if isinstance(value, bool) else True
    out = varint(1 << 3) + varint(int(allows))
    return out if isinstance(value, bool) else out + delimited(2, _encoder(_JSON_SCHEMA)(value))


def _schema_or_list(value: Any) -> bytes:
    schema = _encoder(_JSON_SCHEMA)
    if isinstance(value, list):
        return b"".join(delimited(2, schema(item)) for item in value)
    return delimited(1, schema(value))


def _schema_or_strings(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join(delimited(2, item.encode()) for item in value)
    return delimited(1, _encoder(_JSON_SCHEMA)(value))


_CRD = "apiextensions.v1"
_JSON_SCHEMA = f"{_CRD}.JSONSchemaProps"
_SPECIAL: dict[str, Encode] = {
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _time,
    "meta.v1.FieldsV1": _raw_json,
    "runtime.RawExtension": _raw_json,
    f"{_CRD}.JSON": _raw_json,
    f"{_CRD}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_CRD}.JSONSchemaPropsOrArray": _schema_or_list,
    f"{_CRD}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
