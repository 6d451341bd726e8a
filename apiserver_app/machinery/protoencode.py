"""Objects in protobuf, as etcd holds those of the built-in kinds: `k8s\\0` and runtime.Unknown.

The inverse of protobuf.py, by the same table of field numbers: fields in order of their numbers,
values that are no pointers written even when they are zero, maps sorted. Used where somebody looks
at what a real etcd would hold; nothing here is stored.

Models apimachinery pkg/runtime/serializer/protobuf/protobuf.go and the generated.pb.go files.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

import orjson

from apiserver_app.machinery import gofields, meta, protobuf
from apiserver_app.machinery.gofields import GoField
from apiserver_app.machinery.meta import Object

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_NUMBERS = ("i", "l", "b")


class NotEncodable(Exception):
    """The kind has no protobuf message, or the object does not fit it."""


def encode(obj: Object) -> bytes:
    """The bytes of an object. Raises NotEncodable."""
    version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    try:
        message = protobuf.message_of(version, kind)
        raw = _message(message, obj)
    except protobuf.Malformed as error:
        raise NotEncodable(str(error)) from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise NotEncodable(f"the {kind} does not fit its message: {error}") from error
    type_meta = _field(1, version.encode()) + _field(2, kind.encode())
    unknown = _field(1, type_meta) + _field(2, raw) + _field(3, b"") + _field(4, b"")
    return protobuf.PREFIX + unknown


def _message(message: str, obj: Any) -> bytes:
    special = _SPECIAL.get(message)
    if special is not None:
        return special(obj)
    fields = gofields.fields_of(message)
    if fields is None:
        raise NotEncodable(f"the message {message} is not known")
    if isinstance(obj, list):  # a Go slice with a name of its own
        obj = {"items": obj}
    return b"".join(_of(field, obj) for field in sorted(fields))


def _of(field: GoField, obj: Object) -> bytes:
    """One field of a message, as often as it is there."""
    type_ = field.type
    if field.inline:
        return _field(field.number, _message(type_[1:], obj))
    value = obj.get(field.name)
    if type_.startswith("[]"):
        return b"".join(_value(field.number, type_[2:], one) for one in value or ())
    if type_.startswith("{}"):
        return b"".join(
            _field(
                field.number,
                _field(1, key.encode()) + _value(2, type_[2:], item),
            )
            for key, item in sorted((value or {}).items())
        )
    if value is None:
        if field.pointer or not field.known or type_ == "y":
            return b""
        value = _ZEROS.get(type_, {})
        if type_.startswith("@") and type_[1:] in _SPECIAL:
            value = None
    return _value(field.number, type_, value)


_ZEROS: dict[str, Any] = {"s": "", "i": 0, "l": 0, "b": False, "d": 0.0}


def _value(number: int, type_: str, value: Any) -> bytes:
    if type_ in _NUMBERS:
        return _varint(number << 3 | _VARINT) + _varint(int(value) & 0xFFFFFFFFFFFFFFFF)
    if type_ == "d":
        return _varint(number << 3 | _FIXED64) + struct.pack("<d", float(value))
    if type_ == "s":
        return _field(number, str(value).encode())
    if type_ == "y":
        return _field(number, base64.b64decode(value))
    return _field(number, _message(type_[1:], value))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- messages with a JSON form of their own -------------------------------------------------------


def _quantity(value: Any) -> bytes:
    return _field(1, str("0" if value is None else value).encode())


def _int_or_string(value: Any) -> bytes:
    text = isinstance(value, str)
    return (
        _value(1, "l", int(text))
        + _value(2, "i", 0 if text else value or 0)
        + _field(3, value.encode() if text else b"")
    )


def _time(value: Any) -> bytes:
    """Seconds and nanoseconds; the zero time is the empty message."""
    if value is None:
        return b""
    micros = meta.parse_time(str(value))
    return _value(1, "l", micros // 1_000_000) + _value(2, "i", micros % 1_000_000 * 1000)


def _raw_json(value: Any) -> bytes:
    return b"" if value is None else _field(1, orjson.dumps(value))


_SPECIAL: dict[str, Callable[[Any], bytes]] = {
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _time,
    "meta.v1.FieldsV1": _raw_json,
    "runtime.RawExtension": _raw_json,
}
