"""Connections that stop being HTTP: a WebSocket, or any protocol's bytes, on the same transport.

An upgrade reaches the application as the HTTP request it is, with its Upgrade header; what refuses
it is an ordinary answer. Granted, the transport is taken from the HTTP channel: for `websocket` by
Autobahn's frames, for everything else as it is, and so when the application passes on a WebSocket
that somebody else granted (the headers hold Sec-WebSocket-Accept). The application goes on with
these messages:

  sent      {"type": "http.upgrade", "headers"}, {"type": "stream.data", "data"},
            {"type": "stream.close", "code", "reason"}
  received  {"type": "stream.data", "data"}, {"type": "http.disconnect"}

`data` is one message of a WebSocket (str: a text message), or some bytes. What the client sends
waits here while the application does not ask for it; past UNREAD_BYTES_MAX the client is not read
from.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/httpstream (spdy/upgrade.go, wsstream).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from autobahn.twisted.websocket import WebSocketServerFactory
from twisted.internet import protocol

from lifecycle.hosting.edge import http_head
from lifecycle.hosting.edge.adapter import frames, tls, turns

UNREAD_BYTES_MAX = 256 << 10
MESSAGE_BYTES = 256  # what a message counts besides its own bytes
MESSAGE_BYTES_MAX = 16 << 20  # of one WebSocket message, in either direction
FRAME_BYTES_MAX = 1 << 20
PING_SECONDS = 30
PONG_SECONDS = 60
CLOSING_SECONDS = 5  # for the client's half of the closing handshake

Headers = Sequence[tuple[bytes, bytes]]
Put = Callable[[dict[str, Any]], None]


class Inflow:
    """What came from the client and was not asked for yet. Pauses the transport past its limit."""

    def __init__(self, transport: Any, put: Put) -> None:
        self.valve = turns.Valve(transport)
        self._put = put
        self._unread = 0
        self.is_full = False
        self.on_room: Callable[[], None] = lambda: None

    def add(self, data: bytes | str) -> None:
        self._unread += len(data) + MESSAGE_BYTES
        self._put({"type": "stream.data", "data": data})
        if self._unread > UNREAD_BYTES_MAX:
            self.is_full = True
            self.valve.hold("unread")

    def taken(self, data: bytes | str) -> None:
        self._unread -= len(data) + MESSAGE_BYTES
        if self.is_full and self._unread <= UNREAD_BYTES_MAX // 2:
            self.is_full = False
            self.valve.release("unread")
            self.on_room()


class Raw(protocol.Protocol):
    """The bytes of a protocol that only the two ends know."""

    def __init__(self, inflow: Inflow, lost: Callable[[], None]) -> None:
        self._inflow = inflow
        self._lost = lost

    def dataReceived(self, data: bytes) -> None:
        self._inflow.add(data)

    def connectionLost(self, reason: Any = None) -> None:
        self._lost()

    def send(self, data: bytes | str) -> None:
        transport: Any = self.transport
        transport.write(data.encode() if isinstance(data, str) else data)

    def end(self, code: int, reason: str) -> None:
        transport: Any = self.transport
        transport.loseConnection()


class Socket(frames.TakesTurns):
    """A WebSocket that was granted before its handshake began."""

    granted: str | None = None  # the subprotocol
    more: dict[str, str]  # headers of the 101
    inflow: Inflow
    lost: Callable[[], None]
    _told = False

    def onConnect(self, request: Any) -> tuple[str | None, dict[str, str]]:
        return self.granted, self.more

    def has_room(self) -> bool:
        return super().has_room() and not self.inflow.is_full

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        self.inflow.add(payload if isBinary else payload.decode("utf-8", "replace"))

    def onCloseFrame(self, code: int, reasonRaw: bytes) -> bool | None:
        """The client has said its last. Over TLS it may keep the connection for long, until it
        has seen all of the server's end."""
        violated = super().onCloseFrame(code, reasonRaw)
        self._is_lost()
        return violated

    def onClose(self, wasClean: bool, code: int, reason: str) -> None:
        self._is_lost()

    def _is_lost(self) -> None:
        if not self._told:
            self._told = True
            self.lost()

    def onAutoPingTimeout(self) -> None:
        """No answer to a ping. While the client is not read from, none could have been seen."""
        if self.inflow.valve.is_held:
            self.autoPingTimeoutCall = None
            self._sendAutoPing()
        else:
            super().onAutoPingTimeout()

    def send(self, data: bytes | str) -> None:
        if self.state == self.STATE_OPEN:
            text = isinstance(data, str)
            whole = data.encode() if isinstance(data, str) else data
            self.sendMessage(whole, not text)  # type: ignore[no-untyped-call]

    def end(self, code: int, reason: str) -> None:
        if self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code, reasonUtf8=reason.encode()[:120], isReply=False)
        else:
            self.dropConnection(abort=True)


