"""The edge's server: Daphne with what a Kubernetes API server's clients need on top.

Takes over sockets that listen already, plain and TLS; bounds request bodies; slows the
application down when a client does not read; forgets finished requests at once; dates every
answer. It knows the ASGI application it serves only as a callable. What it relies on inside Daphne
and Twisted is named in `docs/decisions/0003-edge-on-daphne.md` and tested.

Import this before anything else of Twisted: Daphne installs the asyncio reactor.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import socket
import sys
import time
import traceback
import urllib.parse
from collections.abc import Awaitable, Callable
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from daphne import http_protocol, ws_protocol
from daphne import server as daphne_server
from twisted.internet import defer, reactor
from twisted.internet.interfaces import IPushProducer
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web import http, http_headers
from zope.interface import implementer

from apiserver_app.machinery import errors
from apiserver_app.machinery.net.httpwire import REQUEST_BYTES_MAX
from lifecycle.hosting.edge import answers, http_head
from lifecycle.hosting.edge.adapter import frames, streams, tls, turns
from lifecycle.hosting.edge.adapter.channel import Channel, Times

UPLOAD_BYTES_MAX = 256 << 20  # for the paths of UPLOADS only
# names of headers are written as Go writes them: Etag, Www-Authenticate
http_headers._NameEncoder._caseMappings.clear()
UPLOADS = (b"/viz/v1/traces/import",)
UPLOADS_MAX = 4  # at a time
DRAIN_BYTES_MAX = 32 << 20  # of a too long body, read and dropped before the 413
# Autobahn has one limit for messages of both directions; only what comes in has a frame limit
WEBSOCKET_MESSAGE_BYTES_MAX = 64 << 20
WEBSOCKET_FRAME_BYTES_MAX = 64 << 10
LINGER_SECONDS = 10  # an application may run this long after its client disconnected

Application = Callable[..., Awaitable[None]]


def event_loop() -> asyncio.AbstractEventLoop:
    """The loop that the reactor runs on."""
    loop: asyncio.AbstractEventLoop = reactor._asyncioEventloop
    return loop


@implementer(IPushProducer)
class Gate:
    """Closed while the transport's buffer is full; senders wait for it to open."""

    def __init__(self) -> None:
        self.closed = False
        self._waiters: list[asyncio.Future[None]] = []

    def pauseProducing(self) -> None:
        self.closed = True

    def resumeProducing(self) -> None:
        self.closed = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def stopProducing(self) -> None:
        self.resumeProducing()

    async def passed(self) -> None:
        while self.closed:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter


class FeedSocket(frames.TakesTurns, ws_protocol.WebSocketProtocol):
    """A WebSocket of Daphne's own."""


