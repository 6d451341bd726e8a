"""What running containers do by themselves: they end after a while, or when their commands do.

A container that will do nothing of the kind has no task here and costs nothing.

Models kubernetes pkg/kubelet/pleg (ContainerDied).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.kernel import SECOND, Task
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.cri.services import MainProcess
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.status import ContainerState

Ended = Callable[[ContainerState, int], Coroutine[Any, Any, str]]


class Lifecycle:
    """The running containers of one pod. `ended` sees to what follows an end."""

    __slots__ = ("_ended", "_pod", "_tasks")

    def __init__(self, pod: Pod, ended: Ended) -> None:
        self._pod = pod
        self._ended = ended
        self._tasks: dict[str, Task] = {}

    def follow(self, one: ContainerState, image: Image, began: int) -> None:
        """Notice when the container ends, if it will do so by itself."""
        pod, record = self._pod, statuses.record_of(one)
        main = pod.kubelet.runtime.run_main(pod.uid, record, image, began)
        if main is not None and not images.is_scripted(pod.pod, one.name):
            work = self._until_exit(one, one.container_id, main)
            self._tasks[one.name] = pod.spawn("life", work, background=True)
        elif image.runs_seconds is not None:
            due = began + int(image.runs_seconds * SECOND)
            work = self._until(one, one.container_id, image.exit_code, due)
            self._tasks[one.name] = pod.spawn("life", work)

    def leave(self, one: ContainerState) -> None:
        """It does not run any more, or will do something else."""
        kernel = self._pod.kubelet.kernel
        task = self._tasks.pop(one.name, None)
        if task is not None and task is not kernel.current:
            kernel.cancel(task)

    def heeds_term(self, one: ContainerState) -> bool:
        """Whether it ends when it is asked to. A shell or a sleep that is the first process of its
        container does not, unless it set a trap."""
        main = self._main(one)
        if main is None:
            return True
        record = statuses.record_of(one)
        return main.heeds_term() or self._pod.kubelet.runtime.is_serving(self._pod.uid, record)

    def trapped(self, one: ContainerState) -> MainProcess | None:
        """Its first process, when that has a trap for the signal to end."""
        main = self._main(one)
        return main if main is not None and main.heeds_term() else None

    def _main(self, one: ContainerState) -> MainProcess | None:
        if images.is_scripted(self._pod.pod, one.name):
            return None
        return self._pod.kubelet.runtime.main_process(self._pod.uid, statuses.record_of(one))

    async def _until_exit(self, one: ContainerState, container_id: str, main: MainProcess) -> None:
        """Until the commands that run in it have ended."""
        await main.ended.wait()
        if one.container_id == container_id and one.is_running:
            code = main.exit_code or 0
            await self._pod.worked(0, lambda: self._ended(one, code))

    async def _until(self, one: ContainerState, container_id: str, code: int, due: int) -> None:
        """Run for as long as the image does, then end."""
        await self._pod.kubelet.kernel.until(due)
        if one.container_id == container_id and one.is_running:
            await self._pod.worked(0, lambda: self._ended(one, code))
