"""What listeners read from the store: once for all of them, and again after it failed."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from django.db import OperationalError

from lifecycle.hosting.edge import fanout
from lifecycle.trace import keyframes, storage
from lifecycle.web import past
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap


def test_a_reading_that_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def read(cluster: str, first: int, last: int, limit: int) -> tuple[bytes, int]:
        asked.append(first)
        if len(asked) == 1:
            raise OperationalError("database is locked")
        return b'{"seq":1}', 1

    monkeypatch.setattr(storage, "read_records", read)

    async def ask() -> tuple[int, int]:
        reader = past.Past("demo")
        with pytest.raises(OperationalError):
            await reader.frame(1, 500)
        frames = await asyncio.gather(*[reader.frame(1, 500) for _ in range(3)])
        (frame,) = {id(one): one for one in frames}.values()
        assert frame is not None
        return frame.first, frame.last

    assert asyncio.run(ask()) == (1, 1)
    assert asked == [1, 1]


def test_while_somebody_listens_records_are_read_ahead_of_who_joins_next_a_part_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = bare_session()
    for number in range(200):
        session.request("POST", CONFIGMAPS, configmap(f"a-{number}"))
    last = session.cluster.recorder.seq
    monkeypatch.setattr(keyframes, "RECENT_RECORDS", 100)
    monkeypatch.setattr(past, "AHEAD_RECORDS", 1000)
    monkeypatch.setattr(past, "AHEAD_SECONDS", 0)
    made = keyframes.Keyframes(session.backend)
    monkeypatch.setattr(storage, "keyframes_of", lambda _cluster: made)
    read = [0]
    at = keyframes.Keyframes.at

    def taken(self: keyframes.Keyframes, seq: int) -> keyframes.Keyframe:
        frame = at(self, seq)
        read.append(frame.seq)
        return frame

    monkeypatch.setattr(keyframes.Keyframes, "at", taken)

    async def listen() -> int:
        topic = fanout.Topic(asyncio.get_running_loop())
        topic.listeners = 1
        topic.reach(last)
        reader = past.Past("demo")
        reader.read_ahead(topic)
        reader.read_ahead(topic)
        while read[-1] < last - 300:
            await asyncio.sleep(0)
        topic.listeners = 0
        (reading,) = asyncio.all_tasks() - {asyncio.current_task()}
        await reading
        return (await reader.join(last)).seq

    assert last - 300 < asyncio.run(listen()) <= last - 100
    steps = [there - here for here, there in itertools.pairwise(read)]
    assert len(steps) > 5 and max(steps) <= 1000
