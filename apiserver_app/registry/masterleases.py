"""`masterleases/<ip>`: the keys by which API servers announce that they are alive.

Each key expires with its lease. The value is an Endpoints with the server's address; its generation
grows at each renewal, so that every renewal is a write. The controller that publishes the
`kubernetes` endpoints reads these keys.

Models kubernetes pkg/controlplane/reconcilers/lease.go.
"""

from __future__ import annotations

import orjson

from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.mvcc import Store
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import compact

PREFIX = "/registry/masterleases/"
TTL_SECONDS, RENEW_SECONDS = 15, 10


def renew(store: Store, address: str, lease: int) -> None:
    """Writes the server's key, attached to a new lease."""
    entry = store.get(PREFIX + address)
    previous = None if entry is None else decode(entry)
    generation = 1 if previous is None else int(previous["metadata"].get("generation") or 0) + 1
    obj = {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {"generation": generation},
        "subsets": [{"addresses": [{"ip": address}]}],
    }
    store.put(PREFIX + address, compact.encode(obj), lease=lease)


def remove(store: Store, address: str) -> None:
    """Deletes the key of a server that shuts down."""
    store.delete(PREFIX + address)


def decode(entry: Entry) -> Object | None:
    """The Endpoints that an entry holds; None when it holds something else."""
    try:
        obj = orjson.loads(entry.value)
    except orjson.JSONDecodeError:
        return None
    is_endpoints = isinstance(obj, dict) and obj.get("kind") == "Endpoints"
    return obj if is_endpoints and isinstance(obj.get("metadata"), dict) else None