def take_over(request: Any, headers: Headers, gate: Any, put: Put) -> Any:
    """Give the request's transport its new protocol; it has `send`, `end` and `inflow`.

    When the client ends, an http.disconnect is sent. `gate` closes while the client does not read.
    """
    transport, request.transport = request.transport, None
    inflow = Inflow(transport, put)

    def lost() -> None:
        put({"type": "http.disconnect"})
        request.server.protocol_disconnected(request)

    waiting = request.channel.taken_over()
    upgrade = request.head.first(b"upgrade")
    passed_on = any(name.lower() == b"sec-websocket-accept" for name, _ in headers)
    framed = upgrade.lower() == b"websocket" and not passed_on
    if framed:
        new: Any = granted(headers, inflow, lost)
    else:
        new = Raw(inflow, lost)
    new.inflow = inflow
    if isinstance(transport, tls.Transport):
        transport.wrappedProtocol = new
        # one record for each frame, as from Go's server: clients that poll their socket would wait
        # for frames that the record they read has already brought them
        transport.joins = False
    else:
        transport.protocol = new
    transport.unregisterProducer()  # it was the HTTP channel
    if not framed:
        transport.write(_switching(upgrade, headers))
    new.makeConnection(transport)
    transport.registerProducer(gate, True)
    transport.resumeProducing()  # the channel had stopped it
    if framed:
        new.dataReceived(_head_of(request.head))
    if waiting:
        new.dataReceived(waiting)
    return new


@functools.cache
def _factory() -> Any:
    factory: Any = WebSocketServerFactory()  # type: ignore[no-untyped-call]
    factory.protocol = Socket
    factory.setProtocolOptions(
        maxFramePayloadSize=FRAME_BYTES_MAX,
        maxMessagePayloadSize=MESSAGE_BYTES_MAX,
        autoPingInterval=PING_SECONDS,
        autoPingTimeout=PONG_SECONDS,
        openHandshakeTimeout=0,
        closeHandshakeTimeout=CLOSING_SECONDS,
        tcpNoDelay=False,
    )
    return factory


def granted(headers: Headers, inflow: Inflow, lost: Callable[[], None]) -> Socket:
    """A WebSocket that is given the head of its request first."""
    new: Socket = _factory().buildProtocol(None)
    new.inflow, new.lost, new.valve = inflow, lost, inflow.valve
    inflow.on_room = new.go_on
    new.more = {}
    for name, value in headers:
        if name.lower() == b"sec-websocket-protocol":
            new.granted = value.decode("latin-1")
        else:
            new.more[name.decode("latin-1").title()] = value.decode("latin-1")
    return new


def _head_of(head: http_head.Head) -> bytes:
    """The request line and headers again, for who does the handshake."""
    lines = [head.method + b" " + head.uri + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in head.headers]
    return b"\r\n".join([*lines, b"", b""])


def _switching(upgrade: bytes, headers: Headers) -> bytes:
    lines = [b"HTTP/1.1 101 Switching Protocols", b"Connection: Upgrade", b"Upgrade: " + upgrade]
    lines += [name.title() + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", b""])
