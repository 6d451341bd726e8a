"""WebSocket consumers of the page: the live feed of a cluster's trace.

First {"hello": state}, then {"records": [...]} from the wanted seq on with nothing skipped, and
{"clock": ...} whenever what drives or holds the cluster changes. Old records come from the store,
new ones from the in-process fan-out; a listener is a cursor that may fall back to the store at any
time. {"missing": {"first", "last"}} names records that the store no longer has.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any
from urllib.parse import parse_qs

import msgspec
from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from lifecycle.api import cast, states
from lifecycle.hosting.edge import app, fanout
from lifecycle.hosting.port import edgeport
from lifecycle.trace import storage

READ_RECORDS_MAX = 500  # of one frame that comes from the store
READ_BYTES_MAX = 16 << 20  # a frame beyond this is read again in small pieces
READ_RECORDS_LARGE = 16
WORKER_WAIT_SECONDS = 15
# codes a server may choose itself begin at 4000
GOING_AWAY, BAD_REQUEST, NOT_FOUND, FAILED, TRY_LATER = 4001, 4400, 4404, 4500, 4503


class _Seq(msgspec.Struct):
    seq: int


_seqs = msgspec.json.Decoder(list[_Seq])
_raws = msgspec.json.Decoder(list[msgspec.Raw])


class Nothing(AsyncWebsocketConsumer):
    """Any other WebSocket: refused before it opens."""

    async def connect(self) -> None:
        await self.close()


class TraceConsumer(AsyncWebsocketConsumer):
    """/ws/v1/clusters/<name>/trace?from=<seq>; without `from` it begins with the first record.
    With `encoding=deflate` records come as binary messages, compressed."""

    _feed: asyncio.Task[None] | None = None
    _deflate = False

    async def connect(self) -> None:
        await self.accept()
        query = parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        self._deflate = query.get("encoding") == ["deflate"]
        start = _from(query)
        if start is None:
            await self._refuse(BAD_REQUEST, "from must be a whole number from 1 on")
            return
        self._feed = asyncio.ensure_future(self._guarded(start))

    async def disconnect(self, code: int) -> None:
        if self._feed is not None:
            self._feed.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page has nothing to say here; what it sends is ignored."""

    async def _guarded(self, start: int) -> None:
        """A feed that fails says so and closes: a listener must not wait for ever."""
        try:
            await self._run(start)
        except Exception:
            traceback.print_exc()
            await self._refuse(FAILED, "the feed failed")

    async def _run(self, start: int) -> None:
        edge: app.Services = self.scope["state"]["edge"]
        cluster: str = self.scope["url_route"]["kwargs"]["cluster"]
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
        topic = edge.fanout.topic(cluster)
        topic.listeners += 1
        try:
            topic.reach(state.get("seq", 0))
            hello = {**states.shown(cluster, state), "users": list(cast.names())}
            await self.send(text_data=_json({"hello": hello}))
            await self._follow(cluster, topic, start)
        finally:
            topic.listeners -= 1
        await self.close(GOING_AWAY)

    async def _follow(self, cluster: str, topic: fanout.Topic, seq: int) -> None:
        """Send from seq on until the feed is closed."""
        clock_version = topic.clock_version
        while True:
            if topic.clock_version != clock_version:
                clock_version = topic.clock_version
                await self.send(text_data=_json({"clock": topic.clock}))
            found = topic.next(seq)
            if isinstance(found, fanout.Frame):
                if found.first < seq:
                    found = fanout.Frame(seq, found.last, _cut(found.text, seq))
                await self._send(found)
                seq = found.last + 1
            elif isinstance(found, fanout.Behind):
                seq = await self._catch_up(cluster, found)
            elif topic.closed:
                return
            else:
                await topic.changed()

    async def _catch_up(self, cluster: str, wanted: fanout.Behind) -> int:
        """Send what the store has of these records, a frame of them; the seq to go on with."""
        last = min(wanted.last, wanted.first + READ_RECORDS_MAX - 1)
        records, end = await _read(cluster, wanted.first, last)
        if len(records) > READ_BYTES_MAX:
            last = min(last, wanted.first + READ_RECORDS_LARGE - 1)
            records, end = await _read(cluster, wanted.first, last)
        first = _seqs.decode(b"[" + records + b"]")[0].seq if records else last + 1
        if first > wanted.first:
            missing = {"first": wanted.first, "last": first - 1}
            await self.send(text_data=_json({"missing": missing}))
        if not records:
            return last + 1
        await self._send(fanout.Frame(first, end, f'{{"records":[{records.decode()}]}}'))
        return end + 1

    async def _send(self, frame: fanout.Frame) -> None:
        if self._deflate:
            await self.send(bytes_data=frame.packed)
        else:
            await self.send(text_data=frame.text)

    async def _refuse(self, code: int, why: str) -> None:
        await self.send(text_data=_json({"error": why}))
        await self.close(code)


@sync_to_async(thread_sensitive=False)
def _read(cluster: str, first: int, last: int) -> tuple[bytes, int]:
    return storage.read_records(cluster, first, last, READ_RECORDS_MAX)


def _from(query: dict[str, list[str]]) -> int | None:
    """The wanted first seq; None when it is no such thing."""
    text = query.get("from", ["1"])[-1]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return max(1, int(text))


def _cut(text: str, seq: int) -> str:
    """The frame without the records before seq."""
    data = text[len('{"records":') : -1].encode()
    raws = _raws.decode(data)
    kept = [
        bytes(raw) for raw, head in zip(raws, _seqs.decode(data), strict=True) if head.seq >= seq
    ]
    return f'{{"records":[{b",".join(kept).decode()}]}}'


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
