"""kube-controller-manager: leads, gives each controller its own service account token, starts it.

Each controller is a component of its own, with its own identity, caches and queue, so that one can
be stopped or killed while the others go on. Caches are filled under the manager's identity, as
upstream's shared informers are; what a controller changes, it changes under its own.

Models kubernetes cmd/kube-controller-manager/app/controllermanager.go and
staging/src/k8s.io/controller-manager/pkg/clientbuilder (dynamic, with TokenRequest).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from controllers_app.controllers import CONTROLLERS, Entry
from controllers_app.runtime import controller as runtime
from controllers_app.runtime.component import Component
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.tasks import TaskGroup
from controllers_app.runtime.workqueue import WorkQueue

NAME = "controllermanager"
NAMESPACE = "kube-system"
TOKEN_SECONDS = 3600
TOKEN_RENEW_SECONDS = 2400


class AccountClient(Client, Protocol):
    """A client whose token can be replaced."""

    def present(self, token: str) -> None: ...


# (service account, name of the component) -> client without a token yet
ClientFor = Callable[[str, str], AccountClient]
# name of the component -> the manager's own client, with which caches are filled
ReaderFor = Callable[[str], Client]


def build(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    client_for: ClientFor,
    reader_for: ReaderFor,
    *,
    version: str,
    root_ca: str,
) -> list[Component]:
    """The manager first, then the controllers it starts."""
    clients = {entry.name: client_for(entry.account, entry.name) for entry in CONTROLLERS}
    controllers = [
        _component(
            kernel, probe, rand, clients[entry.name], reader_for(entry.name), entry, version,
            root_ca,
        )
        for entry in CONTROLLERS
    ]

    async def main(group: TaskGroup) -> None:
        recorder = Recorder(kernel, client, "kube-controller-manager")
        group.spawn(f"{NAME}/events", recorder.run())
        identity = f"control-plane_{rand.uuid()}"
        elector = LeaderElector(
            kernel, client, probe, recorder, "kube-controller-manager", identity
        )
        await elector.acquire()
        await _tokens(client, clients)
        for one in controllers:
            if one.state != "running":
                one.start()
        group.spawn(f"{NAME}/tokens", _renew(kernel, client, clients), background=True)
        await elector.renew()
        for one in controllers:
            if one.state == "running":
                one.fail("leadership lost")

    return [Component(kernel, probe, NAME, main), *controllers]


async def _tokens(client: Client, clients: dict[str, AccountClient]) -> None:
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {},
        "spec": {"audiences": [], "expirationSeconds": TOKEN_SECONDS},
    }
    for entry in CONTROLLERS:
        answer = await client.create(
            "serviceaccounts", NAMESPACE, request, name=entry.account, subresource="token"
        )
        clients[entry.name].present(answer["status"]["token"])


async def _renew(kernel: Kernel, client: Client, clients: dict[str, AccountClient]) -> None:
    while True:
        await kernel.sleep(TOKEN_RENEW_SECONDS, background=True)
        await _tokens(client, clients)


def _component(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    reader: Client,
    entry: Entry,
    version: str,
    root_ca: str,
) -> Component:
    async def main(group: TaskGroup) -> None:
        recorder = Recorder(kernel, client, entry.account)
        informers = InformerFactory(kernel, reader, probe, entry.name, group)
        queue = WorkQueue(kernel, probe, entry.name)
        built = entry.factory(
            runtime.Context(
                kernel=kernel, client=client, informers=informers, recorder=recorder,
                queue=queue, rand=rand, version=version, root_ca=root_ca,
            )
        )  # fmt: skip
        group.spawn(f"{entry.name}/events", recorder.run())
        informers.start()
        await runtime.run(kernel, probe, entry.name, built, informers, group)

    return Component(kernel, probe, entry.name, main)
