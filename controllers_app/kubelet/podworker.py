"""One pod on its node, from the binding to the last container's end.

The worker moves through TRANSITIONS; an unlisted move raises and changes nothing. Every start,
restart and stop is one `work` span with its steps. It reconciles from the pod's spec and from what
the runtime has, so a pod that ran before the kubelet's process was replaced is adopted.

Models kubernetes pkg/kubelet/pod_workers.go, kubelet.go (SyncPod) and
pkg/kubelet/kuberuntime/kuberuntime_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import Task
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.containers import Containers
from controllers_app.kubelet.runtime import NETWORK_SECONDS, SANDBOX_SECONDS, PullError, Sandbox

if TYPE_CHECKING:
    from controllers_app.kubelet.kubelet import Kubelet

VOLUME_SECONDS = 0.03
VOLUME_RETRY_SECONDS, VOLUME_RETRY_SECONDS_MAX = 0.5, 122

TRANSITIONS: dict[tuple[str, str], str] = {
    ("new", "start"): "starting",
    ("new", "adopt"): "running",
    ("new", "stop"): "terminating",
    ("starting", "started"): "running",
    ("starting", "stop"): "terminating",
    ("running", "finish"): "finished",
    ("running", "stop"): "terminating",
    ("finished", "stop"): "terminating",
    ("terminating", "stopped"): "gone",
}


class IllegalMove(Exception):
    """The move does not exist in the worker's state; nothing was changed."""


