"""Borrowing between priority levels: every 10 s unused seats go to levels with demand.

A level configures how many of its nominal seats it lends, and how many it borrows. Its demand is
measured while requests come and go. Knows no requests and no queues.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go
(updateBorrowingLocked), conc_alloc.go and fairqueuing/integrator.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from apiserver_app.machinery.kernel import Kernel

PERIOD_SECONDS = 10
SMOOTHING = 0.977  # the share of old demand that remains after a period: half after 5 minutes
TARGET_MIN = 0.001
_TINY = 0.0000001


class Bounds(msgspec.Struct, frozen=True):
    """A level's seats by configuration: nominal, minimum (not lent) and maximum."""

    nominal: int
    minimum: int
    maximum: int


class Demand:
    """The seats in use or waited for, weighted by time."""

    __slots__ = ("_kernel", "_since", "_squares", "_start", "_sum", "_value", "peak")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._value = self.peak = 0
        self._sum = self._squares = 0.0
        self._since = self._start = kernel.now

    def set(self, value: int) -> None:
        now = self._kernel.now
        elapsed = now - self._since
        if elapsed:
            old = self._value
            if old:
                area = old * elapsed
                self._sum += area
                self._squares += area * old
            self._since = now
        self._value = value
        if value > self.peak:
            self.peak = value

    def reset(self) -> tuple[float, float] | None:
        """Returns average and standard deviation since the last reset; None when no time passed."""
        self.set(self._value)
        elapsed = self._since - self._start
        statistics: tuple[float, float] | None = None
        if elapsed:
            average = self._sum / elapsed
            statistics = average, math.sqrt(max(0.0, self._squares / elapsed - average * average))
        self._sum = self._squares = 0.0
        self._start = self._since
        return statistics

    def forget_peak(self) -> None:
        self.peak = self._value


class Account:
    """One level's demand and limits."""

    def __init__(self, kernel: Kernel, bounds: Bounds, *, exempt: bool) -> None:
        self.demand = Demand(kernel)
        self.exempt = exempt
        self.bounds = bounds
        self.current = bounds.nominal - (bounds.nominal - bounds.minimum) // 2
        self.high_watermark = 0
        self.average = self.deviation = self.smoothed = self.target = 0.0

    def update(self) -> None:
        """Updates the demand statistics."""
        self.high_watermark = self.demand.peak
        statistics = self.demand.reset()
        self.demand.forget_peak()
        if statistics is None:
            return
        self.average, self.deviation = statistics
        envelope = self.average + self.deviation
        self.smoothed = max(envelope, SMOOTHING * self.smoothed + (1 - SMOOTHING) * envelope)

    @property
    def lowest(self) -> int:
        """Returns the guaranteed seats: the recent peak, at most the nominal seats."""
        peak = self.high_watermark if self.exempt else min(self.bounds.nominal, self.high_watermark)
        return max(self.bounds.minimum, peak)


def adjust(accounts: Mapping[str, Account]) -> float:
    """Sets every level's current limit; returns the fraction of its target that each gets."""
    everyone = [accounts[name] for name in sorted(accounts)]
    for account in everyone:
        account.update()
    total = sum(account.bounds.nominal for account in everyone)
    remaining = total
    limited: list[Account] = []
    for account in everyone:
        if account.exempt:  # takes its peak; the others share the rest
            account.current = account.lowest
            remaining -= account.current
        else:
            account.target = max(float(account.lowest), account.smoothed)
            limited.append(account)
    minimum, guaranteed = (
        sum(account.bounds.minimum for account in limited),
        sum(account.lowest for account in limited),
    )
    if remaining <= minimum:
        for account in limited:
            account.current = account.bounds.minimum
        return 0.0
    if remaining <= guaranteed:
        share = (remaining - minimum) / (guaranteed - minimum)
        for account in limited:
            least = account.bounds.minimum
            account.current = least + _rounded((account.lowest - least) * share)
        return 0.0
    classes = [
        (account.target, float(account.lowest), float(account.bounds.maximum))
        for account in limited
    ]
    allocation = allocate(total, classes)
    if allocation is None:  # no solution: every level keeps its limit
        return 0.0
    for account, seats in zip(limited, allocation[0], strict=True):
        account.current = _rounded(seats)
    return allocation[1]


def allocate(
    total: int, classes: Sequence[tuple[float, float, float]]
) -> tuple[list[float], float] | None:
    """Divides `total` among classes of (target, lower bound, upper bound): each gets the same
    fraction of its target, clamped to its bounds. None when there is no such fraction."""
    items = [(max(target, TARGET_MIN), low, high) for target, low, high in classes]
    lows, highs = sum(item[1] for item in items), sum(item[2] for item in items)
    if lows - total > _TINY or total - highs > _TINY:
        return None
    if total == 0:
        return [0.0] * len(items), 0.0
    if lows - total > -_TINY:
        return [low for _, low, _ in items], min(low / target for target, low, _ in items)
    if total - highs > -_TINY:
        return [high for *_, high in items], max(high / target for target, _, high in items)

    def shares(fraction: float) -> list[float]:
        return [min(max(fraction * target, low), high) for target, low, high in items]

    # the sum is linear between the fractions at which a class reaches a bound
    before, sum_before = 0.0, lows
    bends = sorted({bound / target for target, *bounds in items for bound in bounds})
    for bend in bends:
        reached = sum(shares(bend))
        if reached >= total:
            if reached > sum_before:
                before += (bend - before) * (total - sum_before) / (reached - sum_before)
            return shares(before), before
        before, sum_before = bend, reached
    return None


def percent_of(seats: int, percent: int) -> int:
    return _rounded(seats * percent / 100)


def _rounded(value: float) -> int:
    """Rounds as Go's math.Round: halves go up."""
    return math.floor(value + 0.5)
