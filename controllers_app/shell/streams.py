"""Where a command reads from and writes to, and how its process proceeds in virtual time.

Everything is bounded; what waits, waits in the kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.waiting import Signal
from controllers_app.shell.cgroup import OPERATIONS, Cgroup
from controllers_app.shell.exits import Interrupted, OutputFull, TimedOut

OUTPUT_MAX = 1 << 20  # of one command whose output is taken
COMMAND = 100  # operations that starting a command takes
TURN = 2000  # operations after which a process lets all others take a step
FOREGROUND_SECONDS = 60.0  # so much of a process's sleep may draw a fast clock along
FOREGROUND_SLEEPS = 32
FOREGROUND_WORK_SECONDS = 40.0  # and so much of its waiting for the CPU
LAZY_SECONDS = 10.0  # a background process that nobody reads from is looked at this often
PIPE_BYTES = 64 * 1024  # what a pipe holds before its writer has to wait
BEHIND_STEPS_MAX = 512  # waits that a process which is behind makes up for; then it is set to now


class Source(Protocol):
    """Standard input."""

    async def line(self) -> bytes:
        """The next line with its end; empty at the end of the input."""
        ...

    async def all(self, end: bytes = b"") -> bytes:
        """All of it, up to its end or to whole blocks of 512 bytes of which the last are `end`."""
        ...

    def is_ready(self) -> bool:
        """Whether `line` would not wait."""
        ...


Sink = Callable[[bytes], None]


class Taken:
    """Input that is there already."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data
        self._at = 0  # how much of it is read

    async def line(self) -> bytes:
        start = self._at
        self._at = self._data.find(b"\n", start) + 1 or len(self._data)
        return self._data[start : self._at]

    async def all(self, end: bytes = b"") -> bytes:
        start, self._at = self._at, len(self._data)
        return self._data[start:]

    def is_ready(self) -> bool:
        return True


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


class Io(msgspec.Struct, frozen=True):
    """The three standard streams of a command."""

    stdin: Source
    out: Sink
    err: Sink


class Foreground(msgspec.Struct):
    """How much a process and those that it started have drawn a fast clock along."""

    sleeps: int = 0
    slept: float = 0.0
    worked: float = 0.0


def _nobody() -> bool:
    return False


class Runner:
    """How one process proceeds in virtual time, with its shells and commands.

    `now` is the process's own time: it may be behind the kernel's when nobody looked, and makes up
    for it without waiting. What its commands do is charged to `cgroup`; a process that uses much
    CPU takes longer, and pauses often enough that nobody else waits for it.
    """

    def __init__(
        self, kernel: Kernel, now: int, cgroup: Cgroup, *, is_watched: Callable[[], bool]
    ) -> None:
        self.kernel = kernel
        self.now = now
        self.cgroup = cgroup
        self.interrupts = 0  # asked for and not yet served
        self.signals: list[str] = []  # that came and that a trap waits for
        self.deadline: int | None = None  # when `timeout` ends it
        self.full: Callable[[], bool] = lambda: False  # whether the reader has to catch up first
        self.unread = False  # what it writes into is closed: it will soon find out
        self.children: list[Runner] = []  # of the other commands of a pipeline
        self.memory = 0  # that it has allocated
        self._is_watched = is_watched
        self._waiting: list[Signal] = []
        self._used = 0  # operations that are not charged yet
        self._turn = 0  # operations since it last let others go on
        self._behind = 0
        self._foreground = Foreground()

    def child(self) -> Runner:
        """For a command that runs beside this one. Who made it takes it away at its end."""
        made = self.fork(self._is_watched)
        made.deadline = self.deadline
        self.children.append(made)
        return made

    def leave(self, child: Runner) -> None:
        """The command that ran beside this one has ended."""
        self.children.remove(child)
        child.exit()

    def fork(self, is_watched: Callable[[], bool]) -> Runner:
        """A new process. Raises CommandError when there are too many."""
        self.cgroup.fork()
        made = Runner(self.kernel, self.now, self.cgroup, is_watched=is_watched)
        made._foreground = self._foreground
        return made

    def exit(self) -> None:
        """The process has ended; it drops those who watched it."""
        self._is_watched = _nobody
        self.hold(0)
        self.cgroup.exit()

    def hold(self, size: int) -> None:
        """Has so much memory from now on. Raises CommandError when there is not so much."""
        self.cgroup.allocate(size - self.memory)
        self.memory = size

    def poke(self) -> None:
        """Something a waiting command may wait for has happened."""
        for signal in self._waiting:
            signal.set()
        for child in self.children:
            child.poke()

    def interrupt(self) -> None:
        self.interrupts += 1
        self.poke()

    def check(self) -> None:
        if self.interrupts:
            self.interrupts = 0
            raise Interrupted
        if self.deadline is not None and self.now >= self.deadline:
            raise TimedOut

    async def step(self) -> None:
        """Once for each command."""
        await self.work(COMMAND)

    async def work(self, operations: int) -> None:
        """Once for each piece of work: nothing goes on for ever without a wait."""
        self.check()
        self._used += operations
        self._turn += operations
        while self.full():
            await self._wait(None, background=True)
        if self._used >= OPERATIONS:
            seconds, self._used = self._used / OPERATIONS, 0
            await self._late(self.cgroup.spend(self.now, seconds))
        if self._turn >= TURN:
            self._turn = 0
            await self.kernel.pause()
            self.check()

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait for something from outside."""
        await self.ready(ready)
        self.now = max(self.now, self.kernel.now)

    async def ready(self, ready: Callable[[], bool]) -> None:
        """Wait for it without knowing when it was so."""
        while not ready():
            left = None
            if self.deadline is not None:
                left = (self.deadline - self.kernel.now) / SECOND
                if left <= 0:
                    self.now = self.deadline
                    raise TimedOut
            await self._wait(left, background=left is None)

    async def sleep(self, seconds: float) -> None:
        """Wait in the process's own time."""
        self._used = max(0, self._used - int(min(seconds, 1.0) * OPERATIONS))
        if self._makes_up(seconds):
            return
        drawn = self._foreground
        background = seconds > FOREGROUND_SECONDS - drawn.slept
        background = background or drawn.sleeps >= FOREGROUND_SLEEPS
        drawn.sleeps += 1
        drawn.slept += seconds
        due = self._due(seconds)
        while self.kernel.now < due:
            await self._until(due, background=background)
        self.now = due
        self.check()

    async def _late(self, seconds: float) -> None:
        """Wait for the CPU, unless nobody reads what the process writes."""
        if self._makes_up(seconds):
            return
        drawn = self._foreground
        background = drawn.worked + seconds > FOREGROUND_WORK_SECONDS
        drawn.worked += seconds
        due = self._due(seconds)
        while self.kernel.now < due and not self.unread:
            await self._until(due, background=background)
        self.now = min(due, max(self.now, self.kernel.now))
        self.check()

    def _makes_up(self, seconds: float) -> bool:
        """Whether it is so far behind that it need not wait."""
        due = self._end(seconds)
        if due > self.kernel.now or self._behind >= BEHIND_STEPS_MAX:
            self._behind = 0
            return False
        self._behind += 1
        self.now = due
        self.check()
        return True

    def _due(self, seconds: float) -> int:
        self.now = max(self.now, self.kernel.now - int(seconds * SECOND))
        return max(self._end(seconds), self.now)

    def _end(self, seconds: float) -> int:
        due = self.now + int(min(seconds, 1e9) * SECOND)
        return due if self.deadline is None else min(due, self.deadline)

    async def _until(self, due: int, *, background: bool) -> None:
        left = (due - self.kernel.now) / SECOND
        lazy = background and not self._is_watched()
        await self._wait(max(left, LAZY_SECONDS) if lazy else left, background=background)

    async def _wait(self, seconds: float | None, *, background: bool) -> None:
        task = self.kernel.current
        assert task is not None
        self._turn = 0
        was, task.background = task.background, background
        signal = Signal(self.kernel)
        self._waiting.append(signal)
        try:
            await signal.wait(seconds)
        finally:
            task.background = was
            self._waiting.remove(signal)
        self.check()


