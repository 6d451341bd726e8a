"""Where a command reads from and writes to, and how its process gets on in virtual time.

Everything is bounded; what waits, waits in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from apiserver_app.machinery.kernel import SECOND, Kernel, Signal

OUTPUT_MAX = 1 << 20  # of one command whose output is taken
STEPS_MAX = 200  # commands without a wait; a loop that never waits is held back a second
FOREGROUND_SECONDS = 60.0  # so much of a process's sleep may draw a fast clock along
FOREGROUND_SLEEPS = 32
LAZY_SECONDS = 10.0  # a background process that nobody reads from is looked at this often
BEHIND_STEPS_MAX = 512  # waits that a process which is behind makes up for; then it is set to now


class Interrupted(Exception):
    """Ctrl-C: the command that runs ends."""


class OutputFull(Exception):
    """Nobody takes so much: the command ends as by SIGPIPE."""


class Source(Protocol):
    """Standard input."""

    async def line(self) -> bytes:
        """The next line with its end; empty at the end of the input."""
        ...

    async def all(self, end: bytes = b"") -> bytes:
        """All of it, up to its end or to whole blocks of 512 bytes of which the last are `end`."""
        ...


Sink = Callable[[bytes], None]


class Taken:
    """Input that is there already."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    async def line(self) -> bytes:
        end = self._data.find(b"\n") + 1 or len(self._data)
        out, self._data = self._data[:end], self._data[end:]
        return out

    async def all(self, end: bytes = b"") -> bytes:
        out, self._data = self._data, b""
        return out


class Kept:
    """Output that is kept, up to a limit."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def __call__(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > OUTPUT_MAX:
            raise OutputFull
        self.parts.append(data)

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


@dataclass(frozen=True, slots=True)
class Io:
    """The three standard streams of a command."""

    stdin: Source
    out: Sink
    err: Sink


class Runner:
    """How one process gets on in virtual time, with its shells and commands.

    `now` is the process's own time: it may be behind the kernel's when nobody looked, and makes up
    for it without waiting.
    """

    def __init__(self, kernel: Kernel, now: int, *, is_watched: Callable[[], bool]) -> None:
        self.kernel = kernel
        self.now = now
        self.signal = Signal(kernel)
        self.interrupts = 0  # asked for and not yet served
        self.full: Callable[[], bool] = lambda: False  # whether the reader has to catch up first
        self._is_watched = is_watched
        self._steps = 0
        self._behind = 0
        self._sleeps = 0
        self._slept = 0.0

    def poke(self) -> None:
        """Something a waiting command may wait for has happened."""
        self.signal.set()

    def interrupt(self) -> None:
        self.interrupts += 1
        self.signal.set()

    def check(self) -> None:
        if self.interrupts:
            self.interrupts = 0
            raise Interrupted

    async def step(self) -> None:
        """Once for each command: nothing goes on for ever without a wait."""
        self.check()
        self._steps += 1
        while self.full():
            await self._wait(None, background=True)
        if self._steps >= STEPS_MAX:
            await self.sleep(1.0, held=True)

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait for something from outside."""
        while not ready():
            await self._wait(None, background=True)
        self.now = max(self.now, self.kernel.now)

    async def sleep(self, seconds: float, *, held: bool = False) -> None:
        """Wait in the process's own time."""
        self._steps = 0
        due = self.now + int(min(seconds, 1e9) * SECOND)
        if due <= self.kernel.now and self._behind < BEHIND_STEPS_MAX:
            self._behind += 1
            self.now = due
            return
        self._behind = 0
        self.now = max(self.now, self.kernel.now - int(seconds * SECOND))
        due = max(due, self.now)
        background = held or seconds > FOREGROUND_SECONDS - self._slept
        background = background or self._sleeps >= FOREGROUND_SLEEPS
        self._sleeps += 1
        self._slept += seconds
        while self.kernel.now < due:
            left = (due - self.kernel.now) / SECOND
            lazy = background and not self._is_watched()
            await self._wait(max(left, LAZY_SECONDS) if lazy else left, background=background)
        self.now = due

    async def _wait(self, seconds: float | None, *, background: bool) -> None:
        task = self.kernel.current
        assert task is not None
        was, task.background = task.background, background
        try:
            await self.signal.wait(seconds)
            self.signal.clear()
        finally:
            task.background = was
        self.check()
