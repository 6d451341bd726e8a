"""Service addresses and node ports are taken before a service is stored, and given back after it
is gone: in the ranges, and from 1.33 on by an IPAddress object for each address. The Endpoints of
a service go with it.

IPAddresses are created and deleted by requests of the API server to itself, as upstream's. What
was lost on the way (a key put by etcdctl, a data directory of before) is mended by `repair`, when
the server starts and every three minutes.

Models kubernetes pkg/registry/core/service/storage/{alloc,storage}.go,
pkg/registry/core/service/ipallocator/ipallocator.go and
pkg/registry/core/service/{ipallocator,portallocator}/controller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.core.service import ips
from apiserver_app.registry.core.service.ranges import addresses_of

SERVICES, ADDRESSES = "services", "ipaddresses.networking.k8s.io"
REPAIR_SECONDS = 180
_GROUP = "ipaddress.kubernetes.io"
_LABELS = {f"{_GROUP}/ip-family": "IPv4", f"{_GROUP}/managed-by": "ipallocator.k8s.io"}


@contextmanager
def reserved(cluster: ClusterContext, obj: Object, old: Object | None = None) -> Iterator[None]:
    """Nobody else gets meanwhile what the service is to hold; 409 when somebody just did."""
    wanted = ips.held(obj) - (ips.held(old) if old is not None else set())
    key, others = meta.key_of(obj), cluster.addresses.reserved
    taken = [
        ips.held(service) for service in cluster.cache.list(SERVICES) if meta.key_of(service) != key
    ]
    if wanted and not wanted.isdisjoint(set().union(*taken, *others)):
        raise errors.conflict("", SERVICES, meta.name_of(obj), errors.MODIFIED)
    others.append(wanted)
    try:
        yield
    finally:
        others.remove(wanted)


async def take(cluster: ClusterContext, obj: Object, old: Object | None = None) -> None:
    """Before a service is stored. Raises what its addresses are refused with."""
    for address in _more(obj, old):
        await _create(cluster, obj, address)
    cluster.addresses.ranges.change([obj], [])


async def give_back(cluster: ClusterContext, old: Object, now: Object | None = None) -> None:
    """After a service was stored, deleted or refused by the store."""
    cluster.addresses.ranges.change([] if now is None else [now], [old])
    for address in _more(old, now):
        await _delete(cluster, address)


def drop_endpoints(cluster: ClusterContext, service: Object) -> None:
    """After a service was deleted: so that another of its name does not begin with them."""
    endpoints = cluster.resources.by_key["endpoints"]
    namespace, name = meta.namespace_of(service), meta.name_of(service)
    known = cluster.storage.find(endpoints, namespace, name)
    if known is not None:
        cluster.storage.remove(endpoints, known)


async def repair(cluster: ClusterContext) -> None:
    """Make ranges and IPAddresses say what the services hold."""
    services = cluster.cache.list(SERVICES)
    cluster.addresses.ranges.repair(services)
    if ADDRESSES not in cluster.resources.by_key:
        return
    there = {meta.name_of(stored): stored for stored in cluster.cache.list(ADDRESSES)}
    held = {address: service for service in services for address in addresses_of(service)}
    for address, service in held.items():
        if address not in there:
            await _create(cluster, service, address)
    for address, stored in there.items():
        managed = meta.labels_of(stored).get(f"{_GROUP}/managed-by") == "ipallocator.k8s.io"
        if managed and address not in held:
            await _delete(cluster, address)


async def keep_repaired(cluster: ClusterContext) -> None:
    """For as long as the server runs, in the background."""
    while True:
        await cluster.kernel.sleep(REPAIR_SECONDS, background=True)
        await cluster.life.until_started()
        await cluster.etcd.until_running()
        try:
            await repair(cluster)
        except errors.ApiError:
            continue  # its own plugins refuse: the next time is soon enough


def _more(obj: Object, than: Object | None) -> list[str]:
    have = addresses_of(than) if than is not None else []
    return [address for address in addresses_of(obj) if address not in have]


async def _create(cluster: ClusterContext, service: Object, address: str) -> None:
    if ADDRESSES not in cluster.resources.by_key:
        return
    namespace, name = meta.namespace_of(service), meta.name_of(service)
    parent = {"resource": SERVICES, "namespace": namespace, "name": name}
    obj: Object = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": address, "labels": dict(_LABELS)},
        "spec": {"parentRef": parent},
    }
    # one that is left over from a service that is gone stays: services are what counts
    with errors.ignoring("AlreadyExists"):
        await cluster.egress.loopback().create(ADDRESSES, "", obj)


async def _delete(cluster: ClusterContext, address: str) -> None:
    if ADDRESSES not in cluster.resources.by_key:
        return
    try:
        await cluster.egress.loopback().delete(ADDRESSES, "", address)
    except errors.ApiError:
        return  # as upstream: an address that cannot be released is repaired later
