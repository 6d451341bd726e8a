"""Renders an Outcome: whole, as a Table or as metadata; as JSON, YAML or protobuf.

Stored bytes are sent as they are wherever nothing has to be converted.

Long answers are compressed for clients that accept gzip. No step of a long list is long: the task
that answers spends its allowance object by object.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go and
responsewriters/writers.go.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import orjson

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import encode, negotiation
from apiserver_app.http.exchange import Headers
from apiserver_app.http.negotiation import Accepted
from apiserver_app.http.tables import table as tables
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import ALLOWANCE
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.serializer import protoencode
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.generic import Page

COMPRESSED_BYTES_MIN = 128 << 10  # smaller answers are not compressed
COMPRESSION = 1  # the fastest: time costs more than bytes
GZIP = 31  # zlib's window bits for this format
PIECE_BYTES = 1 << 20  # compressed in one step
# what making an object's bytes takes of a step's allowance
WORK, WORK_YAML = 2, 16

_CONNECTED = ("attach", "exec", "portforward", "proxy")  # the pod or kubelet negotiates

Item = TypeVar("Item")


async def outcome(
    cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted
) -> tuple[int, Headers, bytes]:
    """Returns (status, headers, body)."""
    if result.code == 304:  # a Content-Type would replace the one the client has cached
        return 304, result.headers, b""
    if result.value == b"" and not result.content_type:
        return result.code, result.headers, b""
    if result.content_type:
        assert result.value is not None
        return result.code, [("Content-Type", result.content_type), *result.headers], result.value
    if result.page is None:
        body = _whole(_object(cluster, call, result, accepted), accepted)
    elif accepted.is_protobuf:
        body = await _protobuf_list(cluster, call, result, accepted)
    else:
        form, items = await _page(cluster, call, result, accepted)
        body = await _list(cluster, form, items, accepted)
    headers = [("Content-Type", accepted.media_type)]
    if len(body) > COMPRESSED_BYTES_MIN and _takes_gzip(call.headers.get("accept-encoding", "")):
        body = await _compressed(cluster, body)
        headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return result.code, headers, body


def _takes_gzip(accept_encoding: str) -> bool:
    """Reports whether gzip is accepted; upstream ignores entries with a quality."""
    return "gzip" in map(str.strip, accept_encoding.split(","))


async def _compressed(cluster: ClusterContext, body: bytes) -> bytes:
    packer = zlib.compressobj(COMPRESSION, wbits=GZIP)
    parts = []
    for start in range(0, len(body), PIECE_BYTES):
        parts.append(packer.compress(body[start : start + PIECE_BYTES]))
        await cluster.kernel.spend(ALLOWANCE // 2)
    return b"".join((*parts, packer.flush()))


def _whole(body: bytes, accepted: Accepted) -> bytes:
    if accepted.is_yaml:
        return encode.as_yaml(orjson.loads(body))
    return encode.pretty(body) if accepted.pretty and not accepted.is_protobuf else body


async def _list(
    cluster: ClusterContext, form: encode.List, items: list[bytes], accepted: Accepted
) -> bytes:
    """A list of JSON objects in the form the client asked for."""
    if accepted.is_yaml:
        made = await _each(cluster, encode.yaml_item, items, WORK_YAML)
        return form.as_yaml(made)
    if accepted.pretty:
        return form.pretty(await _each(cluster, encode.pretty_item, items))
    return form.compact(items)


async def _each(
    cluster: ClusterContext, make: Callable[[Item], bytes], items: Iterable[Item], work: int = WORK
) -> list[bytes]:
    """What is made of each, in steps that are not long."""
    made = []
    for item in items:
        made.append(make(item))
        await cluster.kernel.spend(work)
    return made


async def _objects(cluster: ClusterContext, info: ResourceInfo, page: Page) -> list[Object]:
    """The objects of a page, in the version of `info`."""
    if page.computed is not None:
        return page.computed
    items = []
    for entry in page.entries:
        items.append(cluster.storage.object(info, entry))
        await cluster.kernel.spend(1)
    return items


def _object(cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted) -> bytes:
    obj, info = result.obj, call.info
    assert obj is not None
    is_status = info is None or obj.get("kind") == "Status"
    if accepted.is_protobuf:
        converted = accepted.convert and obj.get("kind") != "Status"
        return protoencode.encode(partial(obj, accepted.convert_version) if converted else obj)
    if is_status or not accepted.convert:
        if result.value is not None and (info is None or not convert.is_converted(info)):
            return encode.stored(result.value)
        return encode.document(obj)
    assert info is not None
    if accepted.is_table:
        return (
            tables.of_object(
                info.hub,
                obj,
                cluster.kernel.now,
                version=accepted.convert_version,
                include_object=tables.include_object(call.params),
                custom=info.custom,
                release=cluster.version,
            )
            + b"\n"
        )
    return encode.document(partial(obj, accepted.convert_version))


async def _protobuf_list(
    cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted
) -> bytes:
    page, info = result.page, call.info
    assert page is not None and info is not None
    objects = await _objects(cluster, info, page)
    if accepted.convert:
        form, items = _partial_list(info, page, objects, accepted)
        return protoencode.encode(orjson.loads(form.compact(items)))
    metadata = encode.list_metadata(str(page.revision or ""), page.continue_token, page.remaining)
    encoded = await _each(cluster, protoencode.item_encoder(info.api_version, info.kind), objects)
    return protoencode.list_of(info.api_version, f"{info.kind}List", metadata, encoded)


async def _page(
    cluster: ClusterContext, call: Call, result: Outcome, accepted: Accepted
) -> tuple[encode.List, list[bytes]]:
    """What is around the items of a list, and each of them as compact JSON."""
    page, info = result.page, call.info
    assert page is not None and info is not None
    revision, token = str(page.revision or ""), page.continue_token
    if not accepted.convert and not convert.is_converted(info):
        items = [_untyped(entry.value, info) for entry in page.entries]
        return encode.list_form(
            f"{info.kind}List", info.api_version, revision, token, page.remaining
        ), items
    objects = await _objects(cluster, info, page)
    if not accepted.convert and info.custom is not None:
        form = encode.custom_list_form(
            info.list_kind, info.api_version, revision, token, page.remaining
        )
        return form, await _each(cluster, orjson.dumps, objects, 1)
    if not accepted.convert:
        form = encode.list_form(
            f"{info.kind}List", info.api_version, revision, token, page.remaining
        )
        return form, await _each(cluster, lambda obj: _untyped(orjson.dumps(obj), info), objects, 1)
    if accepted.is_table:
        table = tables.Table(
            info.hub,
            cluster.kernel.now,
            version=accepted.convert_version,
            include_object=tables.include_object(call.params),
            custom=info.custom,
            release=cluster.version,
        )
        rows = await _each(cluster, table.row, table.ordered(objects))
        return table.form(encode.list_metadata(revision, token, page.remaining)), rows
    return _partial_list(info, page, objects, accepted)


def _partial_list(
    info: ResourceInfo, page: Page, objects: list[Object], accepted: Accepted
) -> tuple[encode.List, list[bytes]]:
    version = accepted.convert_version
    if accepted.convert == "PartialObjectMetadata":
        listed = f"{(info.group or 'core').split('.')[0]}.{info.kind}List"
        if info.custom is not None:
            listed = "unstructured.UnstructuredList"
        message = "you requested PartialObjectMetadata, but the requested object is a list "
        raise errors.ApiError(406, "NotAcceptable", f"{message}(*{listed})")
    form = encode.list_form(
        "PartialObjectMetadataList",
        f"meta.k8s.io/{version}",
        str(page.revision or ""),
        page.continue_token,
        page.remaining,
    )._replace(is_null=True)
    return form, [orjson.dumps(partial(obj, version)) for obj in objects]


def partial(obj: Object, version: str) -> Object:
    """Reduces an object to its metadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": tables.metadata_of(obj),
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
    produces: tuple[str, ...] = ()
    if info.custom is None and call.subresource not in _CONNECTED:
        produces = negotiation.LISTED if watch or call.verb == "list" else negotiation.SERVED
        produces = negotiation.LOGGED if call.subresource == "log" else produces
    negotiated = negotiation.negotiate(accept, watch, plain, produces)
    pretty: Any = negotiation.wants_pretty(call.params, call.agent)
    return negotiated._replace(pretty=True) if pretty and not watch else negotiated


def of_refusal(headers: Mapping[str, str], params: Mapping[str, list[str]]) -> Accepted | None:
    """Negotiates the form of a Status; None when no accepted form can be sent."""
    negotiated = negotiation.negotiate_unconverted(headers.get("accept", ""))
    pretty = negotiation.wants_pretty(params, headers.get("user-agent", ""))
    return negotiated._replace(pretty=True) if pretty and negotiated else negotiated
