"""Maps wall time to a target of virtual time: paused, real time × N, or as fast as possible.

The kernel never reads a clock; it gets the target as a limit. The time of a paused or frozen
cluster stands still and continues from there.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery.kernel import FOREVER, SECOND, Kernel

RUN, MAX = "run", "max"
SPEED_MIN, SPEED_MAX = 0.1, 1000.0

Wall = Callable[[], float]  # monotonic seconds


class Clock:
    """The mapping of one cluster. `speed` counts in mode run only. Hops end up to `lead_seconds` of
    wall time early, so that a request is one slice's work and not as many as it has hops."""

    def __init__(
        self,
        kernel: Kernel,
        wall: Wall,
        *,
        mode: str = RUN,
        speed: float = 1.0,
        lead_seconds: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.lead_seconds = lead_seconds
        self._wall = wall
        self.mode = mode
        self.speed = speed
        self._from_wall = wall()
        self._from_virtual = kernel.now

    @property
    def jumps(self) -> bool:
        return self.mode == MAX

    def set(self, mode: str, speed: float) -> None:
        self.mode = mode
        self.speed = speed
        self.rebase()

    def rebase(self) -> None:
        """Continues virtual time from its present value."""
        self._from_wall = self._wall()
        self._from_virtual = self.kernel.now

    def target(self) -> int:
        """Returns the limit of virtual time at present, in µs."""
        speed = 1.0 if self.mode == MAX else self.speed
        target = self._from_virtual + int((self._wall() - self._from_wall) * speed * 1e6)
        if self.mode == MAX and self.kernel.now > target + int(self.lead_seconds * SECOND):
            self.rebase()
            return self.kernel.now
        return target

    def reach(self) -> tuple[int, int]:
        """Until when hops may end: of foreground tasks, and of background tasks."""
        speed = 1.0 if self.mode == MAX else self.speed
        target = self.target() + int(self.lead_seconds * speed * SECOND)
        return FOREVER if self.mode == MAX else target, target

    def wall_seconds_until(self, due: int) -> float:
        """Returns the wall time until virtual time `due`."""
        speed = 1.0 if self.mode == MAX else self.speed
        return max(0.0, (due - self.target()) / 1e6 / speed)


def parse_speed(text: object) -> tuple[str, float]:
    """(mode, speed) of "max" or a number from 0.1 to 1000; ValueError with a sentence otherwise."""
    if text == MAX:
        return MAX, 1.0
    try:
        speed = float(str(text))
    except ValueError:
        speed = 0.0
    if not SPEED_MIN <= speed <= SPEED_MAX:
        raise ValueError(f'speed must be "max" or a number from 0.1 to 1000, not "{text}"')
    return RUN, speed
