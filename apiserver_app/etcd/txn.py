"""Txn: compares, then applies one of two lists of requests atomically.

Unlike in etcd, each of its writes has a revision of its own.

Models etcd server/etcdserver/txn/txn.go and api/v3rpc/key.go (checkTxnRequest, checkIntervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from apiserver_app.etcd import delete_range, errors, put
from apiserver_app.etcd import range as ranges
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.server import Server

OPERATIONS_MAX = 128  # --max-txn-ops

Request = ranges.Request | put.Request | delete_range.Request
Response = ranges.Response | delete_range.Response | Entry | None  # Entry: before a put


class Compare(NamedTuple):
    """One guard. target: version, create_revision, mod_revision, value or lease."""

    key: str
    target: str
    result: str  # = != > <
    wanted: int | bytes


class Done(NamedTuple):
    succeeded: bool
    responses: list[Response]


def txn(
    server: Server,
    compares: Sequence[Compare],
    success: Sequence[Request],
    failure: Sequence[Request],
) -> Done:
    """Applies `success` if every guard holds, else `failure`. Raises EtcdError."""
    for branch in (success, failure):
        _check(server, branch)
    succeeded = all(holds(server, compare) for compare in compares)
    chosen = success if succeeded else failure
    if all(isinstance(request, ranges.Request) for request in chosen):
        return Done(succeeded, [_apply(server, request, 0) for request in chosen])
    with server.work("txn") as work:
        work.outcome = "success" if succeeded else "failure"
        return Done(succeeded, [_apply(server, request, work.span) for request in chosen])


def holds(server: Server, compare: Compare) -> bool:
    entry = server.store.get(compare.key)
    if entry is None and compare.target == "value":
        return False  # a missing value cannot be told from an empty one, so it equals nothing
    have: Any = 0 if entry is None else getattr(server.shown(entry), compare.target)
    wanted: Any = compare.wanted
    if compare.result == "=":
        return bool(have == wanted)
    if compare.result == "!=":
        return bool(have != wanted)
    return bool(have > wanted if compare.result == ">" else have < wanted)


def _check(server: Server, requests: Sequence[Request]) -> None:
    """Raises EtcdError if a request is invalid; changes nothing."""
    if len(requests) > OPERATIONS_MAX:
        raise EtcdError(errors.TOO_MANY_OPERATIONS)
    written: dict[str, None] = {}
    for request in requests:
        if not isinstance(request, put.Request):
            request.keys.check()
            continue
        put.check(server, request)
        if request.key in written:
            raise EtcdError(errors.DUPLICATE_KEY)
        written[request.key] = None
    for request in requests:
        if isinstance(request, delete_range.Request) and any(map(request.keys.has, written)):
            raise EtcdError(errors.DUPLICATE_KEY)


def _apply(server: Server, request: Request, span: int) -> Response:
    if isinstance(request, ranges.Request):
        return ranges.select(server, request)
    if isinstance(request, put.Request):
        return put.put(server, request, span)
    return delete_range.delete_range(server, request, span)
