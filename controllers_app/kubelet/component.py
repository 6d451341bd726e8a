"""One kubelet as a component that can be started, stopped and killed by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.containerruntime.hosts import Hosts
from controllers_app.cri.images import Catalog
from controllers_app.cri.runtimes import KINDS
from controllers_app.kubelet import steps
from controllers_app.kubelet.dependencies import Dependencies, address_of
from controllers_app.kubelet.kubelet import Kubelet
from controllers_app.kubelet.pods.staticpods import Manifests
from controllers_app.kubelet.server.nodes import KubeletServers
from controllers_app.runtime.component import Component
from controllers_app.runtime.taskgroup import TaskGroup


def build(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    name: str,
    number: int,
    *,
    version: Release,
    address: str = "",
    hosts: Hosts,
    servers: KubeletServers,
    images: Mapping[str, Any] | None = None,
    capacity: Mapping[str, str] | None = None,
    container_runtime: str = "containerd",
    pull_bytes_per_second: int = 0,
    manifests: Manifests | None = None,
) -> Component:
    """Builds the kubelet of node `name`. Of an earlier run only the insides of the node's
    containers are kept."""
    address = address or address_of(number)
    servers.add(hosts.add(name, address))

    async def main(group: TaskGroup) -> None:
        runtime = hosts.service(
            name, rand, Catalog(images), KINDS[container_runtime], pull_bytes_per_second
        )
        dependencies = Dependencies(
            kernel,
            probe,
            client,
            group,
            rand,
            runtime,
            name,
            number,
            version=version,
            connect=lambda to, port: hosts.network.connect(to, port, None),
            address=address,
            capacity=capacity,
        )
        kubelet = Kubelet(dependencies, manifests)
        servers.register(kubelet)
        await kubelet.run()

    # one kubelet reports them for all: a large cluster has thousands
    facts = steps.facts() if number == 1 else None
    return Component(kernel, probe, f"kubelet/{name}", main, facts)
