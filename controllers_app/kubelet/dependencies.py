"""What the parts of one kubelet share, and their interface to the pod worker.

Models kubernetes pkg/kubelet/kubelet.go (Dependencies, updateRuntimeUp).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.task import Task
from apiserver_app.machinery.waiting import Lock
from controllers_app.cri.services import Runtime, Sandbox
from controllers_app.kubelet.volumes.mounter import Mounter
from controllers_app.kubelet.volumes.references import References
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.shell.machine import Endpoint


class Dependencies:
    """Everything that the parts of one running kubelet share."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        client: Client,
        group: TaskGroup,
        rand: Rand,
        runtime: Runtime,
        name: str,
        number: int,
        *,
        version: Release,
        connect: Callable[[str, int], Endpoint],
        address: str = "",
        capacity: Mapping[str, str] | None = None,
    ) -> None:
        self.kernel = kernel
        self.probe = probe
        self.client = client
        self.group = group
        self.rand = rand
        self.runtime = runtime
        self.name = name
        self.number = number
        self.lane = f"kubelet/{name}"
        self.version = f"v{version.patched}"
        self.connect = connect  # the server at an address of the network; raises Unreachable
        self.release = version
        self.capacity = dict(capacity or {})
        self.address = address or address_of(number)
        self.began = kernel.now
        self.recorder = Recorder(kernel, client, "kubelet", name)
        self.references = References(kernel, client, probe, self.lane, group)
        self.mounter = Mounter(kernel, client, self.references)
        self.writing = Lock(kernel)  # one status write at a time, as the status manager has it

    def network_error(self) -> str:
        """Why only pods in the node's own network can start; empty when all can."""
        error = self.runtime.network_error()
        return error and f"container runtime network not ready: {error}"


class Pod(Protocol):
    """The pod worker as its containers, probes and hooks see it."""

    kubelet: Dependencies
    pod: Object  # its newest version
    key: str
    uid: str
    sandbox: Sandbox | None

    @property
    def address(self) -> str: ...

    def spawn(
        self, name: str, coro: Coroutine[Any, Any, None], *, background: bool = False
    ) -> Task:
        """Starts a task that is cancelled with the pod."""
        ...

    async def worked(self, revision: int, do: Callable[[], Coroutine[Any, Any, str]]) -> None:
        """Runs `do` in a span of its own, and retries it on API errors."""
        ...

    async def step(self, name: str, state: str, detail: Object | None = None) -> None:
        """Records a step in the trace."""
        ...

    async def report(self) -> None:
        """Patches the pod's status if it differs."""
        ...

    async def finished(self) -> None:
        """Ends the pod: no container will run again."""
        ...


def address_of(number: int) -> str:
    """10.0.0.11 is node-1."""
    value = 10 + number
    return f"10.0.{value // 250}.{value % 250}"
