"""All nodes of a cluster, as its API server and its containers reach them.

The kubelets enter as they start and leave as they end. A node whose kubelet is away refuses the
connection, though its containers go on.

Models kubernetes pkg/kubelet/server/server.go, kubelet_pods.go (GetKubeletContainerLogs,
validateContainerLogStatus) and the refusals of pkg/registry/core/pod/rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import (
    Connection,
    HttpAnswer,
    HttpRequest,
    Lines,
    LogOptions,
    NodeError,
    Process,
)
from controllers_app.kubelet import kubeletserver, logs, servers
from controllers_app.kubelet.cells import Cell, Station
from controllers_app.kubelet.claims import Claims
from controllers_app.kubelet.connections import TcpConnection
from controllers_app.kubelet.network import Network
from controllers_app.kubelet.processes import Attached, Exec
from controllers_app.kubelet.servers import Server
from controllers_app.kubelet.shell import tools as toolsets
from controllers_app.kubelet.shell.files import Folder
from controllers_app.kubelet.shell.tools import Tool

if TYPE_CHECKING:
    from controllers_app.kubelet.podworker import PodWorker

PORT = 10250
Lookup = Callable[[str, str, str], Object | None]
Listing = Callable[[str, str], Sequence[Object]]


class ApiServer(Protocol):
    """The API server as containers reach it."""

    @property
    def listens(self) -> bool:
        """Whether it takes connections."""
        ...

    async def __call__(self, request: HttpRequest, address: str) -> HttpAnswer:
        """The answer to a request of who has that address."""
        ...


class Directory:
    """Every node of the cluster: `Nodes`. `lookup` and `listing` read what the kubelets' and the
    proxies' watches hold: services, endpoints, config maps, secrets."""

    def __init__(self, kernel: Kernel, lookup: Lookup, listing: Listing) -> None:
        self.kernel = kernel
        self.lookup = lookup
        self.listing = listing
        self.stations: dict[str, Station] = {}
        self.servers: dict[str, Server] = {one.name: one for one in servers.SERVERS}
        self.tools = toolsets.by_set(toolsets.TOOLS)
        self.claims = Claims(
            kernel, lambda name: "/" in name or lookup("persistentvolumes", "", name) is not None
        )
        self.templates: dict[str, Folder] = {}  # image -> its files
        self.network = Network(self)
        self.apiserver: ApiServer | None = None
        self._ids = 0

    def station(self, name: str, address: str) -> Station:
        """The node of that name."""
        found = self.stations.get(name)
        if found is None:
            found = self.stations[name] = Station(self, name, address)
        return found

    def extend(self, tools: Sequence[Tool] = (), more: Sequence[Server] = ()) -> None:
        """Give images further commands and servers; the catalog names their sets."""
        for name, commands in toolsets.by_set(tuple(tools)).items():
            self.tools.setdefault(name, {}).update(commands)
        self.servers.update((one.name, one) for one in more)

    def exec_id(self) -> str:
        """What the runtime calls the next process that it is asked to start."""
        self._ids += 1
        return hashlib.sha256(str(self._ids).encode()).hexdigest()

    # -- Nodes ----------------------------------------------------------------------------------

    async def logs(self, pod: Object, options: LogOptions) -> Lines:
        namespace, name = meta.namespace_of(pod), meta.name_of(pod)
        path = f"containerLogs/{namespace}/{name}/{options.container}"
        worker = self._worker(pod, f'Get "https://{{}}/{path}": ')
        cell = _logged(worker, options)
        return logs.Reader(cell.log, options, cell.catch_up)

    async def exec(
        self, pod: Object, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Process:
        cell = self._running(pod, container)
        if not command or cell.tool(command[0]) is None:
            raise _not_found(cell, command[0] if command else "")
        return Exec(cell.run(command, stdin=stdin, tty=tty))

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Process:
        return Attached(self._running(pod, container), stdin=stdin)

    async def dial(self, pod: Object, port: int) -> Connection:
        worker = self._worker(pod, "error dialing backend: ")
        bound = servers.listening(worker, port)
        if bound is None:
            raise NodeError(500, _refused(worker, port))
        if bound.server.open is not None:
            return bound.server.open()
        return TcpConnection(self.kernel, bound, port)

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        worker = self._worker(pod, "")
        bound = servers.listening(worker, port)
        if bound is None:
            raise NodeError(503, f"dial tcp {_address(worker)}:{port}: connect: connection refused")
        return await bound.answer(port, request)

    async def node(self, name: str, request: HttpRequest) -> HttpAnswer:
        station = self.stations.get(name)
        if station is None:
            raise NodeError(404, f'nodes "{name}" not found')
        if station.kubelet is None:
            raise NodeError(503, f"error trying to reach service: {refusal(station)}")
        return kubeletserver.answer(station.kubelet, request)

    # -- finding --------------------------------------------------------------------------------

    def _worker(self, pod: Object, words: str) -> PodWorker:
        """The pod on its node. `words` stand before a refused connection, {} for the address."""
        node = pod["spec"].get("nodeName", "")
        station = self.stations.get(node)
        if station is None:
            raise NodeError(404, f'nodes "{node}" not found')
        if station.kubelet is None:
            raise NodeError(500, words.format(f"{station.address}:{PORT}") + refusal(station))
        worker = station.kubelet.workers.get(meta.uid_of(pod))
        if worker is None:
            raise NodeError(404, f'pod "{meta.name_of(pod)}" not found')
        return worker

    def _running(self, pod: Object, container: str) -> Cell:
        worker = self._worker(pod, "error dialing backend: ")
        one = worker.containers.find(container)
        if one is None or not one.is_running:
            raise NodeError(500, f'container not found ("{container}")')
        return worker.kubelet.station.current(worker, one, worker.containers.image_of(one))


def refusal(station: Station) -> str:
    return f"dial tcp {station.address}:{PORT}: connect: connection refused"


def _logged(worker: PodWorker, options: LogOptions) -> Cell:
    """The instance whose log is meant; upstream's refusals when there is none."""
    name, pod = options.container, meta.name_of(worker.pod)
    one = worker.containers.find(name)
    if one is None:
        raise NodeError(400, f'container "{name}" in pod "{pod}" is not available')
    station, image = worker.kubelet.station, worker.containers.image_of(one)
    last = one.last.get("terminated") or {}
    if options.previous:
        if not last.get("containerID"):
            words = f'previous terminated container "{name}" in pod "{pod}" not found'
            raise NodeError(400, words)
        return station.previous(worker, one, image)
    if one.is_running or (one.terminated and one.terminated.get("containerID")):
        return station.current(worker, one, image)
    if last.get("containerID"):
        return station.previous(worker, one, image)
    reason = (one.state.get("waiting") or {}).get("reason", "")
    words = {
        "": " - no logs yet",
        "ErrImagePull": ": image can't be pulled",
        "ImagePullBackOff": ": trying and failing to pull image",
    }.get(reason, f": {reason}")
    raise NodeError(400, f'container "{name}" in pod "{pod}" is waiting to start{words}')


def _not_found(cell: Cell, program: str) -> NodeError:
    why = "executable file not found in $PATH"
    if "/" in program:
        why = f"stat {program}: no such file or directory"
    return NodeError(
        500,
        "error executing command in container: failed to exec in container: failed to start exec "
        f'"{cell.directory.exec_id()}": OCI runtime exec failed: exec failed: unable to start '
        f'container process: exec: "{program}": {why}: unknown',
    )


def _address(worker: PodWorker) -> str:
    return worker.sandbox.address if worker.sandbox else ""


def _refused(worker: PodWorker, port: int) -> str:
    """What the runtime says when a forwarded port is not there."""
    sandbox = worker.sandbox.id if worker.sandbox else ""
    return (
        f"error forwarding port {port} to pod {sandbox}, uid : failed to execute portforward in "
        f'network namespace "/var/run/netns/cni-{sandbox[:8]}-{sandbox[8:12]}-{sandbox[12:16]}-'
        f'{sandbox[16:20]}-{sandbox[20:32]}": failed to connect to localhost:{port} inside '
        f'namespace "{sandbox}", IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused '
        f"IPv6 dial tcp6: [::1]:{port}: connect: connection refused"
    )
