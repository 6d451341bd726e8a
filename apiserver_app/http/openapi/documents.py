"""OpenAPI documents: the index of `/openapi/v3`, a document a group version, and `/openapi/v2`.

Documents are built when first asked for (tens of milliseconds) and kept compressed; nothing else
of them stays in memory. Hashes are known without building anything, since a version's documents
never change; those of custom resources are hashed themselves, and forgotten when a definition
changes.

Models kube-openapi pkg/handler3/handler.go and pkg/builder3/openapi.go.
"""

from __future__ import annotations

import email.utils
import functools
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.http import discovery, negotiation
from apiserver_app.http.openapi import (
    components,
    customresources,
    nonresource,
    operations,
    v2,
    v3message,
)
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.apiregistration.apiservices import Services

Answer = tuple[int, list[tuple[str, str]], bytes]
Document = tuple[Mapping[str, Any], Mapping[str, Any]]  # paths, schemas

FORMAT = "5"  # changes whenever documents of the same version come out differently
_DOCUMENTS_MAX = 48
_NEVER = "Thu, 31 Dec 2037 23:55:55 GMT"
ROOT = "/openapi/v3"
_ROOT_V2 = "/openapi/v2"
_TEXT = "text/plain; charset=utf-8"
_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TYPES = (
    negotiation.JSON,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    _PROTOBUF_TYPE,
)
_MESSAGE_TYPE = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
_TYPES_V3 = (
    negotiation.JSON,
    _MESSAGE_TYPE,
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
)
_MESSAGE = ".pb"  # ends the name of what is kept of a document as a message


