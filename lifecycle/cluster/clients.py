"""The ways of a cluster's own components to its API server, each with an identity of its own."""

from __future__ import annotations

from apiserver_app.http import discovery
from apiserver_app.localclient import UNLIMITED, Limits, LocalClient
from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.meta import Credential, TlsPeer
from apiserver_app.pipeline import Pipeline

_APISERVER, _MASTERS = "system:apiserver", ("system:masters",)
_SERVER, _MANAGER = "kube-apiserver", "kube-controller-manager"
# requests a second, and at once: --kube-api-qps and --kube-api-burst
_OF_MANAGER, _OF_SCHEDULER = (20, 30), (50, 100)
# what cmd/kube-controller-manager/app/core.go makes of it for some
_OF_CONTROLLER = {"namespace-controller": (400, 3000), "generic-garbage-collector": (40, 30)}
_LEASES, _EVENTS = "leases", "events"


class Clients:
    """Makes the clients of one cluster."""

    def __init__(self, pipeline: Pipeline, loopback_token: str) -> None:
        self._pipeline = pipeline
        self._loopback_token = loopback_token
        info = discovery.version_info(pipeline.cluster.version)
        self._build = (
            f"{info['gitVersion']} ({info['platform']}) kubernetes/{info['gitCommit'][:7]}"
        )

    def agent(self, program: str, part: str = "") -> str:
        """The User-Agent of a part of a program of Kubernetes (client-go rest.AddUserAgent)."""
        whole = f"{program}/{self._build}"
        return f"{whole}/{part}" if part else whole

    def client(
        self, user: str, agent: str, groups: tuple[str, ...] = (), component: str = "",
        *, own: bool = False, limits: Limits | None = None,
    ) -> LocalClient:  # fmt: skip
        """For a component that presents a client certificate of the cluster's CA."""
        credential = Credential(tls=TlsPeer(user, groups, "kubernetes"))
        component = component or agent.partition("/")[0]
        return LocalClient(
            self._pipeline, user, credential, agent, component, own=own, limits=limits or UNLIMITED
        )

    def manager(self, component: str) -> LocalClient:
        """For what is shared by all controllers; their caches have a client set of their own."""
        limits = {"": Bucket(*_OF_MANAGER), "list": Bucket(*_OF_MANAGER), _LEASES: None}
        agent = self.agent(_MANAGER, "shared-informers")
        return self.client(f"system:{_MANAGER}", agent, component=component, limits=limits)

    def scheduler(self, component: str) -> LocalClient:
        limits = {"": Bucket(*_OF_SCHEDULER), _EVENTS: Bucket(*_OF_SCHEDULER), _LEASES: None}
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
            self._pipeline, _APISERVER, credential, self.agent(_SERVER), component or _SERVER,
            own=True,
        )  # fmt: skip

    def own(self, agent: str) -> LocalClient:
        """For parts of the API server that come with a name of their own."""
        return self.client(_APISERVER, agent, _MASTERS, own=True)

    def account(self, account: str, component: str) -> LocalClient:
        """For a controller that will present a token of its own service account, or, without one,
        for the controller manager."""
        limits = {"": Bucket(*_OF_CONTROLLER.get(account, _OF_MANAGER))}
        if not account:
            agent = self.agent(_MANAGER, "tokens-controller")
            return self.client(f"system:{_MANAGER}", agent, component=component, limits=limits)
        identity = f"system:serviceaccount:kube-system:{account}"
        agent = self.agent(_MANAGER, identity)
        return LocalClient(self._pipeline, identity, Credential(), agent, component, limits=limits)
