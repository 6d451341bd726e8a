"""Manifests as people paste them: YAML or JSON, one document or many, cut into single requests.

Each object becomes a POST to its collection, as `kubectl create -f` sends it, or a PATCH, as
`kubectl apply --server-side --force-conflicts` does. Decides nothing about the objects: that is the
API server's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec

from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import yamlbody

OBJECTS_MAX = 200
QUERY = "fieldManager=page&fieldValidation=Strict"


class Way(msgspec.Struct, frozen=True):
    """How objects are sent, and what kubectl prints about it."""

    method: str
    query: str
    media: str
    done: str


CREATE = Way("POST", QUERY, "application/json", "created")
APPLY = Way("PATCH", f"{QUERY}&force=true", "application/apply-patch+yaml", "serverside-applied")


class ManifestError(Exception):
    """The text cannot be sent, in one sentence."""


class Post(msgspec.Struct, frozen=True):
    """One request to make, or why it cannot be made."""

    kind: str
    namespace: str
    name: str
    path: str
    body: bytes
    problem: str = ""


def posts(text: bytes, version: Release, namespace: str, way: Way = CREATE) -> list[Post]:
    """The requests for all documents, in order. Raises ManifestError."""
    made = [_post(obj, version, namespace, way) for obj in _objects(text)]
    if not made:
        raise ManifestError("there is no object in the text")
    if len(made) > OBJECTS_MAX:
        raise ManifestError(f"{len(made)} objects are more than {OBJECTS_MAX} at once")
    return made


def _objects(text: bytes) -> Iterator[dict[str, Any]]:
    try:
        documents = yamlbody.load_all(text)
    except yamlbody.YamlError as error:
        raise ManifestError(f"error converting YAML to JSON: {error}") from error
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise ManifestError(f"document {number} is no object")
        if document.get("kind") == "List":
            yield from (item for item in document.get("items") or [] if isinstance(item, dict))
        else:
            yield document


def _post(obj: dict[str, Any], version: Release, namespace: str, way: Way) -> Post:
    kind, api_version = str(obj.get("kind", "")), str(obj.get("apiVersion", ""))
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    name = str(named.get("name") or "")
    group, _, group_version = api_version.rpartition("/")
    info = resources(version).by_gvk(group, group_version, kind)
    if info is None or not info.plural:
        problem = f'no matches for kind "{kind}" in version "{api_version}"'
        return Post(kind, "", name, "", b"", problem)
    where = str(named.get("namespace") or namespace) if info.namespaced else ""
    scope = f"/namespaces/{quote(where, safe='')}" if where else ""
    path = f"{info.root}{scope}/{info.plural}"
    if way is APPLY:
        if not name:
            return Post(kind, where, "", "", b"", "what is applied needs a name")
        path += f"/{quote(name, safe='')}"
    return Post(kind, where, name, path, json.dumps(obj, separators=(",", ":")).encode())


@lru_cache(maxsize=4)
def resources(version: Release) -> kinds.Resources:
    """What that release serves of its own."""
    return kinds.Resources(version)
