"""The controllers of definitions as one component of the cluster.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go
(start-apiextensions-controllers).
"""

from __future__ import annotations

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.apiextensions import CONTROLLERS
from controllers_app.runtime import controller as runtime
from controllers_app.runtime.component import Component, OnFailure
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.workqueue import WorkQueue

NAME = "apiextensions-controllers"


def build(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    version: Release,
    on_failure: OnFailure,
) -> Component:
    """The component; it is not started."""

    async def main(group: TaskGroup) -> None:
        informers = InformerFactory(kernel, client, probe, NAME, group)
        recorder = Recorder(kernel, client, NAME)
        group.spawn(f"{NAME}/events", recorder.run())
        for name, factory in CONTROLLERS:
            queue = WorkQueue(kernel, probe, name)
            group.at_end(queue.shut_down)
            context = runtime.Context(kernel, client, informers, recorder, queue, rand, version)
            controller = runtime.build(name, factory, context)
            await runtime.run(kernel, probe, name, controller, informers, group)

    return Component(kernel, probe, NAME, main, on_failure=on_failure)
