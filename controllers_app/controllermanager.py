"""kube-controller-manager: one process, one leader election, shared caches, many controllers.

Every controller acts under its own service account; the shared caches are the process's own. It is
crash-only: each start builds all of it anew.

Models kubernetes cmd/kube-controller-manager/app/controllermanager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from controllers_app import controllers
from controllers_app.runtime import controller as runtime
from controllers_app.runtime.component import Component
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.tasks import TaskGroup
from controllers_app.runtime.workqueue import WorkQueue

NAME = "kube-controller-manager"
# always the same: it is the only candidate, and after a restart it leads again at once
IDENTITY = "control-plane_00000000-0000-4000-8000-000000000001"

# the client of a user by name, e.g. system:serviceaccount:kube-system:deployment-controller
ClientOf = Callable[[str], Client]


def build(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    client_of: ClientOf,
    *,
    version: str,
    root_ca: str = "",
    entries: Sequence[controllers.Entry] = controllers.CONTROLLERS,
) -> list[Component]:
    """The process as a component that can be started, stopped and killed."""
    process = _Process(kernel, probe, rand, client, client_of, version, root_ca, entries)
    return [Component(kernel, probe, NAME, process.main)]


class _Process:
    """What every start needs; what a start makes is local to `main`."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        rand: Rand,
        client: Client,
        client_of: ClientOf,
        version: str,
        root_ca: str,
        entries: Sequence[controllers.Entry],
    ) -> None:
        self._kernel = kernel
        self._probe = probe
        self._rand = rand
        self._client = client
        self._client_of = client_of
        self._version = version
        self._root_ca = root_ca
        self._entries = entries

    async def main(self, group: TaskGroup) -> None:
        """Lead, then run every controller, for as long as the lease is renewed."""
        recorder = Recorder(self._kernel, self._client, NAME)
        group.spawn(f"{NAME}/events", recorder.run())
        elector = LeaderElector(
            self._kernel, self._client, self._probe, recorder, NAME, IDENTITY
        )
        await elector.acquire()
        informers = InformerFactory(self._kernel, self._client, self._probe, NAME, group)
        built = [(entry.name, self._build(entry, informers, group)) for entry in self._entries]
        informers.start()
        for name, controller in built:
            group.spawn(
                f"{name}/start",
                runtime.run(self._kernel, self._probe, name, controller, informers, group),
            )
        await elector.renew()
        group.give_up(LeadershipLost("leaderelection lost"))

    def _build(
        self, entry: controllers.Entry, informers: InformerFactory, group: TaskGroup
    ) -> runtime.Controller:
        client = self._client_of(entry.identity)
        recorder = Recorder(self._kernel, client, entry.account)
        group.spawn(f"{entry.name}/events", recorder.run())
        context = runtime.Context(
            self._kernel, client, informers, recorder,
            WorkQueue(self._kernel, self._probe, entry.name),
            self._rand, self._version, self._root_ca,
        )  # fmt: skip
        return entry.factory(context)


class LeadershipLost(Exception):
    """The process must end: somebody else holds its lease."""
