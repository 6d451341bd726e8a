"""The ways of a cluster's own components to its API server, each with an identity of its own."""

from __future__ import annotations

from apiserver_app.http import discovery
from apiserver_app.localclient import LocalClient
from apiserver_app.machinery.meta import Credential, TlsPeer
from apiserver_app.pipeline import Pipeline

_APISERVER, _MASTERS = "system:apiserver", ("system:masters",)
_SERVER, _MANAGER = "kube-apiserver", "kube-controller-manager"


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
        *, own: bool = False,
    ) -> LocalClient:  # fmt: skip
        """For a component that presents a client certificate of the cluster's CA."""
        credential = Credential(tls=TlsPeer(user, groups, "kubernetes"))
        component = component or agent.partition("/")[0]
        return LocalClient(self._pipeline, user, credential, agent, component, own=own)

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
        if not account:
            agent = self.agent(_MANAGER, "tokens-controller")
            return self.client(f"system:{_MANAGER}", agent, component=component)
        identity = f"system:serviceaccount:kube-system:{account}"
        agent = self.agent(_MANAGER, identity)
        return LocalClient(self._pipeline, identity, Credential(), agent, component)
