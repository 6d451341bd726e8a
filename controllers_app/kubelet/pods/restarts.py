"""Restarting ended containers: at once the first time, then at a sync after a doubling back-off.

One that a probe has the kubelet kill starts again in the same sync, unless the instance before it
ended too short a time ago: how the killed one ended is not known yet.

The pod is synced every ten to fifteen seconds while a container backs off. Until the first of these
syncs its status says how it ended; only then that it waits. When what was to be done after its
start failed, it waits with the words of that, and it was never seen to run.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go (doBackOff), pkg/kubelet/
pod_workers.go (completeWork) and pkg/kubelet/kubelet_pods.go (convertToAPIContainerStatuses).
"""

from __future__ import annotations

from apiserver_app.apis import restartpolicy
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.task import Task
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.backoff import FOREGROUND_MAX, Backoff, go_duration
from controllers_app.kubelet.pods.imagepull import NOTICE_SECONDS
from controllers_app.kubelet.pods.killing import Killing
from controllers_app.kubelet.status import EPHEMERAL, INIT, SIDECAR, ContainerState

CRASH_SECONDS, CRASH_SECONDS_MAX = 10, 300
CRASH_RESET_SECONDS = 600
RESYNC_SECONDS, RESYNC_SECONDS_MAX = 10, 15  # after a sync that could not do all


class Restarts(Killing):
    """Restarts the containers of a pod. `Containers` implements the abstract methods."""

    __slots__ = ("_crashes", "_retries")

    _crashes: dict[str, Backoff]
    _retries: dict[str, Task]

    async def sync(self) -> str:
        raise NotImplementedError

    async def _bring_up(self, container: ContainerState) -> bool:
        raise NotImplementedError

    def _restarts(self, container: ContainerState) -> bool:
        """Whether the restart policy restarts the ended container."""
        if container.kind == EPHEMERAL:
            return False
        if container.kind == SIDECAR:
            return True
        if container.kind == INIT and container.succeeded:
            return False
        code = (container.terminated or {}).get("exitCode", 1)
        return restartpolicy.restarts(self.spec_of(container), self._pod.pod["spec"], code)

    def _waits(self, container: ContainerState, reason: str, message: str) -> None:
        """The status says why it waits for its start, no longer how it ended; of a sidecar that
        ended well it says that."""
        if container.kind == SIDECAR and container.succeeded:
            return
        if container.terminated:
            container.ended = container.state, container.last
            container.last = {"terminated": container.terminated}
        container.state = statuses.waiting(reason, message)

    def _starts_at_once(self, container: ContainerState) -> bool:
        """Whether a container that is being killed starts again in the sync that kills it."""
        if not self._restarts(container):
            return False
        before = container.last.get("terminated")
        if before is None:
            return True
        now = self._pod.kubelet.kernel.now
        began = meta.parse_time(container.state["running"]["startedAt"])
        backoff = self._crashes.get(container.name)
        if backoff is None or now - began >= CRASH_RESET_SECONDS * SECOND:
            self._crashes[container.name] = Backoff(CRASH_SECONDS, CRASH_SECONDS_MAX)
            return True
        if now - meta.parse_time(before["finishedAt"]) < backoff.wait * SECOND:
            return False
        backoff.next()
        return True

    def _restart_later(self, container: ContainerState, *, known: bool = True) -> None:
        """Schedules the restart."""
        wait = 0.0
        backoff = self._crashes.get(container.name)
        if backoff is None:
            backoff = self._crashes[container.name] = Backoff(CRASH_SECONDS, CRASH_SECONDS_MAX)
        elif known:
            done = container.terminated or container.last["terminated"]
            began, ended = (meta.parse_time(done[key]) for key in ("startedAt", "finishedAt"))
            if began and ended - began >= CRASH_RESET_SECONDS * SECOND:  # 1970: it never started
                backoff.reset()
            wait = backoff.next()
        background = backoff.is_background or container.restarts > FOREGROUND_MAX
        task = self._restart_after(container, wait, background)
        self._retries[container.name] = self._pod.spawn("restart", task)

    async def _restart_after(
        self, container: ContainerState, wait: float, background: bool
    ) -> None:
        pod = self._pod
        kernel, rand = pod.kubelet.kernel, pod.kubelet.rand
        due = kernel.now + int(wait * SECOND)
        if wait:
            await kernel.sleep(NOTICE_SECONDS)
            await pod.worked(0, lambda: self._backing_off(container, wait))
            # one sync that shows the wait is part of the story, the others are housekeeping
            aside = background and wait <= RESYNC_SECONDS_MAX
            while kernel.now < due:
                seconds = rand.uniform(RESYNC_SECONDS, RESYNC_SECONDS_MAX)
                await kernel.sleep(seconds, background=aside)
                aside = background
                await pod.worked(0, lambda: self._synced(container, wait, due))
        else:
            await pod.worked(0, lambda: self._restart(container))

    async def _synced(self, container: ContainerState, wait: float, due: int) -> str:
        """A sync during the back-off, or the one that ends it."""
        self._waits(container, "CrashLoopBackOff", self._message(container, wait))
        await self._pod.report()
        if self._pod.kubelet.kernel.now < due:
            return await self._backing_off(container, wait)
        return await self._restart(container)

    async def _backing_off(self, container: ContainerState, wait: float) -> str:
        if container.kind in (INIT, SIDECAR) and container.terminated:
            container.last = {}  # of these only the last instance that ended is kept
        self.event(
            container,
            "Warning",
            "BackOff",
            f"Back-off restarting failed container {container.name} in pod {self._where()}",
        )
        return self._message(container, wait)

    def _message(self, container: ContainerState, wait: float) -> str:
        return (
            f"back-off {go_duration(wait)} restarting failed container={container.name} "
            f"pod={self._where()}"
        )

    def _where(self) -> str:
        namespace, name = meta.split_key(self._pod.key)
        return f"{name}_{namespace}({self._pod.uid})"

    async def _restart(self, container: ContainerState) -> str:
        self._retries.pop(container.name, None)
        if await self._bring_up(container):
            await self._pod.report()
            if container.kind == SIDECAR:
                await self.sync()
                await self._pod.report()
        return f"{container.name} was restarted"
