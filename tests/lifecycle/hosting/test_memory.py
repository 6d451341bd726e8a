"""What dies late is found, and what stays is not looked at each time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import ClassVar

import pytest

from lifecycle.hosting import memory


class Knot:
    """An object that only a search for cycles frees."""

    alive: ClassVar[int] = 0

    def __init__(self) -> None:
        self.itself = self
        Knot.alive += 1

    def __del__(self) -> None:
        Knot.alive -= 1


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[memory.Collector]:
    monkeypatch.setattr(memory, "YOUNG_MAX", 500)
    monkeypatch.setattr(memory, "GROWN_MIN", 5_000)
    monkeypatch.setattr(memory, "SHARE", 1_000)
    monkeypatch.setattr(memory, "trim", lambda: False)
    collector = memory.Collector()
    collector.start()
    yield collector
    collector.stop()


def test_cycles_that_die_after_they_were_frozen_are_found_in_the_end(
    collector: memory.Collector,
) -> None:
    most = 0
    for _ in range(40):
        kept = [Knot() for _ in range(1_000)]
        collector.tidy(idle=True)  # they are alive, and frozen
        del kept
        most = max(most, Knot.alive)
    assert 1_000 < most < 15_000  # of 40,000
    assert gc.get_freeze_count() > 0
