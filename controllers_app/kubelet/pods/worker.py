"""One pod on its node, from the binding to the last container's end.

The worker moves through TRANSITIONS; an unlisted move raises and changes nothing. Every start,
restart and stop is one `work` span with its steps. It reconciles from the pod's spec and from what
the runtime has, so a pod that ran before the kubelet's process was replaced is adopted.

Models kubernetes pkg/kubelet/pod_workers.go and kubelet.go (SyncPod, SyncTerminatingPod,
SyncTerminatedPod).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import QUARANTINED, SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.task import Cancelled, Task
from controllers_app.cri.services import NoAddress, Sandbox
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.allocation import Allocation
from controllers_app.kubelet.backoff import Backoff
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.pods import watched
from controllers_app.kubelet.pods.containers import Containers
from controllers_app.kubelet.pods.share import Share
from controllers_app.kubelet.pods.statuswriter import StatusWriter
from controllers_app.kubelet.volumes.mounter import NotMountable, used_volumes

VOLUME_SECONDS = 0.03
VOLUME_RETRY_SECONDS, VOLUME_RETRY_SECONDS_MAX = 0.5, 122
NETWORK_RETRY_SECONDS = 1  # backOffOnTransientErrorPeriod, which does not grow
SANDBOX_RETRY_SECONDS = 10  # nor does backOffPeriod
SYNC_RETRY_SECONDS, SYNC_RETRY_SECONDS_MAX = 1, 60
TERMINATED_SECONDS = 1.0  # until nothing is left of a pod whose containers have ended
UNMOUNT_SECONDS = 0.25  # until the volumes of a pod are unmounted that was stopped

TRANSITIONS: dict[tuple[str, str], str] = {
    ("new", "start"): "starting",
    ("new", "adopt"): "running",
    ("new", "done"): "finished",
    ("new", "stop"): "terminating",
    ("starting", "started"): "running",
    ("starting", "finish"): "finished",
    ("starting", "stop"): "terminating",
    ("running", "finish"): "finished",
    ("running", "stop"): "terminating",
    ("finished", "stop"): "terminating",
    ("terminating", "stopped"): "gone",
}


class IllegalMove(Exception):
    """The transition does not exist in the worker's state; nothing was changed."""


