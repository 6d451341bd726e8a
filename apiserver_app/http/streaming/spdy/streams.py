"""One SPDY/3.1 connection as its server: streams that the client opens, over a conduit.

`read` gives what happens to streams, in order. Pings are answered, what is of no use is passed
over; what breaks the protocol ends the connection with a GOAWAY. At most STREAMS_MAX streams are
open.

Models github.com/moby/spdystream/connection.go and
staging/src/k8s.io/apimachinery/pkg/util/httpstream.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.http.streaming.conduit import Conduit, Gone
from apiserver_app.http.streaming.spdy import framing

STREAMS_MAX = 1000
OPEN, DATA, FIN, RESET = "open", "data", "fin", "reset"


class Event(NamedTuple):
    """What the client did to one stream; `headers` of one that it opened."""

    what: str
    stream: int
    data: bytes = b""
    headers: framing.Headers | None = None


class Connection:
    """The server's side. Every `async` method raises Gone once the client is not there."""

    def __init__(self, conduit: Conduit) -> None:
        self.conduit = conduit
        self._codec = framing.Codec()
        self._last = 0
        self._open: set[int] = set()
        self._over = False

    async def read(self) -> list[Event] | None:
        """What the client did since; None once it has ended the connection, or broke a rule."""
        if self._over:
            return None
        data = await self.conduit.receive()
        if data is None:
            raise Gone
        events: list[Event] = []
        answers: list[bytes] = []
        try:
            for frame in self._codec.feed(data.encode() if isinstance(data, str) else data):
                self._take(frame, events, answers)
        except framing.SpdyError:
            self._over = True
            answers.append(framing.goaway(self._last))
        for answer in answers:
            await self.conduit.send(answer)
        return events

    async def accept(self, stream: int) -> None:
        await self.conduit.send(self._codec.syn_reply(stream))

    async def refuse(self, stream: int) -> None:
        self._open.discard(stream)
        await self.conduit.send(framing.rst_stream(stream, framing.REFUSED_STREAM))

    async def send(self, stream: int, data: bytes) -> None:
        """To a stream that is open; otherwise nobody wants it."""
        if stream in self._open:
            await self.conduit.send(framing.data(stream, data))

    async def finish(self, stream: int) -> None:
        """Nothing more will be written to this stream."""
        if stream in self._open:
            self._open.discard(stream)
            await self.conduit.send(framing.data(stream, b"", fin=True))

    def _take(self, frame: framing.Frame, events: list[Event], answers: list[bytes]) -> None:
        stream = frame.stream
        if frame.kind == framing.GOAWAY:
            self._over = True
        elif frame.kind == framing.PING:
            if frame.number & 1:  # the client's own; even ones would be answers
                answers.append(framing.ping(frame.number))
        elif frame.kind == framing.SYN_STREAM:
            if stream <= self._last or not stream & 1:
                raise framing.SpdyError(f"stream {stream} cannot be opened now")
            self._last = stream
            if len(self._open) >= STREAMS_MAX:
                answers.append(framing.rst_stream(stream, framing.REFUSED_STREAM))
                return
            self._open.add(stream)
            events.append(Event(OPEN, stream, headers=frame.headers))
        elif frame.kind == framing.RST_STREAM:
            self._open.discard(stream)
            events.append(Event(RESET, stream))
        elif frame.kind == 0:
            if stream > self._last:
                raise framing.SpdyError(f"data for stream {stream}, which was never opened")
            if frame.data:
                events.append(Event(DATA, stream, frame.data))
        if frame.fin:
            events.append(Event(FIN, stream))
