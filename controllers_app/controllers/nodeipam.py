"""The node IPAM controller: gives each node a range of the cluster's pod addresses.

Ranges are given in their order, going round, so that a node's range is not another's at once.

Models kubernetes pkg/controller/nodeipam/ipam/range_allocator.go and ipam/cidrset/cidr_set.go.
"""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterable

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, Watches

NODE_MASK_SIZE = 24
WORKERS = 30
TRIES_MAX = 3


class NodeIpamController(Controller):
    """Reconciles nodes without a range, by name."""

    resource = "nodes"
    source = "pkg/controller/nodeipam/ipam/range_allocator.go AllocateOrOccupyCIDR"
    watches = (
        Watches("nodes", on=ADDED | UPDATED, keys=lambda self, node: self._if_without(node)),
        Watches("nodes", on=DELETED, keys=lambda self, node: self._release(node)),
    )
    workers = WORKERS

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._ranges = Ranges(ctx.cluster_cidr)

    def _if_without(self, node: Object) -> tuple[str, ...]:
        for cidr in _ranges_of(node):
            self._ranges.occupy(cidr)
        return () if _ranges_of(node) else (meta.name_of(node),)

    def _release(self, node: Object) -> tuple[str, ...]:
        for cidr in _ranges_of(node):
            self._ranges.release(cidr)
        return ()

    async def reconcile(self, key: str) -> Result | None:
        node = self.caches["nodes"].get(key)
        if node is None or meta.is_deleting(node):
            return Result("is gone, or going")
        if _ranges_of(node):
            return Result("has its range")
        cidr = self._ranges.take()
        if cidr is None:
            self._became(node, "CIDRNotAvailable")
            raise errors.internal(
                "failed to allocate cidr from cluster cidr at idx:0: CIDR allocation failed; there "
                "are no remaining CIDRs left to allocate in the accepted range"
            )
        await self._patch(node, cidr)
        return Result(f"gives it {cidr}")

    async def _patch(self, node: Object, cidr: str) -> None:
        body = {"spec": {"podCIDR": cidr, "podCIDRs": [cidr]}}
        for left in reversed(range(TRIES_MAX)):
            try:
                await self.client.patch("nodes", "", meta.name_of(node), body, kind=STRATEGIC_PATCH)
                return
            except errors.ApiError as error:
                if left:
                    continue
                self._became(node, "CIDRAssignmentFailed")
                if error.reason != "ServerTimeout":  # then it may have been written
                    self._ranges.release(cidr)
                raise

    def _became(self, node: Object, status: str) -> None:
        name = meta.name_of(node)
        about = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": meta.uid_of(node)},
        }
        self.recorder.event(about, "Normal", status, f"Node {name} status is now: {status}")


class Ranges:
    """The nodes' ranges within the cluster's, by their place in it."""

    def __init__(self, cluster_cidr: str) -> None:
        self._cluster = ipaddress.IPv4Network(cluster_cidr)
        self._most = 2 ** (NODE_MASK_SIZE - self._cluster.prefixlen)
        self._next = 0
        self._taken: set[int] = set()

    def take(self) -> str | None:
        """The next free one; None when all are taken."""
        if len(self._taken) == self._most:
            return None
        while self._next in self._taken:
            self._next = (self._next + 1) % self._most
        place = self._next
        self._taken.add(place)
        self._next = (place + 1) % self._most
        first = int(self._cluster.network_address) + (place << (32 - NODE_MASK_SIZE))
        return f"{ipaddress.IPv4Address(first)}/{NODE_MASK_SIZE}"

    def occupy(self, cidr: str) -> None:
        self._taken.update(self._places(cidr))

    def release(self, cidr: str) -> None:
        self._taken.difference_update(self._places(cidr))

    def _places(self, cidr: str) -> Iterable[int]:
        """None of a range that is not of the cluster."""
        with contextlib.suppress(ValueError):
            asked = ipaddress.IPv4Network(cidr, strict=False)
            if asked.overlaps(self._cluster):
                base = int(self._cluster.network_address)
                first = max(int(asked.network_address), base) - base
                last = min(int(asked.broadcast_address), int(self._cluster.broadcast_address))
                bits = 32 - NODE_MASK_SIZE
                return range(first >> bits, ((last - base) >> bits) + 1)
        return ()


def _ranges_of(node: Object) -> list[str]:
    return list(node["spec"].get("podCIDRs") or ())
