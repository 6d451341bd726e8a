"""A document of `/openapi/v3` as the protobuf message that clients of gnostic read.

Made from the document in JSON, whoever wrote it: `_FIELDS` says of each message under which number
a key of the JSON stands, and what it holds. Keys that the message has not are left out.

Models kube-openapi pkg/handler3/handler.go (ToV3ProtoBinary); the message is gnostic's
openapiv3/OpenAPIv3.proto.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable
from typing import Any

import orjson

from apiserver_app.machinery.serializer import protoencode

Json = dict[str, Any]
Encode = Callable[[int, Any], bytes]  # the field of this number with that value

# A line a message: key, number and what it is. `*` is a list of it, `{}` a map to it, `|` that a
# reference may stand for it. `x-` are the extensions.
_FIELDS = {
    "Document": "openapi 1 text, info 2 Info, servers 3 *Server, paths 4 Paths, "
    "components 5 Components, security 6 *SecurityRequirement, tags 7 *Tag, "
    "externalDocs 8 ExternalDocs, x- 9",
    "Info": "title 1 text, description 2 text, termsOfService 3 text, contact 4 Contact, "
    "license 5 License, version 6 text, x- 7, summary 8 text",
    "Contact": "name 1 text, url 2 text, email 3 text, x- 4",
    "License": "name 1 text, url 2 text, x- 3",
    "Server": "url 1 text, description 2 text, x- 4",
    "Tag": "name 1 text, description 2 text, externalDocs 3 ExternalDocs, x- 4",
    "ExternalDocs": "description 1 text, url 2 text, x- 3",
    "Paths": "/ 1 PathItem, x- 2",
    "PathItem": "$ref 1 text, summary 2 text, description 3 text, get 4 Operation, "
    "put 5 Operation, post 6 Operation, delete 7 Operation, options 8 Operation, "
    "head 9 Operation, patch 10 Operation, trace 11 Operation, servers 12 *Server, "
    "parameters 13 *|Parameter, x- 14",
    "Operation": "tags 1 *text, summary 2 text, description 3 text, externalDocs 4 ExternalDocs, "
    "operationId 5 text, parameters 6 *|Parameter, requestBody 7 |RequestBody, "
    "responses 8 Responses, deprecated 10 flag, security 11 *SecurityRequirement, "
    "servers 12 *Server, x- 13",
    "Parameter": "name 1 text, in 2 text, description 3 text, required 4 flag, deprecated 5 flag, "
    "allowEmptyValue 6 flag, style 7 text, explode 8 flag, allowReserved 9 flag, "
    "schema 10 |Schema, example 11 any, content 13 {}MediaType, x- 14",
    "RequestBody": "description 1 text, content 2 {}MediaType, required 3 flag, x- 4",
    "MediaType": "schema 1 |Schema, example 2 any, x- 5",
    "Responses": "default 1 |Response, 0 2 |Response, x- 3",
    "Response": "description 1 text, headers 2 {}|Header, content 3 {}MediaType, x- 5",
    "Header": "description 1 text, required 2 flag, deprecated 3 flag, allowEmptyValue 4 flag, "
    "style 5 text, explode 6 flag, allowReserved 7 flag, schema 8 |Schema, example 9 any, "
    "content 11 {}MediaType, x- 12",
    "Components": "schemas 1 {}|Schema, responses 2 {}|Response, parameters 3 {}|Parameter, "
    "requestBodies 5 {}|RequestBody, headers 6 {}|Header, "
    "securitySchemes 7 {}|SecurityScheme, x- 10",
    "SecurityScheme": "type 1 text, description 2 text, name 3 text, in 4 text, scheme 5 text, "
    "bearerFormat 6 text, openIdConnectUrl 8 text, x- 9",
    "Schema": "nullable 1 flag, readOnly 3 flag, writeOnly 4 flag, externalDocs 6 ExternalDocs, "
    "example 7 any, deprecated 8 flag, title 9 text, multipleOf 10 number, maximum 11 number, "
    "exclusiveMaximum 12 flag, minimum 13 number, exclusiveMinimum 14 flag, maxLength 15 count, "
    "minLength 16 count, pattern 17 text, maxItems 18 count, minItems 19 count, "
    "uniqueItems 20 flag, maxProperties 21 count, minProperties 22 count, required 23 *text, "
    "enum 24 *any, type 25 text, allOf 26 *|Schema, oneOf 27 *|Schema, anyOf 28 *|Schema, "
    "not 29 Schema, items 30 items, properties 31 {}|Schema, "
    "additionalProperties 32 values, default 33 default, description 34 text, format 35 text, "
    "x- 36",
    "Reference": "$ref 1 text, summary 2 text, description 3 text",
}


def encode(document: bytes) -> bytes:
    """The openapi.v3.Document of a document in JSON."""
    return _message("Document", orjson.loads(document))


def _message(kind: str, value: Json) -> bytes:
    named, patterns = _compiled(kind)
    parts: list[tuple[int, bytes]] = []
    for key, held in value.items():
        if key in named:
            number, field = named[key]
            parts.append((number, field(number, held)))
            continue
        for pattern, number, one in patterns:
            if pattern.match(key):
                parts.append((number, _pair(number, key, one(2, held))))
                break
    parts.sort(key=lambda part: part[0])
    return b"".join(part for _, part in parts)


@functools.cache
def _compiled(
    kind: str,
) -> tuple[dict[str, tuple[int, Encode]], list[tuple[re.Pattern[str], int, Encode]]]:
    """A message's keys, and the patterns of keys that are names of a repeated field."""
    named: dict[str, tuple[int, Encode]] = {}
    patterns = []
    for text in _FIELDS[kind].split(", "):
        key, number, *what = text.split()
        if key in _PATTERNS:
            field = _field(what[0]) if what else _any
            patterns.append((_PATTERNS[key], int(number), field))
        else:
            named[key] = int(number), _field(what[0])
    return named, patterns


