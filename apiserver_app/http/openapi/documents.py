"""OpenAPI documents: the index of `/openapi/v3`, a document a group version, and `/openapi/v2`.

Documents are built when first asked for (tens of milliseconds) and kept compressed; nothing else
of them stays in memory. Hashes are known without building anything, since a version's documents
never change; those of custom resources are hashed themselves, and forgotten when a definition
changes.

Models kube-openapi pkg/handler3/handler.go and pkg/builder3/openapi.go.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.http import discovery, negotiation
from apiserver_app.http.openapi import components, customresources, nonresource, operations, v2
from apiserver_app.http.openapi.components import META
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.apiregistration.apiservices import Services

Answer = tuple[int, list[tuple[str, str]], bytes]
Document = tuple[Mapping[str, Any], Mapping[str, Any]]  # paths, schemas

FORMAT = "4"  # changes whenever documents of the same version come out differently
_DOCUMENTS_MAX = 48
_NEVER = "Thu, 31 Dec 2037 23:55:55 GMT"
_ROOT = "/openapi/v3"
_ROOT_V2 = "/openapi/v2"
_PROTOBUF = "com.github.proto-openapi.spec.v2"
_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_META_PATHS = {"api": "APIVersions", "apis": "APIGroupList"}


class OpenApi:
    """The OpenAPI endpoints of one server."""

    def __init__(self, resources: kinds.Resources, services: Services | None = None) -> None:
        self._version = resources.version
        self._services = services
        self._resources = resources
        self._generation = resources.generation
        self._custom: dict[str, bytes] = {}  # name -> document, compressed
        names = ["api", "apis", *nonresource.NAMES]
        for info in resources.built_in:
            group, version = info.group, info.version
            names += [f"apis/{group}", f"apis/{group}/{version}"] if group else [f"api/{version}"]
        self._built_in = frozenset(names)

    def answer(
        self,
        path: str,
        params: Mapping[str, Sequence[str]],
        headers: Mapping[str, str],
    ) -> Answer | None:
        """Code, headers and body of what is at a path; `headers` are the request's, lower case."""
        path = path.rstrip("/")
        if self._generation != self._resources.generation:
            self._generation = self._resources.generation
            self._custom.clear()
        if path == _ROOT:
            return self._index()
        if path == _ROOT_V2:
            is_protobuf = _PROTOBUF in headers.get("accept", "")
            name = "v2.pb" if is_protobuf else "v2"
            out = [("Content-Type", _PROTOBUF_TYPE if is_protobuf else negotiation.JSON)]
            return self._document(name, out, headers)
        name = path.removeprefix(_ROOT + "/")
        if name == path or name not in self._names():
            return None
        etag = self._hash(name)
        asked = params.get("hash")
        if asked and asked[0] and asked[0] != etag:
            where = f"{_ROOT}/{name}?hash={etag}"
            return 301, [("Location", where), ("Content-Type", "text/plain")], b""
        negotiation.negotiate(headers.get("accept", ""))
        out = [("Content-Type", negotiation.JSON)]
        if asked:
            out += [("Cache-Control", "public, immutable"), ("Expires", _NEVER)]
        return self._document(name, out, headers)

    def _document(
        self, name: str, out: list[tuple[str, str]], headers: Mapping[str, str]
    ) -> Answer:
        etag = f'"{self._hash(name)}"'
        out += [("Etag", etag), ("Vary", "Accept, Accept-Encoding")]
        if headers.get("if-none-match") == etag:
            return 304, out, b""
        body = self._compressed(name)
        if "gzip" in headers.get("accept-encoding", ""):
            return 200, [*out, ("Content-Encoding", "gzip")], body
        return 200, out, gzip.decompress(body)

    def _index(self) -> Answer:
        paths = {
            name: {"serverRelativeURL": f"{_ROOT}/{name}?hash={self._hash(name)}"}
            for name in self._names()
        }
        body = orjson.dumps({"paths": paths})
        return 200, [("Content-Type", negotiation.JSON)], body

    def _names(self) -> list[str]:
        """What there is a document of."""
        custom = {f"apis/{group}/{version}" for group, version in self._custom_versions()}
        return sorted(self._built_in | custom | self._remote().keys())

    def _remote(self) -> dict[str, bytes]:
        """Documents of aggregated servers by name, as these gave them."""
        if self._services is None:
            return {}
        known = ((one, self._services.found.get(one.name)) for one in
                 self._services.remote.values())  # fmt: skip
        return {one.path.strip("/"): said.openapi for one, said in known if said and said.openapi}

    def _custom_versions(self) -> list[tuple[str, str]]:
        infos = self._resources.listed
        return list(
            dict.fromkeys((one.group, one.version) for one in infos if one.custom is not None)
        )

    def _compressed(self, name: str) -> bytes:
        remote = self._remote().get(name)
        if remote is not None:
            return gzip.compress(remote, compresslevel=6, mtime=0)
        is_v2 = name in ("v2", "v2.pb")
        if name in self._built_in or (is_v2 and not self._custom_versions()):
            return _compressed(self._version, self._resources.config, name)
        found = self._custom.get(name)
        if found is None:
            if is_v2:
                plain = gzip.decompress(_compressed(self._version, self._resources.config, name))
                body = v2.extended(plain, name == "v2.pb", self._custom_documents())
            else:
                body = build_custom(self._resources, *name.split("/")[1:])
            found = self._custom[name] = gzip.compress(body, compresslevel=6, mtime=0)
        return found

    def _custom_documents(self) -> list[Document]:
        return [build_document(self._resources, *one) for one in self._custom_versions()]

    def _hash(self, name: str) -> str:
        remote = self._remote()
        if name in remote:
            return hashlib.sha512(remote[name]).hexdigest().upper()
        if name not in self._built_in and self._custom_versions():
            return hashlib.sha512(self._compressed(name)).hexdigest().upper()
        said = "".join(f"/{key}={value}" for key, value in self._resources.config)
        text = f"{FORMAT}/{self._version}{said}/{name}"
        return hashlib.sha512(text.encode()).hexdigest().upper()


