"""What tasks of the kernel wait for: a signal, a lock, the next item of a mailbox."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from apiserver_app.machinery.kernel import SECOND, Kernel, suspend
from apiserver_app.machinery.task import Task

T = TypeVar("T")


class Signal:
    """An event that wakes its waiters and stays set until cleared."""

    __slots__ = ("_kernel", "_waiters", "is_set")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiters: deque[tuple[Task, int]] = deque()
        self.is_set = False

    def set(self) -> None:
        self.is_set = True
        while self._waiters:
            self._kernel.wake(*self._waiters.popleft())

    def clear(self) -> None:
        self.is_set = False

    async def wait(self, timeout_seconds: float | None = None, *, background: bool = False) -> bool:
        """Waits until set; returns False when the timeout expired first. In the background no clock
        jumps there for it."""
        if self.is_set:
            return True
        if timeout_seconds is None:
            while not self.is_set:
                await suspend(self._register)
            return True
        due = self._kernel.now + int(timeout_seconds * SECOND)
        handle = 0

        def register(task: Task, epoch: int) -> None:
            nonlocal handle
            self._register(task, epoch)
            handle = self._kernel.call_at(
                due, self._kernel.wake_pair, (task, epoch), background=background or task.background
            )

        while not self.is_set and self._kernel.now < due:
            await suspend(register)
            if self._kernel.now < due:
                self._kernel.drop(handle)
        return self.is_set

    def _register(self, task: Task, epoch: int) -> None:
        self._waiters.append((task, epoch))


class Lock:
    """A mutex that waiters acquire in the order in which they asked for it."""

    __slots__ = ("_kernel", "_queue")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._queue: deque[Signal] = deque()  # the first one's task holds it

    @property
    def is_free(self) -> bool:
        return not self._queue

    async def __aenter__(self) -> None:
        turn = Signal(self._kernel)
        self._queue.append(turn)
        acquired = self._queue[0] is turn
        try:
            if not acquired:
                acquired = await turn.wait()
        finally:
            if not acquired:
                self._leave(turn)

    async def __aexit__(self, *_error: object) -> None:
        self._leave(self._queue[0])

    def _leave(self, turn: Signal) -> None:
        held = self._queue[0] is turn
        self._queue.remove(turn)
        if held and self._queue:
            self._queue[0].set()


class Mailbox(Generic[T]):
    """An unbounded FIFO between tasks; its producers limit how much they put."""

    __slots__ = ("_items", "_kernel", "_waiters", "closed")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._items: deque[T] = deque()
        self._waiters: deque[tuple[Task, int]] = deque()
        self.closed = False

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T) -> None:
        self._items.append(item)
        self._wake_one()

    def close(self) -> None:
        """Accepts no more items: once the mailbox is empty, `get` returns None."""
        self.closed = True
        while self._waiters:
            self._kernel.wake(*self._waiters.popleft())

    async def get(self) -> T | None:
        """The next item, or None once the mailbox is closed and empty."""
        if self._items:
            await self._kernel.spend(1)
        while not self._items:
            if self.closed:
                return None
            await suspend(self._register)
        return self._items.popleft()

    def drain(self) -> list[T]:
        """Takes and returns all items that are there now."""
        items = list(self._items)
        self._items.clear()
        return items

    def _register(self, task: Task, epoch: int) -> None:
        self._waiters.append((task, epoch))

    def _wake_one(self) -> None:
        while self._waiters:
            if self._kernel.wake(*self._waiters.popleft()):
                return
