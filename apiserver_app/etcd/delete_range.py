"""DeleteRange: remove one key or many. Each delete has a revision of its own.

Models etcd server/etcdserver/txn/delete.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.etcd import range as ranges
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.keys import Keys
from apiserver_app.etcd.server import Server


class Request(NamedTuple):
    keys: Keys
    prev_kv: bool = False  # return the deleted entries


class Response(NamedTuple):
    deleted: int
    previous: list[Entry]


def delete_range(server: Server, request: Request, span: int) -> Response:
    entries = ranges.entries(server.store, request.keys)
    previous = [server.shown(entry) for entry in entries] if request.prev_kv else []
    for entry in entries:
        remove(server, entry, span)
    return Response(len(entries), previous)


def remove(server: Server, entry: Entry, span: int | None) -> None:
    """Deletes an entry; without a span, in the span of the current task."""
    info, obj = server.values.object_of(entry)
    if info is not None and obj is not None:
        server.record("delete", info, obj, entry.mod_revision, span)
    server.store.delete(entry.key)
