"""What dies late is found, and what stays is not looked at each time."""

from __future__ import annotations

import gc
import subprocess
import sys
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


def test_what_is_replaced_is_no_reason_to_look_at_all(collector: memory.Collector) -> None:
    looks: list[int] = []

    def look(phase: str, about: dict[str, int]) -> None:
        if phase == "start" and about["generation"] == 2:
            looks.append(gc.get_freeze_count())

    gc.callbacks.append(look)
    try:
        kept: dict[int, list[int]] = {}
        for number in range(60_000):  # twelve times what may come anew
            kept[number % 1_000] = [number]
            if number % 1_000 == 999:
                collector.tidy(idle=True)
        assert looks == []
        more = [[number] for number in range(6_000)]
        collector.tidy(idle=True)
        collector.tidy(idle=True)
        assert len(looks) == 1 and len(more) == 6_000
    finally:
        gc.callbacks.remove(look)


FLOOD = """
from lifecycle.hosting import memory

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024

memory.bound_heap()
before = resident()
b"x" * (16 << 20)
large, small = [], []
for _ in range(200):
    large.append(b"x" * 900_000)
    small.append(b"x" * 4_000)
most = resident()
large.clear()
print(most - before, resident() - before)
"""


def test_a_flood_of_large_bodies_leaves_no_holes_in_the_heap() -> None:
    out = subprocess.run(
        [sys.executable, "-c", FLOOD], capture_output=True, text=True, check=True
    ).stdout
    most, left = map(int, out.split())
    assert most > 150  # MiB
    assert left < 10
