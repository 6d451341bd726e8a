"""`ranges/serviceips` and `ranges/servicenodeports`: the allocated addresses and node ports.

Upstream stores each as a RangeAllocation whose data is a bitmap of the entire range, 128 KiB for
10.96.0.0/12. Here the allocated offsets are stored; `decode` turns them into the bitmap. Service
addresses are stored up to 1.33 (later versions have IPAddress objects only), node ports always. The
services themselves are authoritative: `repair` rebuilds both from them.

Models kubernetes pkg/registry/core/service/allocator/{bitmap.go,storage/storage.go} and
pkg/registry/core/service/{ipallocator,portallocator}.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Iterable

import orjson

from apiserver_app.apis import servicenet
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import StoreError
from apiserver_app.etcd.mvcc import Store
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import compact
from apiserver_app.registry.core.service import ips

ADDRESSES, PORTS = "/registry/ranges/serviceips", "/registry/ranges/servicenodeports"


def addresses_of(service: Object) -> list[str]:
    """The cluster addresses that a service holds."""
    spec = service.get("spec") or {}
    if not ips.needs_cluster_ip(spec) or ips.is_headless(spec):
        return []
    return [ip for ip in (spec.get("clusterIPs") or [spec.get("clusterIP")]) if ip]


def ports_of(service: Object) -> list[int]:
    """The node ports that a service holds."""
    spec = service.get("spec") or {}
    ports = [port.get("nodePort") for port in spec.get("ports") or ()]
    ports.append(spec.get("healthCheckNodePort"))
    return [int(port) for port in ports if port]


class Ranges:
    """The two range allocations of one cluster."""

    def __init__(
        self, store: Store, version: Release, net: servicenet.ServiceNet = servicenet.DEFAULT
    ) -> None:
        self._store = store
        self._net = net
        self._specs = {ADDRESSES: str(net.cidr), PORTS: net.ports}
        self._keys = (PORTS,) if version.has("DisableAllocatorDualWrite") else (ADDRESSES, PORTS)

    def change(self, added: Iterable[Object], removed: Iterable[Object]) -> None:
        """Allocates what the services `added` hold and releases what those `removed` held."""
        taken, free = self._offsets(added), self._offsets(removed)
        for key in self._keys:
            now = self._read(key)
            self._write(key, (now - free[key]) | taken[key], now)

    def repair(self, services: Iterable[Object]) -> None:
        """Rewrites both allocations from the services; creates them if they are missing."""
        desired = self._offsets(services)
        for key in self._keys:
            now = self._read(key) if self._store.get(key) is not None else None
            self._write(key, desired[key], now)

    def held(self, services: Iterable[Object]) -> dict[str, tuple[int, int]]:
        """How much of each range the services hold, and how much is left."""
        net = self._net
        sizes = {ADDRESSES: net.cidr.num_addresses - 2, PORTS: net.last_port - net.first_port + 1}
        offsets = self._offsets(services)
        return {key: (len(offsets[key]), sizes[key] - len(offsets[key])) for key in sizes}

    def _read(self, key: str) -> set[int]:
        entry = self._store.get(key)
        stored = None if entry is None else _stored(entry.value)
        return set(stored["taken"]) if stored is not None else set()

    def _write(self, key: str, desired: set[int], current: set[int] | None) -> None:
        if desired == current:
            return
        obj = {"kind": "RangeAllocation", "range": self._specs[key], "taken": sorted(desired)}
        try:
            self._store.put(key, compact.encode(obj))
        except StoreError as error:
            raise errors.ApiError(500, "", str(error)) from error

    def _offsets(self, services: Iterable[Object]) -> dict[str, set[int]]:
        """By key, the offsets in the range of the values that the services hold."""
        offsets: dict[str, set[int]] = {ADDRESSES: set(), PORTS: set()}
        for service in services:
            for address in addresses_of(service):
                parsed = ipaddress.ip_address(address)
                if parsed in self._net.cidr:
                    offsets[ADDRESSES].add(int(parsed) - int(self._net.cidr[1]))
            for port in ports_of(service):
                if self._net.first_port <= port <= self._net.last_port:
                    offsets[PORTS].add(port - self._net.first_port)
        return offsets


def decode(entry: Entry) -> Object | None:
    """The RangeAllocation with its bitmap; None when the entry holds something else."""
    stored = _stored(entry.value)
    if stored is None:
        return None
    bits = 0
    for offset in stored["taken"]:
        bits |= 1 << offset
    data = bits.to_bytes((bits.bit_length() + 7) // 8, "big")
    return {
        "apiVersion": "v1",
        "kind": "RangeAllocation",
        "metadata": {},
        "range": stored["range"],
        "data": base64.b64encode(data).decode(),
    }


def _stored(value: bytes) -> Object | None:
    try:
        obj = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    is_allocation = isinstance(obj, dict) and obj.get("kind") == "RangeAllocation"
    return obj if is_allocation and isinstance(obj.get("taken"), list) else None
