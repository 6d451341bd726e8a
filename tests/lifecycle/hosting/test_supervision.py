"""A worker that keeps dying is started ever later and given up in the end."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import subprocess
import sys

import pytest

from lifecycle.hosting import child, supervision, watchdog
from lifecycle.hosting.board import Board
from lifecycle.hosting.port import edgeport
from tests.suite import waiting


def stillborn() -> child.Child:
    """A worker that ends at once with exit code 7."""
    edge_end, worker_end = socket.socketpair()
    worker_end.close()
    process = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(7)"])
    return child.Child(process, edge_end)


def sleeper() -> child.Child:
    """A worker that neither answers nor ends, until its socket is closed."""
    edge_end, worker_end = socket.socketpair()
    with worker_end:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"],
            stdin=worker_end.fileno(),
            stdout=subprocess.DEVNULL,
        )
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
        await asyncio.wait_for(over.wait(), waiting.seconds())
        return said, len(spawned)

    return asyncio.run(body())


def run_until_replaced(monkeypatch: pytest.MonkeyPatch, *, failures: int = 0) -> list[str]:
    """A worker is stopped as soon as it is ready; what is said until another one runs."""
    monkeypatch.setattr(watchdog, "HUNG_SECONDS", 0.1)
    monkeypatch.setattr(watchdog, "PING_SECONDS", 0.01)

    async def body() -> list[str]:
        edge = edgeport.EdgePort(asyncio.get_running_loop())
        said: list[str] = []
        left = failures

        def spawn() -> child.Child:
            nonlocal left
            if left:
                left -= 1
                raise BlockingIOError(errno.EAGAIN, "no process is free")
            return sleeper()

        supervisor = supervision.Supervisor(
            edge, spawn, said.append, lambda: None, Board(), lambda label, stacks: 0
        )
        first = sleeper()
        await supervisor.adopt(first)
        edge.receive([("ready", {})])
        first.process.send_signal(signal.SIGSTOP)
        while supervisor.process is first.process:
            await asyncio.sleep(0.01)
        await supervisor.stop()
        return [line.replace(str(first.process.pid), "1") for line in said]

    return asyncio.run(asyncio.wait_for(body(), waiting.seconds()))


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


def test_worker_that_is_stopped_before_its_first_pong_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = run_until_replaced(monkeypatch)
    assert said == ["the worker (pid 1) was stopped; a new one starts"]


def test_worker_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "BACKOFF_SECONDS_MAX", 0.01)
    said = run_until_replaced(monkeypatch, failures=2)
    assert said == [
        "the worker (pid 1) was stopped; a new one starts",
        *["a new worker cannot be started: no process is free; it is tried again in 0.01 s"] * 2,
    ]
