"""Costs and sizes that are known as a least and a most, within what 64 bits hold.

Models cel-go checker/cost.go (SizeEstimate, CostEstimate).
"""

from __future__ import annotations

import math
from typing import NamedTuple

MOST = (1 << 64) - 1


class Interval(NamedTuple):
    least: int
    most: int

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        return Interval(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def by(self, other: Interval) -> Interval:
        return Interval(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def times(self, factor: float) -> Interval:
        """Rounded up."""
        return Interval(_times(self.least, factor), _times(self.most, factor))

    def scaled(self, least: int, most: int) -> Interval:
        return Interval(min(self.least * least, MOST), min(self.most * most, MOST))

    def union(self, other: Interval) -> Interval:
        return Interval(min(self.least, other.least), max(self.most, other.most))


FREE = ZERO = Interval(0, 0)
ONE = Interval(1, 1)
UNKNOWN = Interval(0, MOST)


def _times(value: int, factor: float) -> int:
    return min(math.ceil(float(value) * factor), MOST)
