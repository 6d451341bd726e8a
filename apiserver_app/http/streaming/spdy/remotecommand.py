"""exec and attach over SPDY: a stream of the client for error, stdin, stdout, stderr and resize.

Models kubernetes staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand/httpstream.go.
"""

from __future__ import annotations

from apiserver_app.handlers.connect.streaming import Session
from apiserver_app.http.streaming.conduit import Conduit, Gone
from apiserver_app.http.streaming.processes import Sizes
from apiserver_app.http.streaming.spdy import streams
from apiserver_app.machinery.net.nodeapi import Process

TYPES = ("error", "stdin", "stdout", "stderr", "resize")
_RESIZES = ("v3.channel.k8s.io", "v4.channel.k8s.io")
EARLY_BYTES_MAX = 1 << 20  # of input before every stream is there


async def accept(session: Session, conduit: Conduit) -> Wire:
    """Wait until the client has opened every stream that it asked for."""
    connection = streams.Connection(conduit)
    wanted = {"error"} | {name for name in TYPES[1:4] if getattr(session, name)}
    if session.tty and session.upgrade.protocol in _RESIZES:
        wanted.add("resize")
    wire = Wire(connection)
    await wire.wait_for(wanted)
    return wire


class Wire:
    """The client's side of a process."""

    def __init__(self, connection: streams.Connection) -> None:
        self._connection = connection
        self._types: dict[int, str] = {}
        self._streams: dict[str, int] = {}
        self._early: list[streams.Event] = []
        self._sizes = Sizes()

    async def wait_for(self, wanted: set[str]) -> None:
        """Raises Gone when the client does not keep its word."""
        early = 0
        while not wanted <= set(self._streams):
            events = await self._connection.read()
            if events is None:
                raise Gone
            for event in events:
                if event.what == streams.OPEN:
                    await self._opened(event)
                else:
                    self._early.append(event)
                    early += len(event.data) + 1
            if early > EARLY_BYTES_MAX:
                raise Gone

    async def out(self, stream: str, data: bytes) -> None:
        number = self._streams.get(stream)
        if number is not None and data:
            await self._connection.send(number, data)

    async def status(self, body: bytes) -> None:
        error = self._streams["error"]
        if body:
            await self._connection.send(error, body)
        for name in ("error", "stdout", "stderr", "stdin", "resize"):
            if name in self._streams:
                await self._connection.finish(self._streams[name])

    async def listen(self, process: Process) -> None:
        early, self._early = self._early, []
        for event in early:
            self._happened(event, process)
        while (events := await self._connection.read()) is not None:
            for event in events:
                if event.what == streams.OPEN:
                    await self._opened(event)
                else:
                    self._happened(event, process)
        raise Gone

    def rest(self, process: Process) -> None:
        """Frames that were not read are not taken apart any more."""

    async def _opened(self, event: streams.Event) -> None:
        """A stream; one of no known type, or a second one, is accepted and has no use."""
        kind = (event.headers or {}).get("streamtype", "")
        await self._connection.accept(event.stream)
        if kind in TYPES and kind not in self._streams:
            self._types[event.stream] = kind
            self._streams[kind] = event.stream

    def _happened(self, event: streams.Event, process: Process) -> None:
        kind = self._types.get(event.stream)
        if kind == "stdin":
            if event.what == streams.DATA:
                process.write(event.data)
            else:
                process.close_stdin()
        elif kind == "resize" and event.what == streams.DATA:
            for width, height in self._sizes.feed(event.data):
                process.resize(width, height)
