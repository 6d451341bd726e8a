"""A small deterministic scheduler for native coroutines in virtual time.

Tasks run in FIFO order, requests from outside (lane OUTSIDE) before all others. Timers fire one by
one, ordered by (due, sequence), and only when no task is ready. `now` moves when a timer fires,
when an input is admitted and when a hop is charged; never because the wall clock moved. So the same
inputs at the same steps give the same run. A task never blocks on I/O.

Terms: a *step* is one resumption of a task or one timer; a *background* timer is housekeeping that
a fast-forwarded clock does not wait for; while *frozen*, no step is taken. The *allowance* is what
a step may do before it lets others go on; it counts work, not time, so every run pauses at the
same places. A task's *label* says what it works on; it stands on the *board*, which outlives the
process, while the task takes a step, and what is quarantined by its label is not run.
Never imports Django, Channels, asyncio or threading, and never reads a clock.
"""

from __future__ import annotations

import heapq
import struct
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

OUTSIDE = 0
INSIDE = 1

SECOND = 1_000_000

ALLOWANCE = 64  # of a step, in items taken from a mailbox
LABEL_BYTES = 200
WHERE = b" in "  # behind it a label says where, which is of no matter for what is quarantined
QUARANTINED = "it stopped the cluster twice while it ran and is not run again"

_write_label = struct.Struct(f"{LABEL_BYTES}s").pack_into


class Cancelled(BaseException):
    """Thrown into a cancelled task, which cleans up and lets it propagate."""


class Task:
    """A coroutine and its state. `span` is the trace record to which its hops belong."""

    __slots__ = (
        "background",
        "coro",
        "done",
        "epoch",
        "error",
        "label",
        "lane",
        "name",
        "on_done",
        "span",
        "throw",
    )

    def __init__(
        self, name: str, coro: Coroutine[Any, Any, Any], lane: int, background: bool, span: int,
        label: bytes,
    ) -> None:  # fmt: skip
        self.name = name
        self.label = label
        self.coro = coro
        self.lane = lane
        self.background = background
        self.span = span
        self.epoch = 0  # grows at each suspension, so that a stale wake-up is ignored
        self.done = False
        self.error: BaseException | None = None
        self.throw: BaseException | None = None
        self.on_done: list[Callable[[Task], object]] = []


class _Suspend:
    """Awaiting this hands the task to `register(task, epoch)`, which must arrange its wake-up."""

    __slots__ = ("register",)

    def __init__(self, register: Callable[[Task, int], None]) -> None:
        self.register = register

    def __await__(self) -> Generator[Any, None, None]:
        yield self.register


