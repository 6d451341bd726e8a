"""One object in its forms: the bytes a client sent, the object they were decoded to, and the bytes
etcd holds. Made when somebody asks, from the log of inputs and the log of revisions; the trace
keeps none of it. Only reads: what is decoded again here is decoded by the code that did it then.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go and
pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from apiserver_app.etcd.errors import EtcdError
from apiserver_app.handlers import request as requests
from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import bodies, patching
from apiserver_app.http.exchange import Request
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.meta import Object
from lifecycle.trace import redaction, storage

if TYPE_CHECKING:
    from lifecycle.cluster.composition import Cluster

RECORDS_MAX = 2000  # of a request, looked through for its writes
INPUTS_MAX = 256  # before it, looked through for its body
HEX_BYTES_MAX = 2048
TEXT_CHARACTERS_MAX = 65_536
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
DECODED = ("create", "update", "patch")


def of_request(cluster: Cluster, seq: int) -> Object:
    """The forms of what the request of record `seq` carried. KeyError if there is none."""
    opened, *rest = _records(cluster, seq)
    write = next((record for record in reversed(rest) if record["kind"] == "write"), None)
    call = _call(cluster, opened) if opened["outside"] else None
    forms = {
        "body": _body(call),
        "internal": _internal(cluster, call, write),
        "stored": _stored(cluster, write),
    }
    if not redaction.is_sensitive(opened["resource"], opened["subresource"]):
        return forms
    return {name: None if form is None else _without_values(form) for name, form in forms.items()}


def _records(cluster: Cluster, seq: int) -> Iterator[Object]:
    """The request's own records, read no further than to its answer."""
    records = storage.read(cluster.store.backend, seq, seq + RECORDS_MAX)
    first = next(records, None)
    if first is None or first["seq"] != seq or first["kind"] != "request":
        raise KeyError(seq)
    yield first
    for record in records:
        if record["span"] == seq:
            yield record
            if record["kind"] == "response":
                return


def _without_values(form: Object) -> Object:
    """A form of a Secret: its bytes say how many they are, its object has no values."""
    hidden = {name: redaction.MASKED for name in ("text", "hex") if form.get(name)}
    return {**redaction.masked(form), **hidden}


def _call(cluster: Cluster, opened: Object) -> Call | None:
    """The request as it came in. Several to one path may have been let in at one moment: then
    they were recorded in the order in which they came."""
    seq, backend = opened["seq"], cluster.store.backend
    calls: list[tuple[int, Call]] = []
    for row in backend.inputs_before(seq, INPUTS_MAX):
        what, data = msgspec.msgpack.decode(row.data)
        if what != "request":
            continue
        method, path, query, headers, body = data[1:6]
        pairs = [(name, value) for name, value in headers]
        call = cluster.server.call_of(Request(method, path, query, pairs, body))
        if (call.verb, call.path) == (opened["verb"], opened["path"]):
            calls.append((row.seq, call))
    if not calls:
        return None
    since = calls[-1][0]
    together = [call for at, call in calls if at == since]
    before: int = sum(
        record["kind"] == "request"
        and record["outside"]
        and (record["verb"], record["path"]) == (opened["verb"], opened["path"])
        for record in storage.read(backend, since + 1, seq - 1)
    )
    return together[min(before, len(together) - 1)]


def _body(call: Call | None) -> Object | None:
    if call is None or not isinstance(call.body, bytes) or not call.body:
        return None
    return _bytes(call.body, call.content_type.split(";", 1)[0].strip() or JSON)


def _bytes(data: bytes, media: str) -> Object:
    """Bytes for somebody who looks at them: as text if they are, always as hexadecimal digits."""
    text = "" if media == PROTOBUF else data.decode(errors="replace")[:TEXT_CHARACTERS_MAX]
    return {"media": media, "size": len(data), "text": text, "hex": data[:HEX_BYTES_MAX].hex()}


def _internal(cluster: Cluster, call: Call | None, write: Object | None) -> Object | None:
    """What the body was decoded to, with defaults; of a patch, what it made of the object."""
    info = call.info if call is not None else None
    if call is None or info is None or call.verb not in DECODED or not call.body:
        return None
    if call.subresource not in ("", "status"):
        return None
    context = cluster.context
    try:
        asked = requests.Request(context, call)
        if call.verb != "patch":
            raw = bodies.read(asked, info)
        else:
            patching.check_type(asked)
            patching.read(asked)
            key = info.etcd_key(call.namespace, call.name)
            before = write["prev"] if write is not None else cluster.store.revision
            entry = cluster.store.get_at(key, before) if before else None
            if entry is None or asked.content_type == client.APPLY_PATCH:
                return None
            raw = patching.patched(asked, info, context.storage.object(info, entry))
        obj, _ = bodies.typed(asked, info, raw)
        context.strategy(info).default(obj)
    except (errors.ApiError, EtcdError):
        return None
    return obj


def _stored(cluster: Cluster, write: Object | None) -> Object | None:
    """What etcd holds at the revision of the write; nothing after a delete."""
    if write is None or write["op"] == "delete":
        return None
    info = cluster.resources.by_key.get(write["resource"])
    if info is None:
        return None
    key = info.etcd_key(write["namespace"], write["name"])
    try:
        entry = cluster.store.get_at(key, write["rev"])
    except EtcdError:
        return None
    if entry is None:
        return None
    data = cluster.etcd.values.encoded(entry)
    media = PROTOBUF if data.startswith(b"k8s\0") else JSON
    obj = cluster.etcd.values.object_of(entry)[1]
    bare: Any = None if obj is None else meta.without_path(obj, ("metadata", "resourceVersion"))
    return {"key": key, "revision": write["rev"], **_bytes(data, media), "object": bare}
