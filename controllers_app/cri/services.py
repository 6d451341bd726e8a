"""What a kubelet may ask of the container runtime of its node, and the runtime of the kubelet.

The runtime knows pods by their sandboxes: which of its containers run, and at which address. What
is in a container (log, files, processes) it makes when somebody looks. A kubelet that is replaced
tells the new service of the sandboxes and containers that it takes over.

Models kubernetes staging/src/k8s.io/cri-api/pkg/apis/services.go (RuntimeService, ImageService).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from apiserver_app.machinery.kernel import Signal
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Connection, Lines, LogOptions, Process
from controllers_app.cri.images import Image
from controllers_app.shell.filesystem import Files, Folder
from controllers_app.shell.machine import Endpoint

LIVE = ("configMap", "secret", "downwardAPI", "projected")  # volumes made from objects


class PullError(Exception):
    """The registry does not give the image; the text is the runtime's."""


class NoAddress(Exception):
    """Every address of the node's range is taken; the text is the CNI plugin's."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A pod's network. `own` says that the address is of the node's range."""

    id: str
    address: str
    own: bool


@dataclass(frozen=True, slots=True)
class ContainerRecord:
    """One instance of a container; times are µs. None: it has not started, or not ended."""

    name: str
    id: str
    started_at: int | None
    finished_at: int | None = None


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command that was run in a container has left; no exit code: it took too long."""

    exit_code: int | None
    output: bytes


class Host(Protocol):
    """A node as its containers see it; it stays when its kubelet is replaced."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def disk(self) -> Files:
        """What pods find by hostPath."""
        ...

    @property
    def dns_address(self) -> str:
        """Of the cluster's DNS."""
        ...


class Container(Protocol):
    """A container of which the files are looked at, as its volumes see it."""

    pod: Object
    since: int  # when it started

    @property
    def spec(self) -> Object: ...

    @property
    def now(self) -> int: ...

    @property
    def host(self) -> Host: ...

    @property
    def owner(self) -> tuple[int, int]:
        """uid and gid of its processes."""
        ...


class Volumes(Protocol):
    """What the kubelets mount into containers."""

    def folder(self, container: Container, name: str) -> Folder | None:
        """What is mounted as the pod's volume of that name."""
        ...

    def refresh(self, container: Container) -> None:
        """Write anew what objects of the API have changed."""
        ...

    async def fetch_tokens(self, container: Container) -> None:
        """Have the tokens that its volumes show."""
        ...

    def forget(self, uid: str) -> None:
        """Nothing of the pod is left on its node."""
        ...


class MainProcess(Protocol):
    """The first process of a container whose commands are run."""

    @property
    def exit_code(self) -> int | None: ...

    @property
    def ended(self) -> Signal: ...

    def heeds_term(self) -> bool:
        """Whether a trap is set for SIGTERM."""
        ...

    def signal(self, name: str) -> None: ...


class RuntimeService(Protocol):
    """Sandboxes and containers of one node, for one run of its kubelet."""

    @property
    def host(self) -> Host: ...

    def close(self) -> None:
        """The kubelet has ended: its pods are not known any more."""
        ...

    # -- sandboxes ------------------------------------------------------------------------------

    def add_pod(self, pod: Object, on_exit: Callable[[str, int], None]) -> None:
        """Know the pod from now on. `on_exit` is told a container's id and code when its first
        process was ended from inside."""
        ...

    def update_pod(self, pod: Object) -> None: ...

    def remove_pod(self, uid: str) -> None:
        """Nothing of the pod is left on the node."""
        ...

    async def run_pod_sandbox(self) -> str:
        """Create one; its id."""
        ...

    async def create_network(self) -> None: ...

    def join_network(self, uid: str, sandbox_id: str) -> Sandbox:
        """Give the pod an address of the node's range. Raises NoAddress."""
        ...

    def join_host_network(self, uid: str, sandbox_id: str) -> Sandbox: ...

    def adopt_sandbox(self, uid: str, address: str, *, own: bool) -> Sandbox | None:
        """Take over the address that a pod had; None when another has it."""
        ...

    def stop_pod_sandbox(self, uid: str) -> None:
        """Give its address back."""
        ...

    # -- containers -----------------------------------------------------------------------------

    async def create_container(self) -> str:
        """Its id."""
        ...

    def runs_commands(self, spec: Object, image: Image) -> bool:
        """Whether the container's commands are run, rather than the image's own program."""
        ...

    def missing_program(self, spec: Object, image: Image) -> str:
        """Why the container cannot be started: a program that is not there; else empty."""
        ...

    def start_container(self, uid: str, record: ContainerRecord) -> None:
        """It runs from now on, or ran already when the kubelet took over."""
        ...

    def run_main(
        self, uid: str, record: ContainerRecord, image: Image, began: int
    ) -> MainProcess | None:
        """Its first process, when its commands are run; None: the image's own program."""
        ...

    def stop_container(self, uid: str, record: ContainerRecord, code: int) -> None:
        """It does not run any more."""
        ...

    def main_process(self, uid: str, record: ContainerRecord) -> MainProcess | None: ...

    def is_serving(self, uid: str, record: ContainerRecord) -> bool:
        """Whether its commands have started a server."""
        ...

    def termination_message(self, uid: str, record: ContainerRecord, path: str) -> bytes: ...

    def log_tail(self, uid: str, record: ContainerRecord, lines: int) -> bytes:
        """The last lines of its log."""
        ...

    def cpu_cores(self, uid: str, record: ContainerRecord) -> float:
        """What it used of late for its answers."""
        ...

    # -- streaming ------------------------------------------------------------------------------

    def has_program(self, image: Image, name: str) -> bool: ...

    async def exec_sync(
        self, uid: str, record: ContainerRecord, command: list[str], seconds: float | None = None
    ) -> ExecResult: ...

    def exec(
        self, uid: str, record: ContainerRecord, command: list[str], *, stdin: bool, tty: bool
    ) -> Process: ...

    def attach(self, uid: str, record: ContainerRecord, *, stdin: bool) -> Process: ...

    def logs(self, uid: str, record: ContainerRecord, options: LogOptions) -> Lines: ...

    def endpoint(self, uid: str, port: int) -> Endpoint | None:
        """The server that listens on the pod's port now."""
        ...

    def server_fault(self, spec: Object, image: Image, port: int, path: str | None) -> int | None:
        """How the image's server will always fail a request, or without a path a connection: 0, it
        does not listen; else an HTTP status. None: it is not known to fail."""
        ...

    def dial(self, uid: str, port: int) -> Connection | None:
        """A connection to the pod's port; None: it is refused."""
        ...


class ImageService(Protocol):
    """The images of one node."""

    def image_spec(self, name: str) -> Image:
        """What the image is, whether or not it is on the node."""
        ...

    def image_status(self, name: str) -> Image | None:
        """The image, if it is on the node."""
        ...

    def list_images(self) -> Iterable[Image]: ...

    def import_image(self, name: str) -> Image:
        """Have an image that is on the node from before."""
        ...

    async def pull_image(self, name: str) -> tuple[Image, float, float]:
        """(image, seconds of the pull, seconds with the wait for others). Raises PullError."""
        ...


class Runtime(RuntimeService, ImageService, Protocol):
    """Both services, as one runtime offers them."""
