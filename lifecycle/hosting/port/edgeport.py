"""The edge's side of the port: sends requests and control actions, receives answers and reports."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from apiserver_app.etcd.backend import FORK
from lifecycle.hosting.port import frames
from lifecycle.hosting.port.frames import Message, PortError, Send

Headers = Sequence[Sequence[str]]
Data = bytes | str

JOINED_BYTES = 1 << 20  # of an answer that are returned together
PENDING_MAX = 4096  # requests under way at once
# beyond that: health checks; administrators, nodes and control actions
HEALTH_RESERVE, RESERVE = 64, 320
HEALTH = ("/healthz", "/livez", "/readyz")
HELPERS = frozenset(("system:masters", "system:nodes"))
STREAM_BYTES_MAX = 8 << 20  # unread by one client before its stream is ended
CLIENT_BYTES_MAX = 256 << 10  # sent by one client and not yet used by the worker
CLIENT_MESSAGES_MAX = 32  # the same in messages, each of which is an input of the cluster
TOOK_BYTES = 64 << 10  # acknowledged at once, while more follows
WINDOW_TOOK_BYTES = 32 << 10  # acknowledged at once, whatever follows
CLOSE_NORMAL, CLOSE_GOING_AWAY, CLOSE_INTERNAL = 1000, 1001, 1011


class Lost(Exception):
    """The worker ended before it answered."""


class Gone(Exception):
    """The client disconnected and waits for no answer."""


class Full(Exception):
    """Too many requests are under way."""


class Refused(Exception):
    """A control action was refused; the text says why."""


class Answer:
    """The answer to one request: a head, then a body in one piece or many.

    Of a switched connection the head's status is 101, and data goes both ways.
    """

    __slots__ = (
        "_chunks",
        "_error",
        "_head",
        "_is_window",
        "_port",
        "_queued",
        "_room",
        "_sent",
        "_taken",
        "_unused",
        "_used",
        "_waiter",
        "closing",
        "ended",
        "id",
        "paced",
    )

    def __init__(self, port: EdgePort, number: int) -> None:
        self.id = number
        self.ended = False
        self.paced = self._is_window = False
        self.closing = (CLOSE_NORMAL, "")  # code and reason for the client, once it has ended
        self._port = port
        self._head: tuple[int, Headers, bool, bytes] | None = None
        self._chunks: deque[Data] = deque()
        self._queued = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._taken = 0  # not yet acknowledged
        self._unused = 0  # bytes from the client that the worker has not used
        self._sent: deque[int] = deque()  # of each message among them
        self._used = 0  # bytes of the first of these that are
        self._room: asyncio.Future[None] | None = None

    async def head(self) -> tuple[int, Headers, bool, bytes]:
        """(status, headers, whether more body follows, body so far). Raises Lost or Gone."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            await self._wait()
        return self._head

    async def body(self) -> tuple[bytes, bool]:
        """Returns the next bytes that arrived, and whether more may follow.

        Raises Gone. A stream whose worker ended, or whose client read too slowly, simply ends.
        """
        await self._some()
        out = bytearray()
        while self._chunks and len(out) < JOINED_BYTES:
            out += self._chunks.popleft()  # type: ignore[arg-type]
        self._queued = max(0, self._queued - len(out)) if self._chunks else 0
        return bytes(out), bool(self._chunks) or not self.ended

    async def messages(self) -> tuple[list[Data], bool]:
        """Returns the pieces as the worker sent them, and whether more may follow."""
        await self._some()
        chunks = list(self._chunks)
        self._chunks.clear()
        self._queued = 0
        return chunks, not self.ended

    async def _some(self) -> None:
        while not self._chunks and not self.ended:
            await self._wait()
        if isinstance(self._error, Gone):
            raise self._error

    def took(self, count: int) -> None:
        """Acknowledges bytes that are on their way to the client."""
        self._taken += count
        if self._is_window:
            due = self._taken >= WINDOW_TOOK_BYTES
        else:
            due = self._taken >= TOOK_BYTES or not self._chunks
        if due and self.paced and not self.ended:
            self._port.tell("took", self.id, self._taken)
            self._taken = 0

    async def send(self, data: Data) -> None:
        """Passes on data of the client; returns once the worker has room for more."""
        if self.ended:
            return
        self._unused += len(data)
        self._sent.append(len(data))
        self._port.tell("data", self.id, data)
        while self._is_ahead() and not self.ended:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def _is_ahead(self) -> bool:
        return self._unused > CLIENT_BYTES_MAX or len(self._sent) > CLIENT_MESSAGES_MAX

    def close(self) -> None:
        """Stops reading the answer; cancels the request if the answer was not complete."""
        if not self.ended:
            self._finish(Gone())
            self._port.cancel(self.id)

    def end(self) -> None:
        """Ends the stream cleanly, unless the worker has not sent a head yet."""
        if not self.ended and self._head is not None:
            self.closing = (CLOSE_GOING_AWAY, "the server is stopping")
            self._finish(None)
            self._port.cancel(self.id)

    def take_head(self, status: int, headers: Headers, more: bool | str, body: bytes) -> None:
        self.paced = more in ("paced", "window") or status == 101
        self._is_window = more == "window"
        self._head = (status, headers, bool(more), body)
        if more:
            self._wake()
        else:
            self._finish(None)

    def take_body(self, data: Data, more: bool | str) -> bool:
        """Returns False when the client is too slow, which ends the stream."""
        if data:
            self._chunks.append(data)
            self._queued += 0 if more == "part" else len(data)
        if not more:
            self._finish(None)
        elif self._queued > STREAM_BYTES_MAX:
            self._finish(None)
            return False
        else:
            self._wake()
        return True

    def take_close(self, code: int, reason: str) -> None:
        self.closing = (code, reason)
        self._finish(None)

    def take_room(self, count: int) -> None:
        self._unused -= count
        self._used += count
        while self._sent and self._sent[0] <= self._used:
            self._used -= self._sent.popleft()
        if self._unused <= CLIENT_BYTES_MAX // 2 and not self._is_ahead():
            self._make_room()

    def fail(self, error: Exception) -> None:
        if not self.ended:
            self.closing = (CLOSE_INTERNAL, "the worker of this cluster ended")
            self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        self.ended = True
        self._error = error
        self._wake()
        self._make_room()

    def _make_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter


class EdgePort:
    """The edge's side: sends requests and control actions, receives answers and reports.

    It outlives the worker: `attach` it to each new one. What is sent in one turn of the loop
    leaves as one frame.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._send: Send | None = None
        self._out: list[Message] = []
        self._number = 0
        self._answers: dict[int, Answer] = {}
        self._controls: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._attached = asyncio.Event()
        self._ready = asyncio.Event()
        self.info: dict[str, Any] | None = None  # the worker's report when it became ready
        self.stopped: set[str] = set()  # clusters whose API server does not listen
        self.clusters: set[str] = set()  # those that have reported their state
        self.on_ready: list[Callable[[dict[str, Any]], None]] = []
        self.on_trace: list[Callable[[str, int, int, bytes], None]] = []
        self.on_state: list[Callable[[str, dict[str, Any]], None]] = []
        self.on_removed: list[Callable[[str], None]] = []
        self.on_log: list[Callable[[str], None]] = []
        self.on_pong: list[Callable[[bool], None]] = []

    # -- for clients ----------------------------------------------------------------------------

    def request(
        self,
        cluster: str,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        body: bytes,
        tls: Sequence[Any] | None,
        outside_addr: str,
    ) -> Answer:
        """Send a client's request. Raises Lost without a worker and Full when too many wait."""
        number = self._admit(_seats(path, tls))
        answer = self._answers[number] = Answer(self, number)
        self._put(("req", number, cluster, method, path, query, headers, body, tls, outside_addr))
        return answer

    async def control(self, cluster: str, action: str, args: dict[str, Any]) -> dict[str, Any]:
        """Runs one control action and returns its result. Raises Refused, Lost or Full."""
        try:
            frames.check((cluster, args))
        except frames.Unsendable as error:
            raise Refused(str(error)) from error
        number = self._admit(PENDING_MAX + RESERVE)
        future: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._controls[number] = future
        self._put(("ctl", number, cluster, action, args))
        try:
            return await future
        finally:
            self._controls.pop(number, None)

    async def attached(self, timeout_seconds: float) -> bool:
        """Waits for a worker to be attached; returns False after the timeout."""
        if self._send is not None:
            return True
        try:
            await asyncio.wait_for(self._attached.wait(), timeout_seconds)
        except TimeoutError:
            return False
        return True

    async def ready(self, timeout_seconds: float) -> bool:
        """Waits for a worker to be ready; returns False after the timeout."""
        if self.info is not None:
            return True
        try:
            await asyncio.wait_for(self._ready.wait(), timeout_seconds)
        except TimeoutError:
            return False
        return True

    def tell(self, kind: str, number: int, what: Data | int) -> None:
        """Sends a message about a request that is under way."""
        if number in self._answers and self._send is not None:
            self._put((kind, number, what))

    def cancel(self, number: int) -> None:
        if self._answers.pop(number, None) is not None and self._send is not None:
            self._put(("cancel", number))

    def ping(self) -> None:
        """Asks the worker for a sign of life."""
        if self._send is not None:
            self._send([("ping",)])

    def end_streams(self) -> None:
        """End every open stream with what has arrived so far."""
        for answer in list(self._answers.values()):
            answer.end()

    @property
    def pending(self) -> int:
        return len(self._answers) + len(self._controls)

    # -- for the link ---------------------------------------------------------------------------

    def attach(self, send: Send) -> None:
        self._send = send
        self._attached.set()

    def detach(self) -> None:
        """Fails everything that waits for the worker, which has ended."""
        self._send = None
        for cluster in [name for name in self.clusters if FORK in name]:
            self._remove(cluster)  # it ended with its worker
        self.info = None
        self._attached.clear()
        self._ready.clear()
        self._out.clear()
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            answer.fail(Lost())
        for future in self._controls.values():
            if not future.done():
                future.set_exception(Lost())

    def _remove(self, cluster: str) -> None:
        self.clusters.discard(cluster)
        self.stopped.discard(cluster)
        for on_removed in self.on_removed:
            on_removed(cluster)

    def receive(self, messages: list[Message]) -> None:
        """Take one frame from the worker."""
        for message in messages:
            kind = message[0]
            if kind == "head":
                self._take_head(*message[1:])
            elif kind == "body":
                self._take_body(*message[1:])
            elif kind == "took":
                self._take_room(*message[1:])
            elif kind == "switch":
                self._take_head(message[1], 101, message[2], True, b"")
            elif kind == "close":
                self._take_close(*message[1:])
            elif kind == "ctlr":
                self._take_result(*message[1:])
            elif kind == "trace":
                for on_trace in self.on_trace:
                    on_trace(*message[1:])
            elif kind == "removed":
                self._remove(message[1])
            elif kind == "state":
                self.clusters.add(message[1])
                for on_state in self.on_state:
                    on_state(*message[1:])
            elif kind == "ready":
                self.info = message[1]
                self._ready.set()
                for on_ready in self.on_ready:
                    on_ready(message[1])
            elif kind == "log":
                for on_log in self.on_log:
                    on_log(message[1])
            elif kind == "pong":
                for on_pong in self.on_pong:
                    on_pong(message[1])
            else:
                raise PortError(f"the worker sent {kind!r}, which the edge does not know")

    # -- inside ---------------------------------------------------------------------------------

    def _admit(self, seats: int) -> int:
        if self._send is None:
            raise Lost
        if self.pending >= seats:
            raise Full
        self._number += 1
        return self._number

    def _put(self, message: Message) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(message)

    def _flush(self) -> None:
        if self._out and self._send is not None:
            out, self._out = self._out, []
            self._send(out)

    def _take_head(
        self, number: int, status: int, headers: Headers, more: bool | str, body: bytes
    ) -> None:
        answer = self._answers.get(number)
        if answer is None:
            return  # cancelled meanwhile
        if not more:
            del self._answers[number]
        answer.take_head(status, headers, more, body)

    def _take_room(self, number: int, count: int) -> None:
        answer = self._answers.get(number)
        if answer is not None:
            answer.take_room(count)

    def _take_close(self, number: int, code: int, reason: str) -> None:
        answer = self._answers.pop(number, None)
        if answer is not None:
            answer.take_close(code, reason)

    def _take_body(self, number: int, data: Data, more: bool | str) -> None:
        answer = self._answers.get(number)
        if answer is None:
            return
        if not answer.take_body(data, more):
            self.cancel(number)
        elif not more:
            del self._answers[number]

    def _take_result(self, number: int, ok: bool, result: dict[str, Any]) -> None:
        future = self._controls.get(number)
        if future is None or future.done():
            return
        if ok:
            future.set_result(result)
        else:
            future.set_exception(Refused(str(result.get("error", "refused"))))


def _seats(path: str, tls: Sequence[Any] | None) -> int:
    """How many may be under way before this request is refused."""
    if tls is not None and not tls[3] and not HELPERS.isdisjoint(tls[1]):
        return PENDING_MAX + RESERVE
    return PENDING_MAX + HEALTH_RESERVE if path.startswith(HEALTH) else PENDING_MAX