class EdgeRequest(http_protocol.WebRequest):
    """One HTTP request. A body over the limit gets 413 and never reaches the application."""

    def __init__(self, channel: Any, queued: object = None) -> None:
        self.gate: Gate | None = None
        self.stream: Any = None  # the protocol on this transport after an upgrade
        self.head: http_head.Head = channel.head
        self._body_bytes = 0
        self._body_bytes_max = REQUEST_BYTES_MAX
        self.uploads = False  # its body is a file
        super().__init__(channel, parsePOSTFormSubmission=False)

    def upload(self, head: http_head.Head) -> bool:
        """Whether its body is a file."""
        return head.path in UPLOADS

    def gotLength(self, length: int | None) -> None:
        """Called once the headers are in. Bodies stay in memory, uploads go to a file."""
        self.uploads = self.upload(self.head)
        self.content: BinaryIO = TemporaryFile() if self.uploads else BytesIO()  # noqa: SIM115
        if self.uploads:
            self._body_bytes_max = UPLOAD_BYTES_MAX
        if self.uploads and length != 0:
            if (refusal := self.server.refusal(self._scope())) is not None:
                self._answer_and_close(refusal)
                return
            if self.server.uploads() > UPLOADS_MAX:
                why = f"there are {UPLOADS_MAX} uploads at a time, please try again later"
                self.refuse_and_close(errors.too_many_requests(why, retry_after=5))
                return
        if length is not None and length > max(DRAIN_BYTES_MAX, self._body_bytes_max):
            self.refuse_and_close(errors.too_large(self._body_bytes_max))

    def handleContentChunk(self, data: bytes) -> None:
        if self.finished:
            return
        self._body_bytes += len(data)
        if self._body_bytes <= self._body_bytes_max:
            self._keep(lambda: self.content.write(data))
        elif self._body_bytes > max(DRAIN_BYTES_MAX, self._body_bytes_max):
            self.refuse_and_close(errors.too_large(self._body_bytes_max))

    def _keep(self, do: Callable[[], object]) -> None:
        """Does something with the body. An upload that the disk does not hold is refused."""
        try:
            do()
        except OSError as error:
            with contextlib.suppress(OSError):
                self.content.close()
            self.content = BytesIO()
            why = f"the upload cannot be kept: {error.strerror}"
            self.refuse_and_close(errors.ApiError(507, "InsufficientStorage", why))

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Called once the body is in."""
        self.method, self.uri, self.path, self.clientproto = command, path, self.head.path, version
        self._keep(lambda: self.content.seek(0))
        if self.finished:
            return
        if self._body_bytes > self._body_bytes_max:
            self.answer(errors.too_large(self._body_bytes_max))
        elif self.path == b"*":  # OPTIONS of no path, which asks whether anybody is there
            headers = [(b"content-length", b"0")]
            self.handle_reply({"type": "http.response.start", "status": 200, "headers": headers})
            self.handle_reply({"type": "http.response.body"})
        elif self.path.startswith(b"/ws/") and self.head.first(b"upgrade").lower() == b"websocket":
            self._become_websocket()
        else:
            # whether an upgrade is granted is the Kubernetes API's decision: plain HTTP until then
            self._serve()

    def _become_websocket(self) -> None:
        """Hands the request to Daphne, which cannot parse every valid header."""
        for name, value in self.head.headers:
            if not value.isascii() or not http_protocol.HEADER_NAME_RE.fullmatch(name):
                self.answer(errors.bad_request("a header of a WebSocket has to be ASCII"))
                return
            if name != b"daphne-root-path":
                self.requestHeaders.addRawHeader(name, value)
        self.server.ws_factory.protocol = FeedSocket
        self.process()

    def _scope(self) -> dict[str, Any]:
        """The request as its head describes it."""
        head = self.head
        return {
            "type": "http",
            "http_version": head.version[5:].decode(),
            "method": head.method.decode(),
            "path": urllib.parse.unquote(head.path.decode()),
            "raw_path": head.path,
            "root_path": "",
            "scheme": "https" if self.isSecure() else "http",
            "query_string": head.query,
            "headers": list(head.headers),
        }

    def _serve(self) -> None:
        peer, host = self.client, self.host
        self.application_queue = self.server.create_application(
            self,
            {
                **self._scope(),
                "client": [str(peer.host), peer.port] if hasattr(peer, "port") else None,
                "server": [str(host.host), host.port] if hasattr(host, "port") else None,
            },
        )
        if self.application_queue is None:
            return
        # an upload stays where it is: the application has the file itself
        body = b"" if self.uploads else self.content.read()
        message = {"type": "http.request", "body": body, "more_body": False}
        self.application_queue.put_nowait(message)

    def handle_reply(self, message: dict[str, Any]) -> None:
        if self.finished or self.channel is None:
            return
        if message["type"] == "http.drop":
            self.channel.loseConnection()
            return
        if message["type"] == "http.upgrade":
            self.gate = Gate()
            self.stream = streams.take_over(
                self, message["headers"], self.gate, self.application_queue.put_nowait
            )
            return
        if self.stream is not None:
            if message["type"] == "stream.data":
                self.stream.send(message["data"])
            else:
                self.stream.end(message.get("code", 1011), message.get("reason", ""))
            return
        if message["type"] == "http.response.start":
            super().handle_reply(message)
            if not self.responseHeaders.hasHeader(b"date"):
                self.responseHeaders.addRawHeader(b"date", self.server.date())
            return
        if message.get("more_body") and self.gate is None:
            self.gate = Gate()
            self.registerProducer(self.gate, True)
        if message.get("more_body") and self.startedWriting:
            self.write(message["body"])
            return
        super().handle_reply(message)

    def finish(self) -> None:
        self._drop_gate()
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        if self.gate is not None:
            self.gate.stopProducing()
        super().connectionLost(reason)

    def handle_exception(self, exception: BaseException) -> None:
        if self.stream is not None:
            self.stream.end(1011, "")
        elif not self._response_started:
            self.answer(errors.internal("the edge failed to serve the request"))
        elif not self.finished and self.channel is not None:
            self.channel.loseConnection()

    def answer(self, error: errors.ApiError) -> None:
        """Ends the request with the error's Status."""
        for message in answers.messages_of(error):
            self.handle_reply(message)

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Answers with an error of Daphne's own."""
        self.answer(errors.ApiError(status, "BadRequest" if status < 500 else "", body))

    def refuse_and_close(self, error: errors.ApiError) -> None:
        """Answers while the client still sends, and closes the connection."""
        self._answer_and_close(answers.messages_of(error))

    def _answer_and_close(self, messages: list[dict[str, Any]]) -> None:
        if not self.finished:
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
            self.channel.persistent = 0
            self.method, self.clientproto, self.uri = b"POST", b"HTTP/1.1", b"/"
            for message in messages:
                self.handle_reply(message)

    def _drop_gate(self) -> None:
        if self.gate is not None:
            gate, self.gate = self.gate, None
            gate.resumeProducing()
            self.unregisterProducer()


