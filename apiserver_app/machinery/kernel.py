"""A small deterministic scheduler for native coroutines in virtual time.

Tasks run in FIFO order, requests from outside (lane OUTSIDE) before all others. When no task is
ready, the next hop ends or the next timer fires, ordered by (due, sequence); that moves `now`, and
so does an input that is admitted; never the wall clock. So the same inputs at the same steps give
the same run. While a request from outside is under way, many ready tasks do not keep it waiting:
after each step of theirs eight hops end. A task never blocks on I/O.

Terms: a *hop* is work that takes a task time, while others go on; a *step* is one resumption of a
task, one timer or one hop; a *background* timer is housekeeping that a fast-forwarded clock does
not wait for; while *frozen*, no step is taken. The *allowance* is what a step may do before it lets
others go on; it counts work, not time, so every run pauses at the same places. A task's
*label* says what it works on; it stands on the *board*, which outlives the process, while the task
takes a step, and what is quarantined by its label is not run.
Never imports Django, Channels, asyncio or threading, and never reads a clock.
"""

from __future__ import annotations

import struct
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from apiserver_app.machinery.task import Cancelled, Task

OUTSIDE = 0
INSIDE = 1

SECOND = 1_000_000

FOREVER = 1 << 62

ALLOWANCE = 64  # of a step, in items taken from a mailbox
OUTSIDE_HOPS = 8  # between two steps of ready tasks, while a request from outside is at one
UNBROKEN_MAX = 64  # hops after which a task suspends, even if nothing else is due meanwhile
LABEL_BYTES = 200
WHERE = b" in "  # after it a label says where, which does not matter for what is quarantined
QUARANTINED = "it stopped the cluster twice while it ran and is not run again"

_write_label = struct.Struct(f"{LABEL_BYTES}s").pack_into


Register = Callable[[Task, int], None]


@types.coroutine
def suspend(register: Register) -> Generator[Register, None, None]:
    """Awaiting this hands the task to `register(task, epoch)`, which must arrange its wake-up."""
    yield register


