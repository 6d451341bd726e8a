"""The fan-out: cursors, frames and what happens to who falls behind."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable

import pytest

from lifecycle.hosting.edge import fanout
from lifecycle.hosting.edge.fanout import Behind, Frame
from tests.lifecycle.hosting.running import WAIT_SECONDS


class FakeLoop:
    """A loop whose time stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, call: Callable[[], None]) -> FakeLoop:
        self.timers.append((when, call))
        return self

    def cancel(self) -> None:
        self.timers.clear()

    def move(self, seconds: float) -> None:
        self.now += seconds
        due, self.timers = self.timers, []
        for when, call in due:
            assert when <= self.now
            call()


def listened(last: int = 0) -> tuple[fanout.Topic, FakeLoop]:
    loop = FakeLoop()
    topic = fanout.Topic(loop)  # type: ignore[arg-type]
    topic.listeners = 1
    topic.last = last
    return topic, loop


def records(first: int, last: int) -> bytes:
    return b",".join(b'{"seq":%d}' % seq for seq in range(first, last + 1))


def seqs(frame: object) -> list[int]:
    assert isinstance(frame, Frame)
    return [record["seq"] for record in json.loads(frame.text)["records"]]


def test_first_records_after_a_silence_leave_at_once() -> None:
    topic, _ = listened()
    topic.add(1, 2, records(1, 2))
    assert seqs(topic.next(1)) == [1, 2]


def test_records_within_the_frame_time_share_a_frame() -> None:
    topic, loop = listened()
    topic.add(1, 1, records(1, 1))
    topic.add(2, 3, records(2, 3))
    topic.add(4, 4, records(4, 4))
    assert topic.next(2) is None
    loop.move(fanout.FRAME_SECONDS)
    assert seqs(topic.next(2)) == [2, 3, 4]
    assert topic.next(5) is None


def test_a_frame_that_grows_too_large_leaves_before_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fanout, "FRAME_BYTES_MAX", 20)
    topic, _ = listened()
    topic.add(1, 1, records(1, 1))
    topic.add(2, 4, records(2, 4))
    assert seqs(topic.next(2)) == [2, 3, 4]


def test_a_cursor_inside_a_frame_gets_that_frame() -> None:
    topic, _ = listened()
    topic.add(1, 5, records(1, 5))
    frame = topic.next(3)
    assert isinstance(frame, Frame) and (frame.first, frame.last) == (1, 5)


def test_older_records_are_to_be_read_from_the_store() -> None:
    topic, _ = listened(last=40)
    topic.add(41, 50, records(41, 50))
    assert topic.next(7) == Behind(7, 40)


def test_who_falls_behind_the_kept_frames_is_sent_to_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fanout, "KEPT_BYTES_MAX", 60)
    topic, loop = listened()
    for seq in range(1, 11):
        topic.add(seq, seq, records(seq, seq))
        loop.move(fanout.FRAME_SECONDS)
    behind = topic.next(1)
    assert isinstance(behind, Behind) and behind.first == 1
    assert seqs(topic.next(behind.last + 1)) == [behind.last + 1]
    assert seqs(topic.next(10)) == [10]


def test_every_seq_is_reachable_whatever_was_dropped() -> None:
    topic, loop = listened()
    topic.add(1, 3, records(1, 3))
    topic.add(4, 9, b"")  # the worker kept these from us
    topic.add(10, 10, records(10, 10))
    loop.move(fanout.FRAME_SECONDS)
    topic.add(14, 15, records(14, 15))  # 11..13 never came
    loop.move(fanout.FRAME_SECONDS)
    seq, seen = 1, []
    while (found := topic.next(seq)) is not None:
        got = seqs(found) if isinstance(found, Frame) else range(found.first, found.last + 1)
        seen += [one for one in got if one >= seq]
        seq = found.last + 1
    assert seen == list(range(1, 16))


def test_a_commit_without_its_records_is_left_to_the_store() -> None:
    topic, _ = listened()
    topic.add(1, 9, b"")
    assert topic.next(1) == Behind(1, 9)


def test_without_listeners_nothing_is_kept() -> None:
    topic, _ = listened()
    topic.listeners = 0
    topic.add(1, 5, records(1, 5))
    assert topic.last == 5
    assert topic.next(1) == Behind(1, 5)


def test_a_new_edge_learns_how_far_the_store_is() -> None:
    topic, _ = listened()
    topic.reach(1000)
    assert topic.next(1) == Behind(1, 1000)
    topic.reach(900)
    assert topic.last == 1000


def on_loop(body: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(body(), WAIT_SECONDS)

    asyncio.run(bounded())


def test_listeners_wake_for_records_for_the_clock_and_at_the_end() -> None:
    async def body() -> None:
        feed = fanout.Fanout(asyncio.get_running_loop())
        topic = feed.topic("demo")
        topic.listeners = 1
        changes: tuple[Callable[[], None], ...] = (
            lambda: feed.on_trace("demo", 1, 1, records(1, 1)),
            lambda: feed.on_state("demo", {"mode": "paused"}),
            feed.close,
        )
        for change in changes:
            waiting = asyncio.ensure_future(topic.changed())
            await asyncio.sleep(0)
            assert not waiting.done()
            change()
            await waiting
        assert topic.clock == {"mode": "paused"} and topic.closed
        await topic.changed()  # a closed feed keeps nobody waiting
        assert feed.topic("late").closed

    on_loop(body)


def test_what_gathered_leaves_before_the_feed_closes() -> None:
    topic, _ = listened()
    topic.add(1, 1, records(1, 1))
    topic.add(2, 2, records(2, 2))
    topic.close()
    assert seqs(topic.next(2)) == [2]


def test_a_burst_is_many_frames_and_none_goes_to_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "FRAME_BYTES_MAX", 40)
    topic, _ = listened()
    for seq in range(1, 41):
        topic.add(seq, seq, records(seq, seq))
    topic.close()
    seen: list[int] = []
    while (found := topic.next(len(seen) + 1)) is not None:
        assert isinstance(found, Frame) and len(found.text) <= 40 + len('{"records":[]}')
        seen += seqs(found)
    assert seen == list(range(1, 41))


def test_a_frame_is_compressed_once_for_all_who_listen() -> None:
    topic, _ = listened()
    topic.add(1, 5, records(1, 5))
    first, second = topic.next(1), topic.next(3)
    assert isinstance(first, Frame) and isinstance(second, Frame)
    assert first.packed is second.packed
    assert zlib.decompress(first.packed).decode() == first.text


def test_a_trace_that_begins_anew_sends_its_listeners_away() -> None:
    fan = fanout.Fanout(FakeLoop())  # type: ignore[arg-type]
    before = fan.topic("demo")
    fan.on_trace("demo", 1, 5, records(1, 5))
    assert fan.topic("demo") is before and not before.closed

    fan.on_trace("demo", 1, 3, records(1, 3))

    assert before.closed and fan.topic("demo") is not before
    assert fan.topic("demo").last == 3
