"""The container runtimes of all nodes of a cluster, and the network between them.

They outlive the kubelets: a node whose kubelet is away keeps its containers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.rand import Rand
from controllers_app.containerruntime.containers import Container, Containers
from controllers_app.containerruntime.environment import Environment, Host, Listing, Lookup
from controllers_app.containerruntime.machine import Machine
from controllers_app.containerruntime.network import Network
from controllers_app.containerruntime.processes import ContainerProcess
from controllers_app.containerruntime.servers import images
from controllers_app.containerruntime.servers.server import ApiServer, Server
from controllers_app.containerruntime.service import Service
from controllers_app.cri.images import Catalog
from controllers_app.cri.runtimes import CONTAINERD, Kind
from controllers_app.cri.services import Volumes
from controllers_app.proxy import commands
from controllers_app.proxy.proxies import Proxies
from controllers_app.shell.streams import Sink
from controllers_app.shell.tools import Tool


class Dns(NamedTuple):
    """The cluster DNS as containers know it: its address, and the service that answers there, if
    names are to be had from it only."""

    address: str
    service: tuple[str, str] | None = None


class Hosts:
    """Every node of the cluster by its name."""

    def __init__(
        self,
        kernel: Kernel,
        lookup: Lookup,
        listing: Listing,
        volumes: Volumes,
        *,
        apiserver: ApiServer,
        dns: Dns,
        tools: Sequence[Tool],
        servers: Sequence[Server],
    ) -> None:
        """`tools` and `servers` are those that images have beside those of any container; the
        catalog names their sets."""
        self.proxies = Proxies(kernel, lookup, listing)
        known_tools = (*tools, *commands.tools(self.proxies))
        self.environment = Environment(kernel, lookup, listing, volumes, dns.address, known_tools)
        self.nodes: dict[str, Containers] = {}
        self._apiserver = apiserver
        known = {server.name: server for server in (*images.SERVERS, *servers)}
        self.network = Network(self.environment, self.nodes, known, self.proxies, dns.service)

    def add(self, name: str, address: str) -> Host:
        """The node of that name."""
        if name not in self.nodes:
            host = Host(self.environment, name, address)
            self.nodes[name] = Containers(host, self._machine)
            self.proxies.addresses[name] = address
        return self.nodes[name].host

    def service(
        self, name: str, rand: Rand, catalog: Catalog, kind: Kind = CONTAINERD, bandwidth: int = 0
    ) -> Service:
        """The runtime of a node, for one run of its kubelet; it pulls `bandwidth` bytes a
        second exactly, if that is given."""
        return Service(self.nodes[name], self.network, rand, catalog, kind, bandwidth)

    def _machine(self, container: Container, process: ContainerProcess, stderr: Sink) -> Machine:
        return Machine(container, process, stderr, self.network, self._apiserver)
