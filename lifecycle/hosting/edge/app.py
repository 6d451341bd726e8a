"""The edge's ASGI application: the Kubernetes API first, the page and the product API behind it.

Everything is the Kubernetes API except `/`, `/viz`, `/ws` and `/static`. Django (page, product API)
is imported in a thread once the edge listens; requests for it wait for the import.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver_app.machinery import errors
from lifecycle.hosting.edge import answers, api, fanout, origins, staticfiles
from lifecycle.hosting.port import edgeport

AsgiApplication = Callable[..., Any]


@dataclass(frozen=True)
class Services:
    """The edge's services for the page and the product API, in scope["state"]["edge"]."""

    loop: asyncio.AbstractEventLoop
    port: edgeport.EdgePort
    fanout: fanout.Fanout
    data_dir: Path
    host_names: frozenset[str]


class Application:
    """Routes each connection to the Kubernetes API, static files or Django."""

    def __init__(
        self,
        services: Services,
        static: staticfiles.StaticFiles,
        load: Callable[[], AsgiApplication],
    ) -> None:
        self._services = services
        self._static = static
        self._load = load
        self._django: asyncio.Future[AsgiApplication] | None = None
        self.stopping = False

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._serve_websocket(scope, receive, send)
        elif self.stopping:
            await _answer(send, errors.ApiError(503, "ServiceUnavailable", "the edge is stopping"))
        elif _is_page(scope):
            await self._serve_page(scope, receive, send)
        elif _is_named_elsewhere(scope, self._services.host_names):
            await _answer(send, errors.bad_request("this host name is not served here"))
        elif _crosses_origins(scope, self._services.host_names):
            await _answer(send, errors.ApiError(403, "Forbidden", "cross-origin request refused"))
        else:
            await api.serve(self._services.port, scope, receive, send)

    def load_django(self) -> asyncio.Future[AsgiApplication]:
        """Starts the import of Django in a thread, once."""
        if self._django is None:
            thread = ThreadPoolExecutor(1, thread_name_prefix="load-django")
            self._django = self._services.loop.run_in_executor(thread, self._load)
            self._django.add_done_callback(lambda _done: thread.shutdown(wait=False))
        return self._django

    async def _serve_page(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not origins.host_allowed(host, self._services.host_names):
            await _answer(send, errors.bad_request(f"the host name {host!r} is not served here"))
        elif scope["raw_path"].startswith(staticfiles.PREFIX.encode()):
            await self._static.serve(scope, receive, send)
        elif scope["method"] not in origins.SAFE_METHODS and not _same_origin(headers, host):
            await _answer(send, errors.ApiError(403, "Forbidden", "cross-origin request refused"))
        else:
            await self._serve_django(scope, receive, send)

    async def _serve_websocket(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        allowed = origins.host_allowed(host, self._services.host_names)
        if self.stopping or not allowed or not _same_origin(headers, host):
            await receive()
            await send({"type": "websocket.close"})
        else:
            await self._serve_django(scope, receive, send)

    async def _serve_django(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        application = await asyncio.shield(self.load_django())
        scope["state"] = {"edge": self._services}
        await application(scope, receive, send)


def _is_page(scope: dict[str, Any]) -> bool:
    path: bytes = scope["raw_path"]
    if path == b"/":
        # a real API server lists its paths there, and API clients ask for JSON
        accept = dict(scope["headers"]).get(b"accept", b"")
        return b"application/json" not in accept or b"text/html" in accept
    return path in (b"/viz", b"/favicon.ico") or path.startswith((b"/viz/", b"/static/"))


def _is_named_elsewhere(scope: dict[str, Any], names: frozenset[str]) -> bool:
    """Reports whether a site pointed its own name at this machine; TLS tells a browser itself."""
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    return scope["scheme"] == "http" and origins.could_be_foreign(host, names)


def _crosses_origins(scope: dict[str, Any], names: frozenset[str]) -> bool:
    """Reports whether another site opens a WebSocket, which browsers do not prevent."""
    headers = dict(scope["headers"])
    if b"upgrade" not in headers or b"origin" not in headers:
        return False
    host = headers.get(b"host", b"").decode("latin-1")
    return not origins.host_allowed(host, names) or not _same_origin(headers, host)


def _same_origin(headers: dict[bytes, bytes], host: str) -> bool:
    origin = headers.get(b"origin")
    return origins.same_origin(None if origin is None else origin.decode("latin-1"), host)


async def _answer(send: Any, error: errors.ApiError) -> None:
    for message in answers.messages_of(error):
        await send(message)
