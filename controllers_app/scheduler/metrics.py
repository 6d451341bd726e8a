"""The scheduler's metrics: how long its attempts took, in virtual time, and how they ended.

Models kubernetes pkg/scheduler/metrics/metrics.go.
"""

from __future__ import annotations

from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.kernel import SECOND

SECONDS = tuple(0.001 * 2**power for power in range(15))
ATTEMPTS = (1.0, 2.0, 4.0, 8.0, 16.0)
RESULTS = {"ok": "scheduled", "requeue": "unschedulable", "retry": "error", "error": "error"}


class Metrics:
    """Since the scheduler started."""

    def __init__(self) -> None:
        self.durations = {result: Histogram(SECONDS) for result in sorted(set(RESULTS.values()))}
        self.attempts = Histogram(ATTEMPTS)  # that pods needed until they were bound

    def ended(self, outcome: tuple[str, str], micros: int, attempts: int) -> None:
        """Count an attempt, unless its pod no longer needed a node."""
        result, message = outcome
        if result == "ok" and not message.startswith("bound to "):
            return
        self.durations[RESULTS[result]].add(micros / SECOND)
        if result == "ok":
            self.attempts.add(attempts)
