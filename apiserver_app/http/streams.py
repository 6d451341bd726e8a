"""A watch as a stream of lines: what is there already, what happens, bookmarks, and its end.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/watch.go.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import encode, render, statuses
from apiserver_app.http.negotiation import Accepted
from apiserver_app.http.tables import table as tables
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.pipeline import parse_revision
from apiserver_app.registry import convert
from apiserver_app.registry.generic import Selection, too_new
from apiserver_app.registry.watchcache import Change, Subscription

BOOKMARK_SECONDS = 60
# of a watch that names no end; upstream draws from 30 to 60 minutes
WATCH_SECONDS_MIN, WATCH_SECONDS_SPREAD = 1800, 1800


class Stream:
    """One open watch of an outside client."""

    def __init__(
        self, cluster: ClusterContext, call: Call, accepted: Accepted, reply: Any
    ) -> None:
        assert call.info is not None
        self._cluster = cluster
        self._info: ResourceInfo = call.info
        self._call = call
        self._accepted = accepted
        self._reply = reply
        self._columns_sent = False
        self.open = True
        self.subscription: Subscription | None = None

    def sink(self, kind: str, change: Change, obj: Object) -> None:
        same = obj is change.obj and change.value is not None
        value = change.value if same and not self._converts() else None
        self.send(kind, obj, value)

    def send(self, kind: str, obj: Object, value: bytes | None = None) -> None:
        if self.open:
            self._reply.body(encode.watch_line(kind, value or self._bytes(obj)), True)

    def bookmark(self, *, initial_end: bool = False) -> None:
        if not self.open:
            return
        info, revision = self._info, str(self._cluster.store.revision)
        self._reply.body(
            encode.bookmark(info.kind, info.api_version, revision, initial_end), True
        )

    def fail(self, error: errors.ApiError) -> None:
        """The ERROR event, and the end."""
        self._reply.body(statuses.watch_error(error), True)
        self.end()

    def end(self, _timer: Any = None) -> None:
        if not self.open:
            return
        self.close()
        self._reply.body(b"", False)

    def close(self) -> None:
        """The client is gone: stop following."""
        self.open = False
        if self.subscription is not None:
            self._cluster.cache.unsubscribe(self.subscription)

    def _converts(self) -> bool:
        return bool(self._accepted.convert) or convert.is_converted(self._info)

    def _bytes(self, obj: Object) -> bytes:
        info, accepted = self._info, self._accepted
        obj = convert.to_served(info, obj)
        if accepted.is_table:
            first, self._columns_sent = not self._columns_sent, True
            return tables.one(
                info.key, obj, self._cluster.kernel.now, version=accepted.convert_version,
                include_object=tables.include_object(self._call.params), headers=first,
            )  # fmt: skip
        if accepted.convert:
            return orjson.dumps(render.partial(obj, accepted.convert_version))
        return orjson.dumps(obj)


def open_watch(
    cluster: ClusterContext,
    call: Call,
    selection: Selection,
    accepted: Accepted,
    reply: Any,
    headers: list[tuple[str, str]],
) -> None:
    """Answer the head, then follow until the client goes, time is up or the revision is gone."""
    info = call.info
    assert info is not None
    asked = parse_revision(call.param("resourceVersion"))
    if asked > cluster.store.revision:
        raise too_new(asked, cluster.store.revision)
    seconds = _seconds(cluster, call)
    stream = Stream(cluster, call, accepted, reply)
    strategy = cluster.strategy(info)
    selects = selection.selects(strategy)
    if selects is not None and convert.is_converted(info):
        plain = selects
        selects = lambda obj: plain(convert.to_served(info, obj))  # noqa: E731
    reply.head(200, [*headers, ("Content-Type", accepted.media_type)], b"", more=True)
    reply.on_cancel(stream.close)
    subscription = Subscription(
        call.agent, info.storage, info.etcd_prefix(selection.namespace), selects, stream.sink,
        node=selection.node() if info.storage == "pods" else None, outside=True,
    )  # fmt: skip
    stream.subscription = subscription
    initial = call.param("sendInitialEvents") == "true"
    if asked and not initial:
        try:
            cluster.cache.subscribe(subscription, asked)
        except errors.ApiError as error:
            stream.fail(error)
            return
    else:
        _initial(cluster, info, selection, selects, stream)
        cluster.cache.subscribe(subscription, None)
        if initial:
            stream.bookmark(initial_end=True)
    kernel = cluster.kernel
    kernel.call_at(kernel.now + seconds * SECOND, stream.end, None, background=True)
    if call.param("allowWatchBookmarks") == "true":
        _bookmarks(cluster, stream)


def _initial(
    cluster: ClusterContext,
    info: ResourceInfo,
    selection: Selection,
    selects: Any,
    stream: Stream,
) -> None:
    """What is there already, as ADDED events."""
    for entry in cluster.store.range(info.etcd_prefix(selection.namespace)).entries:
        obj = cluster.cache.decoded(entry)
        if selects is None or selects(obj):
            stream.send("ADDED", obj, None if stream._converts() else entry.value)


def _bookmarks(cluster: ClusterContext, stream: Stream) -> None:
    kernel = cluster.kernel

    def tick(_argument: Any) -> None:
        if stream.open:
            stream.bookmark()
            _bookmarks(cluster, stream)

    kernel.call_at(kernel.now + BOOKMARK_SECONDS * SECOND, tick, None, background=True)


def _seconds(cluster: ClusterContext, call: Call) -> int:
    text = call.param("timeoutSeconds")
    if not text:
        return WATCH_SECONDS_MIN + cluster.rand.below(WATCH_SECONDS_SPREAD)
    if not text.isdecimal():
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text) or WATCH_SECONDS_MIN
