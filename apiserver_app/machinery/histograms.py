"""A Prometheus histogram.

Models prometheus/client_golang prometheus/histogram.go.
"""

from __future__ import annotations

from bisect import bisect_left


class Histogram:
    """Counts values per bucket: up to each bound, and above the last."""

    __slots__ = ("bounds", "buckets", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def add(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add_many(self, value: float, times: int) -> None:
        self.buckets[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def merge(self, other: Histogram) -> None:
        self.buckets = [
            mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)
        ]
        self.total += other.total
