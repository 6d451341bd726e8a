"""A group of tasks that is stopped or killed as one: what a process is to its threads.

A task that ends leaves the group by itself. Killing closes the coroutines where they stand:
nothing they hold in memory is finished or written, as after SIGKILL.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import Cancelled, Kernel, Task


class TaskGroup:
    """Tasks of one role. `on_error` is called when a task ends by a programmer's error."""

    def __init__(self, kernel: Kernel, name: str) -> None:
        self.name = name
        self.on_error: Callable[[BaseException], None] | None = None
        self._kernel = kernel
        self._tasks: dict[Task, None] = {}
        self._at_end: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(
        self,
        name: str,
        coro: Coroutine[Any, Any, Any],
        *,
        background: bool | None = None,
        span: int = 0,
    ) -> Task:
        """Start a task of this group. Unlike `kernel.spawn` it belongs to no span by default."""
        task = self._kernel.spawn(name, coro, background=background, span=span)
        self._tasks[task] = None
        task.on_done.append(self._left)
        return task

    def at_end(self, call: Callable[[], None]) -> None:
        """Call this when the group is cancelled or killed: to cut what others hold of it."""
        self._at_end.append(call)

    def cancel(self) -> None:
        """Ask every task to end: each gets Cancelled and may clean up."""
        self._end()
        for task in list(self._tasks):
            self._kernel.cancel(task)

    def kill(self) -> None:
        """End every task now. The task that calls this, if it is a member, is cancelled."""
        self._end()
        for task in list(self._tasks):
            if task is self._kernel.current:
                self._kernel.cancel(task)
            else:
                self._kernel.kill(task)

    def give_up(self, error: Exception) -> None:
        """Report, from inside, that this role cannot go on."""
        if self.on_error is not None:
            self.on_error(error)

    async def join(self) -> None:
        """Wait until every task has ended."""
        while self._tasks:
            await self._kernel.join(next(iter(self._tasks)))

    def _end(self) -> None:
        calls, self._at_end = self._at_end, []
        for call in calls:
            call()

    def _left(self, task: Task) -> None:
        self._tasks.pop(task, None)
        error = task.error
        if error is not None and not isinstance(error, Cancelled) and self.on_error is not None:
            self.on_error(error)
