"""What priority levels lend each other: seats go for 10 s to those who had use for them.

A level says how many of its nominal seats it would lend, and how many it would borrow. How many it
can use is measured while requests come and go. Knows no requests and no queues.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go
(updateBorrowingLocked), conc_alloc.go and fairqueuing/integrator.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apiserver_app.machinery.kernel import Kernel

PERIOD_SECONDS = 10
SMOOTHING = 0.977  # what is left of an old demand after a period: half of it after 5 minutes
TARGET_MIN = 0.001
_TINY = 0.0000001


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seats by configuration: the level's own, what it keeps, and what it may come to."""

    nominal: int
    minimum: int
    maximum: int


class Demand:
    """How many seats are in use or waited for, weighted by how long."""

    __slots__ = ("_kernel", "_since", "_squares", "_start", "_sum", "_value", "peak")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._value = self.peak = 0
        self._sum = self._squares = 0.0
        self._since = self._start = kernel.now

    def set(self, value: int) -> None:
        now, old = self._kernel.now, self._value
        if now != self._since:
            area = old * (now - self._since)
            self._sum += area
            self._squares += area * old
            self._since = now
        self._value = value
        if value > self.peak:
            self.peak = value

    def reset(self) -> tuple[float, float] | None:
        """Average and standard deviation since the last reset; None when no time went by."""
        self.set(self._value)
        passed = self._since - self._start
        found: tuple[float, float] | None = None
        if passed:
            average = self._sum / passed
            found = average, math.sqrt(max(0.0, self._squares / passed - average * average))
        self._sum = self._squares = 0.0
        self._start = self._since
        return found

    def forget_peak(self) -> None:
        self.peak = self._value


class Account:
    """One level's side of it."""

    def __init__(self, kernel: Kernel, bounds: Bounds, *, exempt: bool) -> None:
        self.demand = Demand(kernel)
        self.exempt = exempt
        self.bounds = bounds
        self.current = bounds.nominal - (bounds.nominal - bounds.minimum) // 2
        self.high_watermark = 0
        self.average = self.deviation = self.smoothed = self.target = 0.0

    def look(self) -> None:
        """Take in what was asked for since the last look."""
        self.high_watermark = self.demand.peak
        found = self.demand.reset()
        self.demand.forget_peak()
        if found is None:
            return
        self.average, self.deviation = found
        envelope = self.average + self.deviation
        self.smoothed = max(envelope, SMOOTHING * self.smoothed + (1 - SMOOTHING) * envelope)

    @property
    def lowest(self) -> int:
        """What it needs in any case: as much as it used, of what is its own."""
        wanted = self.high_watermark if self.exempt else min(
            self.bounds.nominal, self.high_watermark
        )  # fmt: skip
        return max(self.bounds.minimum, wanted)


def adjust(accounts: Mapping[str, Account]) -> float:
    """Give each level its current limit; the fraction of its target that everybody gets."""
    everyone = [accounts[name] for name in sorted(accounts)]
    for one in everyone:
        one.look()
    total = sum(one.bounds.nominal for one in everyone)
    remaining = total
    limited: list[Account] = []
    for one in everyone:
        if one.exempt:  # takes what it wants; the others get what is left
            one.current = one.lowest
            remaining -= one.current
        else:
            one.target = max(float(one.lowest), one.smoothed)
            limited.append(one)
    kept, wanted = sum(one.bounds.minimum for one in limited), sum(one.lowest for one in limited)
    if remaining <= kept:
        for one in limited:
            one.current = one.bounds.minimum
        return 0.0
    if remaining <= wanted:
        share = (remaining - kept) / (wanted - kept)
        for one in limited:
            least = one.bounds.minimum
            one.current = least + _rounded((one.lowest - least) * share)
        return 0.0
    classes = [(one.target, float(one.lowest), float(one.bounds.maximum)) for one in limited]
    found = allocate(total, classes)
    if found is None:  # it does not come out even: everybody keeps what they have
        return 0.0
    for one, seats in zip(limited, found[0], strict=True):
        one.current = _rounded(seats)
    return found[1]


def allocate(
    total: int, classes: Sequence[tuple[float, float, float]]
) -> tuple[list[float], float] | None:
    """Divide `total` among classes of (target, lower bound, upper bound): each gets the same
    fraction of its target, or a bound when that lies outside. None when there is no such fraction.
    """
    items = [(max(target, TARGET_MIN), low, high) for target, low, high in classes]
    lows, highs = sum(one[1] for one in items), sum(one[2] for one in items)
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

    # the sum grows in straight lines between the fractions at which somebody meets a bound
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
    """As Go's math.Round: halves go up."""
    return math.floor(value + 0.5)
