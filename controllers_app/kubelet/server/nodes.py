"""The servers of all kubelets, as the API server reaches them.

Kubelets register when they start and leave when they end. A node without a running kubelet refuses
connections, though its containers keep running.

Models kubernetes pkg/kubelet/server/server.go and the refusals of pkg/registry/core/pod/rest.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
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
from controllers_app.cri.services import ContainerRecord, Host
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.kubelet import Kubelet
from controllers_app.kubelet.pods.worker import PodWorker
from controllers_app.kubelet.server import endpoints, logs
from controllers_app.kubelet.volumes.contents import Contents

PORT = 10250


class KubeletServers:
    """Implements `Nodes` for all nodes of the cluster."""

    def __init__(self, volumes: Contents) -> None:
        self.volumes = volumes
        self._hosts: dict[str, Host] = {}
        self.kubelets: dict[str, Kubelet] = {}  # by node, while they run

    def add(self, host: Host) -> None:
        """Adds a node, with or without a running kubelet."""
        self._hosts[host.name] = host

    def register(self, kubelet: Kubelet) -> None:
        """Registers a running kubelet until its task group ends."""
        parts = kubelet.dependencies
        self.kubelets[parts.name] = kubelet
        self.volumes.mounters[parts.name] = parts.mounter

        def leave() -> None:
            del self.kubelets[parts.name], self.volumes.mounters[parts.name]
            parts.runtime.close()

        parts.group.at_end(leave)

    # -- Nodes ----------------------------------------------------------------------------------

    async def logs(self, pod: Object, options: LogOptions) -> Lines:
        namespace, name = meta.namespace_of(pod), meta.name_of(pod)
        path = f"containerLogs/{namespace}/{name}/{options.container}"
        worker = self._worker(pod, f'Get "https://{{}}/{path}": ')
        record = logs.record_of(worker, options)
        return worker.kubelet.runtime.logs(worker.uid, record, options)

    async def exec(
        self, pod: Object, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Process:
        worker, record = self._running(pod, container)
        return worker.kubelet.runtime.exec(worker.uid, record, command, stdin=stdin, tty=tty)

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Process:
        worker, record = self._running(pod, container)
        return worker.kubelet.runtime.attach(worker.uid, record, stdin=stdin)

    async def dial(self, pod: Object, port: int) -> Connection:
        worker = self._worker(pod, "error dialing backend: ")
        connection = worker.kubelet.runtime.dial(worker.uid, port)
        if connection is None:
            raise NodeError(500, _refused(worker, port))
        return connection

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        worker = self._worker(pod, "")
        endpoint = worker.kubelet.runtime.endpoint(worker.uid, port)
        if endpoint is None:
            raise NodeError(503, f"dial tcp {_address(worker)}:{port}: connect: connection refused")
        return await endpoint.answer(port, request)

    async def node(self, name: str, request: HttpRequest) -> HttpAnswer:
        host = self._hosts.get(name)
        if host is None:
            raise NodeError(404, f'nodes "{name}" not found')
        kubelet = self.kubelets.get(name)
        if kubelet is None:
            raise NodeError(503, f"error trying to reach service: {refusal(host)}")
        return await endpoints.answer(kubelet, request)

    # -- lookup --------------------------------------------------------------------------------

    def _worker(self, pod: Object, prefix: str) -> PodWorker:
        """The pod's worker. `prefix` precedes a refused connection; {} in it is the address."""
        node = pod["spec"].get("nodeName", "")
        host = self._hosts.get(node)
        if host is None:
            raise NodeError(404, f'nodes "{node}" not found')
        kubelet = self.kubelets.get(node)
        if kubelet is None:
            raise NodeError(500, prefix.format(f"{host.address}:{PORT}") + refusal(host))
        worker = kubelet.workers.get(meta.uid_of(pod))
        if worker is None:
            raise NodeError(404, f'pod "{meta.name_of(pod)}" not found')
        return worker

    def _running(self, pod: Object, container: str) -> tuple[PodWorker, ContainerRecord]:
        worker = self._worker(pod, "error dialing backend: ")
        state = worker.containers.find(container)
        if state is None or not state.is_running:
            raise NodeError(500, f'container not found ("{container}")')
        return worker, statuses.record_of(state)


def refusal(host: Host) -> str:
    return f"dial tcp {host.address}:{PORT}: connect: connection refused"


def _address(worker: PodWorker) -> str:
    return worker.sandbox.address if worker.sandbox else ""


def _refused(worker: PodWorker, port: int) -> str:
    """The runtime's error for a forwarded port on which nothing listens."""
    sandbox = worker.sandbox.id if worker.sandbox else ""
    return (
        f"error forwarding port {port} to pod {sandbox}, uid : failed to execute portforward in "
        f'network namespace "/var/run/netns/cni-{sandbox[:8]}-{sandbox[8:12]}-{sandbox[12:16]}-'
        f'{sandbox[16:20]}-{sandbox[20:32]}": failed to connect to localhost:{port} inside '
        f'namespace "{sandbox}", IPv4: dial tcp4 127.0.0.1:{port}: connect: connection refused '
        f"IPv6 dial tcp6: [::1]:{port}: connect: connection refused"
    )
