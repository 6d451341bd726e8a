"""The feed of a cluster while there is nothing to say yet."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from lifecycle.hosting.edge import fanout
from lifecycle.web import consumers, past


def test_a_feed_with_nothing_to_say_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0)

    async def heard() -> list[Any]:
        said: asyncio.Queue[Any] = asyncio.Queue()

        async def send(text_data: str) -> None:
            await said.put(json.loads(text_data))

        consumer = consumers.TraceConsumer()
        monkeypatch.setattr(consumer, "send", send)
        topic = fanout.Topic(asyncio.get_running_loop())
        nothing = cast(past.Past, None)
        feed = asyncio.ensure_future(consumer.follow(nothing, topic, 1, 9, 0))
        first = [await said.get(), await said.get()]
        topic.set_clock({"mode": "paused"})
        while (last := await said.get()) == first[0]:
            """Until the change is told."""
        feed.cancel()
        return [*first, last]

    assert asyncio.run(heard()) == [{"idle": True}, {"idle": True}, {"clock": {"mode": "paused"}}]


class Slow:
    """A past whose keyframe takes as long as it is told to."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = False

    async def join(self, last: int) -> past.Begin:
        await self.may_end.wait()
        self.ended = True
        return past.Begin(last, "{}", b"")


def test_while_a_keyframe_is_made_the_feed_says_that_it_is_there_and_who_leaves_ends_it_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "IDLE_SECONDS", 0)

    async def heard() -> list[Any]:
        said: asyncio.Queue[Any] = asyncio.Queue()

        async def send(text_data: str) -> None:
            await said.put(json.loads(text_data))

        consumer, slow = consumers.TraceConsumer(), Slow()
        monkeypatch.setattr(consumer, "send", send)
        reader = cast(past.Past, slow)
        stays = asyncio.ensure_future(consumer.begin(reader, consumers.SEQ_MAX, 7))
        first = await said.get()
        slow.may_end.set()
        assert await stays == 8
        while (last := await said.get()) == first:
            """Until the keyframe comes."""

        left = Slow()
        leaves = asyncio.ensure_future(consumer.begin(cast(past.Past, left), consumers.SEQ_MAX, 7))
        await said.get()
        leaves.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaves
        left.may_end.set()
        while not left.ended:
            await asyncio.sleep(0)
        return [first, last]

    assert asyncio.run(heard()) == [{"idle": True}, {}]
