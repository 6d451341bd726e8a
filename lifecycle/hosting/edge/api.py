"""The Kubernetes API at the edge: raw ASGI that carries each request over the port and back.

The worker authenticates, authorizes and answers every request. The edge answers by itself only
without a worker (503, or 500 for health checks). An upgrade is an ordinary request; once the
worker accepts it, messages are carried both ways.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from apiserver_app.http.exchange import SIZED_BYTES_MAX
from apiserver_app.machinery import errors
from lifecycle.hosting.edge import answers
from lifecycle.hosting.port import edgeport

WORKER_WAIT_SECONDS = 15  # how long a request waits for a worker that is being restarted
DEFAULT_CLUSTER = "demo"
CLUSTER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def serve(edge: edgeport.EdgePort, scope: Scope, receive: Receive, send: Send) -> None:
    """Carry one HTTP request to the worker and its answer to the client."""
    try:
        await _serve(edge, scope, receive, send)
    except errors.ApiError as error:
        for message in answers.messages_of(error):
            await send(message)


async def _serve(edge: edgeport.EdgePort, scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(receive)
    cluster, path = split_cluster(scope["raw_path"].decode("ascii"))
    if cluster in edge.stopped:
        await send({"type": "http.drop"})
        return
    if edge.info is None and path.rstrip("/") in edgeport.HEALTH:
        await _not_healthy(path, send)
        return
    answer = await _ask(edge, scope, cluster, path, body)
    leaver = asyncio.ensure_future(_until_gone(receive, answer))
    try:
        prefix = scope["raw_path"].decode("ascii").removesuffix(path)
        await _carry(answer, send, prefix, scope["method"])
    except edgeport.Gone:
        pass
    except edgeport.Lost as error:
        raise _no_answer() from error
    finally:
        leaver.cancel()
        answer.close()


async def read_body(receive: Receive) -> bytes:
    """Reads the complete body, whose size the server has limited."""
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


def split_cluster(path: str) -> tuple[str, str]:
    """Splits a path into cluster and rest; without /clusters/<name> the default one."""
    if not path.startswith("/clusters/"):
        return DEFAULT_CLUSTER, path
    name, slash, rest = path[len("/clusters/") :].partition("/")
    if not CLUSTER_NAME.fullmatch(name):
        raise errors.path_not_found()
    return name, slash + rest or "/"


async def _ask(
    edge: edgeport.EdgePort, scope: Scope, cluster: str, path: str, body: bytes
) -> edgeport.Answer:
    client = scope.get("client") or ("", 0)
    try:
        if not await edge.attached(WORKER_WAIT_SECONDS):
            raise _no_answer()
        return edge.request(
            cluster,
            scope["method"],
            path,
            scope["query_string"].decode("ascii"),
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
            body,
            scope["extensions"]["tls"]["peer"],
            f"{client[0]}:{client[1]}",
        )
    except edgeport.Lost as error:
        raise _no_answer() from error
    except edgeport.Full as error:
        raise errors.too_many_requests(
            "Too many requests are under way on this server, please try again later.", retry_after=1
        ) from error


async def _carry(answer: edgeport.Answer, send: Send, prefix: str, method: str) -> None:
    status, headers, more, body = await answer.head()
    raw = [(name.lower().encode("latin-1"), value.encode()) for name, value in headers]
    if status == 101:
        await _switch(answer, raw, send)
        return
    if prefix:
        raw = [_below(prefix.encode(), *pair) for pair in raw]
    sized = more or status == 304 or any(name == b"content-length" for name, _ in raw)
    if not sized and len(body) <= SIZED_BYTES_MAX and (body or method != "HEAD"):
        raw.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    # sent even when empty, because the server holds the head back until the first body message
    await send({"type": "http.response.body", "body": body, "more_body": more})
    while more:
        body, more = await answer.body()
        await send({"type": "http.response.body", "body": body, "more_body": more})
        answer.took(len(body))


async def _switch(answer: edgeport.Answer, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    """Carries the worker's messages over an upgraded connection until it ends."""
    await send({"type": "http.upgrade", "headers": headers})
    more = True
    while more:
        pieces, more = await answer.messages()
        for data in pieces:
            await send({"type": "stream.data", "data": data})
            answer.took(len(data))
    code, reason = answer.closing
    await send({"type": "stream.close", "code": code, "reason": reason})


def _below(prefix: bytes, name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Returns the header, with the cluster's prefix added to the path of a redirect."""
    return (name, prefix + value) if name == b"location" and value[:1] == b"/" else (name, value)


async def _until_gone(receive: Receive, answer: edgeport.Answer) -> None:
    while (message := await receive())["type"] != "http.disconnect":
        if message["type"] == "stream.data":
            await answer.send(message["data"])
    answer.close()


def _no_answer() -> errors.ApiError:
    return errors.unavailable("the worker of this cluster ended before it answered; try again")


async def _not_healthy(path: str, send: Send) -> None:
    check = path.strip("/")
    text = f"[-]worker failed: it is not ready\n{check} check failed\n"
    for message in answers.messages(500, "text/plain; charset=utf-8", text.encode()):
        await send(message)
