"""What those who join a feed, or look back, read from the store: made once, shared by all of them.

A class that opens the page at the same moment costs one reading. Everything kept here is bounded.
"""

from __future__ import annotations

import asyncio
import functools
import zlib
from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

import msgspec
from asgiref.sync import sync_to_async

from lifecycle.hosting.edge import fanout
from lifecycle.trace import keyframes, storage

READ_RECORDS_MAX = 500  # of one frame that comes from the store
READ_BYTES_MAX = 16 << 20  # a frame beyond this is read again in small pieces
READ_RECORDS_LARGE = 16
FRAMES_KEPT = 32
KEPT_BYTES_MAX = 1 << 20  # a larger frame is not kept for others
FRESH_SECONDS = 0.5  # a keyframe serves others who join
LEVEL = 6  # of compression: a keyframe is made once for many
# while somebody listens, records are read for the keyframe of who joins next: so many at once
AHEAD_RECORDS = 10_000
AHEAD_SECONDS = 0.5


class _Seq(msgspec.Struct):
    seq: int


seqs = msgspec.json.Decoder(list[_Seq])


class Begin(msgspec.Struct, frozen=True):
    """A keyframe as it is sent: what is in force after record `seq`. Without text: nothing yet."""

    seq: int
    text: str
    packed: bytes


class Past:
    """One cluster's."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._keyframes: keyframes.Keyframes | None = None
        self._one = asyncio.Lock()
        self._begin: Begin | None = None
        self._made_at = 0.0
        self._frames: dict[tuple[int, int], asyncio.Task[fanout.Frame | None]] = {}
        self._ahead: asyncio.Task[None] | None = None

    async def join(self, last: int) -> Begin:
        """The keyframe that a viewer begins with now, some records before `last`."""
        async with self._one:
            now = asyncio.get_running_loop().time()
            if self._begin is None or (
                now > self._made_at + FRESH_SECONDS
                and last > self._begin.seq + 2 * keyframes.RECENT_RECORDS
            ):
                seq = last - keyframes.RECENT_RECORDS
                self._begin = await self._make(seq)
                self._made_at = asyncio.get_running_loop().time()
            return self._begin

    def read_ahead(self, topic: fanout.Topic) -> None:
        """As long as somebody listens, read what is new, a part at a time: who joins behind many
        records does not wait until all of them are read."""
        if self._ahead is None or self._ahead.done():
            self._ahead = asyncio.ensure_future(self._read_ahead(topic))

    async def _read_ahead(self, topic: fanout.Topic) -> None:
        taken = 0
        while topic.listeners and not topic.closed:
            await asyncio.sleep(AHEAD_SECONDS)
            last = topic.last - keyframes.RECENT_RECORDS
            if last < taken + keyframes.RECENT_RECORDS:
                continue
            async with self._one:
                taken = await self._take(last)

    async def at(self, seq: int) -> Begin:
        """The newest keyframe that is not after `seq`."""
        async with self._one:
            return await self._make(seq)

    async def frame(self, first: int, last: int) -> fanout.Frame | None:
        """The records of the store from `first` on, at most up to `last`; None if it has none."""
        last = min(last, first + READ_RECORDS_MAX - 1)
        task = self._frames.get((first, last))
        if task is None:
            task = asyncio.ensure_future(_read(self._cluster, first, last))
            self._frames[first, last] = task
            task.add_done_callback(functools.partial(self._was_read, (first, last)))
            while len(self._frames) > FRAMES_KEPT:
                del self._frames[next(iter(self._frames))]
        return await asyncio.shield(task)

    def _was_read(self, key: tuple[int, int], task: asyncio.Task[fanout.Frame | None]) -> None:
        """Others get what was read; a reading that failed, or found nothing, is tried again."""
        frame = None if task.cancelled() or task.exception() else task.result()
        is_kept = frame is not None and len(frame.text) <= KEPT_BYTES_MAX
        if not is_kept and self._frames.get(key) is task:
            del self._frames[key]

    @property
    def _make(self) -> Callable[[int], Awaitable[Begin]]:
        return sync_to_async(self._make_now, thread_sensitive=False)

    @property
    def _take(self) -> Callable[[int], Awaitable[int]]:
        return sync_to_async(self._take_now, thread_sensitive=False)

    def _make_now(self, seq: int) -> Begin:
        made = self._stored
        if made is None or seq < 1:
            return Begin(0, "", b"")
        frame = made.at(seq)
        if not frame.seq:
            return Begin(0, "", b"")
        text = made.message(frame)
        return Begin(frame.seq, text, zlib.compress(text.encode(), LEVEL))

    def _take_now(self, last: int) -> int:
        """Read some of the records up to `last`; up to where they are read then."""
        made = self._stored
        if made is None:
            return 0
        before = made.newest
        if last > before and made.at(min(last, before + AHEAD_RECORDS)).seq == before:
            made.at(last)  # the next segment is larger
        return made.newest

    @property
    def _stored(self) -> keyframes.Keyframes | None:
        if self._keyframes is None:
            self._keyframes = storage.keyframes_of(self._cluster)
        return self._keyframes


_pasts: WeakKeyDictionary[fanout.Topic, Past] = WeakKeyDictionary()


def of(cluster: str, topic: fanout.Topic) -> Past:
    past = _pasts.get(topic)
    if past is None:
        past = _pasts[topic] = Past(cluster)
    return past


@sync_to_async(thread_sensitive=False)
def _read(cluster: str, first: int, last: int) -> fanout.Frame | None:
    records, end = storage.read_records(cluster, first, last, READ_RECORDS_MAX)
    if len(records) > READ_BYTES_MAX:
        last = min(last, first + READ_RECORDS_LARGE - 1)
        records, end = storage.read_records(cluster, first, last, READ_RECORDS_MAX)
    if not records:
        return None
    first_seq = seqs.decode(b"[" + records + b"]")[0].seq
    return fanout.Frame(first_seq, end, f'{{"records":[{records.decode()}]}}')
