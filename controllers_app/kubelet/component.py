"""One kubelet as a component that can be started, stopped and killed by itself."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.kubelet import steps
from controllers_app.kubelet.kubelet import Kubelet, address_of
from controllers_app.kubelet.nodes import Directory
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
    directory: Directory,
    **options: Any,
) -> Component:
    """The kubelet of node `name`; nothing of a former run is left when it starts, but for what is
    inside of the node's containers."""
    directory.station(name, address_of(number))

    async def main(group: TaskGroup) -> None:
        kubelet = Kubelet(
            kernel,
            probe,
            rand,
            client,
            group,
            name,
            number,
            version=version,
            directory=directory,
            **options,
        )
        await kubelet.run()

    # one tells for all: a large cluster has thousands
    facts = steps.facts() if number == 1 else None
    return Component(kernel, probe, f"kubelet/{name}", main, facts)
