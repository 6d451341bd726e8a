"""A cluster stands as it stood: over a restart of the demo, and when its worker was killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from lifecycle.hosting.worker import standing
from lifecycle.hosting.worker.standing import Standing
from tests.lifecycle.hosting.running import REAL, Demo
from tests.lifecycle.hosting.test_forks import control, get, until

REFUSED = {"id": "refused", "kind": "gate", "gate": "authorization", "verdict": "deny"}


def stands(demo: Demo) -> tuple[Any, ...]:
    now = get(demo, "demo")
    return now["mode"], now["speed"], now["breakpoints"]


def test_pause_speed_and_breakpoints_outlive_the_worker_and_the_demo(tmp_path: Path) -> None:
    with Demo(tmp_path, "--nodes", "1", "--speed", "7", driver=REAL) as demo:
        control(demo, "demo", "breakpoint", set=[REFUSED])
        control(demo, "demo", "speed", speed=2)
        os.kill(demo.endpoints["worker_pid"], signal.SIGKILL)
        assert "a new one starts" in demo.error_line()
        said = "demo: the cluster is as it was when it ended: speed 2, 1 breakpoint\n"
        assert demo.error_line() == said
        # the command line was heard by the first worker
        until("it stands as it stood", lambda: stands(demo) == ("run", 2.0, [REFUSED]))
        control(demo, "demo", "pause")
    with Demo(tmp_path, "--nodes", "1", driver=REAL) as demo:
        said = "demo: the cluster is as it was when it ended: paused, speed 2, 1 breakpoint\n"
        assert demo.error_line() == said
        until("it stands as it stood", lambda: stands(demo) == ("paused", 2.0, [REFUSED]))
        begun = get(demo, "demo")["now"]
        assert get(demo, "demo")["now"] == begun
        control(demo, "demo", "resume")
        until("a second passes", lambda: get(demo, "demo")["now"] > begun + 1_000_000)
    with Demo(tmp_path, "--nodes", "1", "--speed", "5", driver=REAL) as demo:
        until("it stands as it stood", lambda: stands(demo) == ("run", 5.0, [REFUSED]))


@pytest.mark.parametrize(
    ("stood", "said"),
    [
        (Standing(False, 1.0, []), ""),
        (Standing(True, 1.0, []), "the cluster is as it was when it ended: paused"),
        (Standing(False, "max", []), "the cluster is as it was when it ended: speed max"),
        (
            Standing(True, 0.5, [REFUSED, REFUSED]),
            "the cluster is as it was when it ended: paused, speed 0.5, 2 breakpoints",
        ),
    ],
)
def test_how_it_stands_is_told_where_it_is_not_as_usual(stood: Standing, said: str) -> None:
    assert standing.sentence(stood, stood.speed) == said


def test_a_speed_of_the_command_line_is_not_told_back() -> None:
    assert standing.sentence(Standing(False, "max", []), None) == ""


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        {"paused": 1, "speed": 1, "breakpoints": []},
        {"paused": True, "speed": "x", "breakpoints": []},
    ],
)
def test_what_cannot_be_read_is_as_nothing(found: Any) -> None:
    assert standing.stored({standing.KEY: found}) is None
