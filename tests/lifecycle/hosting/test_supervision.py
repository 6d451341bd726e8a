"""A worker that keeps dying is started ever later and given up in the end."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from lifecycle.hosting import child, supervision
from lifecycle.hosting.board import Board
from lifecycle.hosting.port import edgeport


def stillborn() -> child.Child:
    """A worker that ends at once with exit code 7."""
    edge_end, worker_end = socket.socketpair()
    worker_end.close()
    process = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(7)"])
    return child.Child(process, edge_end)


def run_until_given_up(*, ready_first: bool) -> tuple[list[str], int]:
    """What was said, and how many workers were started after the first."""

    async def body() -> tuple[list[str], int]:
        edge = edgeport.EdgePort(asyncio.get_running_loop())
        said: list[str] = []
        spawned: list[child.Child] = []
        over = asyncio.Event()

        def spawn() -> child.Child:
            spawned.append(stillborn())
            return spawned[-1]

        supervisor = supervision.Supervisor(
            edge, spawn, said.append, over.set, Board(), lambda label, stacks: 0
        )
        await supervisor.adopt(stillborn())
        if ready_first:
            edge.receive([("ready", {})])
        await asyncio.wait_for(over.wait(), 20)
        return said, len(spawned)

    return asyncio.run(body())


def test_delays_grow_to_a_limit() -> None:
    delays = [supervision.backoff_seconds(deaths) for deaths in range(1, 9)]
    assert delays == [0, 0.25, 0.5, 1, 2, 4, 5, 5]


def test_worker_that_keeps_dying_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "backoff_seconds", lambda deaths: 0.0)
    said, spawned = run_until_given_up(ready_first=True)
    assert spawned == supervision.RESTARTS_MAX
    assert all("ended with exit code 7; a new one starts" in line for line in said[:-1])
    assert said[-1] == (
        "the worker ended with exit code 7; it died 6 times in a row and is given up"
    )


def test_worker_that_never_served_is_not_tried_again() -> None:
    said, spawned = run_until_given_up(ready_first=False)
    assert said == ["the worker did not start: it ended with exit code 7"]
    assert spawned == 0
