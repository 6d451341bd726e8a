"""A group of tasks that is stopped or killed together, like the threads of a process.

A task leaves the group when it ends. Killing closes the coroutines where they are: nothing they
hold in memory is finished or written, as after SIGKILL.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.task import Cancelled, Task


class TaskGroup:
    """Tasks of one component. `on_error` is called when a task ends with an unexpected error."""

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
        """Starts a task in this group; unlike with `kernel.spawn`, by default in no span."""
        task = self._kernel.spawn(name, coro, background=background, span=span)
        self._tasks[task] = None
        task.on_done.append(self._left)
        return task

    def at_end(self, call: Callable[[], None]) -> None:
        """Registers a callback for when the group is cancelled or killed."""
        self._at_end.append(call)

    def cancel(self) -> None:
        """Cancels every task: each gets Cancelled and may clean up."""
        self._end()
        for task in list(self._tasks):
            self._kernel.cancel(task)

    def kill(self) -> None:
        """Ends every task now. A member task that calls this is cancelled instead."""
        self._end()
        for task in list(self._tasks):
            if task is self._kernel.current:
                self._kernel.cancel(task)
            else:
                self._kernel.kill(task)

    def give_up(self, error: Exception) -> None:
        """Reports from inside that the component cannot continue."""
        if self.on_error is not None:
            self.on_error(error)

    async def join(self) -> None:
        """Waits until every task has ended."""
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