_PATTERNS = {"x-": re.compile("x-"), "/": re.compile("/"), "0": re.compile("[0-9X]{3}$")}


def _field(what: str) -> Encode:
    """The encoder of what `_FIELDS` says is there."""
    if what.startswith("*"):
        one = _field(what[1:])
        return lambda number, values: b"".join(one(number, value) for value in values)
    if what.startswith("{}"):
        return functools.partial(_map, _field(what[2:]))
    if what.startswith("|"):
        return functools.partial(_or_reference, what[1:])
    known = _SCALARS.get(what)
    if known is not None:
        return known
    return lambda number, value: protoencode.delimited(number, _message(what, value))


def _map(one: Encode, number: int, values: Json) -> bytes:
    pairs = (_pair(1, key, one(2, value)) for key, value in values.items())
    return protoencode.delimited(number, b"".join(pairs))


def _or_reference(kind: str, number: int, value: Json) -> bytes:
    """The message in field 1, or a reference to one in field 2."""
    if "$ref" in value:
        inner = protoencode.delimited(2, _message("Reference", value))
    else:
        inner = protoencode.delimited(1, _message(kind, value))
    return protoencode.delimited(number, inner)


def _pair(number: int, name: str, value: bytes) -> bytes:
    """A name with its value, which is field 2."""
    return protoencode.delimited(number, _text(1, name) + value)


def _text(number: int, value: str) -> bytes:
    return protoencode.delimited(number, value.encode()) if value else b""


def _flag(number: int, value: bool) -> bytes:
    return _varint(number, 1) if value else b""


def _count(number: int, value: int) -> bytes:
    return _varint(number, int(value)) if value else b""


def _number(number: int, value: float) -> bytes:
    return _double(number, value) if value else b""


def _any(number: int, value: Any) -> bytes:
    """An Any, whose value is YAML; JSON is YAML."""
    return protoencode.delimited(number, protoencode.delimited(2, orjson.dumps(value) + b"\n"))


def _items(number: int, value: Json) -> bytes:
    return protoencode.delimited(number, _or_reference("Schema", 1, value))


def _values(number: int, value: Any) -> bytes:
    """An AdditionalPropertiesItem: a schema, or whether there may be any."""
    inner = _varint(2, value) if isinstance(value, bool) else _or_reference("Schema", 1, value)
    return protoencode.delimited(number, inner)


def _default(number: int, value: Any) -> bytes:
    """A DefaultType, which holds numbers, truth and text, and of all else nothing."""
    inner = b""
    if isinstance(value, bool):
        inner = _varint(2, value)
    elif isinstance(value, int | float):
        inner = _double(1, value)
    elif isinstance(value, str):
        inner = protoencode.delimited(3, value.encode())
    return protoencode.delimited(number, inner)


def _security(number: int, value: Json) -> bytes:
    pairs = (
        _pair(1, name, protoencode.delimited(2, b"".join(_text(1, scope) for scope in scopes)))
        for name, scopes in value.items()
    )
    return protoencode.delimited(number, b"".join(pairs))


def _varint(number: int, value: int) -> bytes:
    return protoencode.varint(number << 3) + protoencode.varint(value)


def _double(number: int, value: float) -> bytes:
    return protoencode.varint(number << 3 | 1) + struct.pack("<d", value)


_SCALARS: dict[str, Encode] = {
    "text": _text, "flag": _flag, "count": _count, "number": _number, "any": _any,
    "items": _items, "values": _values, "default": _default, "SecurityRequirement": _security,
}  # fmt: skip
