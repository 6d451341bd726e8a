"""`masterleases/<ip>`: an API server says that it lives by a key that goes with its lease.

The value is an Endpoints with the server's address; its generation grows at each renewal, so that
there is something to write. Who publishes the `kubernetes` endpoints reads these keys.

Models kubernetes pkg/controlplane/reconcilers/lease.go.
"""

from __future__ import annotations

import orjson

from apiserver_app.etcd.mvcc import Entry, Store
from apiserver_app.machinery.meta import Object

PREFIX = "/registry/masterleases/"
TTL_SECONDS, RENEW_SECONDS = 15, 10


def renew(store: Store, address: str, lease: int) -> None:
    """Put the server's key, attached to a new lease."""
    entry = store.get(PREFIX + address)
    found = None if entry is None else shown(entry)
    generation = 1 if found is None else int(found["metadata"].get("generation") or 0) + 1
    obj = {
        "kind": "Endpoints", "apiVersion": "v1", "metadata": {"generation": generation},
        "subsets": [{"addresses": [{"ip": address}]}],
    }  # fmt: skip
    store.put(PREFIX + address, orjson.dumps(obj), lease=lease)


def remove(store: Store, address: str) -> None:
    """The server goes in order: its key goes with it."""
    store.delete(PREFIX + address)


def shown(entry: Entry) -> Object | None:
    """The Endpoints of an entry; None when it is something else."""
    try:
        found = orjson.loads(entry.value)
    except orjson.JSONDecodeError:
        return None
    is_ours = isinstance(found, dict) and found.get("kind") == "Endpoints"
    return found if is_ours and isinstance(found.get("metadata"), dict) else None
