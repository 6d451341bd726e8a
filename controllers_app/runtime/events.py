"""The event recorder: writes Event objects for a component in the background.

Repeated events are counted with a patch, many similar ones are combined, and the events of each
object are rate-limited. A separate task writes each event in the span that recorded it, and drops
an event that the API server refuses.

Models kubernetes staging/src/k8s.io/client-go/tools/record (event.go, events_cache.go) and, for
`modern` recorders, tools/events.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import orjson

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.client import STRATEGIC_PATCH, Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.waiting import Mailbox

QUEUE_MAX = 1000
CACHE_MAX = 4096
# this many different messages of one reason and object within the interval are combined
SIMILAR_MAX = 10
SIMILAR_SECONDS = 600
WRITTEN_SECONDS = 3600  # so long an event is stored, and is counted
SPAM_BURST = 25
SPAM_PER_SECOND = 1 / 300
SERIES_SECONDS = 360
REFRESH_ROUNDS = 5  # of which every one looks which series have ended
COMBINED = "(combined from similar events): "
MODERN = "events.events.k8s.io"

V = TypeVar("V")


class _Pending(msgspec.Struct, frozen=True):
    """An event to be written, and the span that recorded it."""

    body: Object
    span: int


class _Similar(msgspec.Struct):
    """The different messages of one reason about one object."""

    messages: tuple[str, ...] = ()
    last: int = 0


class _Written(msgspec.Struct):
    """An event that was written."""

    name: str
    count: int = 1
    body: bytes = b""  # of a modern one, to be written again
    last: int = 0  # when it was observed, µs since 1970


class Recorder:
    """Records the events of one component. `host` is its node, if it runs on one.

    A `modern` recorder writes events.k8s.io/v1, as kube-scheduler does: with an action and with
    series instead of counts. What regards another state of the object is another event.
    """

    def __init__(
        self,
        kernel: Kernel,
        client: Client,
        component: str,
        host: str = "",
        *,
        modern: bool = False,
    ) -> None:
        self._kernel = kernel
        self._client = client
        self._component = component
        # nanoseconds added to virtual time, so that the event names of two recorders differ
        self._tail = zlib.crc32(f"{component}/{host}".encode()) % 1000
        self._host = host
        self._modern = modern
        self._last_nanos = 0
        self._mailbox: Mailbox[_Pending] = Mailbox(kernel)
        self.similar: OrderedDict[tuple[str, ...], _Similar] = OrderedDict()
        self.written: OrderedDict[tuple[str, ...], _Written] = OrderedDict()
        self.spam: OrderedDict[tuple[str, ...], Bucket] = OrderedDict()

    def event(
        self,
        obj: Object,
        kind: str,
        reason: str,
        message: str,
        *,
        field_path: str = "",
        action: str = "",
        related: Object | None = None,
    ) -> None:
        """Record that something happened to obj. `kind` is Normal or Warning; `related` is the
        object for whose sake it happened, of a modern event. Never waits."""
        if len(self._mailbox) >= QUEUE_MAX:
            return
        about = reference(obj, field_path)
        build = self._modern_body if self._modern else self._body
        body = build(about, kind, reason, message, action)
        if related is not None:
            body["related"] = reference(related)
        task = self._kernel.current
        self._mailbox.put(_Pending(body, task.span if task is not None else 0))

    async def run(self) -> None:
        """Writes recorded events. Runs as a task of its own for the component's lifetime."""
        task = self._kernel.current
        assert task is not None
        while (pending := await self._mailbox.get()) is not None:
            task.span = pending.span
            try:
                if self._modern:
                    await self._write_modern(pending.body)
                else:
                    await self._write(pending.body)
            except errors.ApiError:
                pass  # upstream: "Server rejected event (will not retry!)"
            task.span = 0

    async def finish_series(self) -> None:
        """Writes how long series have become: of all at times, of one that has ended at once."""
        rounds = 0
        while True:
            await self._kernel.sleep(SERIES_SECONDS, background=True)
            rounds += 1
            now = self._kernel.now
            for key, written in list(self.written.items()):
                has_ended = now - written.last > SERIES_SECONDS * SECOND
                if has_ended:
                    del self.written[key]
                if written.count > 1 and (has_ended or rounds % REFRESH_ROUNDS == 0):
                    try:
                        await self._write_series(written)
                    except errors.ApiError:
                        continue

    # -- bodies ---------------------------------------------------------------------------------

    def _metadata(self, about: Object) -> Object:
        """Names an event `<object>.<virtual time in hex>`, unique also within one instant."""
        nanos = self._kernel.now * 1000 + self._tail
        self._last_nanos = nanos = max(nanos, self._last_nanos + 1)
        namespace = about.get("namespace") or "default"
        return {"name": f"{about['name']}.{nanos:x}", "namespace": namespace}

    def _body(self, about: Object, kind: str, reason: str, message: str, _action: str) -> Object:
        now = meta.rfc3339(self._kernel.now)
        source = {"component": self._component}
        if self._host:
            source["host"] = self._host
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": self._metadata(about),
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }

    def _modern_body(
        self, about: Object, kind: str, reason: str, message: str, action: str
    ) -> Object:
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": self._metadata(about),
            "eventTime": meta.rfc3339_micro(self._kernel.now),
            "reportingController": self._component,
            "reportingInstance": f"{self._component}-{self._host}",
            "action": action,
            "reason": reason,
            "regarding": about,
            "note": message,
            "type": kind,
        }

    # -- correlation and writing ----------------------------------------------------------------

    async def _write(self, body: Object) -> None:
        now, about = self._kernel.now, _identity(body["involvedObject"])
        self._forget(now)
        body, key = self._aggregate(body, about)
        written = self.written.get(key)
        if written is not None:
            written.count += 1  # even if the spam filter then drops the write
        spam = _get_or_add(self.spam, about, _spam_bucket)
        if spam.try_take(now) > 0:
            return
        if written is not None:
            written.last = now
            _keep(self.written, key, written)
            patch = {
                "count": written.count,
                "lastTimestamp": body["lastTimestamp"],
                "message": body["message"],
            }
            if await self._patched("events", body, written.name, patch):
                return
        await self._client.create("events", body["metadata"]["namespace"], body)
        _keep(self.written, key, _Written(body["metadata"]["name"], last=now))

    def _forget(self, now: int) -> None:
        """Drops what makes no difference any more; upstream keeps it until its caches are full."""
        _drop(self.similar, lambda entry: now - entry.last > SIMILAR_SECONDS * SECOND)
        _drop(self.written, lambda entry: now - entry.last > WRITTEN_SECONDS * SECOND)
        _drop(self.spam, lambda entry: entry.is_full(now))

    async def _write_modern(self, body: Object) -> None:
        """Writes an event. The first repetition makes it a series, later ones are counted."""
        about = tuple(sorted(body["regarding"].items()))
        key = (body["type"], body["action"], body["reason"], str(about))
        written = self.written.get(key)
        now = self._kernel.now
        if written is None:
            _keep(self.written, key, _Written(body["metadata"]["name"], 1, orjson.dumps(body), now))
            await self._client.create(MODERN, body["metadata"]["namespace"], body)
            return
        written.count += 1
        written.last = now
        if written.count == 2:
            await self._write_series(written)

    async def _write_series(self, written: _Written) -> None:
        last = meta.rfc3339_micro(written.last)
        series = {"series": {"count": written.count, "lastObservedTime": last}}
        body = orjson.loads(written.body)
        if not await self._patched(MODERN, body, written.name, series):
            body |= series
            await self._client.create(MODERN, body["metadata"]["namespace"], body)

    async def _patched(self, resource: str, body: Object, name: str, patch: Object) -> bool:
        """Patches a written event; False when it has expired meanwhile."""
        namespace = body["metadata"]["namespace"]
        with errors.ignoring("NotFound"):
            await self._client.patch(resource, namespace, name, patch, kind=STRATEGIC_PATCH)
            return True
        return False

    def _aggregate(self, body: Object, about: tuple[str, ...]) -> tuple[Object, tuple[str, ...]]:
        """Returns the event to write and the key under which it is counted."""
        group = (*about, body["type"], body["reason"])
        similar = _get_or_add(self.similar, group, _Similar)
        now = self._kernel.now
        if now - similar.last > SIMILAR_SECONDS * SECOND:
            similar.messages = ()
        similar.last = now
        message = body["message"]
        if message not in similar.messages:
            similar.messages = (*similar.messages, message)
        if len(similar.messages) < SIMILAR_MAX:
            return body, (*group, message, body["involvedObject"].get("fieldPath", ""))
        similar.messages = similar.messages[1:]
        combined = {**body, "message": COMBINED + message}
        return {**combined, "reportingComponent": "", "reportingInstance": ""}, group