@types.coroutine
def _hop(due: int) -> Generator[int, None, None]:
    yield due


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
        # called when the clock leaps past background timers, before the first of these fires
        self.on_leap: Callable[[], None] = lambda: None
        # until when hops may end, by whether only background tasks are at one
        self.reach = (FOREVER, FOREVER)
        self._hops: list[tuple[int, int, Task, int]] = []
        self._working = 0  # foreground tasks among those in `_hops`
        self.outside = 0  # tasks from outside among them
        self._inside_due = 0  # hops that end before the next ready task has a step
        self._horizon = 0  # a hop of the current task that ends before it need not suspend
        self.unbroken_max = UNBROKEN_MAX  # 0 while somebody waits to be let in at this moment
        self._unbroken = 0  # hops that the current step may take in this way
        self._ready: tuple[deque[Task], deque[Task]] = (deque(), deque())
        self._timers: tuple[list[Any], list[Any]] = ([], [])  # foreground, background
        self._heaps: tuple[list[Any], ...] = (self._hops, *self._timers)
        self.dropped: set[int] = set()  # sequences of timers that must not fire
        self._sequence = 0
        # tasks from outside, and hops, that wait as they are until `bring_back`
        self._aside: tuple[deque[Task], list[tuple[int, int, Task, int]]] = (deque(), [])

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
        self._append(task)
        return task

    def branch(self, name: str, coro: Coroutine[Any, Any, Any]) -> Task:
        """Starts a task, in no span, that does a part of what the current one works on."""
        label = self.current.label if self.current is not None else b""
        return self.spawn(name, coro, span=0, label=label)

    def set_label(self, label: str) -> None:
        """Says what the current task works on from now on."""
        if self.current is not None:
            self.current.label = encoded = label.encode("utf-8", "replace")[:LABEL_BYTES]
            _write_label(self.board, 0, encoded)

    def is_quarantined(self) -> bool:
        """Whether what the current task works on must not be run."""
        if not self.quarantined or self.current is None:
            return False
        return self.current.label.partition(WHERE)[0] in self.quarantined

    async def sleep(self, seconds: float, *, background: bool | None = None) -> None:
        """Waits in virtual time. `background` overrides the task's own setting."""
        due = self.now + int(seconds * SECOND)
        await suspend(lambda task, epoch: self._wake_at(due, task, epoch, background))

    def spend_time(self, cost: int) -> Awaitable[None] | None:
        """A hop of the current task, which takes `cost` µs. Others go on meanwhile, if the task
        awaits what this returns; where nothing else is due the clock moves on, and it is None."""
        due = self.now + cost
        if due < self._horizon and self._unbroken:
            self._unbroken -= 1
            self.now = due
            self.steps += 1
            self.allowance = ALLOWANCE
            return None
        return _hop(due)

    async def until(self, due: int) -> None:
        """Waits until virtual time `due` (µs)."""
        await suspend(lambda task, epoch: self._wake_at(due, task, epoch, None))

    def call_at(
        self, due: int, call: Callable[[Any], None], argument: Any, *, background: bool = False
    ) -> int:
        """Calls `call(argument)`, which must not suspend, at virtual time `due`. Returns a handle
        for `drop`."""
        self._sequence += 1
        heappush(self._timers[background], (due, self._sequence, call, argument))
        if due < self._horizon:
            self._horizon = due
        return self._sequence

    def drop(self, handle: int) -> None:
        """Removes a timer of `call_at` that has not fired, so that no clock advances to it."""
        self.dropped.add(handle)

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

        await suspend(register)

    async def hold(self) -> None:
        """Freezes the cluster here. After the thaw this task resumes first."""

        def register(task: Task, _epoch: int) -> None:
            self.frozen = True
            self._ready[OUTSIDE].appendleft(task)

        allowance = self.allowance
        await suspend(register)
        self.allowance = allowance  # a run that is held pauses where any other does

    def cancel(self, task: Task) -> None:
        """Throws Cancelled into the task at its next turn. A finished task is left alone."""
        if task.done:
            return
        task.throw = Cancelled()
        task.epoch += 1
        if task is not self.current and not self._is_ready(task):
            self._append(task)

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
            await suspend(
                lambda waiter, epoch: task.on_done.append(lambda _done: self.wake(waiter, epoch))
            )

    async def together(self, name: str, coros: Iterable[Coroutine[Any, Any, Any]]) -> None:
        """Runs them at the same time, until the last has ended; raises the first one's error. They
        end with the task that waits for them."""
        tasks = [self.spawn(name, coro) for coro in coros]
        try:
            for task in tasks:
                task.awaited = True
            for task in tasks:
                await self.join(task)
        finally:
            for task in tasks:
                if task is self.current:
                    self.cancel(task)
                else:
                    self.kill(task)
        for task in tasks:
            if task.error is not None:
                raise task.error

    def wake(self, task: Task, epoch: int) -> bool:
        """Makes a suspended task ready unless something else has woken it already."""
        if task.epoch != epoch or task.done:
            return False
        task.epoch += 1
        self._append(task)
        return True

    # -- what the host calls --------------------------------------------------------------------

    def run_ready(self, steps_max: int) -> int:
        """Takes up to steps_max steps and returns how many it took. Stops when frozen or when no
        task is ready and no hop may end. Timers fire here only if a hop ends after them. A ready
        task whose turn comes behind a hop waits for it, however far that is: `reach` says when
        steps are taken, and never in which order."""
        outside, inside = self._ready
        taken = 0
        while taken < steps_max and not self.frozen:
            if outside:
                self.run_step(outside.popleft())
            elif inside and not (self.outside and self._inside_due > 0):
                self._inside_due = OUTSIDE_HOPS
                self.run_step(inside.popleft())
            elif self._hops and self._hops[0][0] <= self.reach[not self._working]:
                self._end_hop()
            else:
                break
            taken += 1
        return taken

    def has_ready(self) -> bool:
        """Whether there is a step to take before any timer."""
        outside, inside = self._ready
        if outside or (inside and not (self.outside and self._inside_due > 0)):
            return True
        return bool(self._hops) and self._hops[0][0] <= self.reach[not self._working]

    def has_outside(self) -> bool:
        return bool(self._ready[OUTSIDE])

    def set_aside(self) -> None:
        """All that is under way waits as it is until `bring_back`; `run_beside` does only what is
        begun from outside meanwhile."""
        self.unbroken_max = 0
        self._aside = (self._ready[OUTSIDE].copy(), self._hops.copy())
        self._ready[OUTSIDE].clear()
        self._hops.clear()

    def bring_back(self) -> None:
        """What was set aside continues, before what was begun meanwhile and is not done."""
        self.unbroken_max = UNBROKEN_MAX
        outside, hops = self._aside
        self._aside = (deque(), [])
        self._ready[OUTSIDE].extendleft(reversed(outside))
        self._hops += hops
        heapify(self._hops)

    def run_beside(self) -> None:
        """Takes a step of what was begun from outside since `set_aside`, if there is one. No timer
        fires, and no time passes."""
        if self._ready[OUTSIDE]:
            self.run_step(self._ready[OUTSIDE].popleft())
        elif self._hops:
            self._take_hop(self.now)

    def has_beside(self) -> bool:
        return bool(self._ready[OUTSIDE] or self._hops)

    def fire_timer(self, target: int, *, jump: bool) -> bool:
        """Fires the next timer due by `target`; with `jump`, also the next foreground timer.

        A jump does not repeat the background timers it passes: each fires once, at the new time.
        """
        if self.frozen:
            return False
        if self.dropped:
            self._trim()
        foreground, background = self._timers
        if jump and foreground and self._hops and self._hops[0][0] <= foreground[0][0]:
            self._end_hop()
            return True
        limit = max(self.now, target)
        if jump and foreground and foreground[0][0] > limit:
            limit = foreground[0][0]
            if background and background[0][0] <= limit:
                self.now = max(self.now, limit)
                self.on_leap()
        first = foreground
        if background and (not foreground or background[0][:2] < foreground[0][:2]):
            first = background
        if not first or first[0][0] > limit:
            return False
        due, _, call, argument = heappop(first)
        if due > self.now:
            self.now = due
        self.steps += 1
        call(argument)
        return True

    def next_due(self, *, jump: bool) -> int | None:
        """When the next timer is due: 0 for at once, None when there is none."""
        if self.has_ready():
            return 0
        if self.dropped:
            self._trim()
        foreground, background = self._timers
        if jump and foreground:
            return 0
        dues = [heap[0][0] for heap in (foreground, background, self._hops) if heap]
        return min(dues) if dues else None

    def advance(self, target: int) -> None:
        """Moves virtual time forward to an input's timestamp, but never back and not past the end
        of a hop."""
        if self._hops:
            target = min(target, self._hops[0][0])
        if target > self.now:
            self.now = target

    def close(self) -> None:
        """Closes every task and drops every timer, as a kill would."""
        for task in list(self.tasks):
            task.coro.close()
        self.tasks.clear()
        for lane in self._ready:
            lane.clear()
        for heap in self._heaps:
            heap.clear()
        self._working = self.outside = 0
        self.dropped.clear()

    # -- inside ---------------------------------------------------------------------------------

    def _append(self, task: Task) -> None:
        self._ready[task.lane].append(task)
        self._horizon = 0

    def _is_ready(self, task: Task) -> bool:
        return task in self._ready[OUTSIDE] or task in self._ready[INSIDE]

    def _end_hop(self) -> None:
        """Moves to the end of the next hop, or fires the timer that is due before it."""
        hop = self._hops[0]
        foreground, background = self._timers
        dropped = self.dropped
        if dropped and (
            (foreground and foreground[0][1] in dropped)
            or (background and background[0][1] in dropped)
        ):
            self._trim()
        if (foreground and foreground[0] < hop) or (background and background[0] < hop):
            self.fire_timer(hop[0], jump=False)
            return
        if self._ready[INSIDE]:
            self._inside_due -= 1
        self._take_hop(hop[0] if hop[0] > self.now else self.now)

    def _take_hop(self, now: int) -> None:
        """Goes on with the task whose hop ends next, which it does now."""
        _, _, task, epoch = heappop(self._hops)
        if not task.background:
            self._working -= 1
        if task.lane == OUTSIDE:
            self.outside -= 1
        self.now = now
        if task.epoch == epoch:
            self.run_step(task)

    def _trim(self) -> None:
        """Removes dropped timers from the top of the heaps."""
        for heap in self._timers:
            while heap and heap[0][1] in self.dropped:
                self.dropped.discard(heappop(heap)[1])

    def _wake_at(self, due: int, task: Task, epoch: int, background: bool | None) -> None:
        if background is None:
            background = task.background
        self.call_at(due, self.wake_pair, (task, epoch), background=background)

    def wake_pair(self, pair: tuple[Task, int]) -> None:
        self.wake(*pair)

    def run_step(self, task: Task) -> None:
        if task.done:
            return
        self.current = self.last = task
        self.steps += 1
        self.allowance = ALLOWANCE
        _write_label(self.board, 0, task.label)
        self._unbroken = self.unbroken_max
        # until when nothing can happen but what the task does
        outside, inside = self._ready
        if outside or inside:
            horizon = 0
        else:
            horizon = self.reach[task.background] + 1
            for heap in self._heaps:
                if heap and heap[0][0] < horizon:
                    horizon = heap[0][0]
        self._horizon = horizon
        try:
            if task.throw is None:
                register = task.coro.send(None)
            else:
                error, task.throw = task.throw, None
                register = task.coro.throw(error)
        except StopIteration:
            self._finish(task, None)
        except Cancelled as error:  # without its traceback, which holds all that the task held
            self._finish(task, error.with_traceback(None))
        except Exception as error:  # a bug: the host decides what happens
            self._finish(task, error)
            if not task.awaited:
                if self.on_crash is None:
                    raise
                self.on_crash(task, error)
        else:
            if register.__class__ is int:
                self._sequence += 1
                heappush(self._hops, (register, self._sequence, task, task.epoch))
                if not task.background:
                    self._working += 1
                if task.lane == OUTSIDE:
                    self.outside += 1
            else:
                register(task, task.epoch)
            if task.throw is not None and not self._is_ready(task):
                self._append(task)
        finally:
            self.current = None

    def _finish(self, task: Task, error: BaseException | None) -> None:
        task.done = True
        task.error = error
        self.tasks.pop(task, None)
        for call in task.on_done:
            call(task)
        task.on_done.clear()
