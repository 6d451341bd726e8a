"""Stopping the containers of a pod: preStop hook, SIGTERM, and SIGKILL after the grace period.

All are stopped side by side. A hook takes from the grace period, and is waited for no longer than
that lasts; then sidecars wait for all others, and each for those that began after it. Who gets
SIGTERM has at least two seconds from then on.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer,
executePreStopHook, setTerminationGracePeriod) and kuberuntime_termination_order.go.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.waiting import Signal
from controllers_app.cri.images import Image
from controllers_app.cri.services import MainProcess
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods import hooks
from controllers_app.kubelet.pods.pleg import Lifecycle
from controllers_app.kubelet.status import MAIN, SIDECAR, ContainerState

GRACE_SECONDS_MIN = 2  # from SIGTERM to SIGKILL
KILLED = 137

_Stage = enum.Enum("_Stage", "HOOK TURN TERM OVER")


class _Stopping:
    """One container on its way out. `due` is when its stage ends at the latest."""

    __slots__ = ("began", "code", "container", "container_id", "due", "kill", "left", "stage")

    def __init__(self, container: ContainerState, grace: int, now: int) -> None:
        self.container, self.container_id = container, container.container_id
        self.left = grace  # seconds of the grace period, without the stage under way
        self.began = self.due = now
        self.kill = self.code = 0
        self.stage = _Stage.HOOK

    @property
    def is_over(self) -> bool:
        container = self.container
        is_another = container.container_id != self.container_id
        return self.stage is _Stage.OVER or is_another or not container.is_running

    def go_on(self, stage: _Stage, now: int) -> None:
        self.left -= (now - self.began) // SECOND
        self.began, self.stage = now, stage

    def hurry(self, grace: int, now: int) -> None:
        """No more than so much grace from now on."""
        if self.stage is _Stage.TERM:
            self.kill = min(self.kill, now + max(grace, GRACE_SECONDS_MIN) * SECOND)
            self.due = min(self.due, self.kill)
            return
        self.go_on(self.stage, now)
        self.left = min(self.left, grace)
        self.due = min(self.due, now + self.left * SECOND)


class Killing:
    """Stops the containers of a pod. `Containers` implements the abstract methods."""

    __slots__ = ("_hurried", "_stopping")

    init: list[ContainerState]
    _hurried: Signal | None
    _stopping: Sequence[_Stopping]
    _lifecycle: Lifecycle
    _pod: Pod

    def _all(self) -> Iterable[ContainerState]:
        raise NotImplementedError

    def _end(self, container: ContainerState, code: int) -> None:
        raise NotImplementedError

    def spec_of(self, container: ContainerState) -> Object:
        raise NotImplementedError

    def _image(self, container: ContainerState, spec: Object) -> Image:
        raise NotImplementedError

    def event(self, container: ContainerState, kind: str, reason: str, message: str) -> None:
        raise NotImplementedError

    async def stop_all(self, grace: int) -> None:
        """Stops every container, and kills those that outlast the grace period."""
        await self._stop_with_events(list(self._all()), grace)

    async def stop_sidecars(self) -> bool:
        """Stops the sidecars, after all other containers have ended; whether there were any."""
        sidecars = [container for container in self.init if container.kind == SIDECAR]
        grace = self._pod.pod["spec"].get("terminationGracePeriodSeconds", 30)
        await self._stop_with_events(sidecars, grace)
        return bool(sidecars)

    def hurry(self, grace: int) -> None:
        """Shortens the grace period of the stop under way."""
        if self._hurried is not None:
            for stop in self._stopping:
                stop.hurry(grace, self._pod.kubelet.kernel.now)
            self._hurried.set()

    async def _stop_with_events(self, containers: list[ContainerState], grace: int) -> None:
        for container in containers:
            if container.is_running:
                self.event(container, "Normal", "Killing", f"Stopping container {container.name}")
        await self._stop(containers, grace, self._end)

    async def _stop(
        self,
        containers: list[ContainerState],
        grace: int,
        end: Callable[[ContainerState, int], None],
    ) -> None:
        """Stops containers side by side: each ends at a time of its own."""
        kernel = self._pod.kubelet.kernel
        running = [container for container in containers if container.is_running]
        if not running:
            return
        self._hurried = hurried = Signal(kernel)
        self._stopping = [_Stopping(container, grace, kernel.now) for container in running]
        for stop in self._stopping:
            self._start_hook(stop)
        while True:
            while self._stop_further(end):
                pass
            waits = [stop.due for stop in self._stopping if not stop.is_over]
            if not waits:
                break
            await hurried.wait((min(waits) - kernel.now) / SECOND)
            hurried.clear()
        self._hurried, self._stopping = None, ()

    def _stop_further(self, end: Callable[[ContainerState, int], None]) -> bool:
        """Takes each container one stage further if that is due; whether any was."""
        moved = False
        for stop in self._stopping:
            if not stop.is_over and self._moves(stop, end):
                moved = True
        return moved

    def _moves(self, stop: _Stopping, end: Callable[[ContainerState, int], None]) -> bool:
        now = self._pod.kubelet.kernel.now
        if stop.stage is _Stage.TURN and not self._has_turn(stop) and now < stop.due:
            return False
        if stop.stage is not _Stage.TURN and now < stop.due:
            return False
        if stop.stage is _Stage.HOOK:
            stop.go_on(_Stage.TURN, now)
            stop.due = now + max(stop.left, 0) * SECOND
        elif stop.stage is _Stage.TURN:
            stop.go_on(_Stage.TERM, now)
            self._terminate(stop, now)
        else:
            stop.stage = _Stage.OVER
            end(stop.container, stop.code)
        return True

    def _has_turn(self, stop: _Stopping) -> bool:
        """Sidecars go after the containers proper, the last sidecar first."""
        if stop.container.kind != SIDECAR:
            return True
        names = [container.name for container in self.init]
        later = names[names.index(stop.container.name) + 1 :]
        return not any(
            other.container.kind == MAIN or other.container.name in later
            for other in self._stopping
            if not other.is_over
        )

    def _start_hook(self, stop: _Stopping) -> None:
        spec = self.spec_of(stop.container)
        hook = hooks.of(spec, hooks.PRE_STOP)
        if not hook or stop.left <= 0:
            return
        stop.due += stop.left * SECOND
        if hooks.is_asked(spec, hooks.PRE_STOP):
            self._pod.spawn("stop", self._run_hook(stop, spec))
        else:
            asleep = int((hook.get("sleep") or {}).get("seconds") or 0)
            stop.due = min(stop.due, stop.began + asleep * SECOND)

    async def _run_hook(self, stop: _Stopping, spec: Object) -> None:
        image = self._image(stop.container, spec)
        if await hooks.run(self._pod, stop.container, spec, image, hooks.PRE_STOP):
            self.event(stop.container, "Warning", "FailedPreStopHook", "PreStopHook failed")
        if stop.stage is _Stage.HOOK and self._hurried is not None:
            stop.due = self._pod.kubelet.kernel.now
            self._hurried.set()

    def _terminate(self, stop: _Stopping, now: int) -> None:
        """SIGTERM."""
        container = stop.container
        stop.kill = stop.due = now + max(stop.left, GRACE_SECONDS_MIN) * SECOND
        stop.code = KILLED
        main = self._lifecycle.trapped(container)
        if main is not None:
            main.signal("TERM")
            self._pod.spawn("stop", self._until_end(stop, main))
        elif self._lifecycle.heeds_term(container):
            seconds = self._image(container, self.spec_of(container)).stop_seconds
            end = now + int(seconds * SECOND)
            if end <= stop.kill:
                stop.due, stop.code = end, 0

    async def _until_end(self, stop: _Stopping, main: MainProcess) -> None:
        await main.ended.wait()
        if self._hurried is not None and not stop.is_over:
            stop.due, stop.code = self._pod.kubelet.kernel.now, main.exit_code or 0
            self._hurried.set()