def build(version: Release, name: str, config: RuntimeConfig = ()) -> bytes:
    """The document of `apis/apps/v1`, `api/v1`, `apis/apps`, `apis`, `api` or `version`."""
    paths: Mapping[str, Any]
    roots: Sequence[str]
    parts = name.split("/")
    resources = kinds.Resources(version, config)
    if name in nonresource.NAMES:
        paths, roots = nonresource.paths(name), nonresource.roots(name)
    elif len(parts) == 1 or (len(parts) == 2 and parts[0] == "apis"):
        kind = _META_PATHS.get(name, "APIGroup")
        paths = {f"/{name}/": _get(kind, parts[-1] if len(parts) > 1 else "")}
        roots = [META + kind]
    else:
        group = parts[1] if parts[0] == "apis" else ""
        found = operations.Paths(resources, group, parts[-1])
        paths, roots = found.paths, list(found.roots)
    schemas = components.v3(components.Definitions(version), roots)
    return _document(version, paths, components.name_kinds(schemas, resources.listed))


def build_custom(resources: kinds.Resources, group: str, version: str) -> bytes:
    """The document of a group version of custom resources."""
    return _document(resources.version, *build_document(resources, group, version))


def build_document(resources: kinds.Resources, group: str, version: str) -> Document:
    """(paths, schemas) of a group version of custom resources."""
    found = operations.Paths(resources, group, version)
    definitions = components.Definitions(resources.version)
    infos = [info for info in resources.listed if (info.group, info.version) == (group, version)]
    out = components.v3(definitions, [*found.roots, *customresources.ROOTS])
    out |= customresources.schemas(definitions, infos)
    return found.paths, {name: out[name] for name in sorted(out)}


def _document(version: Release, paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> bytes:
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": {
                "title": "Kubernetes",
                "version": discovery.version_info(version)["gitVersion"],
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {
                    "BearerToken": {
                        "type": "apiKey",
                        "description": "Bearer Token authentication",
                        "name": "authorization",
                        "in": "header",
                    }
                },
            },
        }
    )


@functools.lru_cache(_DOCUMENTS_MAX)
def _compressed(version: Release, config: RuntimeConfig, name: str) -> bytes:
    if name == "v2":
        body = v2.as_json(version, config)
    elif name == "v2.pb":
        body = v2.as_protobuf(version, config)
    else:
        body = build(version, name, config)
    return gzip.compress(body, compresslevel=6, mtime=0)


def _get(kind: str, group: str) -> dict[str, object]:
    schema = components.reference(META + kind)
    word = operations.operation_prefix(group, "") + kind if group else "APIVersions"
    return {
        "get": {
            "description": "get information of a group",
            "operationId": f"get{word}",
            "responses": {
                "200": {
                    "description": "OK",
                    "content": {kind: {"schema": schema} for kind in operations.ANSWERS},
                },
                "401": {"description": "Unauthorized"},
            },
        }
    }
