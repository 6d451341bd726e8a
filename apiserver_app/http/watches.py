"""Streams a watch: existing objects, changes, bookmarks, and its end.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

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
    ) -> None:
        self._cluster = request.cluster
        self._info: ResourceInfo = request.info
        self._request = request
        self._accepted = accepted
        self._reply = reply
        self._on_close = on_close
        self._after = after  # a revision already seen, or one in the future
        self._columns_sent = False
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
            self.send(kind, obj, value)

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

    def send(self, kind: str, obj: Object, value: bytes | None = None) -> None:
        if not self.open:
            return
        if value is not None and not self._accepted.is_protobuf:
            self._reply.body(encode.watch_line(kind, value), True)
            return
        served = convert.to_served(self._info, obj)
        if self._accepted.is_table:
            self._reply.body(encode.watch_line(kind, self._table(served)), True)
        else:
            self._send(kind, served)

    def _send(self, kind: str, obj: Object) -> None:
        accepted = self._accepted
        if accepted.convert and kind != "ERROR":
            obj = render.partial(obj, accepted.convert_version)
        self._reply.body(encode.watch_event(kind, obj, accepted), True)

    def bookmark(self, *, initial_end: bool = False) -> None:
        if not self.open:
            return
        revision = str(self._cluster.store.revision)
        kind, version = self._info.kind, self._info.api_version
        obj = encode.bookmark_object(kind, version, revision, initial_end)
        if self._accepted.is_table:
            self._reply.body(encode.watch_line("BOOKMARK", self._table(obj, initial_end)), True)
        else:
            self._send("BOOKMARK", obj)

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
        if self.open:
            self._send("ERROR", error.status())
        self.end()

    def end(self, timer: object = ()) -> None:
        """Ends the stream: the time is up (the timer passes None), or it failed."""
        if not self.open:
            return
        if timer is None:
            del self._timers["end"]
        self.close()
        self._reply.body(b"", False)

    def close(self) -> None:
        """Unsubscribes and drops the timers after the client disconnected."""
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

    def _table(self, obj: Object, initial_end: bool = False) -> bytes:
        """Renders a Table of one row. The annotation of the initial events' end is in the row's
        metadata, so that is included even when the client wants no objects."""
        info, included = self._info, tables.include_object(self._request.call.params)
        first, self._columns_sent = not self._columns_sent, True
        if initial_end and included == "None":
            included = "Metadata"
        return tables.one(
            info.hub, obj, self._cluster.kernel.now, version=self._accepted.convert_version,
            include_object=included, headers=first, custom=info.custom,
            release=self._cluster.version,
        )  # fmt: skip


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
    stream = Stream(request, accepted, reply, on_close, after=options.revision)
    strategy = cluster.strategy(info)
    selects = selection.selects(strategy)
    uses_webhook = info.custom is not None and info.custom.webhook is not None
    if selects is not None and convert.is_converted(info) and not uses_webhook:
        plain = selects
        selects = lambda obj: plain(convert.to_served(info, obj))  # noqa: E731
    reply.head(200, [*headers, ("Content-Type", accepted.stream_type)], b"", more=True)
    reply.listen(cancel=lambda _: stream.close())
    subscription = Subscription(
        call.agent, info.storage, info.etcd_prefix(selection.namespace), selects, stream.sink,
        node=selection.node() if info.storage == "pods" else None, named=call.name,
        key=selection.key(info), outside=True, on_end=stream.end,
    )  # fmt: skip
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
