"""Transports of the port's frames: a Unix socket pair, or the event loop that both sides share.

The channel layer (many machines) is refused by name, because it does not exist yet. Of a message
only its length matters here.
"""

from __future__ import annotations

import asyncio
import socket
import traceback
from collections.abc import Callable, Iterator

from lifecycle.hosting.port import edgeport, frames

POLL_BYTES = 1 << 18
PIECE_BYTES = 16 << 20  # the size at which frames, and single bodies, are split
HOSTS = ("socket", "loop", "channels")


def check_host(name: str) -> str:
    """Returns the name if it is a supported transport. Raises ValueError."""
    if name not in HOSTS:
        raise ValueError(f"{name!r} is no host of the port; there are {', '.join(HOSTS)}")
    if name == "channels":
        raise ValueError(
            "the port over the channel layer is not available yet; use the socket pair, "
            "which is the default"
        )
    return name


def pieces(messages: list[frames.Message]) -> Iterator[list[frames.Message]]:
    """Splits messages into lists that fit into frames, and long bodies into parts."""
    out: list[frames.Message] = []
    size = 0
    for message in messages:
        for part in _parts(message):
            length = sum(len(one) for one in part if isinstance(one, (bytes, str)))
            if out and size + length > PIECE_BYTES:
                yield out
                out, size = [], 0
            out.append(part)
            size += length
    if out:
        yield out


def _parts(message: frames.Message) -> Iterator[frames.Message]:
    if message[0] == "head" and len(message[5]) > PIECE_BYTES:
        yield (*message[:4], "part", b"")
        message = ("body", message[1], message[5], message[4])
    if message[0] == "body" and len(message[2]) > PIECE_BYTES:
        _, number, data, more = message
        last = (len(data) - 1) // PIECE_BYTES * PIECE_BYTES
        for start in range(0, last, PIECE_BYTES):
            yield ("body", number, data[start : start + PIECE_BYTES], "part")
        message = ("body", number, data[last:], more)
    yield message


class SocketLink(asyncio.Protocol):
    """One end of the pair. `lost` is called once, when the other end closes or sends garbage."""

    def __init__(
        self, receive: frames.Send, lost: Callable[[], None], end: socket.socket | None = None
    ) -> None:
        self._end = end
        self._receive = receive
        self._lost = lost
        self._reader = frames.FrameReader()
        self._transport: asyncio.Transport | None = None
        self._finished = False

    def send(self, messages: list[frames.Message]) -> None:
        """Sends one or more frames; drops them after `finish` and when the other end is closed."""
        if self._transport is not None and not self._finished and not self._transport.is_closing():
            for some in pieces(messages):
                self._transport.write(frames.encode_frame(some))

    def poll(self) -> None:
        """Receives what waits on the socket, without returning to the loop."""
        assert self._end is not None
        try:
            data = self._end.recv(POLL_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionError):
            return
        if data:  # an end of stream is left for the loop to notice
            self.data_received(data)

    def finish(self) -> None:
        """Closes this direction; the other end may still send."""
        self._finished = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for messages in self._reader.feed(data):
            self._receive(messages)

    def eof_received(self) -> bool:
        """The other end sends no more. Keep this direction open until its owner closes it."""
        self._tell_lost()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, ConnectionError):
            traceback.print_exception(error)  # a message that should not have been sent
        self._tell_lost()

    def _tell_lost(self) -> None:
        lost, self._lost = self._lost, _nothing
        lost()


async def open_socket(
    end: socket.socket, receive: frames.Send, lost: Callable[[], None]
) -> SocketLink:
    """Carry frames over this end of a pair, on the running loop."""
    end.setblocking(False)
    loop = asyncio.get_running_loop()
    _, link = await loop.create_connection(lambda: SocketLink(receive, lost, end), sock=end)
    return link


class LoopLink:
    """Both sides in one event loop: messages are handed over as they are, in the next turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, edge: edgeport.EdgePort) -> None:
        self._loop = loop
        self._edge = edge
        self._driver: frames.Driver | None = None

    def open(self, driver: frames.Driver) -> None:
        self._driver = driver
        self._edge.attach(self.to_worker)

    def close(self) -> None:
        if self._driver is not None:
            self._driver = None
            self._edge.detach()

    def to_worker(self, messages: list[frames.Message]) -> None:
        if self._driver is not None:
            self._loop.call_soon(self._driver.receive, messages)

    def to_edge(self, messages: list[frames.Message]) -> None:
        self._loop.call_soon(self._hand_over, messages)

    def _hand_over(self, messages: list[frames.Message]) -> None:
        if self._driver is not None:
            self._edge.receive(messages)


def _nothing() -> None:
    return None
