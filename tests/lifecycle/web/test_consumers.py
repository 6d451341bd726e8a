"""The feed of a cluster in which nothing happens."""

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