class Pipe:
    """What one command of a pipeline writes and the next one reads: both ends."""

    def __init__(self, writer: Runner, reader: Runner) -> None:
        self.size = 0  # what waits
        self._writer, self._reader = writer, reader
        self._parts: deque[tuple[int, bytes]] = deque()  # each with the writer's time
        self._taken = b""
        self._at = 0  # how much of it is read
        self._closed = self._left = False
        before = writer.full
        writer.full = lambda: before() or (self.size > PIPE_BYTES and not self._left)

    # -- the writer's end -----------------------------------------------------------------------

    def put(self, data: bytes) -> None:
        if self._left:
            raise OutputFull
        if data:
            self._parts.append((self._writer.now, data))
            self.size += len(data)
            self._reader.poke()

    def close(self) -> None:
        self._closed = True
        self._reader.poke()

    # -- the reader's end -----------------------------------------------------------------------

    def leave(self) -> None:
        """Nobody reads any more, which wakes those who write."""
        self._left = self._writer.unread = True
        self._parts.clear()
        self.size = 0
        self._writer.poke()

    async def line(self) -> bytes:
        parts: list[bytes] = []
        while True:
            end = self._taken.find(b"\n", self._at) + 1
            parts.append(self._taken[self._at : end or None])
            self._at = end or len(self._taken)
            if end or not await self._more():
                return b"".join(parts)

    async def all(self, end: bytes = b"") -> bytes:
        parts = [self._taken[self._at :]]
        size = len(parts[0])
        while await self._more():
            parts.append(self._taken)
            size += len(self._taken)
            if size > OUTPUT_MAX:
                raise OutputFull
        self._at = len(self._taken)
        return b"".join(parts)

    def is_ready(self) -> bool:
        left = self._taken.find(b"\n", self._at) >= 0
        return left or self._closed or any(b"\n" in data for _, data in self._parts)

    async def _more(self) -> bool:
        """Take all that waits; False at the end."""
        await self._reader.ready(lambda: bool(self._parts) or self._closed)
        if not self._parts:
            self._taken, self._at = b"", 0
            return False
        self._reader.now = max(self._reader.now, self._parts[-1][0])
        self._taken, self._at = b"".join(data for _, data in self._parts), 0
        self._parts.clear()
        self.size = 0
        self._writer.poke()
        return True
