"""One connection of the edge: where requests end, how long they may take, which are refused.

A head is gathered whole and read by `http_head`; its bytes, and the time until it is there, are
bounded, however slowly they come. So are the time for a body, the time between requests, and the
time that a client which does not read, or does not say good-bye, keeps a connection that is over.
An answer has no time of its own: a stream may last.

These are times on the wall, since they are the network's; no cluster knows of them. `Times` are
kube-apiserver's: ReadHeaderTimeout, IdleTimeout and --request-timeout.

Models Go's net/http/server.go (conn.serve) and kubernetes
staging/src/k8s.io/apiserver/pkg/server/secure_serving.go.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Any

import msgspec
from twisted.internet.protocol import connectionDone
from twisted.protocols.policies import ProtocolWrapper
from twisted.web import http

from apiserver_app.machinery import errors
from lifecycle.hosting.edge import http_head

LEADING_NEWLINES_MAX = 4  # before a request, as Go forgives old browsers
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4))


class Times(msgspec.Struct, frozen=True):
    """How long the network may take, in seconds."""

    head: float = 32.0  # for a handshake, and for a head from its first byte on
    body: float = 60.0
    upload: float = 600.0  # for a body that is a file
    idle: float = 90.0  # between two requests; and without progress, while an answer is unread
    closing: float = 15.0  # for what is unsent and the client's good-bye


class Channel(http.HTTPChannel):
    """Twisted's channel of HTTP/1.1, with a reader of its own."""

    times = Times()

    def __init__(self) -> None:
        super().__init__()
        self.head: http_head.Head | None = None  # of the request that was read last
        self.unread = bytearray()
        self._seen = 0  # of unread, in search of the end of a head
        self._begun = False  # the request line is there, and is one
        self._idle = False
        self._advancing = False
        self.ending = False
        self._unsent_before = 0
        self._alarm: Any = None  # a delayed call, not after `_due`
        self._due: float | None = None

    def connectionMade(self) -> None:
        self.timeOut = self.times.head  # type: ignore[assignment]
        super().connectionMade()
        keep_alive(self.transport)

    # -- what comes -----------------------------------------------------------------------------

    def dataReceived(self, data: bytes) -> None:
        if self.ending:
            return
        self.unread += data
        if not self._handlingRequest:
            self._advance()
        if (
            self._handlingRequest
            and len(self.unread) > self._optimisticEagerReadSize
            and not self._waitingForTransport
        ):
            wire: Any = self._networkProducer
            wire.pauseProducing()

    def setLineMode(self, extra: bytes = b"") -> None:
        """The request before is answered."""
        self._advance()

    def taken_over(self) -> bytes:
        """What came behind the request, for the protocol that follows."""
        data = bytes(self.unread)
        self.unread.clear()
        return data

    def _advance(self) -> None:
        if self._advancing:
            return
        self._advancing = True
        try:
            while self.unread and not self._handlingRequest and not self.ending:
                if self._transferDecoder is not None:
                    data = self.taken_over()
                    self._transferDecoder.dataReceived(data)
                elif not self._read_head():
                    break
        except http_head.Refused as refused:
            self._refuse(refused)
        except http._MalformedChunkedDataError:
            self._refuse(http_head.Refused(http_head.BAD))
        finally:
            self._advancing = False

    def _read_head(self) -> bool:
        """Whether it was all there."""
        if self._idle:
            self._idle = False
            self.setTimeout(self.times.head)
        if not self._seen:
            first = self.unread[:LEADING_NEWLINES_MAX]
            del self.unread[: len(first) - len(first.lstrip(b"\r\n"))]
        end = http_head.end_of(self.unread, self._seen)
        if max(end, len(self.unread) if end < 0 else 0) > http_head.HEAD_BYTES_MAX:
            raise http_head.Refused(http_head.TOO_LARGE)
        if end < 0:
            if not self._begun:
                self._begun = http_head.begins(self.unread)
            self._seen = len(self.unread)
            return False
        head = http_head.parse(bytes(self.unread[:end]))
        del self.unread[:end]
        self._seen, self._begun = 0, False
        self._begin(head)
        return True

    def _begin(self, head: http_head.Head) -> None:
        self.head = head
        request: Any = self.requestFactory(self, len(self.requests))
        self.requests.append(request)
        self.persistent = head.persistent
        if not head.persistent:
            request.responseHeaders.setRawHeaders(b"connection", [b"close"])
        if head.length == 0:
            request.gotLength(0)
            self.allContentReceived()
            return
        self._transferDecoder = (
            http._ChunkedTransferDecoder(request.handleContentChunk, self._finishRequestBody)
            if head.length is None
            else http._IdentityTransferDecoder(
                head.length, request.handleContentChunk, self._finishRequestBody
            )
        )
        self.setTimeout(self.times.upload if request.upload(head) else self.times.body)
        request.gotLength(head.length)
        if head.waits and not self.ending:
            self._send100Continue()

    def _finishRequestBody(self, data: bytes) -> None:
        self.unread[:0] = data
        self.allContentReceived()

    def allContentReceived(self) -> None:
        """Serve the request that is whole now."""
        assert self.head is not None
        self._transferDecoder = None
        self.setTimeout(None)
        self._savedTimeOut = self.times.idle  # for when it is done
        self._idle = True
        self._handlingRequest = True
        self.requests[-1].requestReceived(self.head.method, self.head.uri, self.head.version)

    # -- times ----------------------------------------------------------------------------------

    # Several are set for each request, and Twisted looks through all calls there are to bring one
    # forward. So a call that comes too early is left where it is, and looks again when it comes.

    def setTimeout(self, period: float | None) -> float | None:
        before, self.timeOut = self.timeOut, period  # type: ignore[assignment]
        self.resetTimeout()
        return before

    def resetTimeout(self) -> None:
        if self.timeOut is None:
            self._due = None
            return
        self._due = self._now() + self.timeOut
        if self._alarm is not None and self._alarm.getTime() > self._due:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = self.callLater(self.timeOut, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._due is None:
            return
        left = self._due - self._now()
        if left > 0:
            self._alarm = self.callLater(left, self._ring)
        else:
            self._due = None
            self.timeoutConnection()

    def _now(self) -> float:
        factory: Any = self.factory
        return float(factory.reactor.seconds())

    # -- the end --------------------------------------------------------------------------------

    def connectionLost(self, reason: Any = connectionDone) -> None:
        super().connectionLost(reason)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def timeoutConnection(self) -> None:
        if self._transferDecoder is not None:
            why = "request did not complete within the allotted timeout"
            self.requests[-1].refuse_and_close(errors.timeout(why))
        elif self._progresses():
            self.setTimeout(self.times.idle)
        else:
            self.loseConnection()

    def loseConnection(self) -> Any:
        self.ending = True
        self.unread.clear()
        self.setTimeout(None)
        if self._abortingCall is None:
            self._abortingCall = self.callLater(self.times.closing, self._abort)
        return super().loseConnection()

    def _refuse(self, refused: http_head.Refused) -> None:
        wire: Any = self.transport
        wire.write(refused.answer())
        self.loseConnection()

    def _abort(self) -> None:
        self._abortingCall = None
        if self._progresses():
            self._abortingCall = self.callLater(self.times.closing, self._abort)
        else:
            wire: Any = self.transport
            wire.abortConnection()

    def _progresses(self) -> bool:
        """Whether the client took some of what is unsent since this was asked before."""
        before, self._unsent_before = self._unsent_before, _unsent(self.transport)
        return self._unsent_before > 0 and (self._unsent_before < before or before == 0)


def _unsent(transport: Any) -> int:
    count: int = 0
    while isinstance(transport, ProtocolWrapper):
        count += sum(map(len, transport._appSendBuffer))
        transport = transport.transport
    count += len(transport.dataBuffer) - transport.offset + transport._tempDataLen
    return count


def keep_alive(transport: Any) -> None:
    """Have the kernel notice a client that vanished without a word."""
    with contextlib.suppress(AttributeError, OSError):
        while isinstance(transport, ProtocolWrapper):
            transport = transport.transport
        transport.setTcpKeepAlive(1)
        for option, value in KEEPALIVE:
            transport.getHandle().setsockopt(socket.IPPROTO_TCP, option, value)
