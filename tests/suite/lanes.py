"""Which worker takes which module next: so that computing and waiting overlap.

Tests of one kind wait for the same thing: those of a browser for Chromium, those with kubectl for a
demo, those in virtual time for the processor. Were they run one kind after the other, two cores
would be asked too much for some minutes and stand idle for others. So each worker begins in a lane
of its own and stays there, as what is shared in a lane (a browser, a demo) is expensive to start;
one whose lane is empty goes to the one with the most left.
"""

from __future__ import annotations

import collections
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

LANES = (
    ("tests/browser",),
    ("tests/conformance", "tests/lifecycle", "tests/robustness", "tests/security", "tests/js"),
    ("tests",),
)


def lane_of(scope: str) -> int:
    """The first lane that a module belongs to."""
    return next(
        number
        for number, folders in enumerate(LANES)
        if any(scope.startswith(f"{folder}/") for folder in folders) or number == len(LANES) - 1
    )


def next_scope(waiting: list[str], lane: int) -> str:
    """The next module of a lane, or of the one with the most left."""
    left = collections.Counter(map(lane_of, waiting))
    taken = lane if left[lane] else left.most_common(1)[0][0]
    return next(scope for scope in waiting if lane_of(scope) == taken)


class Lanes(LoadScopeScheduling):
    """Hands out modules, each worker's in its lane."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lanes: dict[Any, int] = {}

    def _assign_work_unit(self, node: Any) -> None:
        lane = self._lanes.setdefault(node, len(self._lanes) % len(LANES))
        scope = next_scope(list(self.workqueue), lane)
        self._lanes[node] = lane_of(scope)
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes | None:
    """None where another way to distribute was asked for by name."""
    return Lanes(config, log) if config.getvalue("dist") == "loadscope" else None
