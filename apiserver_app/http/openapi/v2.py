"""The `/openapi/v2` document, which kubectl before 1.28 validates, compares and explains with.

The same schemas and operations as version 3, in the form of Swagger 2.0: as JSON, or as the
protobuf message that kubectl asks for. Each path and each definition is built, written and
dropped before the next.

Models kube-openapi pkg/builder/openapi.go; the message is gnostic's openapiv2/OpenAPIv2.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from apiserver_app.http import discovery
from apiserver_app.http.openapi import components, customresources, nonresource, operations
from apiserver_app.http.openapi.components import V2_PREFIX, V3_PREFIX
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.releases import Release

Json = dict[str, Any]

_SPECIAL = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": "string",
        "format": "int-or-string",
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}
_SCHEMES = ["https"]


def as_json(version: Release, config: RuntimeConfig = ()) -> bytes:
    """The document as JSON."""
    source = _Source(version, config)
    paths = b",".join(_member(name, orjson.dumps(item)) for name, item in source.paths())
    members = b",".join(_member(name, orjson.dumps(item)) for name, item in source.definitions())
    return b"".join(
        (
            b'{"swagger":"2.0","info":',
            orjson.dumps(source.info),
            b',"paths":{',
            paths,
            b'},"definitions":{',
            members,
            b'},"securityDefinitions":',
            orjson.dumps(components.SECURITY),
            b',"security":',
            orjson.dumps([{name: [] for name in components.SECURITY}]),
            b"}",
        )
    )


def as_protobuf(version: Release, config: RuntimeConfig = ()) -> bytes:
    """The document as an openapi.v2.Document."""
    source = _Source(version, config)
    info = _text(1, source.info["title"]) + _text(2, source.info["version"])
    paths = b"".join(_named(2, name, _path_item(item)) for name, item in source.paths())
    members = b"".join(_named(1, name, _schema(item)) for name, item in source.definitions())
    return b"".join(
        (_text(1, "2.0"), _field(2, info), _field(8, paths), _field(9, members), _security())
    )


def extended(plain: bytes, protobuf: bool, documents: Iterable[tuple[Any, Any]]) -> bytes:
    """The document with those of custom resources, given as paths and schemas of version 3."""
    paths: Json = {}
    schemas: Json = {}
    for served, known in documents:
        paths |= {path: _swagger_item(item) for path, item in served.items()}
        schemas |= {
            name: customresources.in_v2(schema)
            for name, schema in known.items()
            if not name.startswith("io.k8s.")
        }
    if protobuf:  # what is appended is merged with what is there
        items = b"".join(_named(2, name, _path_item(item)) for name, item in paths.items())
        found_ = b"".join(_named(1, name, _schema(item)) for name, item in schemas.items())
        return plain + _field(8, items) + _field(9, found_)
    more = b"".join(_member(name, orjson.dumps(item)) + b"," for name, item in paths.items())
    plain = plain.replace(b'"paths":{', b'"paths":{' + more, 1)
    more = b"".join(_member(name, orjson.dumps(item)) + b"," for name, item in schemas.items())
    return plain.replace(b'"definitions":{', b'"definitions":{' + more, 1)


class _Source:
    """Paths, then the definitions they led to, one by one in Swagger's form."""

    def __init__(self, version: Release, config: RuntimeConfig) -> None:
        self.info = {"title": "Kubernetes", "version": discovery.api_version(version)}
        self._resources = kinds.Resources(version, config)
        self._definitions = components.Definitions(version)
        self._roots: dict[str, None] = {}

    def paths(self) -> Iterator[tuple[str, Json]]:
        for name in nonresource.names(self._resources):
            self._roots |= dict.fromkeys(nonresource.roots(name))
            for path, item in nonresource.paths(name).items():
                yield path, _swagger_item(item)
        for group, version in self._resources.group_versions:
            paths = operations.Paths(self._resources, group, version)
            self._roots |= paths.roots
            for path, item in paths.paths.items():
                yield path, _swagger_item(item)

    def definitions(self) -> Iterator[tuple[str, Json]]:
        schemas = components.v3(self._definitions, self._roots)
        for name, schema in components.name_kinds(schemas, self._resources.listed).items():
            yield name, _SPECIAL.get(name) or _swagger_schema(schema)


def _swagger_item(item: Json) -> Json:
    out: Json = {
        method: _swagger_operation(item[method]) for method in operations.METHODS if method in item
    }
    if "parameters" in item:
        out["parameters"] = [_swagger_parameter(parameter) for parameter in item["parameters"]]
    return out


def _swagger_operation(operation: Json) -> Json:
    out: Json = {}
    for key, value in operation.items():
        if key == "parameters":
            shown = [_swagger_parameter(parameter) for parameter in value]
            out[key] = [*out.get(key, ()), *shown]
        elif key == "requestBody":
            out["consumes"] = list(value["content"])
            schema = next(iter(value["content"].values()))["schema"]
            body: Json = {"name": "body", "in": "body", "schema": _swagger_schema(schema)}
            if value.get("required"):
                body["required"] = True
            out["parameters"] = [body, *out.get("parameters", ())]
        elif key == "responses":
            out["produces"] = list(value["200"].get("content", ()))
            if "consumes" not in out and (consumed := _consumes(operation, out["produces"])):
                out["consumes"] = consumed
            out["schemes"] = _SCHEMES
            out[key] = {code: _swagger_response(response) for code, response in value.items()}
        else:
            out[key] = value
    return out


