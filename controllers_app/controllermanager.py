"""kube-controller-manager: one process, one leader election, shared caches, many controllers.

The manager lists and watches under its own identity; each controller writes under a service account
of its own, with a token the manager asks for. Each controller is a component by itself: it can be
stopped or killed while the others go on. When the manager ends, so do all of them.

Models kubernetes cmd/kube-controller-manager/app/controllermanager.go and
staging/src/k8s.io/controller-manager/pkg/clientbuilder (dynamic, with TokenRequest).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from apiserver_app.apis.certificates import Authority
from apiserver_app.machinery import errors
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.waiting import Signal
from controllers_app.controllers import CONTROLLERS, Entry
from controllers_app.runtime import controller as runtime
from controllers_app.runtime.component import Component
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.workqueue import WorkQueue

NAME = "controllermanager"
LEASE = "kube-controller-manager"
NAMESPACE = "kube-system"
# always the same: it is the only candidate, so after a restart it leads again at once
IDENTITY = "control-plane_00000000-0000-4000-8000-000000000001"
TOKEN_SECONDS = 3600
TOKEN_RENEW_SECONDS = 2400
RETRY_SECONDS = 2


class AccountClient(Client, Protocol):
    """A client whose token can be replaced."""

    def present(self, token: str) -> None: ...


# (service account, name of the component) -> client without a token yet; without an account, one
# that is the manager
CheckTypes = Callable[[Object], Awaitable[list[Object]]] | None
ClientFor = Callable[[str, str], AccountClient]


class LeadershipLost(Exception):
    """The manager must end: somebody else holds its lease."""


class ControllerManager:
    """What the manager and its controllers share. `leading` is set while there are caches."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        rand: Rand,
        client: Client,
        client_for: ClientFor,
        *,
        version: Release,
        root_ca: str,
        authority: Authority | None = None,
        check_types: CheckTypes = None,
        config: RuntimeConfig = (),
        cluster_cidr: str,
        entries: Sequence[Entry] = CONTROLLERS,
    ) -> None:
        self._kernel = kernel
        self._probe = probe
        self._rand = rand
        self._client = client
        self._version = version
        self._root_ca = root_ca
        self._authority = authority
        self._check_types = check_types
        self._config = config
        self._cluster_cidr = cluster_cidr
        entries = [entry for entry in entries if entry.since <= version.minor <= entry.until]
        self._leading = Signal(kernel)
        self._informers: InformerFactory | None = None
        self._clients = {entry.name: client_for(entry.account, entry.name) for entry in entries}
        self._accounts: dict[str, list[AccountClient]] = {}
        for entry in entries:
            if not entry.account:  # it acts as the manager itself, by its certificate
                continue
            self._accounts.setdefault(entry.account, []).append(self._clients[entry.name])
        self.manager = Component(kernel, probe, NAME, self._manage)
        self.controllers = [self._component(entry) for entry in entries]

    @property
    def components(self) -> list[Component]:
        """The manager first, then the controllers it starts."""
        return [self.manager, *self.controllers]

    # -- the manager ----------------------------------------------------------------------------

    async def _manage(self, group: TaskGroup) -> None:
        """Lead, and let the controllers run for as long as the lease is renewed."""
        recorder = Recorder(self._kernel, self._client, LEASE)
        group.spawn(f"{NAME}/events", recorder.run())
        elector = LeaderElector(
            self._kernel, self._client, self._probe, recorder, LEASE, IDENTITY, component=NAME
        )
        group.at_end(self._ended)
        await elector.acquire()
        while not await self._present_tokens():
            await self._kernel.sleep(RETRY_SECONDS, background=True)
        group.spawn(f"{NAME}/tokens", self._renew_tokens(), background=True)
        self._informers = InformerFactory(self._kernel, self._client, self._probe, NAME, group)
        self._leading.set()
        for controller in self.controllers:
            if controller.state != "running":
                controller.start()
        await elector.renew()
        group.give_up(LeadershipLost("leaderelection lost"))

    def _ended(self) -> None:
        """The process is over, and with it everything in it."""
        self._leading.clear()
        self._informers = None
        for controller in self.controllers:
            if controller.state != "running":
                continue
            if self.manager.state == "stopped":
                controller.stop()
            else:
                controller.fail(f"{NAME} has ended")

    async def _present_tokens(self) -> bool:
        """Give every controller a fresh token; False when the API server refuses."""
        try:
            await self._request_tokens()
        except errors.ApiError as error:
            self._probe.tell("component", NAME, "waiting", {"why": error.message})
            return False
        return True

    async def _request_tokens(self) -> None:
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {},
            "spec": {"audiences": [], "expirationSeconds": TOKEN_SECONDS},
        }
        for account, clients in self._accounts.items():
            try:
                answer = await self._token(account, request)
            except errors.ApiError as error:
                if error.code != 404:
                    raise
                await self._create_account(account)
                answer = await self._token(account, request)
            for client in clients:
                client.present(answer["status"]["token"])

    async def _token(self, account: str, request: Object) -> Object:
        return await self._client.create(
            "serviceaccounts", NAMESPACE, request, name=account, subresource="token"
        )

    async def _create_account(self, account: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": NAMESPACE},
        }
        await self._client.create("serviceaccounts", NAMESPACE, body)

    async def _renew_tokens(self) -> None:
        while True:
            await self._kernel.sleep(TOKEN_RENEW_SECONDS, background=True)
            await self._present_tokens()

    # -- a controller ---------------------------------------------------------------------------

    def _component(self, entry: Entry) -> Component:
        async def main(group: TaskGroup) -> None:
            await self._leading.wait()
            informers = self._informers
            assert informers is not None
            made.metrics_source = queue = WorkQueue(self._kernel, self._probe, entry.name)
            group.at_end(lambda: informers.detach(entry.name))
            group.at_end(queue.shut_down)
            recorder = Recorder(
                self._kernel, self._clients[entry.name], entry.source or entry.account or NAME
            )
            group.spawn(f"{entry.name}/events", recorder.run())
            context = runtime.Context(
                self._kernel,
                self._clients[entry.name],
                informers,
                recorder,
                queue,
                self._rand,
                self._version,
                self._root_ca,
                self._authority,
                self._check_types,
                self._config,
                self._cluster_cidr,
            )
            controller = runtime.build(entry.name, entry.factory, context)
            await runtime.run(self._kernel, self._probe, entry.name, controller, informers, group)

        made = Component(self._kernel, self._probe, entry.name, main)
        return made
