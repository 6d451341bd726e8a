"""Ports that commands of a container listen on, and the connections that come in there: bytes, both
ways. A request of a client that speaks HTTP is written as one and the answer read back.

Models TCP as busybox networking/nc.c gets it from the system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from apiserver_app.machinery.kernel import Kernel, Mailbox, Signal
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest

BACKLOG_MAX = 64  # connections that wait to be taken; more are refused
BYTES_MAX = 1 << 20  # that a program leaves unread, and of an answer
ANSWER_SECONDS = 10.0  # how long who speaks HTTP waits for the whole answer
_MALFORMED = HttpAnswer(502, {"content-type": "text/plain"}, b"malformed HTTP response\n")
_EMPTY = HttpAnswer(502, {"content-type": "text/plain"}, b"EOF\n")


class Socket:
    """One connection. Its client has the methods of `Connection`; the program has the rest."""

    def __init__(self, kernel: Kernel, poke: Callable[[], None]) -> None:
        self.poke = poke  # the program: something has come
        self.ended = False  # the client will send no more
        self._in: list[bytes] = []
        self._size = 0
        self._unread = 0  # by the client
        self._out: Mailbox[bytes] = Mailbox(kernel)

    # -- the client's end -----------------------------------------------------------------------

    async def read(self) -> bytes | None:
        data = await self._out.get()
        self._unread -= len(data or b"")
        return data

    def write(self, data: bytes) -> None:
        if self.ended or not data:
            return
        self._in.append(data)
        self._size += len(data)
        if self._size > BYTES_MAX:
            self.close()
        self.poke()

    def finish(self) -> None:
        """Say that there is no more; what the program answers is still read."""
        self.ended = True
        self.poke()

    def close(self) -> None:
        self.shut()
        self.finish()

    # -- the program's end ----------------------------------------------------------------------

    def has_news(self) -> bool:
        return bool(self._in) or self.ended

    def take(self) -> bytes:
        """What has come; empty when nothing has."""
        data, self._size = b"".join(self._in), 0
        self._in.clear()
        return data

    def send(self, data: bytes) -> bool:
        """Whether the client may still read it."""
        if self._out.closed or self._unread > BYTES_MAX:
            return False
        if data:
            self._unread += len(data)
            self._out.put(data)
        return True

    def shut(self) -> None:
        """The program will send no more."""
        if not self._out.closed:
            self._out.close()


class Listener:
    """A port that a program listens on, with the connections that it has not taken yet."""

    def __init__(self, kernel: Kernel, poke: Callable[[], None]) -> None:
        self._kernel = kernel
        self._poke = poke
        self.waiting: deque[Socket] = deque()

    def opened(self) -> Socket:
        """A client connects."""
        made = Socket(self._kernel, self._poke)
        if len(self.waiting) < BACKLOG_MAX:
            self.waiting.append(made)
            self._poke()
        else:
            made.close()
        return made

    def close(self) -> None:
        """Nobody will take what waits."""
        while self.waiting:
            self.waiting.popleft().close()


async def asked(kernel: Kernel, socket: Socket, request: HttpRequest) -> HttpAnswer:
    """One request over a connection of its own."""
    given = {key: text for key, text in request.headers.items() if key != "x-forwarded-for"}
    if request.body:
        given["content-length"] = str(len(request.body))
    head = [f"{request.method} {request.path} HTTP/1.1"]
    head += [f"{key.title()}: {text}" for key, text in given.items()]
    socket.write("\r\n".join([*head, "", ""]).encode("latin-1", "replace") + request.body)
    over = Signal(kernel)
    heard = bytearray()

    async def listen() -> None:
        while len(heard) <= BYTES_MAX and _whole(bytes(heard), request.method) is None:
            part = await socket.read()
            if part is None:
                break
            heard.extend(part)
        over.set()

    task = kernel.spawn("container/answer", listen(), span=0)
    try:
        await over.wait(ANSWER_SECONDS)
    finally:
        kernel.cancel(task)
        socket.close()
    data = bytes(heard)
    return _whole(data, request.method) or _at_end(data)


def _whole(data: bytes, method: str) -> HttpAnswer | None:
    """The answer, once all of it is there."""
    found = _head(data)
    if found is None:
        return None
    status, headers, body = found
    said = headers.get("content-length", "")
    if method == "HEAD" or status in (204, 304):
        return HttpAnswer(status, headers, b"")
    if said.isdigit() and len(body) >= int(said[:9]):
        return HttpAnswer(status, headers, body[: int(said[:9])])
    return None


def _at_end(data: bytes) -> HttpAnswer:
    """The answer of a server that says by closing that this was all."""
    found = _head(data) or _head(data + b"\r\n\r\n")
    if found is None:
        return _MALFORMED if data else _EMPTY
    status, headers, body = found
    if "content-length" in headers:
        return _EMPTY  # it broke off
    return HttpAnswer(status, headers, body)


def _head(data: bytes) -> tuple[int, dict[str, str], bytes] | None:
    """Status, headers and what follows them; lines may end as those of a careless script do."""
    for end in (b"\r\n\r\n", b"\n\n", b"\n\r\n"):
        head, found, body = data.partition(end)
        if found:
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
