"""The containers of one pod: started in order, restarted by policy, stopped with grace.

`sync` looks at where each container stands and starts what has to be started now; it is called at
the start, when something ended that others wait for, and after the kubelet was replaced.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, doBackOff)
and kuberuntime_container.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND, Signal, Task
from apiserver_app.machinery.meta import Object
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.backoff import FOREGROUND_MAX, Backoff, go_duration
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods import hooks, terminationmessage
from controllers_app.kubelet.pods.imagepull import ImageGetter, Refused
from controllers_app.kubelet.pods.killing import Killing
from controllers_app.kubelet.pods.pleg import Lifecycle
from controllers_app.kubelet.prober import forecast
from controllers_app.kubelet.prober.workers import Workers
from controllers_app.kubelet.status import EPHEMERAL, INIT, MAIN, SIDECAR, ContainerState
from controllers_app.kubelet.volumes.mounter import NotMountable

CRASH_SECONDS, CRASH_SECONDS_MAX = 10, 300
CRASH_RESET_SECONDS = 600
_GROUPS = {MAIN: "containers", EPHEMERAL: "ephemeralContainers"}
START_ERROR = 128  # what a container that could not be started ends with
NOTICE_SECONDS = 1.0  # until the kubelet sees that something ended (pleg)


class Containers(Killing):
    """All containers of a pod, as its worker drives them."""

    __slots__ = (
        "_again", "_crashes", "_images", "_lifecycle", "_pod", "_probes", "_retries", "_syncing",
        "ephemeral", "init", "main",
    )  # fmt: skip

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        spec = pod.pod["spec"]
        inits = spec.get("initContainers") or ()
        reason = "PodInitializing" if inits else "ContainerCreating"
        self.init = [statuses.new_container(one, INIT, reason) for one in inits]
        self.main = [
            statuses.new_container(one, MAIN, reason) for one in spec.get("containers") or ()
        ]
        added = spec.get("ephemeralContainers") or ()
        self.ephemeral = [statuses.new_container(one, EPHEMERAL, reason) for one in added]
        self._images = ImageGetter(pod, self.event)
        self._crashes: dict[str, Backoff] = {}
        self._retries: dict[str, Task] = {}
        self._lifecycle = Lifecycle(pod, self.ended)
        self._probes = Workers(pod, self)
        self._syncing = self._again = False
        self._hurried: Signal | None = None
        self._deadline = 0

    # -- starting -------------------------------------------------------------------------------

    async def sync(self) -> str:
        """Start whatever has to be started now; what to say of it."""
        self._again = True
        if self._syncing:
            return "seen by the sync that goes on"
        self._syncing = True
        said = ""
        try:
            while self._again:
                self._again = False
                said = await self._advance()
        finally:
            self._syncing = False
        return said

    async def _advance(self) -> str:
        if not statuses.any_started(self.main):
            for one in self.init:
                if one.succeeded if one.kind == INIT else one.started:
                    continue
                if one.is_running or one.busy or one.terminated:
                    return f"waits for {one.name}"
                if not await self._bring_up(one):
                    return f"{one.name} cannot start yet"
                await self._pod.report()
                if one.kind == INIT or not one.started:
                    return f"waits for {one.name}"
        for one in (*self.main, *self.ephemeral):
            if not (one.is_running or one.busy or one.terminated):
                await self._bring_up(one)
        late = [one.name for one in self.main if "waiting" in one.state]
        return f"{', '.join(late)} cannot start yet" if late else "started"

    async def _bring_up(self, one: ContainerState) -> bool:
        """Image, creation, start. False when that has to be tried again later."""
        pod = self._pod
        one.busy = True
        spec = self.spec_of(one)
        try:
            image = await self._images.get(one, spec)
            await pod.kubelet.mounter.environment(pod.pod, spec)
        except Refused as refused:
            await self._refused(one, refused)
            return False
        except NotMountable as error:
            self.event(one, "Warning", "Failed", f"Error: {error}")
            wait = self._images.config_backoff(one).next()
            await self._refused(one, Refused("CreateContainerConfigError", str(error), wait))
            return False
        self._images.forget(one)
        await self._run(one, spec, image)
        one.busy = False
        return True

    async def _refused(self, one: ContainerState, refused: Refused) -> None:
        """Say why it waits, and come back by a task of its own."""
        pod = self._pod
        if one.terminated:
            one.last = {"terminated": one.terminated}
        one.state = statuses.waiting(refused.reason, str(refused))
        await pod.report()
        if refused.wait is not None:
            later = self._try_later(one, refused, refused.wait)
            self._retries[one.name] = pod.spawn("retry", later)

    async def _try_later(self, one: ContainerState, refused: Refused, wait: float) -> None:
        pod = self._pod
        kernel = pod.kubelet.kernel
        background = self._images.is_background(one)
        if refused.reason == "ErrImagePull":
            await kernel.sleep(NOTICE_SECONDS)
            await pod.worked(0, lambda: self._backing_off_pull(one, str(refused)))
            wait -= NOTICE_SECONDS
        await kernel.sleep(wait, background=background)
        await pod.worked(0, lambda: self._try_again(one))

    async def _backing_off_pull(self, one: ContainerState, message: str) -> str:
        image = self.spec_of(one)["image"]
        words = f'Back-off pulling image "{image}"'
        self.event(one, "Normal", "BackOff", words)
        self.event(one, "Warning", "Failed", "Error: ImagePullBackOff")
        one.state = statuses.waiting("ImagePullBackOff", f"{words}: ErrImagePull: {message}")
        await self._pod.report()
        return words

    async def _try_again(self, one: ContainerState) -> str:
        self._retries.pop(one.name, None)
        one.busy = False
        said = await self.sync()
        await self._pod.report()
        return said

    async def _run(self, one: ContainerState, spec: Object, image: Image) -> None:
        """Create and start it; what it does afterwards goes on by itself."""
        pod, kubelet = self._pod, self._pod.kubelet
        await pod.step("container", "begin", {"container": one.name})
        container_id = await kubelet.runtime.create_container()
        self.event(one, "Normal", "Created", f"Created container: {one.name}")
        await kubelet.kernel.sleep(image.start_seconds)
        missing = kubelet.runtime.missing_program(spec, image)
        if one.container_id:
            one.restarts += 1
        if one.terminated:
            one.last = {"terminated": one.terminated}
        one.container_id = container_id
        began = kubelet.kernel.now
        if missing:
            await self._cannot_start(one, missing)
            return
        one.state = statuses.running(began)
        kubelet.runtime.start_container(pod.uid, statuses.record_of(one))
        self.event(one, "Normal", "Started", f"Started container {one.name}")
        await pod.step("container", "end", {"container": one.name, "id": container_id})
        self._follow(one, spec, image, began)
        if hooks.of(spec, hooks.POST_START):
            await self._started_up(one, spec)
        if one.ready and one.kind != INIT:
            await pod.step("ready", "end", {"container": one.name})

    def _follow(self, one: ContainerState, spec: Object, image: Image, began: int) -> None:
        """Notice what the running container will do."""
        self._lifecycle.follow(one, image, began)
        self._probes.add(one, spec, image, began)

    def _leave(self, one: ContainerState) -> None:
        """It does not run any more, or will do something else."""
        self._lifecycle.leave(one)
        self._probes.remove(one)

    async def probed(self, one: ContainerState, *, started: bool, ready: bool) -> str:
        """Its probes have changed what it is."""
        pod = self._pod
        newly = started and not one.started
        one.started, one.ready = started, ready
        if ready or not newly:
            state = "end" if ready else "fail"
            await pod.step("ready", state, {"container": one.name})
        if newly and one.kind == SIDECAR:
            await self.sync()
        await pod.report()
        return f"{one.name} is {'ready' if ready else 'started' if newly else 'not ready'}"

    async def _started_up(self, one: ContainerState, spec: Object) -> None:
        """The hook after the start; one that fails ends the container."""
        if (
            await hooks.run(self._pod, one, spec, self._image(one, spec), hooks.POST_START)
            or not one.is_running
        ):
            return
        self.event(one, "Warning", "FailedPostStartHook", "PostStartHook failed")
        one.ready = False
        pod = self._pod
        work = pod.worked(0, lambda: self.kill(one, "FailedPostStartHook"))
        pod.spawn("ended", work)

    async def _cannot_start(self, one: ContainerState, why: str) -> None:
        """The runtime has refused to start it, which counts as an end."""
        pod = self._pod
        self.event(one, "Warning", "Failed", f"Error: {why}")
        await pod.step("container", "fail", {"container": one.name, "message": why})
        one.state = statuses.start_error(why, pod.kubelet.kernel.now, one.container_id)
        pod.spawn("ended", pod.worked(0, lambda: self.ended(one, START_ERROR)))

    # -- ends and restarts -----------------------------------------------------------------------

    async def ended(self, one: ContainerState, code: int) -> str:
        """It is not running any more: say so, and see to what follows."""
        pod = self._pod
        if one.is_running:
            self._end(one, code)
            detail = {"container": one.name, "exitCode": code}
            await pod.step("container", "fail" if code else "end", detail)
        if self._is_finished():
            await pod.finished()
        elif self._restarts(one):
            one.busy = True
            await pod.report()
            self._restart_later(one)
        else:
            await pod.report()
            if one.kind == INIT:
                await self.sync()
                await pod.report()
        return f"{one.name} ended with {code}"

    async def kill(self, one: ContainerState, why: str, *, restart: bool = False) -> str:
        """Stop one running container. `restart` starts it anew whatever the policy says."""
        pod = self._pod
        kernel = pod.kubelet.kernel
        container_id = one.container_id
        self.event(one, "Normal", "Killing", why)
        spec, grace = self.spec_of(one), pod.pod["spec"].get("terminationGracePeriodSeconds", 30)
        needs = self._stop_seconds(one, spec)
        if self._ends_its_own_way(one, spec):
            self._hurried = Signal(kernel)
            self._pod.spawn("stop", self._ask_to_end(one, spec))
            await self._hurried.wait(grace)
            self._hurried = None
            needs = images.SECONDS_MAX
            code = (one.terminated or {}).get("exitCode", 137)
        else:
            await kernel.sleep(min(needs, grace))
            if one.container_id != container_id or not one.is_running:
                return f"{one.name} ended by itself"
            code = 137 if needs > grace else 0
        if not restart:
            await self.ended(one, code)
            return why
        if one.is_running:
            self._end(one, code)
        if await self._bring_up(one):
            await pod.report()
        return why

    def _end(self, one: ContainerState, code: int) -> None:
        began = meta.parse_time(one.state["running"]["startedAt"])
        now = self._pod.kubelet.kernel.now
        one.state = statuses.terminated(code, began, now, one.container_id)
        message = terminationmessage.of_end(self._pod, one, self.spec_of(one), code)
        if message:
            one.state["terminated"]["message"] = message
        one.ready = one.started = False
        self._leave(one)
        record = statuses.record_of(one)
        self._pod.kubelet.runtime.stop_container(self._pod.uid, record, code)

    def _restart_later(self, one: ContainerState, *, known: bool = True) -> None:
        """Start it again: at once the first time, then after a back-off that doubles."""
        wait = 0.0
        backoff = self._crashes.get(one.name)
        if backoff is None:
            backoff = self._crashes[one.name] = Backoff(CRASH_SECONDS, CRASH_SECONDS_MAX)
        elif known:
            done = one.terminated or {}
            ran = meta.parse_time(done["finishedAt"]) - meta.parse_time(done["startedAt"])
            if ran >= CRASH_RESET_SECONDS * SECOND:
                backoff.reset()
            wait = backoff.next()
        background = backoff.is_background or one.restarts > FOREGROUND_MAX
        task = self._restart_after(one, wait, background)
        self._retries[one.name] = self._pod.spawn("restart", task)

    async def _restart_after(self, one: ContainerState, wait: float, background: bool) -> None:
        pod = self._pod
        kernel = pod.kubelet.kernel
        if wait:
            await kernel.sleep(NOTICE_SECONDS)
            await pod.worked(0, lambda: self._backing_off(one, wait))
            await kernel.sleep(wait - NOTICE_SECONDS, background=background)
        await pod.worked(0, lambda: self._restart(one))

    async def _backing_off(self, one: ContainerState, wait: float) -> str:
        pod = self._pod
        namespace, name = meta.split_key(pod.key)
        where = f"{name}_{namespace}({pod.uid})"
        words = f"back-off {go_duration(wait)} restarting failed container={one.name} pod={where}"
        one.last = {"terminated": one.terminated}
        one.state = statuses.waiting("CrashLoopBackOff", words)
        self.event(
            one, "Warning", "BackOff",
            f"Back-off restarting failed container {one.name} in pod {where}",
        )  # fmt: skip
        await pod.report()
        return words

    async def _restart(self, one: ContainerState) -> str:
        self._retries.pop(one.name, None)
        if await self._bring_up(one):
            await self._pod.report()
            if one.kind == SIDECAR:
                await self.sync()
                await self._pod.report()
        return f"{one.name} was restarted"

    def _restarts(self, one: ContainerState) -> bool:
        """Whether it has to be started again after the end it came to."""
        if one.kind == EPHEMERAL:
            return False
        if one.kind == SIDECAR:
            return True
        policy = self._pod.pod["spec"].get("restartPolicy", "Always")
        if one.kind == INIT:
            return not one.succeeded and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and not one.succeeded)

    def _is_finished(self) -> bool:
        """Nothing will run any more."""
        if any(
            one.kind == INIT and one.terminated and not one.succeeded and not self._restarts(one)
            for one in self.init
        ):
            return True
        return all(one.terminated and not self._restarts(one) for one in self.main)

    # -- changes of the pod ---------------------------------------------------------------------

    def respecified(self, revision: int) -> None:
        """The pod's spec has changed: another image replaces the container, the rest is told."""
        self._pod.spawn("respecified", self._pod.worked(revision, self._respecified))

    async def _respecified(self) -> str:
        for spec in self._pod.pod["spec"].get("ephemeralContainers") or ():
            if all(one.name != spec["name"] for one in self.ephemeral):
                new = statuses.new_container(spec, EPHEMERAL, "ContainerCreating")
                self.ephemeral.append(new)
        for one in self._all():
            image = self.spec_of(one)["image"]
            if one.is_running and one.image != images.normalized(image):
                why = f"Container {one.name} definition changed, will be restarted"
                await self.kill(one, why, restart=True)
            elif "waiting" in one.state and one.name not in self._crashes and one.image != image:
                task = self._retries.pop(one.name, None)
                if task is not None:
                    self._pod.kubelet.kernel.cancel(task)
                one.image, one.busy = image, False
                self._images.forget(one)
        said = await self.sync()
        await self._pod.report()
        return said

    def behave_anew(self) -> None:
        """The pod's annotations have changed what its containers do."""
        for one in self._all():
            if one.is_running:
                self._leave(one)
                spec = self.spec_of(one)
                started, ready = one.started, one.ready
                began = meta.parse_time(one.state["running"]["startedAt"])
                self._follow(one, spec, self._image(one, spec), began)
                one.started, one.ready = started, ready

    def give_up(self) -> None:
        """The pod is over: of containers that never ran nothing will be known."""
        done = not self.init or statuses.any_started(self.main)
        if done or self.init[-1].succeeded:
            for one in self.main:
                if not one.terminated:
                    one.state = statuses.lost()

    # -- taking over ----------------------------------------------------------------------------

    def adopt(self) -> bool:
        """Take the states a former kubelet reported; whether anything of the pod ran already."""
        runtime = self._pod.kubelet.runtime
        status = self._pod.pod.get("status") or {}
        for kind, group in (
            ("initContainerStatuses", self.init), ("containerStatuses", self.main),
            ("ephemeralContainerStatuses", self.ephemeral),
        ):  # fmt: skip
            known = {one["name"]: one for one in status.get(kind) or ()}
            for one in group:
                if one.name in known:
                    statuses.take_over(one, known[one.name])
                if one.is_running:
                    runtime.import_image(one.image)
                    runtime.start_container(self._pod.uid, statuses.record_of(one))
        return any(one.container_id for one in self._all())

    async def resume(self) -> str:
        """Go on with what the adopted containers were about to do."""
        if self._is_finished():
            await self._pod.finished()
            return "everything had ended"
        for one in self._all():
            if one.is_running:
                spec = self.spec_of(one)
                began = meta.parse_time(one.state["running"]["startedAt"])
                started, ready = one.started, one.ready
                self._follow(one, spec, self._image(one, spec), began)
                if not forecast.is_instant(spec):
                    one.started, one.ready = started, ready
            elif one.terminated and self._restarts(one):
                one.busy = True
                self._restart_later(one, known=False)
        return await self._respecified()

    # -- inside ---------------------------------------------------------------------------------

    def _all(self) -> Iterable[ContainerState]:
        return (*self.init, *self.main, *self.ephemeral)

    def find(self, name: str) -> ContainerState | None:
        return next((one for one in self._all() if one.name == name), None)

    def running(self) -> list[ContainerState]:
        return [one for one in self._all() if one.is_running]

    def ends_by_itself(self, container_id: str, code: int) -> None:
        """Its main process was told to end, from inside."""
        one = next((each for each in self.running() if each.container_id == container_id), None)
        if one is not None:
            self._pod.spawn("ended", self._pod.worked(0, lambda: self.ended(one, code)))

    def image_of(self, one: ContainerState) -> Image:
        """What the container's image is and does, with what the pod's annotations change."""
        return self._image(one, self.spec_of(one))

    def spec_of(self, one: ContainerState) -> Object:
        spec = self._pod.pod["spec"]
        group = spec[_GROUPS.get(one.kind, "initContainers")]
        found: Object = next(each for each in group if each["name"] == one.name)
        return found

    def _image(self, one: ContainerState, spec: Object) -> Image:
        pod = self._pod
        found = pod.kubelet.runtime.image_spec(spec["image"])
        return images.for_container(found, pod.pod, one.name)

    def event(self, one: ContainerState, kind: str, reason: str, message: str) -> None:
        group = _GROUPS.get(one.kind, "initContainers")
        self._pod.kubelet.recorder.event(
            self._pod.pod, kind, reason, message, field_path=f"spec.{group}{{{one.name}}}"
        )
