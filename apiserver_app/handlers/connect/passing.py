"""Answers of others that go on: passed piece by piece, or, granted an upgrade, byte for byte.

A proxy that opens a connection of its own sends the request on it and reads the answer's head.
What is behind the head is carried by `apiserver_app.http`.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go (tryUpgrade) and
Go's net/http/httputil (ReverseProxy).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net import httpwire
from apiserver_app.machinery.net.nodeapi import Connection

HEAD_SECONDS_MAX = 60  # until the answer begins
# of the answer: of this connection only, or said by this server itself
_DROPPED = frozenset(
    """
    connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding
    content-length date audit-id traceparent x-kubernetes-pf-flowschema-uid
    x-kubernetes-pf-prioritylevel-uid
    """.split()
)


class Passing(msgspec.Struct):
    """An answer whose body is passed on as it comes."""

    status: int
    headers: list[tuple[str, str]]
    answer: httpwire.Answer
    connection: Connection
    span: int
    detail: Object


class Tunnel(msgspec.Struct):
    """A connection that is another protocol's from now on; `first` came already."""

    connection: Connection
    first: bytes
    span: int
    detail: Object


def is_upgrade(call: Call) -> bool:
    """Whether the client asks for another protocol, as Go's httpstream.IsUpgradeRequest tells."""
    return "upgrade" in call.headers.get("connection", "").lower() and bool(
        call.headers.get("upgrade")
    )


def with_upgrade(call: Call, headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that ask the other side for what the client asked for."""
    return [*headers, ("connection", "Upgrade"), ("upgrade", call.headers["upgrade"])]


async def send(request: Request, connection: Connection, sent: bytes, detail: Object) -> Outcome:
    """Send a request, and answer with what comes. Raises Malformed; then the connection is gone."""
    call, kernel = request.call, request.cluster.kernel
    answer = httpwire.Answer(connection, to_head=call.method == "HEAD")
    due = kernel.now + HEAD_SECONDS_MAX * kernels.SECOND
    timer = kernel.call_at(due, lambda _: connection.close(), None, background=True)
    begun = False
    try:
        connection.write(sent)
        head = await answer.head()
        begun = True
    finally:
        if not begun:
            connection.close()
    kernel.drop(timer)
    headers = [pair for pair in head.headers if pair[0] not in _DROPPED]
    if head.status == 101:
        headers = [pair for pair in headers if pair[0] != "upgrade"]
        agreed = {"carrier": call.headers["upgrade"]}
        if protocol := head.first("sec-websocket-protocol"):
            agreed["protocol"] = protocol
        await request.cluster.probe.hop("stream", "open", {**detail, **agreed})
        tunnel = Tunnel(connection, answer.waiting, request.span, detail)
        return Outcome(101, headers=headers, stream=tunnel)
    passing = Passing(head.status, headers, answer, connection, request.span, detail)
    return Outcome(head.status, stream=passing)
