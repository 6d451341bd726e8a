"""A token bucket in virtual time.

Models golang.org/x/time/rate and k8s.io/client-go/util/flowcontrol/throttle.go.
"""

from __future__ import annotations

from apiserver_app.machinery.kernel import SECOND


class Bucket:
    """A token bucket that returns how many seconds the caller has to wait."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._gap = int(SECOND / per_second)
        self._slack = self._gap * burst
        self._free_at = 0  # when the bucket is full again if no more tokens are taken

    def is_full(self, now: int) -> bool:
        return self._free_at <= now

    def take(self, now: int) -> float:
        """Takes a token; returns the seconds until it is available."""
        start = max(self._free_at, now)
        self._free_at = start + self._gap
        return max(0, self._free_at - self._slack - now) / SECOND

    def try_take(self, now: int) -> float:
        """Takes a token if one is available; else returns the seconds until one is."""
        start = max(self._free_at, now)
        early = start + self._gap - self._slack - now
        if early > 0:
            return early / SECOND
        self._free_at = start + self._gap
        return 0.0
