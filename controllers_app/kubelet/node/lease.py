"""The lease of a node: created once, renewed every ten seconds.

Models kubernetes staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.dependencies import Dependencies

LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS, LEASE_RENEW_SECONDS = 40, 10


class Lease:
    """The lease of one kubelet's node."""

    def __init__(self, kubelet: Dependencies) -> None:
        self._kubelet = kubelet
        self._lease: Object | None = None

    async def keep(self) -> None:
        """Renews the lease for ever, in the background."""
        while True:
            await self._kubelet.kernel.sleep(LEASE_RENEW_SECONDS, background=True)
            try:
                await self.renew()
            except errors.ApiError:
                self.forget()  # read again at the next beat

    def forget(self) -> None:
        self._lease = None

    async def renew(self) -> None:
        kubelet = self._kubelet
        now = meta.rfc3339_micro(kubelet.kernel.now)
        if self._lease is None:
            with errors.ignoring("NotFound"):
                self._lease = await kubelet.client.get(LEASES, LEASE_NAMESPACE, kubelet.name)
        if self._lease is None:
            node = await kubelet.client.get("nodes", "", kubelet.name)
            lease = self._new_lease(node, now)
            self._lease = await kubelet.client.create(LEASES, LEASE_NAMESPACE, lease)
            return
        spec = {**(self._lease.get("spec") or {}), "renewTime": now}
        self._lease = await kubelet.client.update(
            LEASES, LEASE_NAMESPACE, kubelet.name, {**self._lease, "spec": spec}
        )

    def _new_lease(self, node: Object, now: str) -> Object:
        name = self._kubelet.name
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "namespace": LEASE_NAMESPACE,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": name, "uid": meta.uid_of(node)}
                ],
            },
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": now,
            },
        }
