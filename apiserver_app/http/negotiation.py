"""What an Accept header asks for and what the server will send: JSON or YAML, whole or converted.

Protobuf answers are not served, so a client that names protobuf first gets its next choice, and
one that names nothing else is refused. Parsed headers are remembered in a bounded cache, since
clients send the same few.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go,
handlers/rest.go (AllowsMediaTypeTransform) and discovery/aggregated/negotiation.go.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from apiserver_app.machinery import errors

JSON = "application/json"
YAML = "application/yaml"
STREAM_SUFFIX = ";stream=watch"

_CACHE_ENTRIES = 256
_META_VERSIONS = ("v1", "v1beta1")
_DISCOVERY_VERSIONS = ("v2", "v2beta1")
_CONVERSIONS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")


class Accepted(NamedTuple):
    """The form of an answer. `convert` is empty for the object as it is."""

    media_type: str = JSON
    convert: str = ""  # Table, PartialObjectMetadata, PartialObjectMetadataList
    convert_version: str = ""  # v1, v1beta1
    pretty: bool = False

    @property
    def is_yaml(self) -> bool:
        return self.media_type == YAML

    @property
    def is_table(self) -> bool:
        return self.convert == "Table"


class Clause(NamedTuple):
    """One entry of an Accept header."""

    type: str
    subtype: str
    params: Mapping[str, str]
    quality: float


@functools.lru_cache(_CACHE_ENTRIES)
def negotiate(accept: str, watch: bool = False) -> Accepted:
    """The form in which to answer; ApiError 406 when none of those asked for can be sent."""
    if not accept:
        return Accepted()
    served = (JSON,) if watch else (JSON, YAML)
    for clause in clauses(accept):
        for media_type in served:
            if _matches(clause, media_type):
                found = _accept(clause.params, media_type, watch)
                if found is not None:
                    return found
    raise errors.not_acceptable([name + STREAM_SUFFIX if watch else name for name in served])


@functools.lru_cache(_CACHE_ENTRIES)
def discovery_version(accept: str) -> str:
    """The version of aggregated discovery a client takes before the plain one, or nothing."""
    for clause in clauses(accept):
        if not _matches(clause, JSON):
            continue
        params = clause.params
        kind = (params.get("g", ""), params.get("as", ""))
        if not any(kind) and not params.get("v"):
            return ""
        if kind == ("apidiscovery.k8s.io", "APIGroupDiscoveryList"):
            version = params.get("v", "")
            if version in _DISCOVERY_VERSIONS:
                return version
    return ""


def discovery_type(version: str) -> str:
    """The Content-Type of an aggregated discovery document: the client's own words."""
    return f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def wants_pretty(params: Mapping[str, Sequence[str]], agent: str) -> bool:
    """Whether JSON is to be indented: by `?pretty=`, else for tools people read with."""
    values = params.get("pretty")
    if values and values[0]:
        return values[0] in ("1", "t", "T", "TRUE", "true", "True")
    return agent.startswith(_BROWSERS)


def clauses(accept: str) -> list[Clause]:
    """The entries of an Accept header, the most wanted first, as goautoneg sorts them."""
    found = [clause for clause in map(_clause, _split(accept, ",")) if clause is not None]
    found.sort(key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    return found


def _accept(params: Mapping[str, str], media_type: str, watch: bool) -> Accepted | None:
    stream = params.get("stream", "")
    if stream and not (watch and stream == "watch"):
        return None
    kind, group, version = (params.get(name, "") for name in ("as", "g", "v"))
    pretty = params.get("pretty") == "1"
    if not (kind or group or version):
        return Accepted(media_type, pretty=pretty)
    if group == "meta.k8s.io" and version in _META_VERSIONS and kind in _CONVERSIONS:
        return Accepted(media_type, kind, version, pretty)
    return None


def _matches(clause: Clause, media_type: str) -> bool:
    if clause.type == "*" and clause.subtype == "*":
        return True
    if clause.subtype == "*":
        return media_type.startswith(clause.type + "/")
    return f"{clause.type}/{clause.subtype}" == media_type


def _clause(text: str) -> Clause | None:
    name, *rest = _split(text, ";") or [""]
    if name == "*":
        name = "*/*"
    kind, slash, subtype = name.partition("/")
    if not slash or "/" in subtype:
        return None
    params: dict[str, str] = {}
    quality = 1.0
    for part in rest:
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip().strip('"')
        if not equals:
            continue
        if key == "q":
            quality = _quality(value)
        else:
            params[key] = value
    return Clause(kind.strip(), subtype.strip(), params, quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _split(text: str, at: str) -> list[str]:
    """Split outside of quotes; parts are stripped, empty ones left out."""
    if '"' not in text:
        return [part.strip() for part in text.split(at) if part.strip()]
    parts, start, quoted = [], 0, False
    for index, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif char == at and not quoted:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]
