"""The seed of the day, and samples drawn by it.

What is too much for every run is drawn anew each day: `make test` takes a sample, `make test-long`
all. The seed is printed at the head of each run; `SUITE_SEED=... make test` draws the same again.
"""

from __future__ import annotations

import datetime
import os
import random
from collections.abc import Sequence
from typing import TypeVar

from tests.suite import sizes

T = TypeVar("T")
_VARIABLE = "SUITE_SEED"


def seed() -> int:
    """That of the day, as 20250131, or what SUITE_SEED says; the same in all processes of a run."""
    if _VARIABLE not in os.environ:
        today = datetime.datetime.now(datetime.UTC).date()
        os.environ[_VARIABLE] = today.strftime("%Y%m%d")
    return int(os.environ[_VARIABLE])


def pytest_configure() -> None:
    """Before any worker starts, so that all of them draw the same."""
    seed()


def draw(what: str, rows: Sequence[T], count: int) -> list[T]:
    """So many of the rows, in their order; all of them in the long suite.

    `what` keeps draws apart, so that one more sample somewhere changes no other.
    """
    if sizes.is_long() or len(rows) <= count:
        return list(rows)
    chosen = random.Random(f"{seed()} {what}").sample(range(len(rows)), count)
    return [rows[at] for at in sorted(chosen)]