def reference(obj: Object, field_path: str = "") -> Object:
    """Returns the ObjectReference of an object that has kind and apiVersion set."""
    metadata: dict[str, Any] = obj["metadata"]
    out: Object = {"kind": obj["kind"]}
    for name in ("namespace", "name", "uid"):
        if metadata.get(name):
            out[name] = metadata[name]
    out["apiVersion"] = obj["apiVersion"]
    if metadata.get("resourceVersion"):
        out["resourceVersion"] = metadata["resourceVersion"]
    if field_path:
        out["fieldPath"] = field_path
    return out


def _identity(about: Object) -> tuple[str, ...]:
    return (about["kind"], about.get("namespace", ""), about["name"], about.get("uid", ""))


def _spam_bucket() -> Bucket:
    return Bucket(SPAM_PER_SECOND, SPAM_BURST)


def _get_or_add(
    cache: OrderedDict[tuple[str, ...], V], key: tuple[str, ...], new: Callable[[], V]
) -> V:
    value = cache.get(key)
    if value is None:
        value = new()
        _keep(cache, key, value)
    else:
        cache.move_to_end(key)
    return value


def _drop(cache: OrderedDict[tuple[str, ...], V], is_over: Callable[[V], bool]) -> None:
    """Those that were used longest ago, for as long as they are over."""
    while cache and is_over(next(iter(cache.values()))):
        cache.popitem(last=False)


def _keep(cache: OrderedDict[tuple[str, ...], V], key: tuple[str, ...], value: V) -> None:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > CACHE_MAX:
        cache.popitem(last=False)
