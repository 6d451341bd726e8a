"""The runtime service of one node: images, sandboxes, containers and streams, in virtual time.

What it holds itself is gone when the kubelet's process is, and kubelets take over what the API
server's objects say is there; the insides of containers stay (`Containers`).

Models kubernetes staging/src/k8s.io/cri-api, pkg/kubelet/images/puller.go (one pull at a time) and
containerd as it fulfils them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import QUARANTINED, SECOND, WHERE
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import (
    STDERR,
    STDOUT,
    Connection,
    Lines,
    LogOptions,
    NodeError,
    Process,
)
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.waiting import Lock
from controllers_app.containerruntime import entrypoint, instances, logs
from controllers_app.containerruntime.addresses import Addresses
from controllers_app.containerruntime.containers import Container, Containers
from controllers_app.containerruntime.environment import Host
from controllers_app.containerruntime.network import Network
from controllers_app.containerruntime.processes import ContainerProcess
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.containerruntime.servers import server
from controllers_app.containerruntime.servers.connection import TcpConnection
from controllers_app.containerruntime.streaming import Attached, Exec
from controllers_app.cri.images import Catalog, Image, normalized
from controllers_app.cri.runtimes import CONTAINERD, Kind
from controllers_app.cri.services import ContainerRecord, ExecResult, PullError, Sandbox
from controllers_app.shell import tools
from controllers_app.shell.machine import Endpoint

BANDWIDTH_BYTES = 24_000_000  # a second, of one pull, more or less
MANIFEST_SECONDS = 0.35  # asking the registry, also when every layer is there
OUTPUT_BYTES_MAX = 10 * 1024  # of a command that is run synchronously
# what containerd says before it has written a configuration of CNI, for which it needs the range
NO_CONFIGURATION = (
    "NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
# who says why a command cannot be run: the kubelet's server to whom it streams, or the runtime
_STREAM, _SYNC = "error executing command in container:", "rpc error: code = Unknown desc ="


class Service:
    """`RuntimeService` and `ImageService` for one run of a node's kubelet."""

    def __init__(
        self,
        containers: Containers,
        network: Network,
        rand: Rand,
        catalog: Catalog,
        kind: Kind = CONTAINERD,
        bandwidth: int = 0,
    ) -> None:
        self.kind = kind
        self._bandwidth = bandwidth
        self.addresses = Addresses()
        self._containers = containers
        self._network = network
        self._rand = rand
        self._catalog = catalog
        self._kernel = containers.host.environment.kernel
        self._began = self._kernel.now
        self._images: dict[str, Image] = {}
        self._pulling = Lock(self._kernel)

    @property
    def host(self) -> Host:
        return self._containers.host

    def close(self) -> None:
        """The kubelet has ended: nobody knows its pods any more."""
        self.host.sandboxes = {}

    def update_runtime_config(self, pod_cidr: str) -> None:
        self.addresses.move(pod_cidr)

    def network_error(self) -> str:
        return "" if self.addresses.has_range else NO_CONFIGURATION

    # -- images ---------------------------------------------------------------------------------

    def image_spec(self, name: str) -> Image:
        return self._catalog.find(name)

    def image_status(self, name: str) -> Image | None:
        return self._images.get(normalized(name))

    def list_images(self) -> Iterable[Image]:
        return self._images.values()

    def import_image(self, name: str) -> Image:
        image = self._catalog.find(name)
        return self._images.setdefault(image.name, image)

    async def pull_image(self, name: str) -> tuple[Image, float, float]:
        """One at a time."""
        asked = self._kernel.now
        async with self._pulling:
            began = self._kernel.now
            image = self._catalog.find(name)
            await self._kernel.sleep(MANIFEST_SECONDS * self._about(0.2))
            if image.missing:
                raise PullError(_pull_message(image))
            if image.name not in self._images:
                seconds = image.size_bytes / (self._bandwidth or BANDWIDTH_BYTES)
                await self._kernel.sleep(seconds * self._about(0.1))
                self._images[image.name] = image
            now = self._kernel.now
        return image, (now - began) / SECOND, (now - asked) / SECOND

    def _about(self, share: float) -> float:
        """A factor near 1; 1 where it was said how long pulls take."""
        return 1.0 if self._bandwidth else self._rand.uniform(1 - share, 1 + share)

    # -- sandboxes ------------------------------------------------------------------------------

    def add_pod(self, pod: Object, on_exit: Callable[[str, int], None]) -> None:
        sandbox = PodSandbox(self.host.name, pod, self._catalog, on_exit)
        self.host.sandboxes[sandbox.uid] = sandbox

    def update_pod(self, pod: Object) -> None:
        sandbox = self.host.sandboxes.get(meta.uid_of(pod))
        if sandbox is not None:
            sandbox.pod = pod

    def remove_pod(self, uid: str) -> None:
        self.host.sandboxes.pop(uid, None)
        self.host.environment.volumes.forget(uid)
        self._containers.forget(uid)

    async def run_pod_sandbox(self) -> str:
        await self._kernel.sleep(self.kind.sandbox_seconds)
        return self._rand.hex(64)

    async def create_network(self) -> None:
        await self._kernel.sleep(self.kind.network_seconds)

    def join_network(self, uid: str, sandbox_id: str) -> Sandbox:
        return self._joined(uid, Sandbox(sandbox_id, self.addresses.take(), own=True))

    def join_host_network(self, uid: str, sandbox_id: str) -> Sandbox:
        return self._joined(uid, Sandbox(sandbox_id, self.host.address, own=False))

    def adopt_sandbox(self, uid: str, address: str, *, own: bool) -> Sandbox | None:
        if own and not self.addresses.claim(address):
            return None
        return self._joined(uid, Sandbox(uid, address, own))

    def stop_pod_sandbox(self, uid: str) -> None:
        sandbox = self.host.sandboxes[uid]
        if sandbox.network is not None and sandbox.network.own:
            self.addresses.release(sandbox.network.address)
        sandbox.network = None

    def _joined(self, uid: str, network: Sandbox) -> Sandbox:
        self.host.sandboxes[uid].network = network
        return network

    # -- containers -----------------------------------------------------------------------------

    async def create_container(self) -> str:
        await self._kernel.sleep(self.kind.create_seconds)
        return self.kind.container(self._rand.hex(64))

    async def relisted(self) -> None:
        period = int(self.kind.relist_seconds * SECOND)
        if period:
            since = (self._kernel.now - self._began) % period
            await self._kernel.sleep((period - since) / SECOND)

    def runs_commands(self, spec: Object, image: Image) -> bool:
        return entrypoint.is_run_here(spec, image, self.host.environment.tools)

    def start_fault(self, uid: str, spec: Object, image: Image) -> str:
        words = entrypoint.argv(spec, image, {})
        label = instances.label(self.host.sandboxes[uid].pod, spec["name"], words)
        if label.partition(WHERE)[0] in self._kernel.quarantined:
            return QUARANTINED
        program = entrypoint.missing(spec, image, self.host.environment.tools)
        return entrypoint.why_missing(program) if program else ""

    def start_container(self, uid: str, record: ContainerRecord) -> None:
        self.host.sandboxes[uid].records[record.name] = record

    def run_main(
        self, uid: str, record: ContainerRecord, image: Image, began: int
    ) -> ContainerProcess | None:
        sandbox = self.host.sandboxes[uid]
        if not self.runs_commands(sandbox.spec_of(record.name), image):
            self._network.start(sandbox, record, image)
            return None
        return self._containers.begin(sandbox.pod, record, image, began).main

    def stop_container(self, uid: str, record: ContainerRecord, code: int) -> None:
        self.host.sandboxes[uid].records.pop(record.name, None)
        container = self._find(uid, record)
        if container is not None:
            container.end(self._kernel.now, code)

    def main_process(self, uid: str, record: ContainerRecord) -> ContainerProcess | None:
        container = self._find(uid, record)
        return container.main if container is not None else None

    def is_serving(self, uid: str, record: ContainerRecord) -> bool:
        container = self._find(uid, record)
        return container is None or container.is_serving()

    def termination_message(self, uid: str, record: ContainerRecord, path: str) -> bytes:
        container = self._find(uid, record)
        return container.left_message(path) if container is not None else b""

    def log_tail(self, uid: str, record: ContainerRecord, lines: int) -> bytes:
        entries = list(self._get(uid, record).log.entries)[-lines:]
        return b"".join(entry.data for entry in entries)

    def cpu_cores(self, uid: str, record: ContainerRecord) -> float:
        container = self._find(uid, record)
        if container is None or container.cpu is None:
            return 0.0
        return container.cpu.cores(self._kernel.now)

    def _find(self, uid: str, record: ContainerRecord) -> Container | None:
        return self._containers.find(uid, record.name, record.id)

    def _get(self, uid: str, record: ContainerRecord) -> Container:
        sandbox = self.host.sandboxes[uid]
        return self._containers.get(sandbox.pod, record, sandbox.image_of(record.name))

    # -- commands, logs and ports ---------------------------------------------------------------

    def has_program(self, image: Image, name: str) -> bool:
        known = self.host.environment.tools
        return tools.find(known, image.userland, image.tools, name) is not None

    async def exec_sync(
        self, uid: str, record: ContainerRecord, command: list[str], seconds: float | None = None
    ) -> ExecResult:
        container = self._get(uid, record)
        if container.tool(command[0]) is None:
            raise self._not_found(command[0], _SYNC)
        process = container.run(command, stdin=False, tty=False)
        if not await process.ended.wait(seconds):
            process.kill()
            return ExecResult(None)
        output, size = {STDOUT: b"", STDERR: b""}, 0
        while size < OUTPUT_BYTES_MAX and (part := await process.output.take()) is not None:
            stream, data = part
            output[stream] += data[: OUTPUT_BYTES_MAX - size]
            size += len(data)
        return ExecResult(process.exit_code, output[STDOUT], output[STDERR])

    def exec(
        self, uid: str, record: ContainerRecord, command: list[str], *, stdin: bool, tty: bool
    ) -> Process:
        container = self._get(uid, record)
        if not command or container.tool(command[0]) is None:
            raise self._not_found(command[0] if command else "")
        if container.cgroup.is_crowded():
            raise self._failed(
                "unable to start container process: error starting setns process: "
                "fork/exec /proc/self/exe: resource temporarily unavailable"
            )
        return Exec(container.run(command, stdin=stdin, tty=tty))

    def _not_found(self, program: str, who: str = _STREAM) -> NodeError:
        why = "executable file not found in $PATH"
        if "/" in program:
            why = f"stat {program}: no such file or directory"
        return self._failed(f'unable to start container process: exec: "{program}": {why}', who)

    def _failed(self, why: str, who: str = _STREAM) -> NodeError:
        exec_id = self.host.environment.exec_id()
        return NodeError(
            500,
            f"{who} failed to exec in container: failed to start "
            f'exec "{exec_id}": OCI runtime exec failed: exec failed: {why}: unknown',
        )

    def attach(self, uid: str, record: ContainerRecord, *, stdin: bool) -> Process:
        return Attached(self._get(uid, record), stdin=stdin)

    def logs(self, uid: str, record: ContainerRecord, options: LogOptions) -> Lines:
        container = self._get(uid, record)
        return logs.Reader(container.log, options, container.catch_up)

    def endpoint(self, uid: str, port: int) -> Endpoint | None:
        return self._network.listening(self.host.sandboxes[uid], port)

    def dial(self, uid: str, port: int) -> Connection | None:
        bound = self._network.listening(self.host.sandboxes[uid], port)
        if bound is None:
            return None
        if bound.server.open is not None:
            return bound.server.open()
        return TcpConnection(self._kernel, bound, port)

    def server_fault(self, spec: Object, image: Image, port: int, path: str | None) -> int | None:
        return server.fault(spec, image, port, path)


def _pull_message(image: Image) -> str:
    name, why = image.name, image.missing
    message = f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": '
    if why == "not found":
        return f"rpc error: code = NotFound desc = {message}{name}: {why}"
    return message + why  # the kubelet leaves out a code that is unknown
