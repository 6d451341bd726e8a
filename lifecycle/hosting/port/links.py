"""Transports of the port's frames: a Unix socket pair, or the event loop that both sides share.

The channel layer (many machines) is refused by name, because it does not exist yet. Of a message
only its length matters here.
"""

from __future__ import annotations

import asyncio
import socket
import traceback
from collections import deque
from collections.abc import Callable, Iterator

from lifecycle.hosting.port import edgeport, frames

POLL_BYTES = 1 << 18
PIECE_BYTES = 16 << 20  # the size at which frames, and single bodies, are split
LARGE_BYTES = 64 << 10  # a body beyond this crosses in parts, between which all else overtakes it
_BODY = 7  # of a "req"


def pieces(messages: list[frames.Message]) -> Iterator[list[frames.Message]]:
    """Splits messages into lists that fit into frames, and long bodies into parts."""
    out: list[frames.Message] = []
    size = 0
    for message in messages:
        for part in _parts(message):
            length = sum(len(item) for item in part if isinstance(item, (bytes, str)))
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
        self._is_full = False  # the other end does not keep up
        self._large: deque[tuple[frames.Message, int]] = deque()  # and how much of the body is sent
        self._received: dict[int, bytearray] = {}  # parts of bodies, by request

    def send(self, messages: list[frames.Message]) -> None:
        """Sends one or more frames; drops them after `finish` and when the other end is closed."""
        if self._transport is not None and not self._finished and not self._transport.is_closing():
            for some in pieces([message for message in messages if not self._is_put_off(message)]):
                self._transport.write(frames.encode_frame(some))
            if self._large:
                self._send_large()

    def _is_put_off(self, message: frames.Message) -> bool:
        """Whether it is a large request, or ends one that has not been sent."""
        if message[0] == "req" and len(message[_BODY]) > LARGE_BYTES:
            self._large.append((message, 0))
            return True
        if message[0] == "cancel" and self._large:
            left = deque(entry for entry in self._large if entry[0][1] != message[1])
            self._large, before = left, self._large
            return any(sent == 0 and large[1] == message[1] for large, sent in before)
        return False

    def _send_large(self) -> None:
        """Sends parts of large requests in turn, for as long as the other end keeps up."""
        assert self._transport is not None
        while self._large and not self._is_full and not self._transport.is_closing():
            message, sent = self._large.popleft()
            body = message[_BODY][sent : sent + LARGE_BYTES]
            sent += len(body)
            if sent < len(message[_BODY]):
                self._large.append((message, sent))
                message = ("part", message[1], body)
            else:
                message = (*message[:_BODY], body, *message[_BODY + 1 :])
            self._transport.write(frames.encode_frame([message]))

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if not self._finished:
            self._send_large()

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
            if messages[0][0] == "part":  # alone in its frame
                self._received.setdefault(messages[0][1], bytearray()).extend(messages[0][2])
            else:
                self._receive(
                    [self._whole(message) for message in messages] if self._received else messages
                )

    def _whole(self, message: frames.Message) -> frames.Message:
        """With the parts of its body that came before."""
        if message[0] not in ("req", "cancel") or message[1] not in self._received:
            return message
        body = self._received.pop(message[1])
        if message[0] == "cancel":
            return message
        return (*message[:_BODY], bytes(body + message[_BODY]), *message[_BODY + 1 :])

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
