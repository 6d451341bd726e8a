"""A client's messages, however small, do not pile up at the worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from lifecycle.hosting.port import edgeport
from tests.lifecycle.hosting.port.test_port import FakeDriver, Test, ask, run

assert run  # a fixture


def test_client_waits_while_the_worker_has_many_small_messages_to_use_up(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgeport, "CLIENT_MESSAGES_MAX", 3)

    async def body(edge: edgeport.EdgePort, driver: FakeDriver) -> None:
        answer = ask(edge)
        number = (await driver.next())[1]
        driver.send([("switch", number, [])])
        await answer.head()
        for data in (b"", b"a", b""):
            await answer.send(data)
        waiting = asyncio.ensure_future(answer.send(b"b"))
        for _ in range(4):
            await driver.next()
        await asyncio.sleep(0.05)
        assert not waiting.done()
        driver.send([("took", number, 0)])
        await waiting

    run(body)
