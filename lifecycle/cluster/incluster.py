"""The API server as containers reach it: a request from a pod, through every gate.

A container's request is one from outside of the components: nothing is known of its sender but
what it presents. What a watch says is given when it ends, since callers take whole answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.handlers.server.life import Life
from apiserver_app.http.exchange import Headers, Request
from apiserver_app.http.server import Server
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from apiserver_app.machinery.waiting import Signal

BYTES_MAX = 4 << 20


class _Gathered:
    """A reply that is kept until it is whole: `Reply`."""

    def __init__(self, kernel: Kernel) -> None:
        self.status = 0
        self.headers: Headers = []
        self.parts: list[bytes] = []
        self.done = Signal(kernel)
        self._size = 0
        self._calls: dict[str, Callable[[Any], None]] = {}

    def head(
        self, status: int, headers: Headers, body: bytes, *, more: bool = False, paced: str = ""
    ) -> None:
        self.status, self.headers = status, headers
        self.body(body, more)

    def body(self, data: bytes | str, more: bool) -> None:
        part = data.encode() if isinstance(data, str) else data
        self._size += len(part)
        if self._size <= BYTES_MAX:
            self.parts.append(part)
        if part and "took" in self._calls:
            self._calls["took"](len(part))
        if not more:
            self.done.set()

    def switch(self, headers: Headers) -> None:
        self.status, self.headers = 101, headers
        self.cancel()

    def close(self, code: int, reason: str) -> None:
        self.done.set()

    def took(self, count: int) -> None:
        pass

    def listen(self, **calls: Callable[[Any], None]) -> None:
        self._calls.update(calls)

    def cancel(self) -> None:
        """The client is gone."""
        call = self._calls.get("cancel")
        if call is not None and not self.done.is_set:
            call(None)
        self.done.set()


class InCluster:
    """Asks the API server for a container."""

    def __init__(self, kernel: Kernel, server: Server, life: Life) -> None:
        self._kernel = kernel
        self._server = server
        self._life = life

    @property
    def listens(self) -> bool:
        return self._life.listens

    async def __call__(self, request: HttpRequest, address: str) -> HttpAnswer:
        path, _, query = request.path.partition("?")
        reply = _Gathered(self._kernel)
        asked = Request(
            request.method,
            path,
            query,
            list(request.headers.items()),
            request.body,
            address=address,
        )
        try:
            await self._server.serve(asked, reply)
            await reply.done.wait()
        finally:
            reply.cancel()
        headers = {name.lower(): value for name, value in reply.headers}
        return HttpAnswer(reply.status, headers, b"".join(reply.parts))
