"""`ranges/serviceips` and `ranges/servicenodeports`: which addresses and node ports are taken.

Upstream keeps each as a RangeAllocation whose data is a bit map of the whole range, 128 KiB for
10.96.0.0/12. Here the offsets are kept that are taken; `shown` makes the bit map of them. Service
addresses are kept up to 1.33 (after that IPAddress objects alone say it), node ports always. The
services themselves are what counts: `wanted` reads them.

Models kubernetes pkg/registry/core/service/allocator/{bitmap.go,storage/storage.go} and
pkg/registry/core/service/{ipallocator,portallocator}.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterable

import orjson

from apiserver_app.apis import servicenet
from apiserver_app.etcd.mvcc import Entry, Store
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.core.service import ips

ADDRESSES, PORTS = "/registry/ranges/serviceips", "/registry/ranges/servicenodeports"


def addresses_of(service: Object) -> list[str]:
    """The cluster addresses that a service holds."""
    spec = service.get("spec") or {}
    if not ips.needs_cluster_ip(spec) or ips.is_headless(spec):
        return []
    return [one for one in (spec.get("clusterIPs") or [spec.get("clusterIP")]) if one]


def ports_of(service: Object) -> list[int]:
    """The node ports that a service holds."""
    spec = service.get("spec") or {}
    found = [port.get("nodePort") for port in spec.get("ports") or ()]
    found.append(spec.get("healthCheckNodePort"))
    return [int(one) for one in found if one]


class Ranges:
    """The two range allocations of one cluster."""

    def __init__(
        self, store: Store, version: Release, net: servicenet.ServiceNet = servicenet.DEFAULT
    ) -> None:
        self._store = store
        self._net = net
        self._specs = {ADDRESSES: str(net.cidr), PORTS: net.ports}
        self._keys = (PORTS,) if version.has("DisableAllocatorDualWrite") else (ADDRESSES, PORTS)

    def change(self, took: Iterable[Object], left: Iterable[Object]) -> None:
        """What these services hold is taken, and what those held is not. Writes what changes."""
        taken, free = self._offsets(took), self._offsets(left)
        for key in self._keys:
            now = self._read(key)
            self._write(key, (now - free[key]) | taken[key], now)

    def repair(self, services: Iterable[Object]) -> None:
        """Make both say what the services hold; they are there from then on."""
        wanted = self._offsets(services)
        for key in self._keys:
            now = self._read(key) if self._store.get(key) is not None else None
            self._write(key, wanted[key], now)

    def _read(self, key: str) -> set[int]:
        entry = self._store.get(key)
        found = None if entry is None else _stored(entry.value)
        return set(found["taken"]) if found is not None else set()

    def _write(self, key: str, wanted: set[int], now: set[int] | None) -> None:
        if wanted == now:
            return
        obj = {"kind": "RangeAllocation", "range": self._specs[key], "taken": sorted(wanted)}
        self._store.put(key, orjson.dumps(obj))

    def _offsets(self, services: Iterable[Object]) -> dict[str, set[int]]:
        """By key: where in its range each thing is that services hold."""
        found: dict[str, set[int]] = {ADDRESSES: set(), PORTS: set()}
        for service in services:
            for address in addresses_of(service):
                parsed = ipaddress.ip_address(address)
                if parsed in self._net.cidr:
                    found[ADDRESSES].add(int(parsed) - int(self._net.cidr[1]))
            for port in ports_of(service):
                if self._net.first_port <= port <= self._net.last_port:
                    found[PORTS].add(port - self._net.first_port)
        return found


def shown(entry: Entry) -> Object | None:
    """The RangeAllocation with its bit map; None when the entry is something else."""
    found = _stored(entry.value)
    if found is None:
        return None
    bits = 0
    for offset in found["taken"]:
        bits |= 1 << offset
    data = bits.to_bytes((bits.bit_length() + 7) // 8, "big")
    return {
        "apiVersion": "v1", "kind": "RangeAllocation", "metadata": {}, "range": found["range"],
        "data": base64.b64encode(data).decode(),
    }  # fmt: skip


def _stored(value: bytes) -> Object | None:
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    is_ours = isinstance(found, dict) and found.get("kind") == "RangeAllocation"
    return found if is_ours and isinstance(found.get("taken"), list) else None
