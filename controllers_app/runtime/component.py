"""A process of the cluster that can be started, stopped, killed and started again on its own.

It is crash-only: `main` builds everything anew at each start. After `fail` its memory is lost, and
the next start lists and watches again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from controllers_app.runtime.taskgroup import TaskGroup

RESTART_SECONDS = 5  # of virtual time, after it ended by a bug of its own

Main = Callable[[TaskGroup], Coroutine[Any, Any, None]]
OnFailure = Callable[[BaseException], None]

# (state, action) -> state; anything else is refused
TRANSITIONS = {
    ("stopped", "start"): "running",
    ("failed", "start"): "running",
    ("running", "stop"): "stopped",
    ("running", "fail"): "failed",
}


class CannotStart(Exception):
    """What it was given does not let it start; it tries again, and nobody waits for that."""


class IllegalTransition(Exception):
    """The component's state does not allow the action; nothing was changed."""


class Component:
    """Runs `main(group)`, which spawns all its tasks in the group. After a bug in one of them it
    starts again by itself, unless `on_failure` does something else."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        name: str,
        main: Main,
        facts: Object | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        self.name = name
        self.state = "stopped"
        self.metrics_source: Any = None  # what /metrics reads: a work queue or a scheduler
        self._kernel = kernel
        self._probe = probe
        self._main = main
        self._facts = facts or {}  # recorded in the trace at each start
        self._on_failure = on_failure or self._restart_later
        self._group: TaskGroup | None = None

    def start(self) -> None:
        self._move("start")
        self._probe.tell("component", self.name, "starting", self._facts, span=0)
        group = TaskGroup(self._kernel, self.name)
        group.on_error = self._crashed
        self._group = group
        group.spawn(self.name, self._main(group), background=False)

    def stop(self) -> None:
        """Stop gracefully: each task may clean up at its next turn."""
        self._move("stop")
        assert self._group is not None
        self._group.cancel()
        self._probe.tell("component", self.name, "stopped", {}, span=0)

    def fail(self, reason: str = "killed") -> None:
        """Stop at once, wherever each task is, as SIGKILL does."""
        self._move("fail")
        assert self._group is not None
        self._group.kill()
        self._probe.tell("component", self.name, "failed", {"why": reason}, span=0)

    def _move(self, action: str) -> None:
        state = TRANSITIONS.get((self.state, action))
        if state is None:
            raise IllegalTransition(f"cannot {action} {self.name}: it is {self.state}")
        self.state = state

    def _crashed(self, error: BaseException) -> None:
        if self.state != "running":
            return
        self.fail(f"{type(error).__name__}: {error}")
        self._on_failure(error)

    def _restart_later(self, error: BaseException) -> None:
        def start(_argument: object) -> None:
            if self.state == "failed":
                self.start()

        due = self._kernel.now + RESTART_SECONDS * SECOND
        background = isinstance(error, CannotStart)
        self._kernel.call_at(due, start, None, background=background)
