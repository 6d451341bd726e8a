"""From a view's thread to the edge's loop: control actions and requests over the port.

Views run in threads of their own; everything that touches the port runs on the loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from rest_framework.request import Request

from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.edge import app

CONTROL_SECONDS_MAX = 10
REQUEST_SECONDS_MAX = 300  # a request may be held at a breakpoint while a class talks
WORKER_WAIT_SECONDS = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer of the Kubernetes API."""

    status: int
    body: bytes


def edge_of(request: Request) -> app.Services:
    """The edge this request came through."""
    services: app.Services = request._request.scope["state"]["edge"]
    return services


def served(request: Request) -> str:
    """The cluster that the demo serves; others are forks."""
    return str((edge_of(request).port.info or {}).get("cluster", "demo"))


def release_of(request: Request) -> Release:
    """The release of Kubernetes that the demo serves."""
    named = (edge_of(request).port.info or {}).get("version")
    return Release.parse(str(named)) if named else releases.DEFAULT


def upload_of(request: Request) -> BinaryIO:
    """The file that the edge wrote the body to, of a path that takes uploads.

    Opened again, because the edge closes its own when the client goes.
    """
    file = request._request.scope["extensions"]["upload"]
    return os.fdopen(os.dup(file.fileno()), "rb")


def control(request: Request, cluster: str, action: str, args: dict[str, Any]) -> dict[str, Any]:
    """Run one control action. Raises port.Refused, port.Lost, port.Full or TimeoutError."""
    edge = edge_of(request)

    async def ask() -> dict[str, Any]:
        await edge.port.ready(WORKER_WAIT_SECONDS)
        return await edge.port.control(cluster, action, args)

    return _run(edge, ask(), CONTROL_SECONDS_MAX)


def send(
    request: Request,
    cluster: str,
    method: str,
    path: str,
    query: str,
    headers: Sequence[Sequence[str]],
    body: bytes,
    tls: Sequence[Any] | None,
) -> Reply:
    """One request to the Kubernetes API as somebody of the cast."""
    edge = edge_of(request)

    async def ask() -> Reply:
        await edge.port.ready(WORKER_WAIT_SECONDS)
        answer = edge.port.request(
            cluster, method, path, query, headers, body, tls, request.META.get("REMOTE_ADDR", "")
        )
        try:
            status, _, more, data = await answer.head()
            while more:
                part, more = await answer.body()
                data += part
            return Reply(status, data)
        finally:
            answer.close()

    return _run(edge, ask(), REQUEST_SECONDS_MAX)


def _run(edge: app.Services, work: Coroutine[Any, Any, T], timeout_seconds: float) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, timeout_seconds)

    return asyncio.run_coroutine_threadsafe(bounded(), edge.loop).result()
