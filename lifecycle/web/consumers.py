"""WebSocket consumers of the page: the live feed of a cluster's trace.

First {"hello": state}, then {"records": [...]} from the wanted seq on with nothing skipped, and
{"clock": ...} whenever what drives or holds the cluster changes. Old records come from the store,
new ones from the in-process fan-out; a listener is a cursor that may fall back to the store at any
time. {"missing": {"first", "last"}} names records that the store no longer has. Who asks for a
keyframe gets {"keyframe": {...}}, which stands for all records before those that follow. When there
was nothing to say for a while, {"idle": true} says that the connection is there all the same.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any
from urllib.parse import parse_qs

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer

from lifecycle.api import cast, states
from lifecycle.hosting.edge import app, fanout
from lifecycle.hosting.port import edgeport
from lifecycle.web import past

WORKER_WAIT_SECONDS = 15
IDLE_SECONDS = 10
# codes a server may choose itself begin at 4000
GOING_AWAY, BAD_REQUEST, NOT_FOUND, FAILED, TRY_LATER = 4001, 4400, 4404, 4500, 4503
SEQ_MAX = 10**17

_raws = msgspec.json.Decoder(list[msgspec.Raw])


class Nothing(AsyncWebsocketConsumer):
    """Any other WebSocket: refused before it opens."""

    async def connect(self) -> None:
        await self.close()


class TraceConsumer(AsyncWebsocketConsumer):
    """/ws/v1/clusters/<name>/trace?from=<seq>; without `from` it begins with the first record.

    `keyframe=now` begins with a keyframe shortly before now, `keyframe=<seq>` with the newest up
    to there. `to` is the last record wanted. With `encoding=deflate`
    keyframes and records come as binary messages, compressed.
    """

    _feed: asyncio.Task[None] | None = None
    _deflate = False

    async def connect(self) -> None:
        await self.accept()
        query = parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        self._deflate = query.get("encoding") == ["deflate"]
        wanted = {}
        for name, default in (("from", 1), ("to", SEQ_MAX), ("keyframe", 0)):
            if (number := _number(query, name, default)) is None:
                await self._refuse(BAD_REQUEST, f"{name} must be a whole number from 1 on")
                return
            wanted[name] = number
        self._feed = asyncio.ensure_future(self._guarded(wanted))

    async def disconnect(self, code: int) -> None:
        if self._feed is not None:
            self._feed.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page has nothing to say here; what it sends is ignored."""

    async def _guarded(self, wanted: dict[str, int]) -> None:
        """A feed that fails says so and closes: a listener must not wait for ever."""
        try:
            await self._run(wanted)
        except Exception:
            traceback.print_exc()
            await self._refuse(FAILED, "the feed failed")

    async def _run(self, wanted: dict[str, int]) -> None:
        edge: app.Services = self.scope["state"]["edge"]
        cluster: str = self.scope["url_route"]["kwargs"]["cluster"]
        topic = edge.fanout.topic(cluster)
        clock = topic.clock_version  # what changes from here on is sent after the hello
        try:
            if not await edge.port.ready(WORKER_WAIT_SECONDS):
                raise edgeport.Lost
            state = await edge.port.control(cluster, "state", {})
        except edgeport.Refused as error:
            await self._refuse(NOT_FOUND, str(error))
            return
        except (edgeport.Lost, edgeport.Full):
            await self._refuse(TRY_LATER, "the cluster cannot be reached just now")
            return
        topic.listeners += 1
        try:
            topic.reach(state.get("seq", 0))
            hello = {**states.shown(cluster, state), **cast.shown()}
            await self.send(text_data=_json({"hello": hello}))
            reader = past.of(cluster, topic)
            start = wanted["from"]
            if wanted["keyframe"]:
                start = await self.begin(reader, wanted["keyframe"], topic.last)
                reader.read_ahead(topic)
            await self.follow(reader, topic, start, wanted["to"], clock)
        finally:
            topic.listeners -= 1
        await self.close(GOING_AWAY)

    async def begin(self, reader: past.Past, wanted: int, last: int) -> int:
        """Send a keyframe; the record that comes after it."""
        making = asyncio.ensure_future(
            reader.join(last) if wanted == SEQ_MAX else reader.at(wanted)
        )
        # who leaves does not end what is made for others, too
        while not (await asyncio.wait((making,), timeout=IDLE_SECONDS))[0]:
            await self.send(text_data=_json({"idle": True}))
        begin = making.result()
        if begin.text:
            await self._send(begin)
        return begin.seq + 1

    async def follow(
        self, reader: past.Past, topic: fanout.Topic, seq: int, last: int, clock_version: int
    ) -> None:
        """Send from seq to last, and the clock since a version, or until the feed is closed. Who
        wanted no more ends it: a feed that we close may lose what is still on its way to a slow
        client."""
        while True:
            if topic.clock_version != clock_version:
                clock_version = topic.clock_version
                await self.send(text_data=_json({"clock": topic.clock}))
            frame = topic.next(seq) if seq <= last else None
            if isinstance(frame, fanout.Behind):
                seq = await self._catch_up(reader, seq, min(frame.last, last))
            elif isinstance(frame, fanout.Frame):
                if frame.first < seq or frame.last > last:
                    frame = _cut(frame, seq, last)
                await self._send(frame)
                seq = frame.last + 1
            elif topic.closed:
                return
            else:
                await self._changed(topic)

    async def _changed(self, topic: fanout.Topic) -> None:
        try:
            await asyncio.wait_for(topic.changed(), IDLE_SECONDS)
        except TimeoutError:
            await self.send(text_data=_json({"idle": True}))

    async def _catch_up(self, reader: past.Past, seq: int, last: int) -> int:
        """Send what the store has of these records, a frame of them; the seq to go on with."""
        frame = await reader.frame(seq, last)
        end = frame.first - 1 if frame else min(last, seq + past.READ_RECORDS_MAX - 1)
        if end >= seq:
            await self.send(text_data=_json({"missing": {"first": seq, "last": end}}))
        if frame is None:
            return end + 1
        await self._send(frame)
        return frame.last + 1

    async def _send(self, frame: fanout.Frame | past.Begin) -> None:
        if self._deflate:
            await self.send(bytes_data=frame.packed)
        else:
            await self.send(text_data=frame.text)

    async def _refuse(self, code: int, why: str) -> None:
        await self.send(text_data=_json({"error": why}))
        await self.close(code)


def _number(query: dict[str, list[str]], name: str, default: int) -> int | None:
    """A number of the query, from 1 on; None when it is no such thing."""
    text = query.get(name, [str(default)])[-1]
    if name == "keyframe" and text in ("now", "0"):
        return SEQ_MAX if text == "now" else 0
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return min(max(1, int(text)), SEQ_MAX)


def _cut(frame: fanout.Frame, first: int, last: int) -> fanout.Frame:
    """The frame without what is not wanted of it."""
    data = frame.text[len('{"records":') : -1].encode()
    heads = past.seqs.decode(data)
    kept = [
        bytes(raw)
        for raw, head in zip(_raws.decode(data), heads, strict=True)
        if first <= head.seq <= last
    ]
    text = f'{{"records":[{b",".join(kept).decode()}]}}'
    return fanout.Frame(max(first, frame.first), min(last, frame.last), text)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
