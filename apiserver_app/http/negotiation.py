"""Content negotiation: the Accept header and what the server can send (JSON, YAML or protobuf,
whole or converted).

Custom resources and Tables have no protobuf: a client that prefers protobuf gets its next choice,
and one that accepts nothing else is refused. Parsed headers are cached, since clients send the same
few.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go,
handlers/rest.go (AllowsMediaTypeTransform), discovery/aggregated/negotiation.go and
github.com/munnerz/goautoneg.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from apiserver_app.machinery import errors

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
SERVED = (JSON, YAML, PROTOBUF)
STREAMED = (JSON, PROTOBUF)
STREAM_SUFFIX = ";stream=watch"
LISTED = (*SERVED, *(name + STREAM_SUFFIX for name in STREAMED))  # of routes that also watch
LOGGED = ("text/plain", *SERVED)

_CACHE_ENTRIES = 256
_META_VERSIONS = ("v1", "v1beta1")
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")
_BROWSERS = ("curl", "Wget", "Mozilla/5.0")


class Accepted(NamedTuple):
    """The negotiated form of an answer. `convert` is empty for the unconverted object."""

    media_type: str = JSON
    convert: str = ""  # Table, PartialObjectMetadata, PartialObjectMetadataList
    convert_version: str = ""  # v1, v1beta1
    pretty: bool = False

    @property
    def is_yaml(self) -> bool:
        return self.media_type == YAML

    @property
    def is_protobuf(self) -> bool:
        return self.media_type == PROTOBUF

    @property
    def is_table(self) -> bool:
        return self.convert == "Table"

    @property
    def stream_type(self) -> str:
        """Returns the Content-Type of a watch."""
        return self.media_type if self.media_type == JSON else self.media_type + STREAM_SUFFIX


class Clause(NamedTuple):
    """One entry of an Accept header."""

    type: str
    subtype: str
    params: Mapping[str, str]
    quality: float


# (media type, (kind, group, version) of the requested conversion or None) -> whether it can be sent
Allows = Callable[[str, "tuple[str, str, str] | None"], bool]


@functools.lru_cache(_CACHE_ENTRIES)
def negotiate(
    accept: str, watch: bool = False, custom: bool = False, produces: Sequence[str] = ()
) -> Accepted:
    """Returns the form of an answer about a resource; ApiError 406 when no accepted form can be
    sent. `custom` resources have protobuf only for their metadata. `produces` are the media types
    of the route."""
    check_routed(accept, produces)
    accepted = _negotiate(accept, _custom_form if custom else _form, server_version="v1")
    if accepted is None:
        raise errors.not_acceptable(SERVED)
    if watch and accepted.is_yaml:
        raise errors.not_acceptable(LISTED[len(SERVED) :])
    return accepted


def check_routed(accept: str, produces: Sequence[str]) -> None:
    """Raises go-restful's 406 for an Accept header that names nothing the route answers with. Only
    `*/*` counts as a wildcard. Nothing is asked of a route without media types."""
    if produces and accept:
        names = (part.partition(";")[0].strip(" ") for part in accept.split(","))
        if not any(name == "*/*" or name in produces for name in names):
            raise errors.no_representation(406, produces)


@functools.lru_cache(_CACHE_ENTRIES)
def negotiate_unconverted(accept: str) -> Accepted | None:
    """Returns the form of an unconvertible answer: a Status or a discovery document."""
    return _negotiate(accept, lambda _, target: target is None)


@functools.lru_cache(_CACHE_ENTRIES)
def discovery(accept: str, versions: Sequence[str]) -> Accepted | None:
    """Returns the accepted form of aggregated discovery, whatever its rank in the header."""
    if not accept:
        return None
    return _negotiate(accept, functools.partial(_discovery_form, versions))


def _form(media_type: str, target: tuple[str, str, str] | None) -> bool:
    if target is None:
        return True
    kind, group, version = target
    if group != "meta.k8s.io" or version not in _META_VERSIONS:
        return False
    return kind in _PARTIAL or (kind == "Table" and media_type != PROTOBUF)


def _custom_form(media_type: str, target: tuple[str, str, str] | None) -> bool:
    return media_type != PROTOBUF if target is None else _form(media_type, target)


def _discovery_form(
    versions: Sequence[str], media_type: str, target: tuple[str, str, str] | None
) -> bool:
    if target is None:
        return False
    kind, group, version = target
    return (kind, group) == _DISCOVERY and version in versions


_DISCOVERY = ("APIGroupDiscoveryList", "apidiscovery.k8s.io")


def _negotiate(accept: str, allows: Allows, server_version: str = "") -> Accepted | None:
    if not accept:
        return Accepted()
    for clause in clauses(accept):
        for media_type in SERVED:
            if _matches(clause, media_type):
                accepted = _accept(clause.params, media_type, allows, server_version)
                if accepted is not None:
                    return accepted
    return None


def discovery_type(accepted: Accepted) -> str:
    """Returns the Content-Type of an aggregated discovery document."""
    version, kind = accepted.convert_version, accepted.convert
    return f"{accepted.media_type};g={_DISCOVERY[1]};v={version};as={kind}"


def wants_pretty(params: Mapping[str, Sequence[str]], agent: str) -> bool:
    """Reports whether JSON is indented: by `?pretty=`, else for browsers and curl."""
    values = params.get("pretty")
    if values and values[0]:
        return values[0] in ("1", "t", "T", "TRUE", "true", "True")
    return agent.startswith(_BROWSERS)


def clauses(accept: str) -> list[Clause]:
    """Returns the entries of an Accept header by preference, as goautoneg sorts them."""
    entries: list[Clause] = []
    for part in accept.split(","):
        clause = _clause(part.strip(" "))
        if clause is None:
            continue
        entries.append(clause)
        index = len(entries) - 1
        while index and _before(entries[index], entries[index - 1]):
            entries[index - 1], entries[index] = entries[index], entries[index - 1]
            index -= 1
    return entries


def _before(clause: Clause, other: Clause) -> bool:
    """Compares as goautoneg does, which is no total order: a named type beats a wildcard at any
    quality."""
    return (
        clause.quality > other.quality
        or (clause.type != "*" and other.type == "*")
        or (clause.subtype != "*" and other.subtype == "*")
    )


def _accept(
    params: Mapping[str, str], media_type: str, allows: Allows, server_version: str
) -> Accepted | None:
    stream, server = params.get("stream", ""), params.get("sv", "")
    if stream and (media_type == YAML or stream != "watch"):
        return None
    if server and server != server_version:
        return None
    pretty = params.get("pretty") == "1"
    target = None
    if "as" in params or "g" in params or "v" in params:
        target = (params.get("as", ""), params.get("g", ""), params.get("v", ""))
    if not allows(media_type, target):
        return None
    if target is None:
        return Accepted(media_type, pretty=pretty)
    return Accepted(media_type, target[0], target[2], pretty)


def _matches(clause: Clause, media_type: str) -> bool:
    if clause.type == "*" and clause.subtype == "*":
        return True
    if clause.subtype == "*":
        return media_type.startswith(clause.type + "/")
    return f"{clause.type}/{clause.subtype}" == media_type


def _clause(text: str) -> Clause | None:
    name, _, rest = text.partition(";")
    kind, _, subtype = name.partition("/")
    kind, subtype = kind.strip(" "), subtype.strip(" ") if subtype else ""
    if not subtype:
        if kind != "*":
            return None
        subtype = "*"
    if "/" in subtype:
        return None
    params: dict[str, str] = {}
    quality = 1.0
    for part in rest.split(";"):
        key, _, value = part.partition("=")
        if not value or "=" in value:
            continue
        key = key.strip(" ")
        if key == "q":
            quality = _quality(value)
        else:
            params[key] = value.strip(" ")
    return Clause(kind, subtype, params, quality)


def _quality(text: str) -> float:
    """Parses a quality value; one that does not parse counts as 0."""
    try:
        return 0.0 if text.strip() != text else float(text)
    except ValueError:
        return 0.0
