"""Streams a watch: existing objects, changes, bookmarks, and its end.

A client gets no more than a window ahead of what it read; what it has not read waits here as
objects, which all watches share, and a watch that is too far behind ends. Over a WebSocket each
event is a message: text, or bytes without their length in protobuf.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go, and of
golang.org/x/net websocket/server.go that a client has to name its origin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from apiserver_app.handlers.connect import upgrades
from apiserver_app.handlers.input import listoptions
from apiserver_app.handlers.request import Request
from apiserver_app.handlers.verbs import conversions
from apiserver_app.http import encode, render
from apiserver_app.http.exchange import Reply
from apiserver_app.http.negotiation import Accepted
from apiserver_app.http.tables import table as tables
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.generic import Selection
from apiserver_app.registry.watchcache import Change, Selects, Subscription

BOOKMARK_SECONDS = 60
BOOKMARK_BEFORE_END_SECONDS = 2
# of a watch without a timeout; upstream draws from 30 to 60 minutes
WATCH_SECONDS_MIN, WATCH_SECONDS_SPREAD = 1800, 1800
WINDOW_BYTES = 64 << 10  # sent and not yet read
BEHIND_BYTES_MAX, BEHIND_EVENTS_MAX = 8 << 20, 10_000  # changes that wait
_LENGTH_BYTES = 4  # before each event in protobuf
_NORMAL = 1000  # why a WebSocket is closed
DELETED_BYTES = 1 << 10  # what a change counts whose bytes are not stored

Event = tuple[str, Object, bytes | None]  # type, object, and its stored bytes if they can be sent


class _Lines:
    """The newest events as they are sent: many watches send the same one."""

    def __init__(self) -> None:
        self._obj: Object = {}
        self._made: dict[Any, bytes] = {}

    def get(self, obj: Object, form: Hashable, make: Callable[[], bytes]) -> bytes:
        if self._obj is not obj:
            self._obj, self._made = obj, {}
        line = self._made.get(form)
        if line is None:
            line = self._made[form] = make()
        return line


_LINES = _Lines()


class Stream:
    """One open watch of an external client."""

    def __init__(
        self,
        request: Request,
        accepted: Accepted,
        reply: Reply,
        on_close: Callable[[], None],
        *,
        after: int = 0,
        is_socket: bool = False,
    ) -> None:
        self._is_socket = is_socket
        self._cluster = request.cluster
        self._info: ResourceInfo = request.info
        self._request = request
        self._accepted = accepted
        self._reply = reply
        self._on_close = on_close
        self._after = after  # a revision already seen, or one in the future
        self._columns_sent = False
        self._waiting: deque[tuple[Event, int]] = deque()  # not sent yet, and how many bytes each
        self._rest = memoryview(b"")  # of an event of which a part was sent
        self._unread = self._behind = 0  # bytes sent and not read, bytes that wait
        self._over = False  # nothing comes after what waits
        self._unconverted: deque[tuple[str, Object]] = deque()
        self._timers: dict[str, int] = {}
        self._deadline = 0
        self.open = True
        self.subscription: Subscription | None = None

    def sink(self, kind: str, change: Change, obj: Object) -> None:
        if change.revision <= self._after:
            return
        same = obj is change.obj and change.value is not None
        value = change.value if same and not self._converts() else None
        if self._needs_webhook(obj):
            self._enqueue(kind, obj)
        else:
            self.send(kind, obj, value, size=len(change.value or b"") or DELETED_BYTES)

    def _needs_webhook(self, obj: Object) -> bool:
        """Reports whether a webhook has to convert the object or an earlier one first."""
        custom = self._info.custom
        if custom is None or custom.webhook is None:
            return False
        return bool(self._unconverted) or custom.webhook.known(obj, self._info.api_version) is None

    def _enqueue(self, kind: str, obj: Object) -> None:
        self._unconverted.append((kind, obj))
        if len(self._unconverted) == 1:
            name = f"watch {self._info.key}/conversion"
            self._cluster.kernel.spawn(name, self._send_converted(), span=0)

    async def _send_converted(self) -> None:
        """Converts and sends the queued events in order."""
        while self._unconverted and self.open:
            kind, obj = self._unconverted[0]
            try:
                await conversions.convert(self._cluster, self._info, [obj], self._info.api_version)
            except errors.ApiError as error:
                self.fail(error)
                break
            self.send(kind, obj)
            self._unconverted.popleft()
        self._unconverted.clear()

    def send(self, kind: str, obj: Object, value: bytes | None = None, *, size: int = 0) -> None:
        """`size` counts against what may wait."""
        if not self.open:
            return
        self._behind += size
        self._waiting.append(((kind, obj, value), size))
        self._send_on()
        if self._behind > BEHIND_BYTES_MAX or size and len(self._waiting) > BEHIND_EVENTS_MAX:
            self._forget()
            self.end()

    def _send_on(self) -> None:
        """Sends what the window has room for."""
        while self._unread < WINDOW_BYTES:
            if not self._rest:
                if not self._waiting:
                    break
                event, size = self._waiting.popleft()
                self._behind -= size
                line = self._line(*event)
                if self._is_socket:
                    self._send_message(line)
                    continue
                self._rest = memoryview(line)
            room = WINDOW_BYTES - self._unread
            piece, self._rest = self._rest[:room], self._rest[room:]
            self._unread += len(piece)
            self._reply.body(bytes(piece), True)
        if self._over and not self._waiting and not self._rest:
            self._over = False
            if self._is_socket:
                self._reply.close(_NORMAL, "")
            else:
                self._reply.body(b"", False)

    def _send_message(self, line: bytes) -> None:
        """Sends a WebSocket message, which has no parts."""
        data = line[_LENGTH_BYTES:] if self._accepted.is_protobuf else line.decode()
        self._unread += len(data)
        self._reply.body(data, True)

    def _forget(self) -> None:
        self._waiting.clear()
        self._rest = memoryview(b"")

    def took(self, count: int) -> None:
        self._unread -= count
        self._send_on()

    def _line(self, kind: str, obj: Object, value: bytes | None) -> bytes:
        accepted = self._accepted
        if value is not None and not accepted.is_protobuf:
            return _LINES.get(obj, kind, lambda: encode.watch_line(kind, value))
        if kind == "ERROR":
            return encode.watch_event(kind, obj, accepted)
        served = obj if kind == "BOOKMARK" else convert.to_served(self._info, obj)
        if accepted.is_table:
            return encode.watch_line(kind, self._table(served))
        form = kind, accepted, self._info.api_version
        return _LINES.get(obj, form, lambda: self._in_form(kind, served))

    def _in_form(self, kind: str, obj: Object) -> bytes:
        accepted = self._accepted
        if accepted.convert:
            obj = render.partial(obj, accepted.convert_version)
        return encode.watch_event(kind, obj, accepted)

    def bookmark(self, *, initial_end: bool = False) -> None:
        revision = str(self._cluster.store.revision)
        kind, version = self._info.kind, self._info.api_version
        self.send("BOOKMARK", encode.bookmark_object(kind, version, revision, initial_end))

    def initial(self, selection: Selection, selects: Selects | None) -> None:
        """Sends the existing objects as ADDED events."""
        cluster = self._cluster
        for entry in cluster.storage.entries(self._info, selection):
            if entry.key in cluster.cache.unreadable:
                continue
            obj = cluster.cache.decoded(entry)
            if (selects is None or selects(obj)) and self._needs_webhook(obj):
                self._enqueue("ADDED", obj)
            elif selects is None or selects(obj):
                self.send("ADDED", obj, None if self._converts() else entry.value)

    def end_in(self, seconds: int, *, bookmarks: bool) -> None:
        """Schedules the end, and until then a bookmark each minute and shortly before it."""
        self._deadline = self._cluster.kernel.now + seconds * SECOND
        self._at("end", self._deadline, self.end)
        if bookmarks:
            self._next_bookmark()

    def _next_bookmark(self) -> None:
        now = self._cluster.kernel.now
        due = now + BOOKMARK_SECONDS * SECOND
        last = self._deadline - BOOKMARK_BEFORE_END_SECONDS * SECOND
        self._at("bookmark", min(due, last) if last > now else due, self._regular_bookmark)

    def _regular_bookmark(self, _argument: object) -> None:
        self._timers.pop("bookmark")
        self.bookmark()
        self._next_bookmark()

    def _at(self, name: str, due: int, call: Callable[[object], None]) -> None:
        self._timers[name] = self._cluster.kernel.call_at(due, call, None, background=True)

    def fail(self, error: errors.ApiError) -> None:
        """Sends the ERROR event and ends."""
        self.send("ERROR", error.status())
        self.end()

    def end(self, timer: object = ()) -> None:
        """Ends the stream: the time is up (the timer passes None), or it failed."""
        if not self.open:
            return
        if timer is None:
            del self._timers["end"]
        self.close()
        self._over = True
        self._send_on()

    def leave(self, _: object) -> None:
        """The client disconnected."""
        self._forget()
        self.close()

    def close(self) -> None:
        """Unsubscribes and drops the timers."""
        self.open = False
        self._on_close()
        audit = self._request.audit
        if audit is not None:
            audit.complete(self._cluster.kernel.now, annotations=self._request.annotations)
        for handle in self._timers.values():
            self._cluster.kernel.drop(handle)
        self._timers.clear()
        if self.subscription is not None:
            self._cluster.cache.unsubscribe(self.subscription)

    def _converts(self) -> bool:
        return bool(self._accepted.convert) or convert.is_converted(self._info)

    def _table(self, obj: Object) -> bytes:
        """Renders a Table of one row. The annotation of the initial events' end is in the row's
        metadata, so that is included even when the client wants no objects."""
        info, included = self._info, tables.include_object(self._request.call.params)
        first, self._columns_sent = not self._columns_sent, True
        if obj["metadata"].get("annotations") is encode.INITIAL_END and included == "None":
            included = "Metadata"
        return tables.of_object(
            info.hub,
            obj,
            self._cluster.kernel.now,
            version=self._accepted.convert_version,
            include_object=included,
            headers=first,
            custom=info.custom,
            release=self._cluster.version,
        )


def open_watch(
    request: Request,
    selection: Selection,
    accepted: Accepted,
    reply: Reply,
    headers: list[tuple[str, str]],
    on_close: Callable[[], None],
) -> None:
    """Sends the headers, then follows until the client disconnects, time is up or the revision is
    compacted."""
    cluster, call, info = request.cluster, request.call, request.info
    options = listoptions.of_watch(call, cluster.version)
    is_socket = upgrades.is_websocket(call.headers)
    stream = Stream(request, accepted, reply, on_close, after=options.revision, is_socket=is_socket)
    if is_socket and not call.headers.get("origin"):
        stream.close()
        reply.head(403, [], b"")
        return
    strategy = cluster.strategy(info)
    selects = selection.selects(strategy)
    uses_webhook = info.custom is not None and info.custom.webhook is not None
    if selects is not None and convert.is_converted(info) and not uses_webhook:
        plain = selects
        selects = lambda obj: plain(convert.to_served(info, obj))  # noqa: E731
    if is_socket:
        reply.switch(upgrades.of_watch(call.headers))
        reply.listen(data=lambda sent: reply.took(len(sent)))  # the client should send nothing
    else:
        headers = [*headers, ("Content-Type", accepted.stream_type)]
        reply.head(200, headers, b"", more=True, paced="window")
    reply.listen(cancel=stream.leave, took=stream.took)
    subscription = Subscription(
        call.agent,
        info.storage,
        info.etcd_prefix(selection.namespace),
        selects,
        stream.sink,
        node=selection.node() if info.storage == "pods" else None,
        named=call.name,
        key=selection.key(info),
        outside=True,
        on_end=stream.end,
    )
    stream.subscription = subscription
    if options.initial:
        stream.initial(selection, selects)
        cluster.cache.subscribe(subscription, None)
        if options.initial_end:
            stream.bookmark(initial_end=True)
    else:
        try:
            cluster.cache.subscribe(subscription, options.revision or None)
        except errors.ApiError as error:
            stream.fail(error)
            return
    seconds = options.timeout_seconds
    if not seconds:
        seconds = WATCH_SECONDS_MIN + cluster.rand.below(WATCH_SECONDS_SPREAD)
    stream.end_in(seconds, bookmarks=options.bookmarks)
