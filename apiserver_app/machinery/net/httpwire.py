"""HTTP/1.1 over a connection that somebody else opened: what a proxy sends, and what it is sent.

For requests whose connection goes on behind the answer's head, as another protocol, and for answers
that come piece by piece. What is no HTTP is Malformed.

Models Go's net/http (ReadResponse, Request.Write) as kube-apiserver's proxies use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

HEAD_BYTES_MAX = 1 << 20
REQUEST_BYTES_MAX = 3 << 20  # of the body of a request to an API server

Pairs = list[tuple[str, str]]


class Malformed(Exception):
    """What arrived is not an answer; the text is Go's message about it."""


class Head(msgspec.Struct, frozen=True):
    """The beginning of an answer; the headers' names are in small letters."""

    status: int
    headers: Pairs

    def first(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


def request(method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes = b"") -> bytes:
    """A request as it is sent."""
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{_canonical(name)}: {value}" for name, value in headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


class Source(Protocol):
    """What an answer is read from."""

    async def read(self) -> bytes | None:
        """Some bytes; None at the end."""
        ...


class Answer:
    """An answer as it arrives. `waiting` is what arrived after it, or after its head."""

    def __init__(self, source: Source, *, to_head: bool = False) -> None:
        self._source = source
        self._to_head = to_head  # a HEAD is answered without a body
        self._left: int | None = None  # of a body, or of its chunk; None: until the end
        self._chunked = False
        self._over = False
        self.waiting = b""

    async def head(self) -> Head:
        """Its status and headers. Raises Malformed."""
        while True:
            head = await self._until(b"\r\n\r\n", HEAD_BYTES_MAX)
            parsed = _parsed(head)
            if parsed.status == 101 or parsed.status >= 200:
                break
        self._chunked = "chunked" in parsed.first("transfer-encoding").lower()
        length = parsed.first("content-length")
        if self._chunked:
            self._left = 0
        elif length:
            if not length.isascii() or not length.isdigit():
                raise Malformed(f"bad Content-Length {length!r}")
            self._left = int(length)
        empty = not self._chunked and self._left == 0
        self._over = empty or self._to_head or parsed.status in (204, 304)
        return parsed

    async def piece(self) -> bytes | None:
        """Some bytes of the body; None at its end. Raises Malformed when it ends too early."""
        if self._over:
            return None
        if self._chunked and not self._left:
            await self._next_chunk()
            if self._over:
                return None
        if not self.waiting:
            data = await self._source.read()
            if data is None:
                self._over = True
                if self._left:
                    raise Malformed("unexpected EOF")
                return None
            self.waiting = data
        taken = self.waiting if self._left is None else self.waiting[: self._left]
        self.waiting = self.waiting[len(taken) :]
        if self._left is not None:
            self._left -= len(taken)
            if not self._left:
                if self._chunked:
                    await self._until(b"\r\n", 2)
                else:
                    self._over = True
        return taken

    async def _next_chunk(self) -> None:
        line = await self._until(b"\r\n", 4096)
        size = line.partition(b";")[0].strip()
        try:
            self._left = int(size, 16)
        except ValueError as error:
            raise Malformed("invalid byte in chunk length") from error
        self._over = not self._left

    async def _until(self, mark: bytes, limit: int) -> bytes:
        """What stands before a mark; the mark is gone."""
        while mark not in self.waiting:
            if len(self.waiting) > limit:
                raise Malformed("net/http: response header too long")
            data = await self._source.read()
            if data is None:
                raise Malformed("unexpected EOF" if self.waiting else "EOF")
            self.waiting += data
        before, _, self.waiting = self.waiting.partition(mark)
        return before


def _parsed(head: bytes) -> Head:
    first, *lines = head.decode("latin-1").split("\r\n")
    protocol, _, rest = first.partition(" ")
    code = rest[:3]
    if not protocol.startswith("HTTP/1.") or not (code.isascii() and code.isdigit()):
        raise Malformed(f'malformed HTTP response "{first[:100]}"')
    headers: Pairs = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise Malformed(f'malformed MIME header line: "{line[:100]}"')
        headers.append((name.strip().lower(), value.strip()))
    return Head(int(code), headers)


def _canonical(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))