class PodWorker:
    """One pod. `update` and `forget` come from the kubelet; the rest happens in tasks of its own."""

    def __init__(self, kubelet: Kubelet, pod: Object) -> None:
        self.kubelet = kubelet
        self.pod = pod
        self.key = meta.key_of(pod)
        self.uid = meta.uid_of(pod)
        self.state = "new"
        self.sandbox: Sandbox | None = None
        self.containers = Containers(self)
        self._tasks: list[Task] = []
        self._written: Object | None = None

    # -- what the kubelet says ------------------------------------------------------------------

    def begin(self, revision: int) -> None:
        """Take the pod over, as new or as the one that runs already."""
        pod = self.pod
        if meta.is_deleting(pod):
            self.containers.adopt()
            self._stop(revision)
        elif (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            self.state = "finished"
        elif self.containers.adopt():
            self._move("adopt")
            self.sandbox = self._adopted_sandbox()
            self.containers.resume()
        else:
            self._move("start")
            self.spawn("start", self._spanned(revision, self._start))

    def update(self, pod: Object, revision: int) -> None:
        self.pod = pod
        if meta.is_deleting(pod) and self.state not in ("terminating", "gone"):
            self._stop(revision)

    def forget(self) -> None:
        """The pod is gone from the API server: drop everything."""
        for task in self._tasks:
            self.kubelet.kernel.cancel(task)
        self._tasks.clear()
        self._release()
        self.state = "gone"

    def spawn(self, name: str, coro: Coroutine[Any, Any, None]) -> Task:
        self._tasks = [task for task in self._tasks if not task.done]
        task = self.kubelet.group.spawn(f"{self.kubelet.lane}/{self.key} {name}", coro)
        self._tasks.append(task)
        return task

    async def worked(self, revision: int, do: Callable[[], Coroutine[Any, Any, str]]) -> None:
        """Run a piece of work inside a span of its own."""
        await self._spanned(revision, do)

    # -- starting -------------------------------------------------------------------------------

    async def _start(self) -> str:
        await self.report()
        await self._volumes()
        await self._sandbox()
        await self.containers.start_all()
        if self.state == "starting":
            self._move("started")
        await self.report()
        self.containers.check_finished()
        return "started"

    async def _volumes(self) -> None:
        """Mount what the pod names; what does not exist yet is waited for."""
        wait = VOLUME_RETRY_SECONDS
        await self.step("volumes", "begin")
        while True:
            names = []
            try:
                for volume in self.pod["spec"].get("volumes") or ():
                    await self.kubelet.volumes.mount(self.pod, volume)
                    names.append(volume["name"])
            except errors.ApiError as error:
                await self.step("volumes", "fail", {"message": error.message})
                self.kubelet.recorder.event(
                    self.pod, "Warning", "FailedMount",
                    f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error.message}',
                )  # fmt: skip
                await self.kubelet.kernel.sleep(wait)
                wait = min(wait * 2, VOLUME_RETRY_SECONDS_MAX)
                continue
            await self.kubelet.kernel.sleep(VOLUME_SECONDS)
            await self.step("volumes", "end", {"volumes": names})
            return

    async def _sandbox(self) -> None:
        kubelet = self.kubelet
        await self.step("sandbox", "begin")
        await kubelet.kernel.sleep(SANDBOX_SECONDS)
        sandbox_id = kubelet.runtime.new_id()
        await self.step("sandbox", "end", {"id": sandbox_id})
        await self.step("network", "begin")
        await kubelet.kernel.sleep(NETWORK_SECONDS)
        if self.pod["spec"].get("hostNetwork"):
            address = kubelet.address
        else:
            address = await self._address()
        self.sandbox = Sandbox(sandbox_id, address)
        await self.step("network", "end", {"ip": address})

    async def _address(self) -> str:
        """An address of the node's range; waits while none is free."""
        kubelet = self.kubelet
        while True:
            try:
                return kubelet.runtime.addresses.take()
            except PullError as error:
                await self.step("network", "fail", {"message": str(error)})
                kubelet.recorder.event(
                    self.pod, "Warning", "FailedCreatePodSandBox",
                    f"Failed to create pod sandbox: plugin type=\"bridge\" failed (add): {error}",
                )  # fmt: skip
                await kubelet.kernel.sleep(VOLUME_RETRY_SECONDS_MAX)

    # -- stopping -------------------------------------------------------------------------------

    def _stop(self, revision: int) -> None:
        self._move("stop")
        for task in self._tasks:
            self.kubelet.kernel.cancel(task)
        self._tasks.clear()
        self.spawn("stop", self._spanned(revision, self._terminate))

    async def _terminate(self) -> str:
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds") or 0
        await self.step("terminate", "begin", {"grace": grace})
        await self.containers.stop_all(grace)
        await self.report()
        self._release()
        await self.step("terminate", "end")
        namespace, name = meta.split_key(self.key)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        try:
            await self.kubelet.client.delete("pods", namespace, name, options=options)
        except errors.ApiError as error:
            if error.code not in (404, 409):
                raise
        self._move("stopped")
        return "stopped"

    def _release(self) -> None:
        if self.sandbox is not None and not self.pod["spec"].get("hostNetwork"):
            self.kubelet.runtime.addresses.release(self.sandbox.address)
        self.sandbox = None

    # -- telling --------------------------------------------------------------------------------

    async def step(self, name: str, state: str, detail: Object | None = None) -> None:
        await self.kubelet.probe.hop(
            "kubelet", self.kubelet.name, self.key, name, state, detail or {}
        )

    async def report(self) -> None:
        """Patch the pod's status, if it changed."""
        kubelet = self.kubelet
        pod = kubelet.pods.get(self.key) or self.pod
        if meta.uid_of(pod) != self.uid:
            return
        wanted = statuses.pod_status(
            pod, self.containers.init, self.containers.main,
            host_ip=kubelet.address, pod_ip=self.sandbox.address if self.sandbox else "",
            has_network=self.sandbox is not None, now=kubelet.kernel.now,
        )  # fmt: skip
        if wanted == self._written:
            return
        namespace, name = meta.split_key(self.key)
        patch = {"metadata": {"uid": self.uid}, "status": _changes(pod.get("status") or {}, wanted)}
        try:
            self.pod = await kubelet.client.patch(
                "pods", namespace, name, patch, subresource="status"
            )
        except errors.ApiError as error:
            if error.code not in (404, 409):
                raise
            return
        self._written = wanted

    async def finished(self) -> None:
        """Every container has ended for good."""
        if self.state == "running":
            self._move("finish")

    # -- inside ---------------------------------------------------------------------------------

    async def _spanned(self, revision: int, do: Callable[[], Coroutine[Any, Any, str]]) -> None:
        kubelet = self.kubelet
        task = kubelet.kernel.current
        assert task is not None
        revs = [revision] if revision else []
        task.span = await kubelet.probe.hop("work", kubelet.lane, self.key, revs, span=0)
        wait = 1.0
        while True:
            try:
                said = await do()
            except errors.ApiError as error:
                # the API server said no to something that must be: again, a little later
                await kubelet.probe.hop("kubelet", kubelet.name, self.key, "sync", "fail",
                                        {"message": error.message})  # fmt: skip
                await kubelet.kernel.sleep(wait)
                wait = min(wait * 2, 60.0)
                continue
            await kubelet.probe.hop("done", "ok", said, 0)
            return

    def _move(self, move: str) -> None:
        state = TRANSITIONS.get((self.state, move))
        if state is None:
            raise IllegalMove(f"pod {self.key} is {self.state}: cannot {move}")
        self.state = state

    def _adopted_sandbox(self) -> Sandbox | None:
        address = (self.pod.get("status") or {}).get("podIP")
        if not address:
            return None
        if not self.pod["spec"].get("hostNetwork"):
            self.kubelet.runtime.addresses.claim(address)
        return Sandbox("", address)


def _changes(old: Object, new: Object) -> Object:
    """What a patch must say: the parts that differ."""
    return {key: value for key, value in new.items() if old.get(key) != value}
