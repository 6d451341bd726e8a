"""The CPU time that answers of a container take, second by second, while it counts. Pure."""

from __future__ import annotations

from collections import deque

from apiserver_app.machinery.kernel import SECOND

WINDOW_SECONDS = 15  # over which use is averaged


class CpuUsage:
    """What was spent in the last moments. Bounded by the window."""

    __slots__ = ("_spent",)

    def __init__(self) -> None:
        self._spent: deque[tuple[int, float]] = deque(maxlen=WINDOW_SECONDS + 1)

    def spend(self, now: int, seconds: float) -> None:
        at = now // SECOND
        if self._spent and self._spent[-1][0] == at:
            seconds += self._spent.pop()[1]
        self._spent.append((at, seconds))

    def cores(self, now: int) -> float:
        """The average over the window."""
        begin = now // SECOND - WINDOW_SECONDS
        return sum(seconds for at, seconds in self._spent if at > begin) / WINDOW_SECONDS
