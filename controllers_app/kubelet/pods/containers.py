"""The containers of one pod: started in order, restarted by policy, stopped with grace.

`sync` starts the containers that are due; it is called at the start, when a container that others
wait for has ended, and after a restart of the kubelet.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodActions, doBackOff)
and kuberuntime_container.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.task import Task
from apiserver_app.machinery.waiting import Signal
from controllers_app.cri import images, memory
from controllers_app.cri.images import Image
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.backoff import Backoff
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods import hooks, nonroot, terminationmessage
from controllers_app.kubelet.pods.imagepull import NOTICE_SECONDS, ImageGetter, Refused
from controllers_app.kubelet.pods.pleg import Lifecycle
from controllers_app.kubelet.pods.restarts import Restarts
from controllers_app.kubelet.prober import forecast
from controllers_app.kubelet.prober.workers import Workers
from controllers_app.kubelet.status import EPHEMERAL, INIT, MAIN, SIDECAR, ContainerState
from controllers_app.kubelet.volumes.mounter import NotMountable

_GROUPS = {MAIN: "containers", EPHEMERAL: "ephemeralContainers"}
START_ERROR = 128  # exit code of a container that could not be started


class Containers(Restarts):
    """All containers of a pod, as its worker drives them."""

    __slots__ = (
        "_again", "_first_reason", "_images", "_lifecycle", "_pod", "_syncing",
        "ephemeral", "init", "main", "probes", "resizing",
    )  # fmt: skip

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        pod_spec = pod.pod["spec"]
        inits = pod_spec.get("initContainers") or ()
        reason = self._first_reason = "PodInitializing" if inits else "ContainerCreating"
        self.init = [statuses.new_container(spec, INIT, reason) for spec in inits]
        mains, added = pod_spec.get("containers") or (), pod_spec.get("ephemeralContainers") or ()
        self.main = [statuses.new_container(spec, MAIN, reason) for spec in mains]
        self.ephemeral = [statuses.new_container(spec, EPHEMERAL, reason) for spec in added]
        self._images = ImageGetter(pod, self.event)
        self._crashes: dict[str, Backoff] = {}
        self._retries: dict[str, Task] = {}
        self._lifecycle = Lifecycle(pod, self.ended)
        self.probes = Workers(pod, self)
        self._syncing = self._again = self.resizing = False
        self._hurried: Signal | None = None
        self._stopping: Sequence[Any] = ()

    def part(self) -> None:
        """Lets go of all that refers to this, once nothing is asked of it any more."""
        del self._images, self._lifecycle, self.probes, self._pod

    # -- starting -------------------------------------------------------------------------------

    async def sync(self) -> str:
        """Starts every container that is due; returns a summary for the trace."""
        self._again = True
        if self._syncing:
            return "seen by the sync that goes on"
        self._syncing = True
        result = ""
        try:
            while self._again:
                self._again = False
                result = await self._advance()
        finally:
            self._syncing = False
        return result

    async def _advance(self) -> str:
        if not statuses.any_started(self.main):
            for container in self.init:
                if container.succeeded if container.kind == INIT else container.started:
                    continue
                if container.is_running or container.busy or container.terminated:
                    return f"waits for {container.name}"
                if not await self._bring_up(container):
                    return f"{container.name} cannot start yet"
                await self._pod.report()
                if container.kind == INIT or not container.started:
                    return f"waits for {container.name}"
        for container in (*self.main, *self.ephemeral):
            if not (container.is_running or container.busy or container.terminated):
                await self._bring_up(container)
        waiting = [container.name for container in self.main if "waiting" in container.state]
        return f"{', '.join(waiting)} cannot start yet" if waiting else "started"

    async def _bring_up(self, container: ContainerState) -> bool:
        """Gets the image, creates and starts the container. False when a retry is needed."""
        pod = self._pod
        container.busy = True
        spec = self.spec_of(container)
        try:
            image = await self._images.get(container, spec)
            await pod.kubelet.mounter.environment(pod.pod, spec)
            nonroot.verify(pod.pod, spec, image)
        except Refused as refused:
            await self._refused(container, refused)
            return False
        except (NotMountable, nonroot.RunsAsRoot) as error:
            self.event(container, "Warning", "Failed", f"Error: {error}")
            wait = self._images.until_sync(container)
            await self._refused(container, Refused("CreateContainerConfigError", str(error), wait))
            return False
        self._images.forget(container)
        if not await self._run(container, spec, image):
            return False
        container.busy = False
        return True

    async def _refused(self, container: ContainerState, refused: Refused) -> None:
        """Reports why the container waits, and schedules the retry."""
        pod = self._pod
        self._waits(container, refused.reason, str(refused))
        await pod.report()
        if refused.wait is not None:
            later = self._try_later(container, refused, refused.wait)
            self._retries[container.name] = pod.spawn("retry", later)

    async def _try_later(self, container: ContainerState, refused: Refused, wait: float) -> None:
        pod = self._pod
        kernel = pod.kubelet.kernel
        background = self._images.is_background(container)
        if refused.reason == "ErrImagePull":
            await kernel.sleep(NOTICE_SECONDS)
            await pod.worked(0, lambda: self._backing_off_pull(container, str(refused)))
            wait -= NOTICE_SECONDS
        await kernel.sleep(wait, background=background)
        await pod.worked(0, lambda: self._try_again(container))

    async def _backing_off_pull(self, container: ContainerState, message: str) -> str:
        image = self.spec_of(container)["image"]
        text = f'Back-off pulling image "{image}"'
        self.event(container, "Normal", "BackOff", text)
        self.event(container, "Warning", "Failed", "Error: ImagePullBackOff")
        container.state = statuses.waiting("ImagePullBackOff", f"{text}: ErrImagePull: {message}")
        await self._pod.report()
        return text

    async def _try_again(self, container: ContainerState) -> str:
        if container.terminated:
            return await self._restart(container)
        self._retries.pop(container.name, None)
        container.busy = False
        result = await self.sync()
        await self._pod.report()
        return result

    async def _run(self, container: ContainerState, spec: Object, image: Image) -> bool:
        """Creates and starts the container, and follows its life in tasks. False when what was to
        be done after its start failed."""
        pod, kubelet = self._pod, self._pod.kubelet
        await pod.step("container", "begin", {"container": container.name})
        container_id = await kubelet.runtime.create_container()
        colon = ":" if kubelet.release.has("CreatedContainerColon") else ""
        self.event(container, "Normal", "Created", f"Created container{colon} {container.name}")
        await kubelet.kernel.sleep(image.start_seconds)
        fault = kubelet.runtime.start_fault(pod.uid, spec, image)
        if container.container_id:
            container.restarts += 1
        if container.terminated:
            container.last = {"terminated": container.terminated}
        container.container_id = container_id
        began = kubelet.kernel.now
        if fault:
            await self._cannot_start(container, fault)
            return True
        container.state, container.ended = statuses.running(began), None
        container.resources = spec.get("resources") or {}
        kubelet.runtime.start_container(pod.uid, statuses.record_of(container))
        self.event(container, "Normal", "Started", f"Started container {container.name}")
        await pod.step("container", "end", {"container": container.name, "id": container_id})
        self._lifecycle.follow(container, spec, image, began)
        if hooks.of(spec, hooks.POST_START):
            failed = await hooks.run(pod, container, spec, image, hooks.POST_START)
            if failed and container.is_running:
                return await self._hook_failed(container, failed)
        await kubelet.runtime.relisted()
        if container.is_running:
            self.probes.add(container, spec, image, kubelet.kernel.now)
        if container.ready and container.kind != INIT:
            await pod.step("ready", "end", {"container": container.name})
        return True

    def _follow(self, container: ContainerState, spec: Object, image: Image, began: int) -> None:
        """Watches the running container's end and its probes."""
        self._lifecycle.follow(container, spec, image, began)
        self.probes.add(container, spec, image, began)

    def _leave(self, container: ContainerState) -> None:
        """Stops watching the container."""
        self._lifecycle.leave(container)
        self.probes.remove(container)

    async def probed(self, container: ContainerState, *, started: bool, ready: bool) -> str:
        """Applies a change of started or ready by the probes."""
        pod = self._pod
        newly = started and not container.started
        if newly and ready:  # that it is ready is seen at the sync that follows
            container.started = True
            await pod.report()
        container.started, container.ready = started, ready
        if ready or not newly:
            state = "end" if ready else "fail"
            await pod.step("ready", state, {"container": container.name})
        await pod.report()
        if newly and container.kind == SIDECAR:
            await self.sync()
            await pod.report()
        return f"{container.name} is {'ready' if ready else 'started' if newly else 'not ready'}"

    async def _hook_failed(self, container: ContainerState, why: str) -> bool:
        """Kills the container that has just started. That it ran is never told."""
        pod, reason = self._pod, "FailedPostStartHook"
        self.event(container, "Warning", reason, "PostStartHook failed")
        code = await self._killed(container, reason)
        if code is None:
            return True
        self._end(container, code)
        await self._tell_end(container, code)
        if self._restarts(container):
            self._waits(container, "PostStartHookError", why)
        pod.spawn("ended", pod.worked(0, lambda: self.ended(container, code)))
        return False

    async def _cannot_start(self, container: ContainerState, message: str) -> None:
        """Records a start error, which counts as an end."""
        pod = self._pod
        self.event(container, "Warning", "Failed", f"Error: {message}")
        await pod.step("container", "fail", {"container": container.name, "message": message})
        container.state = statuses.start_error(
            message, pod.kubelet.kernel.now, container.container_id
        )
        pod.spawn("ended", pod.worked(0, lambda: self.ended(container, START_ERROR)))

    # -- end and restart -----------------------------------------------------------------------

    async def ended(self, container: ContainerState, code: int) -> str:
        """Records the container's end, and restarts it or ends the pod as the policy says."""
        pod = self._pod
        if container.is_running:
            self._end(container, code)
            await self._tell_end(container, code)
        if self._is_finished():
            await pod.finished()
        elif self._restarts(container):
            container.busy = True
            await pod.report()
            self._restart_later(container)
        else:
            await pod.report()
            if container.kind == INIT:
                await self.sync()
                await pod.report()
        return f"{container.name} ended with {code}"

    async def kill(
        self, container: ContainerState, reason: str, *, probe: str = "", restart: bool = False
    ) -> str:
        """Stops a running container, in the time that the failed `probe` gives it if it gives one.
        `restart` starts it again whatever the policy is."""
        code = await self._killed(container, reason, probe)
        if code is None:
            return f"{container.name} ended by itself"
        if not restart and not (probe and self._starts_at_once(container)):
            await self.ended(container, code)
            return reason
        self._end(container, code)
        await self._tell_end(container, code)
        await self._restart(container)
        return reason

    async def _killed(self, container: ContainerState, reason: str, probe: str = "") -> int | None:
        """Stops a running container; returns its exit code, None if it ended by itself."""
        container_id = container.container_id
        self.event(container, "Normal", "Killing", reason)
        codes: list[int] = []
        failed = self.spec_of(container).get(f"{probe.lower()}Probe") or {}
        grace = failed.get("terminationGracePeriodSeconds")
        if grace is None:
            grace = self._pod.pod["spec"].get("terminationGracePeriodSeconds", 30)
        await self._stop([container], grace, lambda _, code: codes.append(code))
        if container.container_id != container_id or not container.is_running:
            return None
        return codes[0]

    def _end(self, container: ContainerState, code: int) -> None:
        began = meta.parse_time(container.state["running"]["startedAt"])
        now = self._pod.kubelet.kernel.now
        spec = self.spec_of(container)
        reason = memory.reason_of_end(spec, self._image(container, spec), code)
        container.state = statuses.terminated(code, began, now, container.container_id, reason)
        message = terminationmessage.of_end(self._pod, container, spec, code)
        if message:
            container.state["terminated"]["message"] = message
        container.ready = container.started = False
        self._leave(container)
        record = statuses.record_of(container)
        self._pod.kubelet.runtime.stop_container(self._pod.uid, record, code)
        if self._hurried is not None:  # who stops them counts them
            self._hurried.set()

    async def _tell_end(self, container: ContainerState, code: int) -> None:
        detail = {"container": container.name, "exitCode": code}
        await self._pod.step("container", "fail" if code else "end", detail)

    def _is_finished(self) -> bool:
        """Whether no container will run again."""
        if any(
            container.kind == INIT
            and container.terminated
            and not container.succeeded
            and not self._restarts(container)
            for container in self.init
        ):
            return True
        return all(
            container.terminated and not self._restarts(container) for container in self.main
        )

    # -- changes of the pod ---------------------------------------------------------------------

    def respecified(self, revision: int) -> None:
        """Acts on a changed pod spec: new ephemeral containers, images and resources."""
        self._pod.spawn("respecified", self._pod.worked(revision, self._respecified))

    async def _respecified(self) -> str:
        for spec in self._pod.pod["spec"].get("ephemeralContainers") or ():
            if all(container.name != spec["name"] for container in self.ephemeral):
                new = statuses.new_container(spec, EPHEMERAL, "ContainerCreating")
                self.ephemeral.append(new)
                await self._pod.report()
        await self._resize()
        for container in self._all():
            image = self.spec_of(container)["image"]
            if container.is_running and container.image != images.normalized(image):
                reason = f"Container {container.name} definition changed, will be restarted"
                await self.kill(container, reason, restart=True)
            elif (
                "waiting" in container.state
                and container.name not in self._crashes
                and container.image != image
            ):
                task = self._retries.pop(container.name, None)
                if task is not None:
                    self._pod.kubelet.kernel.cancel(task)
                container.image, container.busy = image, False
                self._images.forget(container)
        result = await self.sync()
        await self._pod.report()
        return result

    async def _resize(self) -> None:
        """Gives the containers the amounts that their spec has now. The status says that first,
        then what they have."""
        pod = self._pod
        resized = [
            container
            for container in (*self.init, *self.main)
            if container.is_running
            and container.resources != (self.spec_of(container).get("resources") or {})
        ]
        if not resized:
            return
        self.resizing = True
        await pod.report()
        for container in resized:
            if container.is_running:
                spec = self.spec_of(container)
                old, new = container.resources or {}, spec.get("resources") or {}
                if _restarts_for(spec, old, new):
                    reason = f"Container {container.name} resize requires restart"
                    await self.kill(container, reason, restart=True)
                container.resources = new
        self.resizing = False
        await pod.report()

    def behave_anew(self) -> None:
        """Applies changed behaviour annotations to the running containers."""
        for container in self._all():
            if container.is_running:
                self._leave(container)
                spec = self.spec_of(container)
                started, ready = container.started, container.ready
                began = meta.parse_time(container.state["running"]["startedAt"])
                self._follow(container, spec, self._image(container, spec), began)
                container.started, container.ready = started, ready

    def unwind(self) -> None:
        """The pod is over: what waits for a start or a restart is as the runtime has it."""
        for container in self._all():
            if container.ended:
                container.state, container.last = container.ended
            elif "waiting" in container.state:
                container.state = statuses.waiting(self._first_reason)

    # -- adoption ----------------------------------------------------------------------------

    def adopt(self) -> bool:
        """Adopts the states that an earlier kubelet reported; returns whether anything ran."""
        runtime = self._pod.kubelet.runtime
        status = self._pod.pod.get("status") or {}
        for kind, group in (
            ("initContainerStatuses", self.init),
            ("containerStatuses", self.main),
            ("ephemeralContainerStatuses", self.ephemeral),
        ):
            reported = {container["name"]: container for container in status.get(kind) or ()}
            for container in group:
                if container.name in reported:
                    statuses.take_over(container, reported[container.name])
                if container.is_running:
                    runtime.import_image(container.image)
                    runtime.start_container(self._pod.uid, statuses.record_of(container))
        return any(container.container_id for container in self._all())

    async def resume(self) -> str:
        """Continues the adopted containers: probes, pending restarts, changed images."""
        if self._is_finished():
            await self._pod.finished()
            return "everything had ended"
        for container in self._all():
            if container.is_running:
                spec = self.spec_of(container)
                began = meta.parse_time(container.state["running"]["startedAt"])
                started, ready = container.started, container.ready
                self._follow(container, spec, self._image(container, spec), began)
                if not forecast.is_instant(spec):
                    container.started, container.ready = started, ready
            elif container.terminated and self._restarts(container):
                container.busy = True
                self._restart_later(container, known=False)
        return await self._respecified()

    # -- inside ---------------------------------------------------------------------------------

    def _all(self) -> Iterable[ContainerState]:
        return (*self.init, *self.main, *self.ephemeral)

    def find(self, name: str) -> ContainerState | None:
        return next((container for container in self._all() if container.name == name), None)

    def running(self) -> list[ContainerState]:
        return [container for container in self._all() if container.is_running]

    def ends_by_itself(self, container_id: str, code: int) -> None:
        """Handles the end of a main process that was signalled from inside."""
        container = next(
            (each for each in self.running() if each.container_id == container_id), None
        )
        if container is not None:
            self._pod.spawn("ended", self._pod.worked(0, lambda: self.ended(container, code)))

    def image_of(self, container: ContainerState) -> Image:
        """The container's image with the overrides of the pod's annotations."""
        return self._image(container, self.spec_of(container))

    def spec_of(self, container: ContainerState) -> Object:
        spec = self._pod.pod["spec"]
        group = spec[_GROUPS.get(container.kind, "initContainers")]
        container_spec: Object = next(each for each in group if each["name"] == container.name)
        return container_spec

    def _image(self, container: ContainerState, spec: Object) -> Image:
        pod = self._pod
        image = pod.kubelet.runtime.image_spec(spec["image"])
        return images.for_container(image, pod.pod, container.name)

    def event(self, container: ContainerState, kind: str, reason: str, message: str) -> None:
        group = _GROUPS.get(container.kind, "initContainers")
        self._pod.kubelet.recorder.event(
            self._pod.pod, kind, reason, message, field_path=f"spec.{group}{{{container.name}}}"
        )


def _restarts_for(spec: Object, old: Object, new: Object) -> bool:
    """Whether the resize policy has the container restarted for what changed."""
    policies = {
        each["resourceName"]: each["restartPolicy"] for each in spec.get("resizePolicy") or ()
    }
    return any(
        policies.get(name) == "RestartContainer"
        for group in ("requests", "limits")
        for name in {*(old.get(group) or {}), *(new.get(group) or {})}
        if (old.get(group) or {}).get(name) != (new.get(group) or {}).get(name)
    )
