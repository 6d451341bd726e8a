"""Put: store a value at a key.

Models etcd server/etcdserver/txn/put.go and api/v3rpc/key.go (checkPutRequest).
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.etcd import errors
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.keys import Keys
from apiserver_app.etcd.server import Server

REQUEST_BYTES_MAX = 3 << 19  # 1.5 MiB, --max-request-bytes


class Request(NamedTuple):
    key: str
    value: bytes = b""
    lease: int = 0
    ignore_value: bool = False  # keep the present value
    ignore_lease: bool = False  # keep the present lease
    prev_kv: bool = False  # return the previous entry


def check(server: Server, request: Request) -> None:
    """Raises EtcdError if the put is invalid; changes nothing."""
    Keys(request.key).check()
    if request.ignore_lease and request.lease:
        raise EtcdError(errors.LEASE_PROVIDED)
    if request.ignore_value or request.ignore_lease:
        if server.store.get(request.key) is None:
            raise EtcdError(errors.KEY_NOT_FOUND)
    if len(request.key) + len(request.value) > REQUEST_BYTES_MAX:
        raise EtcdError(errors.REQUEST_TOO_LARGE)
    if request.lease and request.lease not in server.store.leases():
        raise EtcdError(errors.LEASE_NOT_FOUND)


def put(server: Server, request: Request, span: int) -> Entry | None:
    """Stores the value; returns the previous entry if requested. Raises EtcdError."""
    check(server, request)
    store, key = server.store, request.key
    old, shown = store.get(key), None
    lease, value = request.lease, request.value
    if old is not None and (request.prev_kv or request.ignore_value):
        shown = server.shown(old)
    if old is not None and request.ignore_lease:
        lease = old.lease
    if shown is not None and request.ignore_value:
        value = shown.value
    decoded = server.values.decoded(key, value, store.revision + 1)
    if decoded.info is not None and decoded.obj is not None:
        before = None if old is None else server.values.object_of(old)[1]
        op = "create" if before is None else "update"
        prev = 0 if old is None else old.mod_revision
        server.record(op, decoded.info, decoded.obj, prev, span)
    store.put(key, decoded.data, lease=lease, payload=decoded.obj)
    return shown if request.prev_kv else None
