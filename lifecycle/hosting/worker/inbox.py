"""Inputs of one cluster that wait for its next slice.

Made before the cluster: what brings inputs in (the network, the driver) and what takes them (the
host) both have it, and need not know each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

Input = tuple[str, Any, Callable[[], Any]]  # what it is, its data for the log, what it starts


class Inbox:
    def __init__(self) -> None:
        self.waiting: deque[Input] = deque()
        self.asking = 0  # calls to the network under way: virtual time does not leap past them
        self._listeners: list[Callable[[], None]] = []

    def offer(self, what: str, data: Any, start: Callable[[], Any]) -> None:
        """Puts in an input; whoever drives the host looks at it in its own time."""
        self.waiting.append((what, data, start))

    def listen(self, wake: Callable[[], None]) -> None:
        """`wake` is called from here on when the driver does not look by itself."""
        self._listeners.append(wake)

    def wake(self) -> None:
        """Has the inputs taken soon."""
        for listener in self._listeners:
            listener()
