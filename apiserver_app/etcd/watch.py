"""Watch: the changes of keys from a revision on, or from now on.

Models etcd server/etcdserver/api/v3rpc/watch.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import CompactedError
from apiserver_app.etcd.keys import Keys
from apiserver_app.etcd.mvcc import Event
from apiserver_app.etcd.server import Server


class Change(NamedTuple):
    """An event as a client gets it: PUT or DELETE."""

    type: str
    kv: Entry
    prev_kv: Entry | None


class Watcher(msgspec.Struct):
    """The changes of a watch that its client has not received yet."""

    waiting: deque[Change] = msgspec.field(default_factory=deque)
    stop: Callable[[], None] = lambda: None


def watch(server: Server, keys: Keys, revision: int, wake: Callable[[], None]) -> Watcher:
    """Starts a watch; calls `wake` for each change. Raises EtcdError."""
    keys.check()
    store, watcher = server.store, Watcher()
    if revision and revision <= store.compacted:
        raise CompactedError(store.compacted)

    def hear(event: Event) -> None:
        if keys.has(event.key) and (not revision or event.revision >= revision):
            watcher.waiting.append(_change(server, event))
            wake()

    watcher.stop = lambda: store.unwatch(hear)
    after = revision - 1 if 0 < revision <= store.revision else None
    store.watch(keys.prefix(), hear, after=after)
    return watcher


def _change(server: Server, event: Event) -> Change:
    prev = None if event.previous is None else server.shown(event.previous)
    if event.entry is None:
        return Change("DELETE", Entry(event.key, b"", 0, event.revision, 0, 0), prev)
    return Change("PUT", server.shown(event.entry), prev)
