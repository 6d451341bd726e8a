"""An HTTP request to a program that listens on a port: written as bytes, the answer read back.

Models Go net/http/transport.go as far as a script that answers by hand is understood.
"""

from __future__ import annotations

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from apiserver_app.machinery.waiting import Signal
from controllers_app.shell.sockets import BYTES_MAX, Socket

ANSWER_SECONDS = 10.0  # until the whole answer has to be there
_MALFORMED = HttpAnswer(502, {"content-type": "text/plain"}, b"malformed HTTP response\n")
_EMPTY = HttpAnswer(502, {"content-type": "text/plain"}, b"EOF\n")


async def send(kernel: Kernel, socket: Socket, request: HttpRequest) -> HttpAnswer:
    """One request over a connection of its own."""
    given = {key: text for key, text in request.headers.items() if key != "x-forwarded-for"}
    if request.body:
        given["content-length"] = str(len(request.body))
    head = [f"{request.method} {request.path} HTTP/1.1"]
    head += [f"{key.title()}: {text}" for key, text in given.items()]
    socket.write("\r\n".join([*head, "", ""]).encode("latin-1", "replace") + request.body)
    over = Signal(kernel)
    received = bytearray()

    async def listen() -> None:
        while len(received) <= BYTES_MAX and _whole(bytes(received), request.method) is None:
            part = await socket.read()
            if part is None:
                break
            received.extend(part)
        over.set()

    task = kernel.spawn("container/answer", listen(), span=0)
    try:
        await over.wait(ANSWER_SECONDS)
    finally:
        kernel.cancel(task)
        socket.close()
    data = bytes(received)
    return _whole(data, request.method) or _at_end(data)


def _whole(data: bytes, method: str) -> HttpAnswer | None:
    """The answer, once all of it is there."""
    head = _head(data)
    if head is None:
        return None
    status, headers, body = head
    length = headers.get("content-length", "")
    if method == "HEAD" or status in (204, 304):
        return HttpAnswer(status, headers, b"")
    if length.isdigit() and len(body) >= int(length[:9]):
        return HttpAnswer(status, headers, body[: int(length[:9])])
    return None


def _at_end(data: bytes) -> HttpAnswer:
    """The answer of a server that says by closing that this was all."""
    head = _head(data) or _head(data + b"\r\n\r\n")
    if head is None:
        return _MALFORMED if data else _EMPTY
    status, headers, body = head
    if "content-length" in headers:
        return _EMPTY  # it broke off
    return HttpAnswer(status, headers, body)


def _head(data: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """Status, headers and what follows them; lines may end as those of a careless script do."""
    for end in (b"\r\n\r\n", b"\n\n", b"\n\r\n"):
        head, parts, body = data.partition(end)
        if parts:
            break
    else:
        return None
    first, *lines = head.decode("latin-1").replace("\r", "").split("\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
        return None
    headers = {}
    for line in lines:
        key, _, text = line.partition(":")
        headers[key.strip().lower()] = text.strip()
    return int(words[1][:3]), headers, body
