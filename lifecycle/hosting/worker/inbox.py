"""Inputs of one cluster that wait for its next slice.

Made before the cluster: what brings inputs in (the network, the driver) and what takes them (the
host) both have it, and need not know each other. Requests stand in a line for each client, so that
one who sends many waits behind all others, and not they behind him; and a small request is taken
before a large one. Large ones stand in a line of their own, of which the next is taken when the one
before is done: each takes long, and what others send comes between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

# what it is, its data for the log, what it starts, its bytes
Input = tuple[str, Any, Callable[[], Any], int]


class Inbox:
    def __init__(self) -> None:
        self._lines: dict[str, deque[Input]] = {}
        self._held: set[str] = set()  # lines whose last input is not done
        self.asking = 0  # calls to the network under way: virtual time does not leap past them
        self._listeners: list[Callable[[], None]] = []

    def waits(self) -> bool:
        """Whether there is any input that may be taken."""
        return bool(self._lines) and not self._lines.keys() <= self._held

    def offer(
        self, what: str, data: Any, start: Callable[[], Any], line: str = "", size: int = 0
    ) -> None:
        """Puts in an input; whoever drives the host looks at it in its own time. What is in no
        client's line does not wait."""
        self._lines.setdefault(line, deque()).append((what, data, start, size))

    def take(self) -> Iterator[Input]:
        """The first input of each line that is not held, and all of those in none."""
        yield from self._lines.pop("", ())
        for line, inputs in sorted(self._lines.items(), key=_size):
            if line not in self._held:
                yield inputs.popleft()
                if not inputs:
                    del self._lines[line]

    def hold(self, line: str) -> None:
        """Has the other inputs of a line wait until this one is done."""
        self._held.add(line)

    def done(self, line: str) -> None:
        self._held.discard(line)

    def count(self, what: str) -> int:
        """How many inputs of a sort wait."""
        return sum(message[0] == what for line in self._lines.values() for message in line)

    def listen(self, wake: Callable[[], None]) -> None:
        """`wake` is called from here on when the driver does not look by itself."""
        self._listeners.append(wake)

    def wake(self) -> None:
        """Has the inputs taken soon."""
        for listener in self._listeners:
            listener()


def _size(line: tuple[str, deque[Input]]) -> int:
    return line[1][0][3]
