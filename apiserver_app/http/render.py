"""Renders an Outcome: whole, as a Table or as metadata; as JSON, YAML or protobuf.

Stored bytes are sent as they are wherever nothing has to be converted.

Long answers are compressed for clients that accept gzip.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go and
responsewriters/writers.go.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import orjson

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import encode, negotiation
from apiserver_app.http.exchange import Headers
from apiserver_app.http.negotiation import Accepted
from apiserver_app.http.tables import table as tables
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.serializer import protoencode
from apiserver_app.registry.conversion import convert

COMPRESSED_BYTES_MIN = 128 << 10  # smaller answers are not compressed
COMPRESSION = 1  # the fastest: time costs more than bytes


def outcome(
    cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted
) -> tuple[int, Headers, bytes]:
    """Returns (status, headers, body)."""
    if result.code == 304:  # a Content-Type would replace the one the client has cached
        return 304, result.headers, b""
    if result.content_type:
        assert result.value is not None
        return result.code, [("Content-Type", result.content_type), *result.headers], result.value
    if accepted.is_protobuf:
        body = _protobuf(cluster, call, result, accepted)
    elif result.page is not None:
        body = _page(cluster, call, result, accepted)
    else:
        body = _object(cluster, call, result, accepted)
    if accepted.is_yaml:
        body = encode.as_yaml(orjson.loads(body))
    elif accepted.pretty:
        body = encode.pretty(body)
    headers = [("Content-Type", accepted.media_type)]
    if len(body) > COMPRESSED_BYTES_MIN and _takes_gzip(call.headers.get("accept-encoding", "")):
        body = gzip.compress(body, COMPRESSION, mtime=0)
        headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return result.code, headers, body


def _takes_gzip(accept_encoding: str) -> bool:
    """Reports whether gzip is accepted; upstream ignores entries with a quality."""
    return "gzip" in map(str.strip, accept_encoding.split(","))


def _object(cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted) -> bytes:
    obj, info = result.obj, call.info
    assert obj is not None
    if info is None or not accepted.convert or obj.get("kind") == "Status":
        if result.value is not None and (info is None or not convert.is_converted(info)):
            return encode.stored(result.value)
        return encode.document(obj)
    if accepted.is_table:
        return tables.one(
            info.hub, obj, cluster.kernel.now, version=accepted.convert_version,
            include_object=tables.include_object(call.params), custom=info.custom,
            release=cluster.version,
        ) + b"\n"  # fmt: skip
    return encode.document(partial(obj, accepted.convert_version))


def _protobuf(cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted) -> bytes:
    obj, page, info = result.obj, result.page, call.info
    if page is None:
        assert obj is not None
        if accepted.convert and obj.get("kind") != "Status":
            obj = partial(obj, accepted.convert_version)
        return protoencode.encode(obj)
    assert info is not None
    objects = cluster.storage.objects(info, page)
    if accepted.convert:
        return protoencode.encode(_partial_list(info, result, objects, accepted))
    metadata = encode.list_metadata(str(page.revision), page.continue_token, page.remaining)
    return protoencode.encode_list(
        info.api_version, f"{info.kind}List", metadata, objects, info.kind
    )


def _page(cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted) -> bytes:
    page, info = result.page, call.info
    assert page is not None and info is not None
    revision, token = str(page.revision), page.continue_token
    if not accepted.convert:
        if convert.is_converted(info):
            objects = cluster.storage.objects(info, page)
            if info.custom is not None:
                documents = [orjson.dumps(obj) for obj in objects]
                return encode.custom_list(
                    info.list_kind, info.api_version, documents, revision, token, page.remaining
                )
            items = [_untyped(orjson.dumps(obj), info) for obj in objects]
        else:
            items = [_untyped(entry.value, info) for entry in page.entries]
        return encode.list_document(
            f"{info.kind}List", info.api_version, items, revision, token, page.remaining
        )
    objects = cluster.storage.objects(info, page)
    metadata = encode.list_metadata(revision, token, page.remaining)
    if accepted.is_table:
        return tables.document(
            info.hub, objects, metadata, cluster.kernel.now, version=accepted.convert_version,
            include_object=tables.include_object(call.params), custom=info.custom,
            release=cluster.version,
        ) + b"\n"  # fmt: skip
    return encode.document(_partial_list(info, result, objects, accepted))


def _partial_list(
    info: ResourceInfo, result: Outcome, objects: list[Object], accepted: Accepted
) -> Object:
    page, version = result.page, accepted.convert_version
    assert page is not None
    if accepted.convert == "PartialObjectMetadata":
        raise errors.ApiError(
            406, "NotAcceptable",
            "you requested PartialObjectMetadata, but the requested object is a list "
            f"(*{info.version}.{info.list_kind})",
        )  # fmt: skip
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": encode.list_metadata(str(page.revision), page.continue_token, page.remaining),
        "items": [partial(obj, version) for obj in objects],
    }


def partial(obj: Object, version: str) -> Object:
    """Reduces an object to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }


def _untyped(value: bytes, info: ResourceInfo) -> bytes:
    """Removes kind and apiVersion, which items of a list do not repeat."""
    head = b'{"kind":"%s","apiVersion":"%s",' % (info.kind.encode(), info.api_version.encode())
    return b"{" + value[len(head) :] if value.startswith(head) else value


def accepted(accept: str, call: Call) -> Accepted:
    """Negotiates the form of the answer; 406 when no accepted form can be sent."""
    watch, info = call.verb == "watch", call.info
    if info is None:
        return negotiation.Accepted()
    plain = "protobuf" in accept and not (
        info.custom is None and protoencode.knows(info.api_version, info.kind)
    )
    negotiated = negotiation.negotiate(accept, watch, plain)
    pretty: Any = negotiation.wants_pretty(call.params, call.agent)
    return negotiated._replace(pretty=True) if pretty and not watch else negotiated


def of_refusal(headers: Mapping[str, str], params: Mapping[str, list[str]]) -> Accepted | None:
    """Negotiates the form of a Status; None when no accepted form can be sent."""
    negotiated = negotiation.negotiate_unconverted(headers.get("accept", ""))
    pretty = negotiation.wants_pretty(params, headers.get("user-agent", ""))
    return negotiated._replace(pretty=True) if pretty and negotiated else negotiated
