"""The port: the only thing between the edge and the worker. Only tuples and bytes cross it.

A frame is a list of messages; a message is a tuple whose first item names it.

edge to worker
  ("req", id, cluster, method, path, query, headers, body, tls, outside_addr)
  ("part", id, data)                   of the body of a large "req" that follows; alone in its frame
  ("cancel", id)                       the client of this request is gone
  ("data", id, data)                   what the client of a switched connection sent
  ("took", id, count)                  so much of a paced answer is on its way to the client
  ("ctl", id, cluster, action, args)   a control action of the product
  ("ping",)                            alone in its frame; the worker answers between two steps
worker to edge
  ("head", id, status, headers, more, body)   more: False, True, "paced", "window" or "part"
  ("body", id, data, more)             "part": of what was there at once, however much it is
  ("switch", id, headers)              the upgrade that was asked for is granted
  ("close", id, code, reason)          the end of a switched connection
  ("took", id, count)                  so much of what the client sent is used up
  ("ctlr", id, ok, result)             not ok: result["error"] says why
  ("trace", cluster, first_seq, last_seq, bytes)   records, comma separated; b"": in the store only
  ("state", cluster, dict)             the clock or what holds it changed
  ("removed", cluster)                 there is no such cluster any more
  ("ready", info)                      the worker serves now
  ("log", line)                        for the terminal
  ("pong", debugged)                   the answer to a ping

Path and query are as the client sent them, still percent-encoded. tls is None or
[common name, [organizations], issuer, error, fingerprint, [DER of the chain]].

A request with an Upgrade header is refused by an ordinary head, or granted by "switch", whose
headers are those of the 101. From then on data goes both ways: messages of a WebSocket (str: a text
message) or pieces of any other protocol's bytes. Each side counts what the other has not said
"took" for yet: the edge stops reading from the client at CLIENT_BYTES_MAX, the worker stops writing
at a limit of its own. A "paced" answer is an ordinary one whose worker waits likewise; so is a
"window", of which the edge says "took" every WINDOW_TOOK_BYTES. "close" has a WebSocket's code.
Nothing in this room but `links`, which carries the frames, knows a socket.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

Message = tuple[Any, ...]
Send = Callable[[list[Message]], None]

FRAME_BYTES_MAX = 1 << 28
NESTING_MAX = 64  # of a message; the records of a trace cross as bytes

_LENGTH = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[tuple[Any, ...]])


class PortError(Exception):
    """The other side broke the protocol: a frame too long, or not a list of messages."""


class Unsendable(PortError):
    """A message holds what no frame can carry; the text says what."""


class Driver(Protocol):
    """What the worker side of the port serves. `stop` commits what is left."""

    def receive(self, messages: list[Message]) -> None: ...

    def start(self) -> Any: ...

    def stop(self) -> Any: ...


def encode_frame(messages: list[Message]) -> bytes:
    """The frame as it crosses a byte stream: its length in four bytes, then msgpack.

    A message that cannot be encoded is replaced by its refusal, or left out.
    """
    try:
        data = _encoder.encode(messages)
    except (OverflowError, RecursionError, TypeError, ValueError):
        data = _encoder.encode([part for message in messages for part in _sendable(message)])
    if len(data) > FRAME_BYTES_MAX:
        raise PortError(f"a frame of {len(data)} bytes is longer than {FRAME_BYTES_MAX}")
    return _LENGTH.pack(len(data)) + data


class FrameReader:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[list[Message]]:
        """Every frame that is whole now."""
        self._buffer += data
        start, have = 0, len(self._buffer)
        try:
            while have - start >= 4:
                (size,) = _LENGTH.unpack_from(self._buffer, start)
                if size > FRAME_BYTES_MAX:
                    raise PortError(f"a frame of {size} bytes is longer than {FRAME_BYTES_MAX}")
                if have - start - 4 < size:
                    break
                body = bytes(memoryview(self._buffer)[start + 4 : start + 4 + size])
                start += 4 + size
                yield _decode(body)
        finally:
            del self._buffer[:start]


def check(value: Any, nesting: int = NESTING_MAX) -> None:
    """Raises Unsendable for what a message cannot hold."""
    if not nesting:
        raise Unsendable("it is nested too deeply")
    if isinstance(value, dict):
        for name, item in value.items():
            check(name, nesting - 1)
            check(item, nesting - 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            check(item, nesting - 1)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Unsendable("a number is beyond 64 bits")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unsendable("a text is no Unicode") from error
    elif value is not None and not isinstance(value, (bytes, bytearray, float)):
        raise Unsendable(f"a {type(value).__name__} cannot be part of a message")


def _sendable(message: Message) -> Iterator[Message]:
    """The message, or what is said in its place."""
    try:
        check(message)
    except Unsendable as error:
        kind, number = message[:2]
        if kind == "ctlr":
            yield ("ctlr", number, False, {"error": f"the answer cannot be sent: {error}"})
        elif kind == "head":
            headers = [("Content-Type", "text/plain; charset=utf-8")]
            yield ("head", number, 500, headers, False, f"cannot be sent: {error}\n".encode())
    else:
        yield message


def _decode(body: bytes) -> list[Message]:
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise PortError(f"not a frame: {error}") from error