class OpenApi:
    """The OpenAPI endpoints of one server."""

    def __init__(
        self,
        resources: kinds.Resources,
        services: Services | None = None,
        clock: Callable[[], int] = lambda: 0,
    ) -> None:
        self._version = resources.version
        self._services = services
        self._resources = resources
        self._generation = resources.generation
        self._clock = clock
        self._changed = clock()
        self._custom: dict[str, bytes] = {}  # name -> document, compressed
        served = (info.root.removeprefix("/") for info in resources.built_in)
        self._built_in = frozenset((*nonresource.names(resources), *served))

    def answer(
        self, path: str, params: Mapping[str, Sequence[str]], headers: Mapping[str, str]
    ) -> Answer | None:
        """Code, headers and body of what is at a path; `headers` are the request's, lower case."""
        if self._generation != self._resources.generation:
            self._generation, self._changed = self._resources.generation, self._clock()
            self._custom.clear()
        if path == ROOT:
            return self._index()
        if path == _ROOT_V2:
            return self._v2(headers)
        name = path.removeprefix(ROOT + "/")
        if name == path:
            return None
        if name not in self._names():
            return 404, [], b""
        kind = _chosen(headers.get("accept", ""), _TYPES_V3)
        if kind is None:
            return 406, [("Vary", "Accept")], b""
        is_json = kind == negotiation.JSON
        kind = negotiation.JSON if is_json else _MESSAGE_TYPE
        etag = self._hash(name)
        out = [("Content-Type", kind), ("Etag", f'"{etag}"'), ("Vary", "Accept")]
        asked = params.get("hash")
        if asked and asked[0] and asked[0] != etag:
            return 301, [*out, ("Location", f"{ROOT}/{name}?hash={etag}")], b""
        if asked:
            out += [("Cache-Control", "public, immutable"), ("Expires", _NEVER)]
        if _takes_gzip(headers):
            out.append(("Vary", "Accept-Encoding"))
        return self._document(name, out, headers, "" if is_json else _MESSAGE)

    def _v2(self, headers: Mapping[str, str]) -> Answer:
        out = [("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        kind = _chosen(headers.get("accept", ""), _TYPES)
        if kind is None:
            return 406, out, b""
        is_protobuf = kind != negotiation.JSON
        name = "v2.pb" if is_protobuf else "v2"
        if is_protobuf:
            typed = self._version.has("OpenAPIv2ProtobufTyped")
            kind = _PROTOBUF_TYPE if typed else "application/octet-stream"
        out += [("Content-Type", kind), ("Etag", f'"{self._hash(name)}"')]
        return self._document(name, out, headers)

    def _document(
        self, name: str, out: list[tuple[str, str]], headers: Mapping[str, str], form: str = ""
    ) -> Answer:
        """What is kept under a name, in that form of it; the hash is the same for both."""
        if headers.get("if-none-match") == f'"{self._hash(name)}"':
            return 304, out, b""
        body = self._compressed(name + form)
        if _takes_gzip(headers):
            return 200, [*out, *self._content(), ("Content-Encoding", "gzip")], body
        return self._whole(out, gzip.decompress(body))

    def _whole(self, out: list[tuple[str, str]], body: bytes) -> Answer:
        return 200, [*out, *self._content(), ("Content-Length", str(len(body)))], body

    def _content(self) -> list[tuple[str, str]]:
        """The headers of Go's http.ServeContent."""
        changed = email.utils.formatdate(self._changed // SECOND, usegmt=True)
        return [("Accept-Ranges", "bytes"), ("Last-Modified", changed)]

    def _index(self) -> Answer:
        paths = {
            name: {"serverRelativeURL": f"{ROOT}/{name}?hash={self._hash(name)}"}
            for name in self._names()
        }
        return self._whole([("Content-Type", _TEXT)], orjson.dumps({"paths": paths}))

    def _names(self) -> list[str]:
        """What there is a document of."""
        custom = {f"apis/{group}/{version}" for group, version in self._custom_versions()}
        return sorted(self._built_in | custom | self._remote().keys())

    def _remote(self) -> dict[str, bytes]:
        """Documents of aggregated servers by name, as these gave them."""
        if self._services is None:
            return {}
        known = (
            (service, self._services.discovered.get(service.name))
            for service in self._services.remote.values()
        )
        return {
            document.path.strip("/"): text.openapi
            for document, text in known
            if text and text.openapi
        }

    def _custom_versions(self) -> list[tuple[str, str]]:
        infos = self._resources.listed
        return list(
            dict.fromkeys((info.group, info.version) for info in infos if info.custom is not None)
        )

    def _compressed(self, name: str) -> bytes:
        document = name.removesuffix(_MESSAGE)
        remote = self._remote().get(document)
        if remote is not None:
            return _packed(remote if name == document else v3message.encode(remote))
        is_v2 = document == "v2"
        if document in self._built_in or (is_v2 and not self._custom_versions()):
            return _compressed(self._version, self._resources.config, name)
        packed = self._custom.get(name)
        if packed is None:
            if name != document and not is_v2:
                body = v3message.encode(gzip.decompress(self._compressed(document)))
            elif is_v2:
                plain = gzip.decompress(_compressed(self._version, self._resources.config, name))
                body = v2.extended(plain, name == "v2.pb", self._custom_documents())
            else:
                body = build_custom(self._resources, *name.split("/")[1:])
            packed = self._custom[name] = _packed(body)
        return packed

    def _custom_documents(self) -> list[Document]:
        return [build_document(self._resources, *version) for version in self._custom_versions()]

    def _hash(self, name: str) -> str:
        remote = self._remote()
        if name in remote:
            return hashlib.sha512(remote[name]).hexdigest().upper()
        if name not in self._built_in and self._custom_versions():
            return hashlib.sha512(self._compressed(name)).hexdigest().upper()
        config = "".join(f"/{key}={value}" for key, value in self._resources.config)
        text = f"{FORMAT}/{self._version}{config}/{name}"
        return hashlib.sha512(text.encode()).hexdigest().upper()


def _chosen(accept: str, types: Sequence[str]) -> str | None:
    """The first of the types that is accepted."""
    for clause in negotiation.clauses(accept or "*/*"):
        for name in types:
            kind, _, subtype = name.partition("/")
            if clause.type in (kind, "*") and clause.subtype in (subtype, "*"):
                return name
    return None


def _takes_gzip(headers: Mapping[str, str]) -> bool:
    return "gzip" in map(str.strip, headers.get("accept-encoding", "").split(","))


def build(version: Release, name: str, config: RuntimeConfig = ()) -> bytes:
    """The document of `apis/apps/v1`, `api/v1`, `apis/apps`, `apis`, `api` or `version`."""
    paths: Mapping[str, Any]
    roots: Sequence[str]
    resources = kinds.Resources(version, config)
    if name in nonresource.names(resources):
        paths, roots = nonresource.paths(name), nonresource.roots(name)
    else:
        parts = name.split("/")
        group = parts[1] if parts[0] == "apis" else ""
        collected = operations.Paths(resources, group, parts[-1])
        paths, roots = collected.paths, list(collected.roots)
    schemas = components.v3(components.Definitions(version), roots)
    return _document(version, paths, components.name_kinds(schemas, resources.listed))


def build_custom(resources: kinds.Resources, group: str, version: str) -> bytes:
    """The document of a group version of custom resources."""
    return _document(resources.version, *build_document(resources, group, version))


def build_document(resources: kinds.Resources, group: str, version: str) -> Document:
    """(paths, schemas) of a group version of custom resources."""
    paths = operations.Paths(resources, group, version)
    definitions = components.Definitions(resources.version)
    infos = [info for info in resources.listed if (info.group, info.version) == (group, version)]
    out = components.v3(definitions, [*paths.roots, *customresources.ROOTS])
    out |= customresources.schemas(definitions, infos)
    return paths.paths, {name: out[name] for name in sorted(out)}


def _document(version: Release, paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> bytes:
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": discovery.api_version(version)},
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": components.SECURITY},
        }
    )


@functools.lru_cache(_DOCUMENTS_MAX)
def _compressed(version: Release, config: RuntimeConfig, name: str) -> bytes:
    if name == "v2":
        body = v2.as_json(version, config)
    elif name == "v2.pb":
        body = v2.as_protobuf(version, config)
    elif name.endswith(_MESSAGE):
        plain = _compressed(version, config, name.removesuffix(_MESSAGE))
        body = v3message.encode(gzip.decompress(plain))
    else:
        body = build(version, name, config)
    return _packed(body)


def _packed(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=6, mtime=0)