def _consumes(operation: Json, produces: list[str]) -> list[str]:
    """What an operation without a body takes."""
    if "x-kubernetes-action" in operation:
        return ["*/*"]
    content = operation["responses"]["200"]["content"][produces[0]]
    return produces if "$ref" in content["schema"] else []


def _swagger_parameter(parameter: Json) -> Json:
    flat = {key: value for key, value in parameter.items() if key != "schema"}
    return {**flat, "type": parameter["schema"]["type"], "uniqueItems": True}


def _swagger_response(response: Json) -> Json:
    out: Json = {"description": response["description"]}
    for content in response.get("content", {}).values():
        out["schema"] = _swagger_schema(content["schema"])
        break
    return out


def _swagger_schema(schema: Json) -> Json:
    out: Json = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: _swagger_schema(item) for name, item in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            out[key] = _swagger_schema(value)
        elif key == "allOf":
            out["$ref"] = _renamed(value[0]["$ref"])
        elif key == "$ref":
            out[key] = _renamed(value)
        elif key not in ("default", "oneOf"):
            out[key] = value
    return out


def _renamed(reference: str) -> str:
    return V2_PREFIX + reference.removeprefix(V3_PREFIX)


def _member(name: str, value: bytes) -> bytes:
    return orjson.dumps(name) + b":" + value


# -- protobuf: a function a message, fields by their numbers -----------------------------------


def _path_item(item: Json) -> bytes:
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
    parts = [
        _field(numbers[key], _operation(item[key])) for key in operations.METHODS if key in item
    ]
    parts += [_field(9, _parameter(parameter)) for parameter in item.get("parameters", ())]
    return b"".join(parts)


def _operation(operation: Json) -> bytes:
    parts = [_text(1, tag) for tag in operation.get("tags", ())]
    parts += [_text(3, operation["description"]), _text(5, operation["operationId"])]
    parts += [_text(6, kind) for kind in operation.get("produces", ())]
    parts += [_text(7, kind) for kind in operation.get("consumes", ())]
    parts += [_field(8, _parameter(parameter)) for parameter in operation.get("parameters", ())]
    codes = [
        _named(1, code, _field(1, _response(response)))
        for code, response in operation["responses"].items()
    ]
    parts.append(_field(9, b"".join(codes)))
    parts += [_text(10, scheme) for scheme in operation["schemes"]]
    return b"".join(parts) + _extensions(13, operation)


def _security() -> bytes:
    """Requirements and definitions."""
    parts = []
    for name, scheme in components.SECURITY.items():
        numbers = (("type", 1), ("name", 2), ("in", 3), ("description", 4))
        known = _field(2, b"".join(_text(number, scheme[key]) for key, number in numbers))
        parts += [_field(12, _named(1, name, b"")), _field(13, _named(1, name, known))]
    return b"".join(parts)


def _parameter(parameter: Json) -> bytes:
    """A ParametersItem of a Parameter, that of a body or of a query or path."""
    if parameter["in"] == "body":
        body = _text(2, "body") + _text(3, "body") + _flag(4, parameter.get("required"))
        return _field(1, _field(1, body + _field(5, _schema(parameter["schema"]))))
    required = _flag(1, parameter.get("required"))
    common = _text(2, parameter["in"]) + _text(3, parameter["description"])
    common += _text(4, parameter["name"])
    if parameter["in"] == "query":
        number, rest = 3, _text(6, parameter["type"]) + _flag(20, True)
    else:
        number, rest = 4, _text(5, parameter["type"]) + _flag(19, True)
    return _field(1, _field(2, _field(number, required + common + rest)))


def _response(response: Json) -> bytes:
    out = _text(1, response["description"])
    schema = response.get("schema")
    return out + _field(2, _field(1, _schema(schema))) if schema is not None else out


def _schema(schema: Json) -> bytes:
    parts: list[bytes] = []
    for key, number in (("$ref", 1), ("format", 2), ("description", 4)):
        if schema.get(key):
            parts.append(_text(number, schema[key]))
    parts += [_text(19, name) for name in schema.get("required", ())]
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        parts.append(_field(21, _field(1, _schema(values))))
    if "type" in schema:
        parts.append(_field(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(23, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        named = (_named(1, name, _schema(item)) for name, item in schema["properties"].items())
        parts.append(_field(25, b"".join(named)))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _extensions(number: int, holder: Json) -> bytes:
    """Extensions are NamedAny whose value is YAML; JSON is YAML."""
    return b"".join(
        _named(number, key, _field(2, orjson.dumps(value)))
        for key, value in holder.items()
        if key.startswith("x-")
    )


def _named(number: int, name: str, value: bytes) -> bytes:
    return _field(number, _text(1, name) + _field(2, value))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _flag(number: int, value: Any) -> bytes:
    return _varint(number << 3) + b"\x01" if value else b""


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
