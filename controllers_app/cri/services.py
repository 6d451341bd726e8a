"""The interfaces between a kubelet and the container runtime of its node.

The runtime knows pods by their sandboxes: which of its containers run, and at which address. What
is in a container (log, files, processes) is created on first access. A restarted kubelet passes the
sandboxes and containers that it adopts to the new service.

Models kubernetes staging/src/k8s.io/cri-api/pkg/apis/services.go (RuntimeService, ImageService).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Connection, Lines, LogOptions, Process
from apiserver_app.machinery.waiting import Signal
from controllers_app.cri.images import Image
from controllers_app.cri.runtimes import Kind
from controllers_app.shell.filesystem import Disk, Files, Folder
from controllers_app.shell.machine import Endpoint

LIVE = ("configMap", "secret", "downwardAPI", "projected")  # volumes made from objects


class PullError(Exception):
    """The registry does not give the image; the text is the runtime's."""


class NoAddress(Exception):
    """Every address of the node's range is taken; the text is the CNI plugin's."""


class Sandbox(msgspec.Struct, frozen=True):
    """A pod's network. `own` says that the address is of the node's range."""

    id: str
    address: str
    own: bool


class ContainerRecord(msgspec.Struct, frozen=True):
    """One instance of a container; times are µs. None: it has not started, or not ended."""

    name: str
    id: str
    started_at: int | None
    finished_at: int | None = None


class ExecResult(msgspec.Struct, frozen=True):
    """Result of a command run in a container; exit_code is None after a timeout."""

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def output(self) -> str:
        """What it said, as the kubelet puts it together: errors last."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


class Host(Protocol):
    """A node as its containers see it; it outlives restarts of its kubelet."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def storage(self) -> Disk:
        """The room on its disk, of which containers and their volumes take."""
        ...

    @property
    def disk(self) -> Files:
        """The file system that hostPath volumes mount."""
        ...

    @property
    def dns_address(self) -> str:
        """Address of the cluster's DNS service."""
        ...

    def on_disk(self, found: Callable[[Files], None]) -> None:
        """Calls with the disk once somebody looks at it, at once if somebody has. Only the last
        who asked is told."""
        ...


class Container(Protocol):
    """A container whose files are accessed, as its volumes see it."""

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
    """The volumes that kubelets mount into containers."""

    def folder(self, container: Container, name: str) -> Folder | None:
        """Returns the content of the pod's volume of that name."""
        ...

    def refresh(self, container: Container) -> None:
        """Rewrites the volumes whose API objects have changed."""
        ...

    async def fetch_tokens(self, container: Container) -> None:
        """Fetches the service account tokens of its volumes."""
        ...

    def forget(self, uid: str) -> None:
        """Drops the volumes of a pod that has left the node."""
        ...


class MainProcess(Protocol):
    """The main process (PID 1) of a container whose commands are run."""

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
        """Forgets all pods: the kubelet has ended."""
        ...

    def update_runtime_config(self, pod_cidr: str) -> None:
        """Pods get their addresses from this range from now on."""
        ...

    def network_error(self) -> str:
        """The condition NetworkReady, as long as it does not hold; else empty."""
        ...

    # -- sandboxes ------------------------------------------------------------------------------

    def add_pod(self, pod: Object, on_exit: Callable[[str, int], None]) -> None:
        """Registers the pod. `on_exit` is called with a container's id and exit code when its main
        process is ended from inside."""
        ...

    def update_pod(self, pod: Object) -> None: ...

    def remove_pod(self, uid: str) -> None:
        """Drops everything about a pod that has left the node."""
        ...

    async def run_pod_sandbox(self) -> str:
        """Creates a sandbox and returns its id."""
        ...

    async def create_network(self) -> None: ...

    def join_network(self, uid: str, sandbox_id: str) -> Sandbox:
        """Assigns the pod an address of the node's range. Raises NoAddress."""
        ...

    def join_host_network(self, uid: str, sandbox_id: str) -> Sandbox: ...

    def adopt_sandbox(self, uid: str, address: str, *, own: bool) -> Sandbox | None:
        """Keeps the address that the pod had; None when another pod has it."""
        ...

    def stop_pod_sandbox(self, uid: str) -> None:
        """Releases the pod's address."""
        ...

    # -- containers -----------------------------------------------------------------------------

    async def create_container(self) -> str:
        """Creates a container and returns its id."""
        ...

    def runs_commands(self, spec: Object, image: Image) -> bool:
        """Whether the container's commands are run, rather than the image's own program."""
        ...

    def start_fault(self, uid: str, spec: Object, image: Image) -> str:
        """Why the container cannot be started, as when the image lacks its program; or empty."""
        ...

    def start_container(self, uid: str, record: ContainerRecord) -> None:
        """Records that the container runs, newly started or adopted."""
        ...

    def run_main(
        self, uid: str, record: ContainerRecord, image: Image, began: int
    ) -> MainProcess | None:
        """Starts the main process; None when the image's own program is only simulated."""
        ...

    def stop_container(self, uid: str, record: ContainerRecord, code: int) -> None:
        """Records that the container has ended."""
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
        """CPU that its server has used lately to answer requests."""
        ...

    # -- streaming ------------------------------------------------------------------------------

    def has_program(self, image: Image, name: str) -> bool: ...

    async def exec_sync(
        self, uid: str, record: ContainerRecord, command: list[str], seconds: float | None = None
    ) -> ExecResult:
        """Runs a command to its end. Raises NodeError when it cannot be started."""
        ...

    def exec(
        self, uid: str, record: ContainerRecord, command: list[str], *, stdin: bool, tty: bool
    ) -> Process: ...

    def attach(self, uid: str, record: ContainerRecord, *, stdin: bool) -> Process: ...

    def logs(self, uid: str, record: ContainerRecord, options: LogOptions) -> Lines: ...

    def endpoint(self, uid: str, port: int) -> Endpoint | None:
        """The server that listens on the pod's port now."""
        ...

    def server_fault(self, spec: Object, image: Image, port: int, path: str | None) -> int | None:
        """The failure that the image's server will always give: 0 when it does not listen, else an
        HTTP status; None when it may succeed. Without `path` only the connection counts."""
        ...

    def dial(self, uid: str, port: int) -> Connection | None:
        """Connects to the pod's port; None when the connection is refused."""
        ...


class ImageService(Protocol):
    """The images of one node."""

    def image_spec(self, name: str) -> Image:
        """Returns the image's properties, whether or not it is on the node."""
        ...

    def image_status(self, name: str) -> Image | None:
        """The image, if it is on the node."""
        ...

    def list_images(self) -> Iterable[Image]: ...

    def import_image(self, name: str) -> Image:
        """Registers an image that an earlier kubelet has pulled."""
        ...

    async def pull_image(self, name: str) -> tuple[Image, float, float]:
        """Returns (image, seconds of the pull, seconds including waiting). Raises PullError."""
        ...


class Runtime(RuntimeService, ImageService, Protocol):
    """Both services, as one runtime offers them."""

    kind: Kind  # CRI: Version

    async def relisted(self) -> None:
        """Waits until the kubelet has looked again at what runs."""
        ...
