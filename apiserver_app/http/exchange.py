"""One HTTP exchange with the host: the Request, and the Reply that takes the answer.

Types only; no sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

Headers = list[tuple[str, str]]
SIZED_BYTES_MAX = 2048  # as net/http buffers; a longer answer is sent in chunks


class Request(msgspec.Struct):
    """A request as received; path and query are still percent-encoded."""

    method: str
    path: str
    query: str
    headers: Any  # (name, value) pairs
    body: bytes
    tls: Any = None  # None, or the client's certificate data from the port
    address: str = ""


class Reply(Protocol):
    """Receives the answer. Everything passed to it is sent after the next commit."""

    def head(
        self, status: int, headers: Headers, body: bytes, *, more: bool = False, paced: str = ""
    ) -> None:
        """Sends status and headers. If `paced` the sender waits for what the listener `took` says
        that the client read: of each piece if "paced", at every 32 KB if "window"."""
        ...

    def body(self, data: bytes | str, more: bool) -> None: ...

    def switch(self, headers: Headers) -> None:
        """Grants the requested upgrade; `body` then sends messages."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Ends a switched connection."""
        ...

    def took(self, count: int) -> None:
        """Reports that so many bytes of the client's data are consumed."""
        ...

    def listen(self, **calls: Callable[[Any], None]) -> None:
        """Sets the callbacks for the client's actions: cancel (it disconnected), data, took."""
        ...
