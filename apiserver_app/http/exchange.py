"""One HTTP exchange as the host hands it over: the Request, and the Reply that takes the answer.

Types only; no sockets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Headers = list[tuple[str, str]]


@dataclass(slots=True)
class Request:
    """As it came over the wire; path and query still percent-encoded."""

    method: str
    path: str
    query: str
    headers: Any  # pairs of name and value
    body: bytes
    tls: Any = None  # None, or what stands at the top of the port
    address: str = ""


class Reply(Protocol):
    """Where the answer goes. Everything given to it leaves after the next commit."""

    def head(
        self,
        status: int,
        headers: Headers,
        body: bytes,
        *,
        more: bool = False,
        paced: bool = False,
    ) -> None:
        """With `paced` the listener `took` says what the client has read, and the sender waits."""
        ...

    def body(self, data: bytes | str, more: bool) -> None: ...

    def switch(self, headers: Headers) -> None:
        """Grant the upgrade that was asked for; `body` sends messages from now on."""
        ...

    def close(self, code: int, reason: str) -> None:
        """End a switched connection."""
        ...

    def took(self, count: int) -> None:
        """So much of what the client sent is used up."""
        ...

    def listen(self, **calls: Callable[[Any], None]) -> None:
        """What to call when the client does something: cancel (it went away), data, took."""
        ...
