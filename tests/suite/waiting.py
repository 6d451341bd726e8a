"""The one way in which a test waits: for a fact, up to a bound, and with a report when it fails.

The bound is in the machine's own speed (`machine.slowness`): what a test waits for comes within
moments, and never comes at all when something is broken, so a bound is wide and costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tests.suite import machine

T = TypeVar("T")
AT_MOST = 180.0  # seconds of the reference machine
EVERY = 0.05  # to look costs the cluster as much as what is waited for


class NeverCame(AssertionError):
    """What was waited for did not come; the text says what was seen instead."""


def seconds(on_the_reference: float = AT_MOST) -> float:
    """A bound for this machine."""
    return on_the_reference * machine.slowness()


def until(
    fact: Callable[[], T],
    for_at_most: float = AT_MOST,
    *,
    what: str = "",
    true: Callable[[T], Any] = bool,
    every: float = EVERY,
) -> T:
    """Ask for a fact until it is `true`, and return it; fail with `what` was seen instead."""
    bound = seconds(for_at_most)
    deadline = time.monotonic() + bound
    asked = 0
    while True:
        answer, asked = fact(), asked + 1
        if true(answer):
            return answer
        if time.monotonic() >= deadline:
            wanted = what or getattr(fact, "__qualname__", repr(fact))
            raise NeverCame(
                f"{wanted}: not within {bound:.0f} s; asked {asked} times, last: {answer!r}"
            )
        time.sleep(every)