class Kernel:
    """Virtual time, ready tasks and timers of one cluster. `now` is µs since the epoch."""

    def __init__(
        self, now: int = 0, on_crash: Callable[[Task, BaseException], None] | None = None
    ) -> None:
        self.now = now
        self.steps = 0
        self.frozen = False
        self.current: Task | None = None
        self.last: Task | None = None  # took the newest step
        self.allowance = 0
        self.tasks: dict[Task, None] = {}
        self.board: Any = bytearray(LABEL_BYTES)
        self.quarantined: frozenset[bytes] = frozenset()
        self.on_crash = on_crash
        self._ready: tuple[deque[Task], deque[Task]] = (deque(), deque())
        self._timers: tuple[list[Any], list[Any]] = ([], [])  # foreground, background
        self._dropped: set[int] = set()  # sequences of timers that must not fire
        self._sequence = 0

    # -- what tasks call ------------------------------------------------------------------------

    def spawn(
        self,
        name: str,
        coro: Coroutine[Any, Any, Any],
        *,
        lane: int = INSIDE,
        background: bool | None = None,
        span: int | None = None,
        label: bytes = b"",
    ) -> Task:
        """Starts a task, which inherits span and background from the task that spawns it. Without
        a label it has its name."""
        parent = self.current
        if background is None:
            background = parent.background if parent is not None else False
        if span is None:
            span = parent.span if parent is not None else 0
        task = Task(name, coro, lane, background, span, label or name.encode())
        self.tasks[task] = None
        self._ready[lane].append(task)
        return task

    def branch(self, name: str, coro: Coroutine[Any, Any, Any]) -> Task:
        """Starts a task, in no span, that does a part of what the current one works on."""
        label = self.current.label if self.current is not None else b""
        return self.spawn(name, coro, span=0, label=label)

    def set_label(self, label: str) -> None:
        """Says what the current task works on from now on."""
        if self.current is not None:
            self.current.label = found = label.encode("utf-8", "replace")[:LABEL_BYTES]
            _write_label(self.board, 0, found)

    def is_quarantined(self) -> bool:
        """Whether what the current task works on must not be run."""
        if not self.quarantined or self.current is None:
            return False
        return self.current.label.partition(WHERE)[0] in self.quarantined

    async def sleep(self, seconds: float, *, background: bool | None = None) -> None:
        """Waits in virtual time. `background` overrides the task's own setting."""
        due = self.now + int(seconds * SECOND)
        await _Suspend(lambda task, epoch: self._wake_at(due, task, epoch, background))

    async def until(self, due: int) -> None:
        """Waits until virtual time `due` (µs)."""
        await _Suspend(lambda task, epoch: self._wake_at(due, task, epoch, None))

    def call_at(
        self, due: int, call: Callable[[Any], None], argument: Any, *, background: bool = False
    ) -> int:
        """Calls `call(argument)`, which must not suspend, at virtual time `due`. Returns a handle
        for `drop`."""
        self._sequence += 1
        heapq.heappush(self._timers[background], (due, self._sequence, call, argument))
        return self._sequence

    def drop(self, handle: int) -> None:
        """Removes a timer of `call_at` that has not fired, so that no clock advances to it."""
        self._dropped.add(handle)

    async def spend(self, work: int) -> None:
        """Counts one thing of many that a task does. Once the step's allowance is spent, every
        other ready task takes a step first."""
        self.allowance -= work
        if self.allowance <= 0:
            await self.pause()

    async def pause(self) -> None:
        """Lets every other ready task take a step first; those from outside lose precedence."""

        def register(task: Task, _epoch: int) -> None:
            task.lane = INSIDE
            self._ready[INSIDE].append(task)

        await _Suspend(register)

    async def hold(self) -> None:
        """Freezes the cluster here. After the thaw this task resumes first."""

        def register(task: Task, _epoch: int) -> None:
            self.frozen = True
            self._ready[task.lane].appendleft(task)

        allowance = self.allowance
        await _Suspend(register)
        self.allowance = allowance  # a run that is held pauses where any other does

    def cancel(self, task: Task) -> None:
        """Throws Cancelled into the task at its next turn. A finished task is left alone."""
        if task.done:
            return
        task.throw = Cancelled()
        task.epoch += 1
        if task is not self.current and task not in self._ready[task.lane]:
            self._ready[task.lane].append(task)

    def kill(self, task: Task) -> None:
        """Ends a suspended task immediately, as SIGKILL ends a process: nothing is awaited."""
        if task.done:
            return
        assert task is not self.current, "a task cannot kill itself"
        task.coro.close()
        self._finish(task, None)

    async def join(self, task: Task) -> None:
        """Waits until the task is done. Does not raise its error."""
        if not task.done:
            await _Suspend(
                lambda waiter, epoch: task.on_done.append(lambda _done: self.wake(waiter, epoch))
            )

    def wake(self, task: Task, epoch: int) -> bool:
        """Makes a suspended task ready unless something else has woken it already."""
        if task.epoch != epoch or task.done:
            return False
        task.epoch += 1
        self._ready[task.lane].append(task)
        return True

    # -- what the host calls --------------------------------------------------------------------

    def run_ready(self, steps_max: int) -> int:
        """Takes up to steps_max steps and returns how many it took. Stops when frozen or when no
        task is ready."""
        outside, inside = self._ready
        taken = 0
        while taken < steps_max and not self.frozen:
            if outside:
                task = outside.popleft()
            elif inside:
                task = inside.popleft()
            else:
                break
            self._step(task)
            taken += 1
        return taken

    def has_ready(self) -> bool:
        return bool(self._ready[0] or self._ready[1])

    def has_outside(self) -> bool:
        return bool(self._ready[OUTSIDE])

    def fire_timer(self, target: int, *, jump: bool) -> bool:
        """Fires the next timer due by `target`; with `jump`, also the next foreground timer.

        A jump does not repeat the background timers it passes: each fires once, at the new time.
        """
        if self.frozen:
            return False
        if self._dropped:
            self._trim()
        foreground, background = self._timers
        limit = max(self.now, target)
        if jump and foreground and foreground[0][0] > limit:
            limit = foreground[0][0]
            if background and background[0][0] <= limit:
                self.now = max(self.now, limit)
        first = foreground
        if background and (not foreground or background[0][:2] < foreground[0][:2]):
            first = background
        if not first or first[0][0] > limit:
            return False
        due, _, call, argument = heapq.heappop(first)
        if due > self.now:
            self.now = due
        self.steps += 1
        call(argument)
        return True

    def next_due(self, *, jump: bool) -> int | None:
        """When the next timer is due: 0 for at once, None when there is none."""
        if self.has_ready():
            return 0
        if self._dropped:
            self._trim()
        foreground, background = self._timers
        if jump and foreground:
            return 0
        dues = [heap[0][0] for heap in (foreground, background) if heap]
        return min(dues) if dues else None

    def advance(self, target: int) -> None:
        """Moves virtual time forward to an input's timestamp. Time never goes back."""
        if target > self.now:
            self.now = target

    def close(self) -> None:
        """Closes every task and drops every timer, as a kill would."""
        for task in list(self.tasks):
            task.coro.close()
        self.tasks.clear()
        for lane in self._ready:
            lane.clear()
        for heap in self._timers:
            heap.clear()
        self._dropped.clear()

    # -- inside ---------------------------------------------------------------------------------

    def _trim(self) -> None:
        """Removes dropped timers from the top of the heaps."""
        for heap in self._timers:
            while heap and heap[0][1] in self._dropped:
                self._dropped.discard(heapq.heappop(heap)[1])

    def _wake_at(self, due: int, task: Task, epoch: int, background: bool | None) -> None:
        if background is None:
            background = task.background
        self.call_at(due, self._wake_pair, (task, epoch), background=background)

    def _wake_pair(self, pair: tuple[Task, int]) -> None:
        self.wake(*pair)

    def _step(self, task: Task) -> None:
        if task.done:
            return
        self.current = self.last = task
        self.steps += 1
        self.allowance = ALLOWANCE
        _write_label(self.board, 0, task.label)
        try:
            if task.throw is None:
                register = task.coro.send(None)
            else:
                error, task.throw = task.throw, None
                register = task.coro.throw(error)
        except StopIteration:
            self._finish(task, None)
        except Cancelled as error:
            self._finish(task, error)
        except Exception as error:  # a bug: the host decides what happens
            self._finish(task, error)
            if self.on_crash is None:
                raise
            self.on_crash(task, error)
        else:
            register(task, task.epoch)
            if task.throw is not None and task not in self._ready[task.lane]:
                self._ready[task.lane].append(task)
        finally:
            self.current = None

    def _finish(self, task: Task, error: BaseException | None) -> None:
        task.done = True
        task.error = error
        self.tasks.pop(task, None)
        for call in task.on_done:
            call(task)
        task.on_done.clear()


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

    async def wait(self, timeout_seconds: float | None = None) -> bool:
        """Waits until set; returns False when the timeout expired first."""
        if self.is_set:
            return True
        if timeout_seconds is None:
            while not self.is_set:
                await _Suspend(self._register)
            return True
        due = self._kernel.now + int(timeout_seconds * SECOND)
        handle = 0

        def register(task: Task, epoch: int) -> None:
            nonlocal handle
            self._register(task, epoch)
            handle = self._kernel.call_at(
                due, self._kernel._wake_pair, (task, epoch), background=task.background
            )

        while not self.is_set and self._kernel.now < due:
            await _Suspend(register)
            if self._kernel.now < due:
                self._kernel.drop(handle)
        return self.is_set

    def _register(self, task: Task, epoch: int) -> None:
        self._waiters.append((task, epoch))


class Lock:
    """A mutex that waiters acquire in the order in which they asked for it."""

    __slots__ = ("_held", "_kernel", "_waiters")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._waiters: deque[tuple[Task, int]] = deque()
        self._held = False

    async def __aenter__(self) -> None:
        while self._held:
            await _Suspend(self._register)
        self._held = True

    async def __aexit__(self, *_error: object) -> None:
        self._held = False
        while self._waiters:
            if self._kernel.wake(*self._waiters.popleft()):
                return

    def _register(self, task: Task, epoch: int) -> None:
        self._waiters.append((task, epoch))


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
            await _Suspend(self._register)
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
