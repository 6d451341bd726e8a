"""Range: the values of one key or of many, now or as they were at a revision.

Models etcd server/etcdserver/txn/range.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

import msgspec

from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import CompactedError, FutureRevError
from apiserver_app.etcd.keys import Keys
from apiserver_app.etcd.mvcc import Store
from apiserver_app.etcd.server import Server

# sort targets, and what of an entry each means
TARGETS = {
    "CREATE": attrgetter("create_revision"),
    "KEY": attrgetter("key"),
    "MODIFY": attrgetter("mod_revision"),
    "VALUE": attrgetter("value"),
    "VERSION": attrgetter("version"),
}


class Request(NamedTuple):
    """A bound of 0 means no bound."""

    keys: Keys
    revision: int = 0
    limit: int = 0
    sort_by: str = "KEY"
    descending: bool = False
    keys_only: bool = False
    count_only: bool = False
    min_create_revision: int = 0
    max_create_revision: int = 0
    min_mod_revision: int = 0
    max_mod_revision: int = 0


class Response(msgspec.Struct, frozen=True):
    entries: list[Entry]
    more: bool  # whether the limit dropped entries
    count: int  # of entries without the limit


def select(server: Server, request: Request) -> Response:
    """Returns the requested entries, encoded for the client."""
    matching = [
        entry
        for entry in entries(server.store, request.keys, request.revision)
        if request.min_create_revision <= entry.create_revision
        and request.min_mod_revision <= entry.mod_revision
        and not 0 < request.max_create_revision < entry.create_revision
        and not 0 < request.max_mod_revision < entry.mod_revision
    ]
    count = len(matching)
    if request.sort_by != "KEY" or request.descending:
        matching = sorted_by(matching, request.sort_by, descending=request.descending)
    more = 0 < request.limit < count
    if more:
        matching = matching[: request.limit]
    if request.count_only:
        matching = []
    shown = [server.shown(entry) for entry in matching]
    if request.keys_only:
        shown = [entry.with_value(b"") for entry in shown]
    return Response(shown, more, count)


def entries(store: Store, keys: Keys, revision: int = 0) -> list[Entry]:
    """Returns the entries of these keys, in key order. Raises EtcdError."""
    keys.check()
    if revision > store.revision:
        raise FutureRevError(revision)
    if revision and revision < store.compacted:
        raise CompactedError(store.compacted)
    if not keys.end and not revision:
        entry = store.get(keys.first)
        return [] if entry is None else [entry]
    prefix = keys.prefix()
    result = store.range_at(prefix, revision) if revision else store.range(prefix)
    return sorted_by(
        [entry for entry in result.entries if keys.has(entry.key)], "KEY", descending=False
    )


def sorted_by(entries: Sequence[Entry], target: str, *, descending: bool) -> list[Entry]:
    return sorted(entries, key=TARGETS[target], reverse=descending)
