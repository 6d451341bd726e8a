"""How the containers of a pod are stopped: hooks first, then the signal, killed after the grace.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go (killContainer,
executePreStopHook).
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.kernel import SECOND, Signal
from apiserver_app.machinery.meta import Object
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods import hooks
from controllers_app.kubelet.pods.pleg import Lifecycle
from controllers_app.kubelet.status import SIDECAR, ContainerState

SIDECAR_GRACE_SECONDS_MIN = 2


class Killing:
    """What the containers of a pod do to end. They themselves give the rest."""

    __slots__ = ("_deadline", "_hurried")

    init: list[ContainerState]
    _deadline: int
    _hurried: Signal | None
    _lifecycle: Lifecycle
    _pod: Pod

    def _all(self) -> Iterable[ContainerState]:
        raise NotImplementedError

    def _end(self, one: ContainerState, code: int) -> None:
        raise NotImplementedError

    def spec_of(self, one: ContainerState) -> Object:
        raise NotImplementedError

    def _image(self, one: ContainerState, spec: Object) -> Image:
        raise NotImplementedError

    def event(self, one: ContainerState, kind: str, reason: str, message: str) -> None:
        raise NotImplementedError

    async def stop_all(self, grace: int) -> None:
        """Ask every container to stop; who takes longer than the grace period is killed.
        Sidecars stop when the others have."""
        for one in self._all():
            if one.is_running:
                self.event(one, "Normal", "Killing", f"Stopping container {one.name}")
        now = self._pod.kubelet.kernel.now
        self._deadline = now + grace * SECOND
        await self._stop([one for one in self._all() if one.kind != SIDECAR])
        await self._stop([one for one in self.init if one.kind == SIDECAR])

    async def stop_sidecars(self) -> None:
        """The others have ended for good: so do they."""
        beside = [one for one in self.init if one.kind == SIDECAR]
        for one in beside:
            if one.is_running:
                self.event(one, "Normal", "Killing", f"Stopping container {one.name}")
        grace = self._pod.pod["spec"].get("terminationGracePeriodSeconds", 30)
        self._deadline = self._pod.kubelet.kernel.now + grace * SECOND
        await self._stop(beside)

    def hurry(self, grace: int) -> None:
        """There is less time than was said."""
        if self._hurried is not None:
            now = self._pod.kubelet.kernel.now
            self._deadline = min(self._deadline, now + grace * SECOND)
            self._hurried.set()

    async def _stop(self, which: list[ContainerState]) -> None:
        kernel = self._pod.kubelet.kernel
        alive = [(one, self._stop_seconds(one)) for one in which if one.is_running]
        if not alive:
            return
        began = kernel.now
        if which[0].kind == SIDECAR and self._deadline > began:
            self._deadline = max(self._deadline, began + SIDECAR_GRACE_SECONDS_MIN * SECOND)
        self._hurried = Signal(kernel)
        specs = {one.name: self.spec_of(one) for one, _ in alive}
        own = [one for one, _ in alive if self._ends_its_own_way(one, specs[one.name])]
        for one in own:
            self._pod.spawn("stop", self._ask_to_end(one, specs[one.name]))
        end = began + int(max((n for one, n in alive if one not in own), default=0) * SECOND)
        while True:
            due = self._deadline if any(one.is_running for one in own) else end
            if (left := min(due, self._deadline) - kernel.now) <= 0:
                break
            await self._hurried.wait(left / SECOND)
            self._hurried.clear()
        self._hurried = None
        passed = (kernel.now - began) / SECOND
        for one, needs in alive:
            if one.is_running:
                self._end(one, 137 if needs > passed or one in own else 0)

    def _ends_its_own_way(self, one: ContainerState, spec: Object) -> bool:
        """Whether how long it takes to end is decided by what is run in it."""
        return hooks.is_asked(spec, hooks.PRE_STOP) or self._lifecycle.trapped(one) is not None

    async def _ask_to_end(self, one: ContainerState, spec: Object) -> None:
        """Its hook, then the signal; ends it when its process does."""
        if hooks.of(spec, hooks.PRE_STOP) and not await hooks.run(
            self._pod, one, spec, self._image(one, spec), hooks.PRE_STOP
        ):
            self.event(one, "Warning", "FailedPreStopHook", "PreStopHook failed")
        main, code = self._lifecycle.trapped(one), 0
        if main is not None:
            main.signal("TERM")
            await main.ended.wait()
            code = main.exit_code or 0
        elif self._lifecycle.heeds_term(one):
            await self._pod.kubelet.kernel.sleep(self._image(one, spec).stop_seconds)
        else:
            return
        if one.is_running:
            self._end(one, code)
        if self._hurried is not None:
            self._hurried.set()

    def _stop_seconds(self, one: ContainerState, spec: Object | None = None) -> float:
        """How long it takes from the request to stop to its end."""
        spec = spec or self.spec_of(one)
        hook = (spec.get("lifecycle") or {}).get("preStop") or {}
        asleep = (hook.get("sleep") or {}).get("seconds") or 0
        seconds = self._image(one, spec).stop_seconds
        return float(asleep) + (seconds if self._lifecycle.heeds_term(one) else images.SECONDS_MAX)
