"""What listeners read from the store: once for all of them, and again after it failed."""

from __future__ import annotations

import asyncio

import pytest
from django.db import OperationalError

from lifecycle.trace import storage
from lifecycle.web import past


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
