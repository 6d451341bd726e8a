"""Notices containers that end by themselves: after a while, or with their main process.

A container that never ends by itself has no task here and costs nothing.

Models kubernetes pkg/kubelet/pleg (ContainerDied).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.task import Task
from controllers_app.cri import images, memory
from controllers_app.cri.images import Image
from controllers_app.cri.services import MainProcess
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.status import ContainerState

Ended = Callable[[ContainerState, int], Coroutine[Any, Any, str]]


class Lifecycle:
    """Watches the running containers of one pod. `ended` handles an end."""

    __slots__ = ("_ended", "_pod", "_tasks")

    def __init__(self, pod: Pod, ended: Ended) -> None:
        self._pod = pod
        self._ended = ended
        self._tasks: dict[str, Task] = {}

    def follow(self, container: ContainerState, spec: Object, image: Image, began: int) -> None:
        """Starts to watch for the container's end, if it can end by itself."""
        pod, record = self._pod, statuses.record_of(container)
        main = pod.kubelet.runtime.run_main(pod.uid, record, image, began)
        if memory.is_too_much(spec, image):
            due = began + int(memory.OOM_SECONDS * SECOND)
            work = self._until(container, container.container_id, memory.OOM_CODE, due)
            self._tasks[container.name] = pod.spawn("life", work)
        elif main is not None and not images.is_scripted(pod.pod, container.name):
            work = self._until_exit(container, container.container_id, main)
            self._tasks[container.name] = pod.spawn("life", work, background=True)
        elif image.runs_seconds is not None:
            due = began + int(image.runs_seconds * SECOND)
            work = self._until(container, container.container_id, image.exit_code, due)
            self._tasks[container.name] = pod.spawn("life", work)

    def leave(self, container: ContainerState) -> None:
        """Stops watching the container."""
        kernel = self._pod.kubelet.kernel
        task = self._tasks.pop(container.name, None)
        if task is not None and task is not kernel.current:
            kernel.cancel(task)

    def heeds_term(self, container: ContainerState) -> bool:
        """Whether it ends on SIGTERM. A shell or a sleep with PID 1 does not, unless it set a
        trap."""
        main = self._main(container)
        if main is None:
            return True
        record = statuses.record_of(container)
        return main.heeds_term() or self._pod.kubelet.runtime.is_serving(self._pod.uid, record)

    def trapped(self, container: ContainerState) -> MainProcess | None:
        """Its main process, if that has a trap for SIGTERM."""
        main = self._main(container)
        return main if main is not None and main.heeds_term() else None

    def _main(self, container: ContainerState) -> MainProcess | None:
        if images.is_scripted(self._pod.pod, container.name):
            return None
        return self._pod.kubelet.runtime.main_process(self._pod.uid, statuses.record_of(container))

    async def _until_exit(
        self, container: ContainerState, container_id: str, main: MainProcess
    ) -> None:
        """Waits for the end of the main process."""
        await main.ended.wait()
        if container.container_id == container_id and container.is_running:
            code = main.exit_code or 0
            await self._pod.worked(0, lambda: self._ended(container, code))

    async def _until(
        self, container: ContainerState, container_id: str, code: int, due: int
    ) -> None:
        """Waits until the image's program ends by itself."""
        await self._pod.kubelet.kernel.until(due)
        if container.container_id == container_id and container.is_running:
            await self._pod.worked(0, lambda: self._ended(container, code))
