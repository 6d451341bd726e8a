"""The ways of a cluster's own components to its API server, each with an identity of its own."""

from __future__ import annotations

from apiserver_app.localclient import LocalClient
from apiserver_app.machinery.meta import Credential, TlsPeer
from apiserver_app.pipeline import Pipeline

_APISERVER, _MASTERS = "system:apiserver", ("system:masters",)
_MANAGER = "kube-controller-manager"


class Clients:
    """Makes the clients of one cluster."""

    def __init__(self, pipeline: Pipeline, loopback_token: str) -> None:
        self._pipeline = pipeline
        self._loopback_token = loopback_token

    def client(
        self, user: str, agent: str, groups: tuple[str, ...] = (), component: str = "",
        *, own: bool = False,
    ) -> LocalClient:  # fmt: skip
        """For a component that presents a client certificate of the cluster's CA."""
        credential = Credential(tls=TlsPeer(user, groups, "kubernetes"))
        return LocalClient(self._pipeline, user, credential, agent, component, own=own)

    def loopback(self, component: str = "") -> LocalClient:
        """For the API server itself."""
        credential = Credential(bearer=self._loopback_token)
        return LocalClient(
            self._pipeline, _APISERVER, credential, "kube-apiserver", component, own=True
        )

    def own(self, agent: str) -> LocalClient:
        """For parts of the API server that come with a name of their own."""
        return self.client(_APISERVER, agent, _MASTERS, own=True)

    def account(self, account: str, component: str) -> LocalClient:
        """For a controller that will present a token of its own service account, or, without one,
        for the controller manager."""
        if not account:
            return self.client(f"system:{_MANAGER}", _MANAGER, component=component)
        identity = f"system:serviceaccount:kube-system:{account}"
        return LocalClient(self._pipeline, identity, Credential(), _MANAGER, component)
