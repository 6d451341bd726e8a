"""The containers of one pod: started in order, restarted by policy, stopped with grace.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go and
pkg/kubelet/images/image_manager.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import images
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.images import Behaviour
from controllers_app.kubelet.runtime import (
    CREATE_SECONDS,
    PULL_BACKOFF_SECONDS,
    PULL_BACKOFF_SECONDS_MAX,
    PullError,
    go_duration,
)
from controllers_app.kubelet.status import ContainerState

if TYPE_CHECKING:
    from controllers_app.kubelet.podworker import PodWorker

CRASH_BACKOFF_SECONDS, CRASH_BACKOFF_SECONDS_MAX = 10, 300
CRASH_RESET_SECONDS = 600


class Containers:
    """All containers of a pod, as its worker drives them."""

    def __init__(self, worker: PodWorker) -> None:
        self._worker = worker
        spec = worker.pod["spec"]
        self.specs: dict[str, Object] = {}
        self.init = [self._new(one) for one in spec.get("initContainers") or ()]
        self.main = [self._new(one) for one in spec.get("containers") or ()]
        if self.init:
            for one in self.main:
                one.state = statuses.waiting("PodInitializing")
        self._behaviours: dict[str, Behaviour] = {}
        self._crashes: dict[str, int] = {}

    def _new(self, spec: Object) -> ContainerState:
        self.specs[spec["name"]] = spec
        image = spec["image"]
        return ContainerState(spec["name"], image, state=statuses.waiting("ContainerCreating"))

    # -- starting -------------------------------------------------------------------------------

    async def start_all(self) -> None:
        """Init containers one after another, sidecars beside them, then the others."""
        worker = self._worker
        for one in self.init:
            sidecar = self.specs[one.name].get("restartPolicy") == "Always"
            if one.terminated and one.terminated["exitCode"] == 0:
                continue
            await self._bring_up(one)
            if sidecar:
                await worker.report()
            else:
                await worker.report()
                await self._await_end(one)
        for one in self.main:
            if not one.is_running and one.terminated is None:
                await self._bring_up(one)

    async def _bring_up(self, one: ContainerState) -> None:
        behaviour = await self._image(one)
        await self._run(one, behaviour)

    async def _image(self, one: ContainerState) -> Behaviour:
        """Have the image, by pull policy; a pull that fails is tried again with back-off."""
        worker, kubelet = self._worker, self._worker.kubelet
        spec = self.specs[one.name]
        image = spec["image"]
        policy = spec.get("imagePullPolicy", "IfNotPresent")
        wait = PULL_BACKOFF_SECONDS
        await worker.step("image", "begin", {"image": image, "policy": policy})
        while True:
            try:
                behaviour = await self._pulled(one, image, policy)
                break
            except PullError as error:
                await worker.step("image", "fail", {"image": image, "message": str(error)})
                await self._pull_failed(one, image, error)
                await kubelet.kernel.sleep(wait)
                wait = min(wait * 2, PULL_BACKOFF_SECONDS_MAX)
        one.image = images.normalized(image)
        one.image_id = f"{images.repository(behaviour.name)}@{behaviour.digest}"
        return images.for_pod(behaviour, worker.pod)

    async def _pulled(self, one: ContainerState, image: str, policy: str) -> Behaviour:
        worker, kubelet = self._worker, self._worker.kubelet
        if kubelet.runtime.has(image) and policy != "Always":
            self._event(
                one, "Normal", "Pulled",
                f'Container image "{image}" already present on machine',
            )  # fmt: skip
            await worker.step("image", "end", {"image": image, "seconds": 0})
            return kubelet.runtime.images[images.normalized(image)]
        if policy == "Never":
            raise PullError(
                f'Container image "{image}" is not present with pull policy of Never',
                "ErrImageNeverPull",
            )
        self._event(one, "Normal", "Pulling", f'Pulling image "{image}"')
        behaviour, pull, waited = await kubelet.runtime.pull(image)
        self._event(
            one, "Normal", "Pulled",
            f'Successfully pulled image "{image}" in {go_duration(pull)} '
            f"({go_duration(waited)} including waiting). "
            f"Image size: {behaviour.size_bytes} bytes.",
        )  # fmt: skip
        detail = {"image": image, "seconds": round(waited, 3), "bytes": behaviour.size_bytes}
        await worker.step("image", "end", detail)
        return behaviour

    async def _pull_failed(self, one: ContainerState, image: str, error: PullError) -> None:
        message = f'Failed to pull image "{image}": {error}'
        if error.reason == "ErrImageNeverPull":
            message = str(error)
            self._event(one, "Warning", "ErrImageNeverPull", message)
        else:
            self._event(one, "Warning", "Failed", message)
        self._event(one, "Warning", "Failed", f"Error: {error.reason}")
        one.state = statuses.waiting(error.reason, str(error))
        await self._worker.report()
        if error.reason == "ErrImagePull":
            backing_off = f'Back-off pulling image "{image}"'
            self._event(one, "Normal", "BackOff", backing_off)
            self._event(one, "Warning", "Failed", "Error: ImagePullBackOff")
            text = f"{backing_off}: ErrImagePull: {error}"
            one.state = statuses.waiting("ImagePullBackOff", text)
            await self._worker.report()

    async def _run(self, one: ContainerState, behaviour: Behaviour) -> None:
        """Create and start it; what it does afterwards goes on by itself."""
        worker, kubelet = self._worker, self._worker.kubelet
        await worker.step("container", "begin", {"container": one.name})
        await kubelet.kernel.sleep(CREATE_SECONDS)
        one.container_id = f"containerd://{kubelet.runtime.new_id()}"
        self._event(one, "Normal", "Created", f"Created container: {one.name}")
        await kubelet.kernel.sleep(behaviour.start_seconds)
        now = kubelet.kernel.now
        one.state = statuses.running(now)
        self._behaviours[one.name] = behaviour
        self._event(one, "Normal", "Started", f"Started container {one.name}")
        await worker.step("container", "end", {"container": one.name, "id": one.container_id})
        spec = self.specs[one.name]
        one.started = not spec.get("startupProbe")
        delay = _ready_after(spec, behaviour)
        if delay == 0:
            one.ready = True
            await worker.step("ready", "end", {"container": one.name})
        else:
            worker.spawn("ready", self._become_ready(one, one.container_id, delay))
        if behaviour.runs_seconds is not None:
            worker.spawn("life", self._live(one, one.container_id, behaviour, now))

    # -- living ---------------------------------------------------------------------------------

    async def _become_ready(self, one: ContainerState, container_id: str, delay: float) -> None:
        """The probe succeeds for the first time."""
        worker = self._worker
        await worker.kubelet.kernel.sleep(delay)
        if one.container_id != container_id or not one.is_running:
            return

        async def ready() -> str:
            one.started = one.ready = True
            await worker.step("ready", "end", {"container": one.name})
            await worker.report()
            return f"{one.name} is ready"

        await worker.worked(0, ready)

    async def _live(
        self, one: ContainerState, container_id: str, behaviour: Behaviour, began: int
    ) -> None:
        """Run for as long as the image does, then end."""
        worker = self._worker
        kernel = worker.kubelet.kernel
        await kernel.until(began + int((behaviour.runs_seconds or 0) * SECOND))
        if one.container_id != container_id or not one.is_running:
            return
        await worker.worked(0, lambda: self._ended(one, behaviour.exit_code, began))

    async def _ended(self, one: ContainerState, code: int, began: int) -> str:
        worker = self._worker
        kernel = worker.kubelet.kernel
        now = kernel.now
        one.state = statuses.terminated(code, began, now, one.container_id)
        one.ready = one.started = False
        await worker.step("container", "fail" if code else "end", {"container": one.name,
                                                                   "exitCode": code})  # fmt: skip
        if not self._restarts(one, code):
            await worker.report()
            self.check_finished()
            return f"{one.name} ended with {code}"
        if now - began >= CRASH_RESET_SECONDS * SECOND:
            self._crashes.pop(one.name, None)
        crashes = self._crashes[one.name] = self._crashes.get(one.name, 0) + 1
        await worker.report()
        if crashes > 1:
            await self._back_off(one, crashes)
        one.last = _last(one, code, began, now)
        one.restarts += 1
        await self._bring_up(one)
        await worker.report()
        return f"{one.name} was restarted"

    async def _back_off(self, one: ContainerState, crashes: int) -> None:
        worker = self._worker
        wait = min(CRASH_BACKOFF_SECONDS * 2 ** (crashes - 2), CRASH_BACKOFF_SECONDS_MAX)
        namespace, name = meta.split_key(worker.key)
        where = f"pod {name}_{namespace}({worker.uid})"
        text = f"back-off {go_duration(wait)} restarting failed container={one.name} {where}"
        one.last = {"terminated": one.state["terminated"]}
        one.state = statuses.waiting("CrashLoopBackOff", text.replace("pod ", "pod=", 1))
        self._event(
            one, "Warning", "BackOff",
            f"Back-off restarting failed container {one.name} in {where}",
        )  # fmt: skip
        await worker.report()
        await worker.kubelet.kernel.sleep(wait)

    def _restarts(self, one: ContainerState, code: int) -> bool:
        spec = self.specs[one.name]
        policy = spec.get("restartPolicy") or self._worker.pod["spec"].get("restartPolicy")
        if one in self.init and spec.get("restartPolicy") != "Always":
            return code != 0 and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    async def _await_end(self, one: ContainerState) -> None:
        """Wait until an init container has ended well. One that runs for ever is waited for."""
        kernel = self._worker.kubelet.kernel
        while not (one.terminated and one.terminated["exitCode"] == 0):
            await kernel.sleep(0.5)

    def check_finished(self) -> None:
        """Tell the worker when nothing will run any more."""
        if self.main and all(
            one.terminated is not None and not self._restarts(one, one.terminated["exitCode"])
            for one in self.main
        ):
            self._worker.spawn("finish", self._worker.finished())

    # -- stopping -------------------------------------------------------------------------------

    async def stop_all(self, grace: int) -> None:
        """Ask every container to stop; who takes longer than the grace period is killed."""
        kubelet = self._worker.kubelet
        alive = [one for one in [*self.main, *self.init] if one.is_running]
        for one in alive:
            self._event(one, "Normal", "Killing", f"Stopping container {one.name}")
        if not alive:
            return
        needs = max(self._behaviour(one).stop_seconds for one in alive)
        await kubelet.kernel.sleep(min(needs, grace) if grace else 0)
        for one in alive:
            killed = self._behaviour(one).stop_seconds > grace
            began = meta.parse_time(one.state["running"]["startedAt"])
            code = 137 if killed else 0
            one.state = statuses.terminated(code, began, kubelet.kernel.now, one.container_id)
            one.ready = one.started = False

    # -- taking over ----------------------------------------------------------------------------

    def adopt(self) -> bool:
        """Take the states a former kubelet reported; whether the pod was started already."""
        status = self._worker.pod.get("status") or {}
        for kind, group in (("initContainerStatuses", self.init), ("containerStatuses", self.main)):
            known = {one["name"]: one for one in status.get(kind) or ()}
            for one in group:
                if one.name in known:
                    _take_over(one, known[one.name])
        return any(one.container_id for one in self.main)

    def resume(self) -> None:
        """Go on with what the adopted containers were about to do."""
        worker = self._worker
        for one in self.main:
            image = one.image or self.specs[one.name]["image"]
            behaviour = worker.kubelet.runtime.catalog.find(image)
            worker.kubelet.runtime.images.setdefault(behaviour.name, behaviour)
            behaviour = images.for_pod(behaviour, worker.pod)
            self._behaviours[one.name] = behaviour
            if one.is_running and not one.ready:
                worker.spawn("ready", self._become_ready(one, one.container_id, 0.1))
            if one.is_running and behaviour.runs_seconds is not None:
                began = meta.parse_time(one.state["running"]["startedAt"])
                worker.spawn("life", self._live(one, one.container_id, behaviour, began))
        if any(not one.is_running and one.terminated is None for one in self.main):
            worker.spawn("start", worker.worked(0, self._start_rest))

    async def _start_rest(self) -> str:
        await self.start_all()
        await self._worker.report()
        return "started what was missing"

    def _behaviour(self, one: ContainerState) -> Behaviour:
        found = self._behaviours.get(one.name)
        return found or self._worker.kubelet.runtime.catalog.find(one.image)

    def _event(self, one: ContainerState, kind: str, reason: str, message: str) -> None:
        field_path = f"spec.containers{{{one.name}}}"
        if one in self.init:
            field_path = f"spec.initContainers{{{one.name}}}"
        self._worker.kubelet.recorder.event(
            self._worker.pod, kind, reason, message, field_path=field_path
        )


def _ready_after(spec: Object, behaviour: Behaviour) -> float:
    """Seconds until the probes first succeed; 0 without probes."""
    delay = behaviour.ready_seconds
    for name in ("startupProbe", "readinessProbe"):
        probe: dict[str, Any] | None = spec.get(name)
        if not probe:
            continue
        at = float(probe.get("initialDelaySeconds") or 0)
        period = float(probe.get("periodSeconds") or 10)
        at = max(at, 0.1)
        while at < behaviour.ready_seconds:
            at += period
        at += period * (max(1, probe.get("successThreshold") or 1) - 1)
        delay = max(delay, at)
    return delay


def _take_over(one: ContainerState, known: Object) -> None:
    one.state = known.get("state") or {}
    one.last = known.get("lastState") or {}
    one.ready = bool(known.get("ready"))
    one.started = bool(known.get("started"))
    one.restarts = known.get("restartCount", 0)
    one.image = known.get("image") or one.image
    one.image_id = known.get("imageID", "")
    one.container_id = known.get("containerID", "")


def _last(one: ContainerState, code: int, began: int, ended: int) -> Object:
    return statuses.terminated(code, began, ended, one.container_id)
