"""Flow control's metrics, by flow schema.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go.
"""

from __future__ import annotations

from apiserver_app.machinery.histograms import Histogram

SECONDS = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
LENGTHS = (0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
WATCHES = (0.0, 1.0, 10.0, 100.0, 1000.0, 10000.0)
WIDTHS = (1.0, 2.0, 4.0, 10.0)


class Tally:
    """Counts the requests of one flow schema on one level."""

    __slots__ = (
        "dispatched",
        "lengths",
        "narrow",
        "passed",
        "rejected",
        "served",
        "serving",
        "serving_seats",
        "unaccommodated",
        "waited",
        "waiting",
        "waiting_seats",
        "watched",
        "watches",
        "widths",
    )

    def __init__(self) -> None:
        self.dispatched = self.unaccommodated = 0
        self.narrow = 0  # requests of one seat
        self.passed = 0  # through an empty queue, without waiting
        self.serving = self.serving_seats = self.waiting = self.waiting_seats = 0
        self.rejected: dict[str, int] = {}  # by reason
        self.waited = {True: Histogram(SECONDS), False: Histogram(SECONDS)}  # by success
        self.served = Histogram(SECONDS)
        self.watched = Histogram(SECONDS)  # the initialization of watches
        self.lengths = Histogram(LENGTHS)  # of the queue, including the request
        self.watches = Histogram(WATCHES)
        self.widths = Histogram(WIDTHS)

    def refused(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1

    @property
    def all_waits(self) -> Histogram:
        """Returns the waits of executed requests, including zero waits."""
        return _with(self.waited[True], 0.0, self.passed)

    @property
    def all_widths(self) -> Histogram:
        return _with(self.widths, 1.0, self.narrow)

    @property
    def all_lengths(self) -> Histogram:
        return _with(self.lengths, 1.0, self.passed)


def _with(histogram: Histogram, value: float, times: int) -> Histogram:
    out = Histogram(histogram.bounds)
    out.add_many(value, times)
    out.merge(histogram)
    return out
