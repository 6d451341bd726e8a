"""What a cluster starts only when there is something for it to do, and not before it has booted."""

from __future__ import annotations

from collections.abc import Callable


class AfterBoot:
    """One such part: it starts once, at the boot or when there is first something to do."""

    def __init__(self) -> None:
        self._start: Callable[[], None] | None = None

    def needed(self) -> None:
        """There is something to do. Before the boot nothing happens: `booted` is told."""
        start, self._start = self._start, None
        if start is not None:
            start()

    def booted(self, start: Callable[[], None], *, is_needed: bool) -> None:
        """From now on it may start; at once when it is needed already."""
        self._start = start
        if is_needed:
            self.needed()
