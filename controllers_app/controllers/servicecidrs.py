"""The ServiceCIDRs controller: a range has a finalizer and says that it is ready; one that is
deleted stays for as long as it is the only one that has an address of a service.

Models kubernetes pkg/controller/servicecidrs/servicecidrs_controller.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, Watches

CIDRS, ADDRESSES = "servicecidrs.networking.k8s.io", "ipaddresses.networking.k8s.io"
FINALIZER = "networking.k8s.io/service-cidr-finalizer"
MANAGER = "service-cidr-controller"
MANAGED_BY = "ipaddress.kubernetes.io/managed-by"
GRACE_SECONDS = 10  # until the allocators know that a range goes
_BLOCKED = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
    "ServiceCIDR"
)
Networks = list[ipaddress.IPv4Network | ipaddress.IPv6Network]


class ServiceCidrsController(Controller):
    """Reconciles ServiceCIDRs, by name."""

    resource = CIDRS
    source = "pkg/controller/servicecidrs/servicecidrs_controller.go sync"
    watches = (
        Watches(
            CIDRS,
            on=ADDED | UPDATED,
            keys=lambda self, cidr: self._overlapping(cidr),
            update_keys=lambda self, old, cidr: (meta.name_of(cidr),),
        ),
        Watches(ADDRESSES, on=ADDED | DELETED, keys=lambda self, address: self._holding(address)),
    )

    async def reconcile(self, key: str) -> Result | None:
        cidr = self.caches[CIDRS].get(key)
        if cidr is None:
            return Result("is gone")
        has_finalizer = FINALIZER in (cidr["metadata"].get("finalizers") or ())
        if not meta.is_deleting(cidr):
            if not has_finalizer:
                await self._patch(key, {"finalizers": [FINALIZER]})
            await self._say(key, "True", "", "Kubernetes Service CIDR is ready")
            return Result("is ready")
        if not self._may_go(cidr):
            await self._say(key, "False", "Terminating", _BLOCKED)
            return Result("has addresses that no other range has")
        left = meta.parse_time(cidr["metadata"]["deletionTimestamp"]) - self.kernel.now
        if left + GRACE_SECONDS * SECOND > 0:
            return Result("waits until it is known to go", left / SECOND + GRACE_SECONDS)
        if has_finalizer:
            await self._patch(key, {"$deleteFromPrimitiveList/finalizers": [FINALIZER]})
        return Result("goes")

    async def _patch(self, name: str, metadata: Object) -> None:
        with errors.ignoring("NotFound"):
            await self.client.patch(CIDRS, "", name, {"metadata": metadata}, kind=STRATEGIC_PATCH)

    async def _say(self, name: str, status: str, reason: str, message: str) -> None:
        ready = {
            "type": "Ready",
            "status": status,
            "lastTransitionTime": meta.rfc3339(self.kernel.now),
            **({"reason": reason} if reason else {}),
            "message": message,
        }
        body = {
            "kind": "ServiceCIDR",
            "apiVersion": "networking.k8s.io/v1",
            "metadata": {"name": name},
            "status": {"conditions": [ready]},
        }
        await self.client.apply(CIDRS, "", name, body, manager=MANAGER, subresource="status")

    # -- which ranges ---------------------------------------------------------------------------

    def _may_go(self, cidr: Object) -> bool:
        """Whether other ranges have all of it, or all addresses that services hold of it."""
        name, others = meta.name_of(cidr), self._ranges(but=meta.name_of(cidr))
        if all(
            any(
                network.network_address in other and other.prefixlen <= network.prefixlen
                for networks in others.values()
                for other in networks
            )
            for network in _networks(cidr)
        ):
            return True
        return all(
            [name] != list(self._holding(address)) for address in self.caches[ADDRESSES].list()
        )

    def _holding(self, address: Object) -> Iterator[str]:
        """The ranges of an address that the API server gave to a service."""
        if meta.labels_of(address).get(MANAGED_BY) != "ipallocator.k8s.io":
            return
        ip = ipaddress.ip_address(meta.name_of(address))
        for name, networks in self._ranges().items():
            if any(ip in network for network in networks):
                yield name

    def _overlapping(self, cidr: Object) -> Iterator[str]:
        """The range itself, and the others that one deletion may unblock."""
        mine = _networks(cidr)
        yield meta.name_of(cidr)
        for name, networks in self._ranges(but=meta.name_of(cidr)).items():
            if any(network.overlaps(other) for network in mine for other in networks):
                yield name

    def _ranges(self, *, but: str = "") -> dict[str, Networks]:
        cidrs = sorted(self.caches[CIDRS].list(), key=meta.name_of)
        return {meta.name_of(cidr): _networks(cidr) for cidr in cidrs if meta.name_of(cidr) != but}


def _networks(cidr: Object) -> Networks:
    return [ipaddress.ip_network(text) for text in cidr["spec"].get("cidrs") or ()]
