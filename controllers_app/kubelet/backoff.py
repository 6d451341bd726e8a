"""Exponential back-off with a maximum.

Waits grow in the foreground of time; from FOREGROUND_MAX repetitions on, trying again is
housekeeping, so that a pod that can never run does not drag a fast-forwarded clock along for ever.

Models kubernetes staging/src/k8s.io/client-go/util/flowcontrol/backoff.go.
"""

from __future__ import annotations

import msgspec

from apiserver_app.machinery.syntax import goduration

FOREGROUND_MAX = 5


class Backoff(msgspec.Struct):
    """Waits of base, 2 x base, ... up to the maximum."""

    base_seconds: float
    seconds_max: float
    count: int = 0

    @property
    def wait(self) -> float:
        return min(self.base_seconds * 2.0 ** min(self.count, 32), self.seconds_max)

    def next(self) -> float:
        """Returns the current wait and doubles the next."""
        wait = self.wait
        self.count += 1
        return wait

    def reset(self) -> None:
        self.count = 0

    @property
    def is_background(self) -> bool:
        return self.count > FOREGROUND_MAX


def go_duration(seconds: float) -> str:
    """A Go duration rounded to milliseconds: 641ms, 1.234s, 1m2.5s, 5m0s."""
    return goduration.text(round(seconds * 1000) * goduration.MILLISECOND)


def exact_go_duration(seconds: float) -> str:
    """A Go duration to the microsecond, as exact as the simulated clock is."""
    return goduration.text(round(seconds * 1_000_000) * goduration.MICROSECOND)
