"""portforward over SPDY: a pair of streams for each connection, found by its request id.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/portforward/httpstream.go.
"""

from __future__ import annotations

import msgspec

from apiserver_app.handlers.connect.streaming import Forward
from apiserver_app.http.streaming.conduit import Conduit
from apiserver_app.http.streaming.links import PAIRS_MAX, Link
from apiserver_app.http.streaming.spdy import streams
from apiserver_app.machinery import kernel as kernels


class _Pair(msgspec.Struct):
    """The two streams of one connection; 0 while one is not there."""

    port: int
    error: int = 0
    data: int = 0


class _Server:
    def __init__(
        self,
        kernel: kernels.Kernel,
        forward: Forward,
        connection: streams.Connection,
        links: list[Link],
    ) -> None:
        self._kernel = kernel
        self._forward = forward
        self._connection = connection
        self._all = links
        self._pairs: dict[str, _Pair] = {}
        self._links: dict[int, Link] = {}  # by data stream

    async def happened(self, event: streams.Event) -> None:
        if event.what == streams.OPEN:
            await self._opened(event)
            return
        link = self._links.get(event.stream)
        if link is None:
            return
        if event.what == streams.DATA:
            link.write(event.data)
        elif event.what == streams.FIN:
            link.finish()
        else:
            link.close()

    async def _opened(self, event: streams.Event) -> None:
        headers = event.headers or {}
        kind, port = headers.get("streamtype", ""), _port(headers.get("port", ""))
        if kind not in ("error", "data") or not port or len(self._links) >= PAIRS_MAX:
            await self._connection.refuse(event.stream)
            return
        # clients of old have no request id: their streams have consecutive odd numbers
        number = event.stream if kind == "error" else event.stream - 2
        key = headers.get("requestid") or str(number)
        pair = self._pairs.setdefault(key, _Pair(port))
        if getattr(pair, kind) or len(self._pairs) > PAIRS_MAX:
            await self._connection.refuse(event.stream)
            return
        await self._connection.accept(event.stream)
        setattr(pair, kind, event.stream)
        if pair.error and pair.data:
            del self._pairs[key]
            self._begin(pair)

    def _begin(self, pair: _Pair) -> None:
        link = Link(self._kernel, self._forward, pair.port)
        self._links[pair.data] = link
        self._all.append(link)
        connection = self._connection

        async def send(data: bytes) -> None:
            await connection.send(pair.data, data)

        async def fail(text: bytes) -> None:
            await connection.send(pair.error, text)

        async def done() -> None:
            await connection.finish(pair.data)
            await connection.finish(pair.error)
            self._links.pop(pair.data, None)

        link.begin(send, fail, done)


async def serve(
    kernel: kernels.Kernel, forward: Forward, conduit: Conduit, links: list[Link]
) -> None:
    """Until the client ends the connection. Raises Gone when it vanishes."""
    connection = streams.Connection(conduit)
    server = _Server(kernel, forward, connection, links)
    while (events := await connection.read()) is not None:
        for event in events:
            await server.happened(event)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5:
        return 0
    return int(text) if int(text) < 65536 else 0
