"""The ways of a cluster's own components to its API server, each with an identity of its own."""

from __future__ import annotations

from apiserver_app.http import discovery
from apiserver_app.localclient import UNLIMITED, Limits, LocalClient
from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.meta import Credential, TlsPeer
from apiserver_app.machinery.releases import Release
from apiserver_app.pipeline import Pipeline
from lifecycle.cluster.rates import Rates

_APISERVER, _MASTERS = "system:apiserver", ("system:masters",)
_SERVER, _MANAGER = "kube-apiserver", "kube-controller-manager"
# what cmd/kube-controller-manager/app/core.go makes of the manager's for some, in times
_OF_CONTROLLER = {"namespace-controller": (20, 100), "generic-garbage-collector": (2, 1)}
_LEASES, _EVENTS = "leases", "events"


class Clients:
    """Makes the clients of one cluster."""

    def __init__(self, version: Release, loopback_token: str, rates: Rates) -> None:
        self._rate, self._burst = rates.manager
        self._of_scheduler = rates.scheduler
        self._pipeline: Pipeline
        self._loopback_token = loopback_token
        info = discovery.version_info(version)
        self._build = (
            f"{info['gitVersion']} ({info['platform']}) kubernetes/{info['gitCommit'][:7]}"
        )

    def connect(self, pipeline: Pipeline) -> None:
        """The API server takes requests: before that there are no clients."""
        self._pipeline = pipeline

    def agent(self, program: str, part: str = "") -> str:
        """The User-Agent of a part of a program of Kubernetes (client-go rest.AddUserAgent)."""
        whole = f"{program}/{self._build}"
        return f"{whole}/{part}" if part else whole

    def client(
        self,
        user: str,
        agent: str,
        groups: tuple[str, ...] = (),
        component: str = "",
        *,
        own: bool = False,
        limits: Limits | None = None,
    ) -> LocalClient:
        """For a component that presents a client certificate of the cluster's CA."""
        credential = Credential(tls=TlsPeer(user, groups, "kubernetes"))
        component = component or agent.partition("/")[0]
        return LocalClient(
            self._pipeline, user, credential, agent, component, own=own, limits=limits or UNLIMITED
        )

    def manager(self, component: str) -> LocalClient:
        """For what is shared by all controllers; their caches have a client set of their own."""
        each, lists = (Bucket(self._rate, self._burst) for _ in range(2))
        limits = {"": each, "list": lists, _LEASES: None}
        agent = self.agent(_MANAGER, "shared-informers")
        return self.client(f"system:{_MANAGER}", agent, component=component, limits=limits)

    def scheduler(self, component: str) -> LocalClient:
        requests, events = (Bucket(*self._of_scheduler) for _ in range(2))
        limits = {"": requests, _EVENTS: events, _LEASES: None}
        agent = self.agent("kube-scheduler", "scheduler")
        return self.client("system:kube-scheduler", agent, component=component, limits=limits)

    def kubelet(self, node: str, rate: tuple[int, int]) -> LocalClient:
        """`rate`: its kubeAPIQPS and kubeAPIBurst, and those of events. Heartbeats have none."""
        limits = {"": Bucket(*rate), _EVENTS: Bucket(*rate), "nodes": None, _LEASES: None}
        agent, groups = self.agent("kubelet"), ("system:nodes",)
        return self.client(f"system:node:{node}", agent, groups, f"kubelet/{node}", limits=limits)

    def loopback(self, component: str = "") -> LocalClient:
        """For the API server itself."""
        credential = Credential(bearer=self._loopback_token)
        return LocalClient(
            self._pipeline,
            _APISERVER,
            credential,
            self.agent(_SERVER),
            component or _SERVER,
            own=True,
        )

    def own(self, agent: str) -> LocalClient:
        """For parts of the API server that come with a name of their own."""
        return self.client(_APISERVER, agent, _MASTERS, own=True)

    def of_controller(self, account: str) -> Limits:
        """What one of the manager's controllers may send."""
        more, burst = _OF_CONTROLLER.get(account, (1, 1))
        return {"": Bucket(self._rate * more, self._burst * burst)}

    def account(self, account: str, component: str) -> LocalClient:
        """For a controller that will present a token of its own service account, or, without one,
        for the controller manager."""
        limits = self.of_controller(account)
        if not account:
            agent = self.agent(_MANAGER, "tokens-controller")
            return self.client(f"system:{_MANAGER}", agent, component=component, limits=limits)
        identity = f"system:serviceaccount:kube-system:{account}"
        agent = self.agent(_MANAGER, identity)
        return LocalClient(self._pipeline, identity, Credential(), agent, component, limits=limits)