class PodWorker:
    """One pod. `begin`, `update` and `removed` come from the kubelet; the rest happens in tasks of
    its own."""

    __slots__ = (
        "_handled", "_ip", "_on_stopped", "_tasks", "containers", "failed", "key", "kubelet", "pod",
        "removed_from_api", "sandbox", "share", "state", "status", "uid",
    )  # fmt: skip

    def __init__(
        self,
        kubelet: Dependencies,
        pod: Object,
        on_stopped: Callable[[PodWorker], None],
        allocation: Allocation,
    ) -> None:
        self.kubelet = kubelet
        self._on_stopped = on_stopped
        self.share = Share(self, allocation)
        self.pod = self.share.restored(pod)
        self.key = meta.key_of(pod)
        self.uid = meta.uid_of(pod)
        self.state = "new"
        self.sandbox: Sandbox | None = None
        self.removed_from_api = False
        self.failed = ("", "")  # reason and message when the kubelet itself fails the pod
        self._tasks: dict[Task, None] = {}
        self._handled = watched.fields(pod)
        self._ip = (pod.get("status") or {}).get("podIP", "")
        self.containers = Containers(self)
        self.status = StatusWriter(self)
        kubelet.runtime.add_pod(self.pod, self.containers.ends_by_itself)

    # -- calls from the kubelet ------------------------------------------------------------------

    def begin(self, revision: int) -> None:
        """Starts the pod, or adopts it if it runs already."""
        pod = self.pod
        ran = self.containers.adopt()
        over = self.share.is_over
        if not over:
            self._adopt_sandbox()
        if meta.is_deleting(pod):
            self._stop(revision)
        elif over:
            self._move("done")
        elif not ran and self.share.is_refused():
            self._move("done")
            self.spawn("reject", self.worked(revision, self.share.reject))
        elif ran:
            self._move("adopt")
            self.spawn("sync", self.worked(revision, self._resume))
            self._watch_deadline()
            self.share.watch()
        else:
            self._move("start")
            self.spawn("start", self.worked(revision, self._start))

    def update(self, pod: Object, revision: int) -> None:
        """Handles a newer version of the pod."""
        if meta.revision_of(pod) < meta.revision_of(self.pod):
            return  # older than the worker's own last write
        self.status.seen(pod, revision)
        self.renew(pod)
        if meta.is_deleting(pod):
            if self.state == "terminating":
                self.containers.hurry(watched.grace(pod))
            elif self.state == "finished" and watched.goes_at_once(pod):
                pass  # it is removed next
            elif self.state != "gone":
                self._stop(revision)
            return
        if self.state not in ("starting", "running"):
            return
        (spec, notes, others), self._handled = self._handled, watched.fields(pod)
        if pod["spec"] != spec:
            self.kubelet.references.register(pod)
            self.respecified(revision)
            self._watch_deadline()
            self.share.watch()
        elif others != self._handled[2]:
            self.spawn("gates", self.worked(revision, self.status.say))
        if notes != self._handled[1]:
            self.containers.behave_anew()

    def removed(self, revision: int) -> None:
        """Handles the pod's removal from the API: stops its containers, writes nothing."""
        self.removed_from_api = True
        if self.state == "terminating":
            self.containers.hurry(0)
        elif self.state == "finished":
            self._move("stop")
            self._drop()
        elif self.state != "gone":
            self._stop(revision)

    @property
    def address(self) -> str:
        """The sandbox's address, else the reported one."""
        if self.sandbox is not None:
            return self.sandbox.address
        reported: str = (self.pod.get("status") or {}).get("podIP") or ""
        return reported

    # -- tasks and spans ------------------------------------------------------------------------

    def spawn(
        self, name: str, coro: Coroutine[Any, Any, None], *, background: bool = False
    ) -> Task:
        """Starts a task that is cancelled with the pod."""
        task = self.kubelet.group.spawn(
            f"{self.kubelet.lane}/{self.key} {name}", coro, background=background
        )
        self._tasks[task] = None
        task.on_done.append(self._forget_task)
        return task

    def _forget_task(self, task: Task) -> None:
        self._tasks.pop(task, None)
        self._part()

    def _part(self) -> None:
        """Parts from what refers to this at the pod's end: its memory is free at once."""
        if self.state == "gone" and not self._tasks:
            for part in (self.containers, self.share, self.status):
                part.part()

    async def worked(self, revision: int, do: Callable[[], Coroutine[Any, Any, str]]) -> None:
        """Runs `do` in a span of its own, and retries it on API errors."""
        kubelet = self.kubelet
        kernel = kubelet.kernel
        task = kernel.current
        assert task is not None
        revs = [revision] if revision else []
        task.span = await kubelet.probe.hop("work", kubelet.lane, self.key, revs, span=0)
        backoff = Backoff(SYNC_RETRY_SECONDS, SYNC_RETRY_SECONDS_MAX)
        try:
            if kernel.is_quarantined():
                self._warn("Quarantined", QUARANTINED)
                await kubelet.probe.hop("done", "error", QUARANTINED, 0)
                return
            while True:
                try:
                    result = await do()
                except errors.ApiError as error:
                    if self.removed_from_api:
                        result = "gone"
                    else:
                        # the work has to be done: retry after a while
                        await self.step("sync", "fail", {"message": error.message})
                        wait = backoff.next()
                        await kernel.sleep(wait, background=backoff.is_background)
                        continue
                await kubelet.probe.hop("done", "ok", result, 0)
                return
        except Cancelled:
            kubelet.probe.tell("done", "ok", "overtaken by the pod's end", 0)
            raise
        finally:
            task.span = 0

    # -- starting -------------------------------------------------------------------------------

    async def _start(self) -> str:
        await self.report()
        await self._wait_for_network()
        self.kubelet.references.register(self.pod)
        await self._volumes()
        await self._check_pull_secrets()
        await self._sandbox()
        result = await self.containers.sync()
        if self.state == "starting":
            self._move("started")
        await self.report(holds_phase=True)
        await self._check_pull_secrets()  # the sync after the start
        self._watch_deadline()
        return result

    async def _resume(self) -> str:
        self.kubelet.references.register(self.pod)
        result = await self.containers.resume()
        await self.report()
        return result

    async def _wait_for_network(self) -> None:
        """Waits until the node has a network, unless the pod is to be in the node's own."""
        backoff = Backoff(NETWORK_RETRY_SECONDS, NETWORK_RETRY_SECONDS)
        while (error := self.kubelet.network_error()) and not self.pod["spec"].get("hostNetwork"):
            message = f"network is not ready: {error}"
            await self._without_network(message, backoff, "NetworkNotReady", message)

    async def _volumes(self) -> None:
        """Mounts the volumes that a container uses, each as soon as its sources exist."""
        kubelet = self.kubelet
        backoff = Backoff(VOLUME_RETRY_SECONDS, VOLUME_RETRY_SECONDS_MAX)
        volumes = used_volumes(self.pod["spec"])
        await self.step("volumes", "begin")
        waiting = [each for each in volumes if not await self._is_mounted(each)]
        while waiting:
            await kubelet.kernel.sleep(backoff.next(), background=backoff.count > 8)
            waiting = [each for each in waiting if not await self._is_mounted(each)]
        await kubelet.kernel.sleep(VOLUME_SECONDS)
        await self.step("volumes", "end", {"volumes": [each["name"] for each in volumes]})

    async def _is_mounted(self, volume: Object) -> bool:
        try:
            await self.kubelet.mounter.mount(self.pod, volume)
        except NotMountable as error:
            await self.step("volumes", "fail", {"message": str(error)})
            message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
            self._warn("FailedMount", message)
            return False
        return True

    async def _check_pull_secrets(self) -> None:
        if names := await self.kubelet.mounter.missing_pull_secrets(self.pod):
            message = (
                f"Unable to retrieve some image pull secrets ({', '.join(names)}); attempting to "
                "pull the image may not succeed."
            )
            self._warn("FailedToRetrieveImagePullSecret", message)

    async def _sandbox(self) -> None:
        """Creates sandbox and network, unless they were adopted."""
        if self.sandbox is not None:
            return
        runtime = self.kubelet.runtime
        await self.step("sandbox", "begin")
        sandbox_id = await runtime.run_pod_sandbox()
        await self.step("sandbox", "end", {"id": sandbox_id})
        await self.step("network", "begin")
        await runtime.create_network()
        if self.pod["spec"].get("hostNetwork"):
            self.sandbox = runtime.join_host_network(self.uid, sandbox_id)
        else:
            await self._join_network(sandbox_id)
        assert self.sandbox is not None
        await self.step("network", "end", {"ip": self.sandbox.address})

    async def _join_network(self, sandbox_id: str) -> None:
        """Takes an address of the node's range; retries while none is free."""
        backoff = Backoff(SANDBOX_RETRY_SECONDS, SANDBOX_RETRY_SECONDS)
        while True:
            try:
                # taken and kept without a suspension between, so that it cannot leak
                self.sandbox = self.kubelet.runtime.join_network(self.uid, sandbox_id)
                return
            except NoAddress as error:
                message = str(error)
            event = (
                "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup "
                f'network for sandbox "{sandbox_id}": plugin type="bridge" failed (add): {message}'
            )
            await self._without_network(message, backoff, "FailedCreatePodSandBox", event)

    async def _without_network(self, why: str, backoff: Backoff, reason: str, event: str) -> None:
        """Tells why the pod has no network, and waits until it is to be tried again."""
        await self.step("network", "fail", {"message": why})
        self._warn(reason, event)
        await self.kubelet.kernel.sleep(backoff.next(), background=backoff.is_background)

    def _adopt_sandbox(self) -> None:
        """Adopts the address that an earlier kubelet reported."""
        address = (self.pod.get("status") or {}).get("podIP")
        if not address or not self._has_network():
            return
        own = not self.pod["spec"].get("hostNetwork")
        self.sandbox = self.kubelet.runtime.adopt_sandbox(self.uid, address, own=own)

    def _has_network(self) -> bool:
        for condition in (self.pod.get("status") or {}).get("conditions") or ():
            if condition["type"] == statuses.NETWORK:
                return bool(condition["status"] == "True")
        return not self.kubelet.release.has("PodReadyToStartContainersCondition")

    # -- stopping -------------------------------------------------------------------------------

    def _stop(self, revision: int) -> None:
        self._move("stop")
        self._cancel_tasks()
        self.spawn("stop", self.worked(revision, self._terminate))

    async def _terminate(self) -> str:
        grace = 0 if self.removed_from_api else watched.grace(self.pod)
        await self.step("terminate", "begin", {"grace": grace})
        self.containers.unwind()
        with contextlib.suppress(errors.ApiError):  # nothing waits for it
            await self.report()
        await self.containers.stop_all(grace)
        self._release()
        await self.report(terminal=True)
        await self.step("terminate", "end")
        await self.kubelet.kernel.sleep(UNMOUNT_SECONDS)
        await self.status.set_status(self._terminated_status, is_finished=True)
        self._drop()
        return "stopped"

    async def finished(self) -> None:
        """Ends the pod: no container will run again, only its object stays. Its containers' ends
        are told first, its phase when nothing of it is left."""
        if self.state not in ("starting", "running"):
            return
        await self.report(holds_phase=True)
        if await self.containers.stop_sidecars():
            self._release()  # with the last container its sandbox goes
            await self.report(holds_phase=True)
        self.spawn("terminated", self.worked(0, self._terminated))

    async def _terminated(self) -> str:
        """Nothing is left of a pod whose containers have ended."""
        await self.kubelet.kernel.sleep(TERMINATED_SECONDS)
        if self.state != "finished":
            self._move("finish")
            self._cancel_tasks()
        await self._finish()
        return "nothing is left of it"

    async def _finish(self) -> None:
        """Tells the phase of a pod whose containers have ended, and looks once more."""
        self._release()
        await self._report_failure()
        self.kubelet.mounter.forget(self.uid)
        await self.kubelet.kernel.sleep(TERMINATED_SECONDS)
        await self.status.set_status(self._terminated_status, is_finished=True)

    def _watch_deadline(self) -> None:
        """Fails the pod when its activeDeadlineSeconds are over."""
        seconds = self.pod["spec"].get("activeDeadlineSeconds")
        began = (self.pod.get("status") or {}).get("startTime")
        if seconds is None or began is None:
            return
        due = meta.parse_time(began) + int(seconds) * SECOND

        async def wait() -> None:
            await self.kubelet.kernel.until(due)
            if self.pod["spec"].get("activeDeadlineSeconds") == seconds:
                await self.worked(0, self._too_long)

        self.spawn("deadline", wait(), background=True)

    async def _too_long(self) -> str:
        message = "Pod was active on the node longer than the specified deadline"
        if self.state not in ("starting", "running"):
            return "over already"
        self.failed = ("DeadlineExceeded", message)
        self._move("finish")
        self._cancel_tasks()
        await self._report_failure(holds_phase=True)
        self.containers.unwind()
        await self.containers.stop_all(watched.spec_grace(self.pod))
        await self._finish()
        return message

    async def _report_failure(self, *, holds_phase: bool = False) -> None:
        """Writes the pod's status, and records why the kubelet itself failed the pod, if it did."""
        if self.failed[0]:
            self.kubelet.recorder.event(self.pod, "Normal", *self.failed)
        await self.report(holds_phase=holds_phase)

    def _cancel_tasks(self) -> None:
        for task in list(self._tasks):
            if task is not self.kubelet.kernel.current:
                self.kubelet.kernel.cancel(task)

    def _release(self) -> None:
        if self.sandbox is not None:
            self._ip = self.sandbox.address
            self.kubelet.runtime.stop_pod_sandbox(self.uid)
        self.sandbox = None

    def _drop(self) -> None:
        self._release()
        self.kubelet.mounter.forget(self.uid)
        self._move("stopped")
        self._on_stopped(self)
        self._part()

    # -- reporting --------------------------------------------------------------------------------

    async def step(self, name: str, state: str, detail: Object | None = None) -> None:
        await self.kubelet.probe.hop(
            "kubelet", self.kubelet.name, self.key, name, state, detail or {}
        )

    async def report(self, *, terminal: bool = False, holds_phase: bool = False) -> None:
        """Writes the pod's status if it changed."""
        await self.status.set_status(lambda: self._status(terminal), holds_phase=holds_phase)

    def renew(self, pod: Object) -> None:
        """Continues with a newer version of the pod, as far as the node has room for it."""
        self.give(self.share.given(pod))

    def give(self, pod: Object) -> None:
        self.pod = pod
        self.kubelet.runtime.update_pod(pod)

    def respecified(self, revision: int) -> None:
        self.containers.respecified(revision)

    def _terminated_status(self) -> Object:
        status = self._status(terminal=True)
        containers = self.containers
        initialized = statuses.is_initialized(containers.init, containers.main)
        return statuses.terminated_pod(status, initialized=initialized)

    def _status(self, terminal: bool) -> Object:
        kubelet = self.kubelet
        sandbox = self.sandbox
        address = sandbox.address if sandbox else self._ip
        if not address and self.pod["spec"].get("hostNetwork"):
            address = kubelet.address
        reason, message = self.failed
        facts = statuses.Facts(
            kubelet.address,
            address,
            has_network=sandbox is not None,
            now=kubelet.kernel.now,
            tells_network=kubelet.release.has("PodReadyToStartContainersCondition"),
            terminal=terminal,
            failed=reason,
            message=message,
            resizing=self.containers.resizing,
            pending=None if terminal else self.share.pending,
        )
        containers = self.containers
        return statuses.pod_status(
            self.pod, containers.init, containers.main, facts, containers.ephemeral
        )

    # -- inside ---------------------------------------------------------------------------------

    def _warn(self, reason: str, message: str) -> None:
        self.kubelet.recorder.event(self.pod, "Warning", reason, message)

    def _move(self, move: str) -> None:
        state = TRANSITIONS.get((self.state, move))
        if state is None:
            raise IllegalMove(f"pod {self.key} is {self.state}: cannot {move}")
        self.state = state
