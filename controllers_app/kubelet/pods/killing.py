"""Stopping the containers of a pod: preStop hook, SIGTERM, and SIGKILL after the grace period.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer,
executePreStopHook).
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.waiting import Signal
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods import hooks
from controllers_app.kubelet.pods.pleg import Lifecycle
from controllers_app.kubelet.status import SIDECAR, ContainerState

SIDECAR_GRACE_SECONDS_MIN = 2


class Killing:
    """Stops the containers of a pod. `Containers` implements the abstract methods."""

    __slots__ = ("_deadline", "_hurried")

    init: list[ContainerState]
    _deadline: int
    _hurried: Signal | None
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
        """Stops every container, and kills those that outlast the grace period. Sidecars stop after
        the others."""
        for container in self._all():
            if container.is_running:
                self.event(container, "Normal", "Killing", f"Stopping container {container.name}")
        now = self._pod.kubelet.kernel.now
        self._deadline = now + grace * SECOND
        await self._stop([container for container in self._all() if container.kind != SIDECAR])
        await self._stop([container for container in self.init if container.kind == SIDECAR])

    async def stop_sidecars(self) -> bool:
        """Stops the sidecars, after all other containers have ended; whether there were any."""
        sidecars = [container for container in self.init if container.kind == SIDECAR]
        for container in sidecars:
            if container.is_running:
                self.event(container, "Normal", "Killing", f"Stopping container {container.name}")
        grace = self._pod.pod["spec"].get("terminationGracePeriodSeconds", 30)
        self._deadline = self._pod.kubelet.kernel.now + grace * SECOND
        await self._stop(sidecars)
        return bool(sidecars)

    def hurry(self, grace: int) -> None:
        """Shortens the grace period of the stop under way."""
        if self._hurried is not None:
            now = self._pod.kubelet.kernel.now
            self._deadline = min(self._deadline, now + grace * SECOND)
            self._hurried.set()

    async def _stop(self, containers: list[ContainerState]) -> None:
        """Stops containers side by side: each ends at a time of its own."""
        kernel = self._pod.kubelet.kernel
        running = [container for container in containers if container.is_running]
        if not running:
            return
        began = kernel.now
        if containers[0].kind == SIDECAR and self._deadline > began:
            self._deadline = max(self._deadline, began + SIDECAR_GRACE_SECONDS_MIN * SECOND)
        self._hurried = Signal(kernel)
        ends: dict[str, int] = {}  # when each ends that has no say in it
        for container in running:
            spec = self.spec_of(container)
            if self._ends_its_own_way(container, spec):
                self._pod.spawn("stop", self._ask_to_end(container, spec))
            else:
                ends[container.name] = began + int(self._stop_seconds(container, spec) * SECOND)
        while True:
            for container in running:
                due = ends.get(container.name, self._deadline + 1)
                if container.is_running and min(due, self._deadline) <= kernel.now:
                    self._end(container, 0 if due <= kernel.now else 137)
            waits = [
                min(ends.get(container.name, self._deadline), self._deadline)
                for container in running
                if container.is_running
            ]
            if not waits:
                break
            await self._hurried.wait((min(waits) - kernel.now) / SECOND)
            self._hurried.clear()
        self._hurried = None

    def _ends_its_own_way(self, container: ContainerState, spec: Object) -> bool:
        """Whether its preStop hook or its processes decide how long it takes to end."""
        return (
            hooks.is_asked(spec, hooks.PRE_STOP) or self._lifecycle.trapped(container) is not None
        )

    async def _ask_to_end(self, container: ContainerState, spec: Object) -> None:
        """Runs the preStop hook, sends SIGTERM, and ends the container with its process."""
        if hooks.of(spec, hooks.PRE_STOP) and not await hooks.run(
            self._pod, container, spec, self._image(container, spec), hooks.PRE_STOP
        ):
            self.event(container, "Warning", "FailedPreStopHook", "PreStopHook failed")
        main, code = self._lifecycle.trapped(container), 0
        if main is not None:
            main.signal("TERM")
            await main.ended.wait()
            code = main.exit_code or 0
        elif self._lifecycle.heeds_term(container):
            await self._pod.kubelet.kernel.sleep(self._image(container, spec).stop_seconds)
        else:
            return
        if container.is_running:
            self._end(container, code)
        if self._hurried is not None:
            self._hurried.set()

    def _stop_seconds(self, container: ContainerState, spec: Object | None = None) -> float:
        """Seconds from the request to stop until the container has ended."""
        spec = spec or self.spec_of(container)
        hook = (spec.get("lifecycle") or {}).get("preStop") or {}
        asleep = (hook.get("sleep") or {}).get("seconds") or 0
        seconds = self._image(container, spec).stop_seconds
        return float(asleep) + (
            seconds if self._lifecycle.heeds_term(container) else images.SECONDS_MAX
        )
