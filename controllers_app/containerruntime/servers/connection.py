"""A TCP connection to a simulated server: bytes in, bytes out.

HTTP/1.1 is read as far as clients of port-forward send it: a request line, headers, a body with a
length. What the server is otherwise, it answers by its own `talk`.
"""

from __future__ import annotations

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from apiserver_app.machinery.waiting import Mailbox
from controllers_app.containerruntime.servers.server import Bound
from controllers_app.shell import timeformat

HEAD_BYTES_MAX, BODY_BYTES_MAX = 64 * 1024, 3 << 20
_REASONS = {
    200: "OK", 201: "Created", 204: "No Content", 301: "Moved Permanently", 302: "Found",
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Not Allowed",
    413: "Request Entity Too Large", 500: "Internal Server Error", 502: "Bad Gateway",
    503: "Service Unavailable",
}  # fmt: skip


class TcpConnection:
    """One connection, as `Connection`."""

    def __init__(self, kernel: Kernel, bound: Bound, port: int) -> None:
        self._kernel = kernel
        self._bound = bound
        self._port = port
        self._out: Mailbox[bytes] = Mailbox(kernel)
        self._in = b""
        self._answering = False

    async def read(self) -> bytes | None:
        return await self._out.get()

    def write(self, data: bytes) -> None:
        if self._out.closed:
            return
        if self._bound.server.talk is not None:
            answer = self._bound.server.talk(data)
            if answer:
                self._out.put(answer)
            return
        self._in += data
        if len(self._in) > HEAD_BYTES_MAX + BODY_BYTES_MAX:
            self._send(HttpAnswer(413, {}, b""), close=True)
        elif not self._answering:
            self._answering = True
            name = f"kubelet/connection/{self._bound.container.id[-12:]}"
            self._kernel.spawn(name, self._answer(), span=0)

    def close(self) -> None:
        if not self._out.closed:
            self._out.close()

    async def _answer(self) -> None:
        try:
            while not self._out.closed:
                taken = _request(self._in)
                if taken is None:
                    return
                request, self._in, keep = taken
                if request is None:
                    self._send(HttpAnswer(400, {"content-type": "text/plain"}, b""), close=True)
                    return
                answer = await self._bound.answer(self._port, request)
                self._send(answer, close=not keep, bare=request.method == "HEAD")
        finally:
            self._answering = False

    def _send(self, answer: HttpAnswer, *, close: bool, bare: bool = False) -> None:
        if self._out.closed:
            return
        head = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Status')}"]
        fields = {
            "date": timeformat.http(self._kernel.now),
            **{key: value for key, value in answer.headers.items() if key != "connection"},
            "content-length": str(len(answer.body)),
            "connection": "close" if close else "keep-alive",
        }
        head += [f"{key.title()}: {value}" for key, value in fields.items()]
        self._out.put("\r\n".join([*head, "", ""]).encode() + (b"" if bare else answer.body))
        if close:
            self._out.close()


def _request(data: bytes) -> tuple[HttpRequest | None, bytes, bool] | None:
    """The first request, what follows it, and whether the connection stays open; None: not yet."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None if len(data) < HEAD_BYTES_MAX else (None, b"", False)
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None, b"", False
    headers = {}
    for line in lines:
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    size = headers.get("content-length", "0")
    if not size.isdigit() or int(size) > BODY_BYTES_MAX or "transfer-encoding" in headers:
        return None, b"", False
    length = int(size)
    if len(rest) < length:
        return None
    keep = words[2] != "HTTP/1.0" and headers.get("connection", "").lower() != "close"
    return HttpRequest(words[0], words[1], headers, rest[:length]), rest[length:], keep
