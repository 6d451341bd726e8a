"""Reads protobuf messages field by field."""

from collections.abc import Iterator
from typing import Any


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def names_of(data: bytes, number: int) -> list[str]:
    return [dict(fields(item))[1].decode() for found, item in fields(data) if found == number]


def value_of(data: bytes, number: int, name: str) -> bytes:
    """The value of the named entry in a field of (name, value) pairs."""
    for found, item in fields(data):
        if found == number:
            pair = dict(fields(item))
            if pair[1] == name.encode():
                return bytes(pair[2])
    raise AssertionError(f"no {name}")
