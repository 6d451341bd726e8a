"""What dies late is found, and what stays is not looked at each time."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lifecycle.hosting import memory


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


# in a process that holds little else: all of it is looked at each time
KNOTS = """
import gc
from lifecycle.hosting import memory

class Knot:  # that only a search for cycles frees
    alive = 0

    def __init__(self):
        self.itself = self
        Knot.alive += 1

    def __del__(self):
        Knot.alive -= 1

memory.YOUNG_MAX, memory.GROWN_MIN, memory.SHARE = 500, 5_000, 1_000
memory.trim = lambda: False
collector = memory.Collector()
collector.start()
most = 0
for _ in range(40):
    kept = [Knot() for _ in range(1_000)]
    collector.tidy(idle=True)  # they are alive, and frozen
    del kept
    most = max(most, Knot.alive)
print(most, gc.get_freeze_count())
"""


def printed_by(code: str) -> list[int]:
    """The numbers that a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_cycles_that_die_after_they_were_frozen_are_found_in_the_end() -> None:
    most, frozen = printed_by(KNOTS)
    assert 1_000 < most < 15_000  # of 40,000
    assert frozen > 0


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
    most, left = printed_by(FLOOD)
    assert most > 150  # MiB
    assert left < 10
