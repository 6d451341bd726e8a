"""The live feed inside the edge: records of the worker, in frames that all listeners share.

A topic keeps the frames of the last moments. A listener is only a cursor into them: the seq it
needs next. A listener that needs records older than the kept frames reads them from the store
(`Behind`) and returns, so that nothing is skipped and a slow listener costs no memory.
Frames leave at most every FRAME_SECONDS. Knows neither sockets nor the store.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from typing import Any

import msgspec

FRAME_SECONDS = 0.05
LEVEL = 1  # of compression: a frame is made while its listeners wait
KEPT_BYTES_MAX = 8 << 20  # of the frames of a topic
KEPT_FRAMES_MAX = 1200  # a minute of a busy cluster
FRAME_BYTES_MAX = 256 << 10  # more gathered records than this are sent at once


class Frame(msgspec.Struct):
    """Records first..last; `text` is the JSON that goes to every listener."""

    first: int
    last: int
    text: str
    _packed: bytes = b""

    @property
    def packed(self) -> bytes:
        """The text as those get it who understand deflate; compressed once for all of them."""
        if not self._packed:
            self._packed = pack(self.text)
        return self._packed


def pack(text: str) -> bytes:
    return zlib.compress(text.encode(), LEVEL)


class Behind(msgspec.Struct, frozen=True):
    """The records first..last are no longer here: read them from the store."""

    first: int
    last: int


class Topic:
    """One cluster's feed. `last` is the newest seq that is known to exist."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._frames: deque[Frame] = deque()
        self._kept_bytes = 0
        self._parts: list[bytes] = []
        self._part_bytes = 0
        self._part_first = 0
        self._part_last = 0
        self._next_flush = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self.last = 0
        self.listeners = 0
        self.clock: dict[str, Any] | None = None
        self.clock_version = 0
        self.closed = False

    # -- input from the port --------------------------------------------------------------------

    def add(self, first: int, last: int, records: bytes) -> None:
        """Adds the records of one commit. Empty bytes mean that only the store has them."""
        known = self._part_last if self._parts else self.last
        if not records or not self.listeners or first != known + 1:
            self._flush()
            self._frames.clear()
            self._kept_bytes = 0
        if not records or not self.listeners:
            self.last = last
            self._wake()
            return
        if self._part_bytes + len(records) > FRAME_BYTES_MAX:
            self._flush()
        if not self._parts:
            self._part_first = first
        self._part_last = last
        self._parts.append(records)
        self._part_bytes += len(records) + 1
        self._schedule()

    def set_clock(self, clock: dict[str, Any]) -> None:
        self.clock = clock
        self.clock_version += 1
        self._wake()

    def reach(self, seq: int) -> None:
        """Notes that the store has records up to `seq`; called when a listener connects."""
        if not self._parts and seq > self.last:
            self._frames.clear()
            self._kept_bytes = 0
            self.last = seq
            self._wake()

    def close(self) -> None:
        """Ends the topic and its listeners."""
        self._flush()
        self.closed = True
        self._wake()

    # -- for listeners --------------------------------------------------------------------------

    def next(self, seq: int) -> Frame | Behind | None:
        """Returns the frame with record `seq`, Behind if the store has it, None if none has."""
        if seq > self.last:
            return None
        frames = self._frames
        if not frames or seq < frames[0].first:
            return Behind(seq, frames[0].first - 1 if frames else self.last)
        # listeners mostly need the newest frames
        for frame in reversed(frames):
            if frame.first <= seq:
                return frame
        return None

    async def changed(self) -> None:
        """Waits until the topic changes."""
        if self.closed:
            return
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    # -- inside ---------------------------------------------------------------------------------

    def _schedule(self) -> None:
        now = self._loop.time()
        if now >= self._next_flush or self._part_bytes >= FRAME_BYTES_MAX:
            self._flush()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._next_flush, self._flush)

    def _flush(self) -> None:
        """Makes one frame of the gathered records."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._parts:
            return
        text = f'{{"records":[{b",".join(self._parts).decode()}]}}'
        frame = Frame(self._part_first, self._part_last, text)
        self._parts = []
        self._part_bytes = 0
        self._frames.append(frame)
        self._kept_bytes += len(text)
        while len(self._frames) > 1 and (
            self._kept_bytes > KEPT_BYTES_MAX or len(self._frames) > KEPT_FRAMES_MAX
        ):
            self._kept_bytes -= len(self._frames.popleft().text)
        self.last = frame.last
        self._next_flush = self._loop.time() + FRAME_SECONDS
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class Fanout:
    """The topics of all clusters."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._topics: dict[str, Topic] = {}
        self._closed = False

    def topic(self, cluster: str) -> Topic:
        topic = self._topics.get(cluster)
        if topic is None:
            topic = self._topics[cluster] = Topic(self._loop)
            topic.closed = self._closed
        return topic

    def on_trace(self, cluster: str, first: int, last: int, records: bytes) -> None:
        """Who listens to a cluster that began anew is sent away, and comes back to the new one."""
        if first == 1 and (before := self._topics.get(cluster)) is not None and before.last:
            del self._topics[cluster]
            before.close()
        self.topic(cluster).add(first, last, records)

    def on_removed(self, cluster: str) -> None:
        """Who listens to it is sent away."""
        topic = self._topics.pop(cluster, None)
        if topic is not None:
            topic.close()

    def on_state(self, cluster: str, clock: dict[str, Any]) -> None:
        self.topic(cluster).set_clock(clock)

    def close(self) -> None:
        self._closed = True
        for topic in self._topics.values():
            topic.close()
