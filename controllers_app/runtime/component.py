"""A role of the cluster that is started, stopped, killed and started again by itself.

It is crash-only: `main` builds everything anew at each start, so what it kept in memory is gone
after `fail`, and it lists, watches and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from controllers_app.runtime.taskgroup import TaskGroup

Main = Callable[[TaskGroup], Coroutine[Any, Any, None]]

# (state, action) -> state; anything else is refused
TRANSITIONS = {
    ("stopped", "start"): "running",
    ("failed", "start"): "running",
    ("running", "stop"): "stopped",
    ("running", "fail"): "failed",
}


class IllegalTransition(Exception):
    """The action does not exist in the component's state; nothing was changed."""


class Component:
    """`main(group)` is the role; whatever it starts it spawns in the group."""

    def __init__(
        self, kernel: Kernel, probe: Probe, name: str, main: Main, facts: Object | None = None
    ) -> None:
        self.name = name
        self.state = "stopped"
        # told when a task of it ended by a programmer's error; the component has failed then
        self.on_failure: Callable[[Component, BaseException], None] | None = None
        self.shown: Any = None  # what /metrics of its process reads: a queue, a scheduler
        self._kernel = kernel
        self._probe = probe
        self._main = main
        self._facts = facts or {}  # what the trace tells of it when it starts
        self._group: TaskGroup | None = None

    def start(self) -> None:
        self._move("start")
        self._probe.tell("component", self.name, "starting", self._facts, span=0)
        group = TaskGroup(self._kernel, self.name)
        group.on_error = self._crashed
        self._group = group
        group.spawn(self.name, self._main(group), background=False)

    def stop(self) -> None:
        """End in order: each task may clean up at its next turn."""
        self._move("stop")
        assert self._group is not None
        self._group.cancel()
        self._probe.tell("component", self.name, "stopped", {}, span=0)

    def fail(self, why: str = "killed") -> None:
        """End at once, wherever each task stands."""
        self._move("fail")
        assert self._group is not None
        self._group.kill()
        self._probe.tell("component", self.name, "failed", {"why": why}, span=0)

    def _move(self, action: str) -> None:
        state = TRANSITIONS.get((self.state, action))
        if state is None:
            raise IllegalTransition(f"cannot {action} {self.name}: it is {self.state}")
        self.state = state

    def _crashed(self, error: BaseException) -> None:
        if self.state != "running":
            return
        self.fail(f"{type(error).__name__}: {error}")
        if self.on_failure is not None:
            self.on_failure(self, error)
