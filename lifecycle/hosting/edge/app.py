"""The edge's ASGI application: the Kubernetes API first, the page and the product API behind it.

Everything is the Kubernetes API except `/`, `/viz`, `/ws` and `/static`. Django (page, product API)
is imported in a thread once the edge listens; requests for it wait for the import.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec

from apiserver_app.machinery import errors
from lifecycle.hosting.edge import access, answers, api, fanout, origins, staticfiles
from lifecycle.hosting.port import edgeport

AsgiApplication = Callable[..., Any]
Messages = list[dict[str, Any]]
UNAUTHORIZED, FORBIDDEN = 4401, 4403  # codes with which a WebSocket is closed
WHO = "who are you? The terminal in which the demo runs shows the link with the token"
CROSS_ORIGIN = errors.ApiError(403, "Forbidden", "cross-origin request refused")
NOT_ALLOWED = "the role {role} does not have the right to do this"


class Services(msgspec.Struct, frozen=True):
    """The edge's services for the page and the product API, in scope["state"]["edge"]."""

    loop: asyncio.AbstractEventLoop
    port: edgeport.EdgePort
    fanout: fanout.Fanout
    data_dir: Path
    host_names: frozenset[str]
    access: access.Access
    static: staticfiles.StaticFiles


class Application:
    """Routes each connection to the Kubernetes API, static files or Django."""

    def __init__(self, services: Services, load: Callable[[], AsgiApplication]) -> None:
        self._services = services
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
            await _answer(send, CROSS_ORIGIN)
        else:
            await api.serve(self._services.port, scope, receive, send)

    def load_django(self) -> asyncio.Future[AsgiApplication]:
        """Starts the import of Django in a thread, once."""
        if self._django is None:
            thread = ThreadPoolExecutor(1, thread_name_prefix="load-django")
            self._django = self._services.loop.run_in_executor(thread, self._load)
            self._django.add_done_callback(lambda _done: thread.shutdown(wait=False))
        return self._django

    def refusal(self, scope: dict[str, Any]) -> Messages | None:
        """Returns the answer to a request for the page or the product API that is not allowed."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not origins.host_allowed(host, self._services.host_names):
            return answers.messages_of(
                errors.bad_request(f"the host name {host!r} is not served here")
            )
        caller = self._caller(scope)
        if scope["method"] not in origins.SAFE_METHODS and _is_forged(caller, headers, host):
            return answers.messages_of(CROSS_ORIGIN)
        if caller.has(access.right_for(scope["method"], scope["path"])):
            return None
        if caller.role:
            return answers.problem(403, "Forbidden", NOT_ALLOWED.format(role=caller.role))
        return answers.problem(401, "Unauthorized", WHO, [("WWW-Authenticate", "Bearer")])

    async def _serve_page(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if (refusal := self.refusal(scope)) is not None:
            for message in refusal:
                await send(message)
        elif scope["raw_path"].startswith(staticfiles.PREFIX.encode()):
            await self._services.static.serve(scope, receive, send)
        else:
            await self._serve_django(scope, receive, send)

    async def _serve_websocket(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        allowed = origins.host_allowed(host, self._services.host_names)
        caller = self._caller(scope)
        if self.stopping or not allowed or _is_forged(caller, headers, host):
            await receive()
            await send({"type": "websocket.close"})
        elif not caller.has(access.right_for("GET", scope["path"])):
            await receive()
            await send({"type": "websocket.accept"})  # a page cannot read why it was not let in
            reason = NOT_ALLOWED.format(role=caller.role) if caller.role else WHO
            await send({"type": "websocket.send", "text": json.dumps({"error": reason})})
            code = FORBIDDEN if caller.role else UNAUTHORIZED
            await send({"type": "websocket.close", "code": code})
        else:
            await self._serve_django(scope, receive, send)

    def _caller(self, scope: dict[str, Any]) -> access.Caller:
        """Returns who sent a request; a WebSocket may carry its token in the query."""
        token = ""
        if scope["type"] == "websocket":
            token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        secure = scope["scheme"] in ("https", "wss")
        return self._services.access.caller(scope["headers"], secure, token)

    async def _serve_django(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        application = await asyncio.shield(self.load_django())
        scope["state"] = {"edge": self._services, "caller": self._caller(scope)}
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


def _is_forged(caller: access.Caller, headers: dict[bytes, bytes], host: str) -> bool:
    """Reports whether another site made a browser send this. Browsers name the origin of what
    they send with a cookie; programs send a token, or their own origin."""
    return (caller.by_cookie and b"origin" not in headers) or not _same_origin(headers, host)


def _same_origin(headers: dict[bytes, bytes], host: str) -> bool:
    origin = headers.get(b"origin")
    return origins.same_origin(None if origin is None else origin.decode("latin-1"), host)


async def _answer(send: Any, error: errors.ApiError) -> None:
    for message in answers.messages_of(error):
        await send(message)