class EdgeFactory(http_protocol.HTTPFactory):
    """Makes the protocol of each connection. HTTP/1.1 only: WebSockets need it."""

    protocol = Channel

    def buildProtocol(self, addr: Any) -> Any:
        channel: Any = http.HTTPFactory.buildProtocol(self, addr)
        channel.requestFactory = EdgeRequest
        channel.times = self.server.times
        return channel

    def acceptableProtocols(self) -> list[bytes]:
        return [tls.PROTOCOL]

    def log(self, request: Any) -> None:
        """Writes no access log: the trace has more, and a line for each request costs time."""


class EdgeServer(daphne_server.Server):
    """Serves one ASGI application on the given sockets until `stop`."""

    def __init__(
        self,
        application: Application,
        ready: Callable[[], None],
        refusal: Callable[[dict[str, Any]], list[dict[str, Any]] | None],
    ) -> None:
        self.times = Times()
        self.refusal = refusal  # asked before an upload is taken in
        super().__init__(
            application,
            endpoints=["none"],  # Daphne exits on an empty list
            signal_handlers=False,
            websocket_timeout=-1,
            websocket_max_message_size=WEBSOCKET_MESSAGE_BYTES_MAX,
            websocket_max_frame_size=WEBSOCKET_FRAME_BYTES_MAX,
            application_close_timeout=LINGER_SECONDS,
            ready_callable=ready,
            server_name="",
        )
        self.endpoints: list[str] = []
        self.ports: list[Any] = []
        self._date = (0, b"")

    def listen(self, bound: socket.socket, context: tls.ServerContext | None) -> Any:
        """Take connections on a listening socket, with TLS if there is a context; the port."""
        factory: Any = EdgeFactory(self)
        if context is not None:
            factory = TLSMemoryBIOFactory(context, False, factory)  # type: ignore[arg-type]
            factory.protocol = tls.Transport
        self.ports.append(reactor.adoptStreamPort(bound.fileno(), bound.family, factory))
        bound.close()  # Twisted has a descriptor of its own
        return self.ports[-1]

    def stop_listening_at(self, port: Any) -> None:
        self.ports.remove(port)
        port.stopListening()

    def stop_listening(self) -> None:
        ports, self.ports = self.ports, []
        for port in ports:
            port.stopListening()

    def busy(self) -> bool:
        """Reports whether an application still runs."""
        return any("application_instance" in entry for entry in self.connections.values())

    def uploads(self) -> int:
        """How many bodies are files just now."""
        return sum(getattr(protocol, "uploads", False) for protocol in self.connections)

    def date(self) -> bytes:
        """The Date header, made once a second."""
        now = int(time.time())
        if self._date[0] != now:
            self._date = (now, email.utils.formatdate(now, usegmt=True).encode())
        return self._date[1]

    # -- what Daphne calls ----------------------------------------------------------------------

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        entry = self.connections.get(protocol)
        if entry is None or "disconnected" in entry:
            return None
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        transport = _transport_of(protocol)
        scope["asgi"] = {"version": "3.0"}
        scope["extensions"] = {"tls": {"peer": tls.peer_of(transport)}}
        if getattr(protocol, "uploads", False):
            scope["extensions"]["upload"] = protocol.content
        if scope["type"] != "http":
            secure = hasattr(transport, "getPeerCertificate")
            scope["scheme"] = "wss" if secure else "ws"
            self._gate_websocket(protocol, transport)
        task = asyncio.get_event_loop().create_task(self._serve(protocol, scope, queue))
        entry["application_instance"] = task
        task.add_done_callback(lambda _done: self._reap(protocol))
        return queue

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        gate = getattr(protocol, "gate", None)
        if gate is not None and gate.closed:
            await gate.passed()
        if message["type"] == "websocket.send" and protocol.state != protocol.STATE_OPEN:
            return  # it is being closed for what its client sent
        if message["type"] == "http.upgrade":
            await turns.TURNS.do(lambda: self._reply(protocol, message))
        else:
            self._reply(protocol, message)

    def _reply(self, protocol: Any, message: dict[str, Any]) -> None:
        entry = self.connections.get(protocol)
        if entry is not None and "disconnected" not in entry:
            protocol.handle_reply(message)

    def protocol_disconnected(self, protocol: Any) -> None:
        entry = self.connections.get(protocol)
        if entry is None:
            return
        if "application_instance" in entry:
            entry.setdefault("disconnected", time.time())
        else:
            del self.connections[protocol]
        gate = getattr(protocol, "gate", None)
        if gate is not None:
            gate.stopProducing()

    def kill_all_applications(self) -> defer.Deferred[Any]:
        """Cancel what still runs; the reactor's shutdown waits for it, a second at most."""
        tasks = [
            entry["application_instance"]
            for entry in self.connections.values()
            if "application_instance" in entry
        ]
        for task in tasks:
            task.cancel()
        if not tasks:
            return defer.succeed(None)
        done = asyncio.ensure_future(asyncio.wait(tasks, timeout=1))
        return defer.Deferred.fromFuture(done)

    # -- inside ---------------------------------------------------------------------------------

    async def _serve(
        self, protocol: Any, scope: dict[str, Any], queue: asyncio.Queue[dict[str, Any]]
    ) -> None:
        async def send(message: dict[str, Any]) -> None:
            await self.handle_reply(protocol, message)

        async def receive() -> dict[str, Any]:
            message = await queue.get()
            if message["type"] == "stream.data":
                protocol.stream.inflow.taken(message["data"])
            return message

        try:
            await self.application(scope, receive, send)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            entry = self.connections.get(protocol)
            if entry is not None and "disconnected" not in entry:
                protocol.handle_exception(error)

    def _reap(self, protocol: Any) -> None:
        entry = self.connections.get(protocol)
        if entry is None:
            return
        entry.pop("application_instance", None)
        if "disconnected" in entry:
            del self.connections[protocol]

    def _gate_websocket(self, protocol: Any, transport: Any) -> None:
        """The HTTP channel was this transport's producer; from now on the gate is."""
        protocol.gate = Gate()
        transport.unregisterProducer()
        transport.registerProducer(protocol.gate, True)


def _transport_of(protocol: Any) -> Any:
    """The transport of a request or a WebSocket: for TLS the one that knows the certificate."""
    channel = getattr(protocol, "channel", None)
    return channel.transport if channel is not None else protocol.transport
