"""What a node's kube-proxy makes of Services and EndpointSlices: the ports of services, each with
the endpoints that it leads to from there. Pure.

Models kubernetes pkg/proxy/{serviceport,servicechangetracker,endpointslicecache,topology}.go, IPv4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

SERVICE_NAME = "kubernetes.io/service-name"
ZONE = "topology.kubernetes.io/zone"


class Node(msgspec.Struct, frozen=True):
    """Where the proxy runs."""

    name: str
    address: str
    zone: str = ""


class Endpoint(msgspec.Struct, frozen=True):
    ip: str
    port: int
    node: str
    ready: bool
    draining: bool  # it ends, and still serves
    zones: frozenset[str]  # for which it is hinted
    nodes: frozenset[str]

    @property
    def address(self) -> str:
        return f"{self.ip}:{self.port}"


Endpoints = tuple[Endpoint, ...]


class ServicePort(msgspec.Struct, frozen=True):
    """One port of a service, as one node serves it."""

    name: str  # namespace/name:port
    protocol: str
    cluster_ip: str
    port: int
    node_port: int
    external_ips: tuple[str, ...]
    balancer_ips: tuple[str, ...]
    source_ranges: tuple[str, ...]
    sticky_seconds: int  # 0: no affinity
    health_port: int
    is_external_local: bool
    is_internal_local: bool
    cluster: Endpoints = ()  # for the traffic policy Cluster
    local: Endpoints = ()  # for the traffic policy Local
    has_endpoints: bool = False  # on any node

    @property
    def is_external(self) -> bool:
        """Whether it is reached by more than its cluster IP."""
        return bool(self.node_port or self.external_ips or self.balancer_ips)

    @property
    def uses_cluster(self) -> bool:
        return not self.is_internal_local or self.is_external

    @property
    def uses_local(self) -> bool:
        return self.is_internal_local or (self.is_external_local and self.is_external)

    @property
    def internal(self) -> Endpoints:
        """Those that the cluster IP leads to."""
        return self.local if self.is_internal_local else self.cluster

    @property
    def external(self) -> Endpoints:
        """Those that the other addresses lead to from outside of the cluster."""
        return self.local if self.is_external_local else self.cluster

    @property
    def reachable(self) -> Endpoints:
        by_address = {endpoint.address: endpoint for endpoint in (*self.cluster, *self.local)}
        return tuple(by_address[address] for address in sorted(by_address))


SlicesOf = Callable[[Object], Iterable[Object]]  # those of a service


def ports(services: Iterable[Object], slices_of: SlicesOf, node: Node) -> Iterator[ServicePort]:
    """All that a node serves."""
    for service in services:
        for port, endpoints in ports_of(service, slices_of):
            yield seen_from(node, port, endpoints)


def ports_of(service: Object, slices_of: SlicesOf) -> Iterator[tuple[ServicePort, Endpoints]]:
    """The ports of one service with all endpoints; none when it is not for proxies."""
    if not is_proxied(service):
        return
    slices = [item for item in slices_of(service) if item["addressType"] == "IPv4"]
    for port in service["spec"].get("ports") or ():
        name, protocol = port.get("name") or "", port.get("protocol") or "TCP"
        yield _unserved(service, port), _endpoints(slices, name, protocol)


def seen_from(node: Node, port: ServicePort, endpoints: Endpoints) -> ServicePort:
    """The port with the endpoints that each traffic policy uses on a node: the ready ones; where
    there is none, those that end and still serve."""
    ready = [endpoint for endpoint in endpoints if endpoint.ready]
    usable = ready or [endpoint for endpoint in endpoints if endpoint.draining]
    near = _near(ready, node) or usable
    local = [endpoint for endpoint in ready if endpoint.node == node.name] or [
        endpoint for endpoint in endpoints if endpoint.node == node.name and endpoint.draining
    ]
    return msgspec.structs.replace(
        port,
        cluster=tuple(near) if port.uses_cluster else (),
        local=tuple(local) if port.uses_local else (),
        has_endpoints=bool(usable),
    )


def is_proxied(service: Object) -> bool:
    spec = service["spec"]
    return spec.get("clusterIP") not in (None, "", "None") and spec.get("type") != "ExternalName"


def addresses_of(service: Object) -> tuple[str, ...]:
    """The addresses that lead to it, but for those of nodes."""
    outer = (*_external_ips(service), *_balancer_ips(service))
    return (service["spec"]["clusterIP"], *outer)


def by_service(slices: Iterable[Object]) -> dict[tuple[str, str], list[Object]]:
    """Slices by the namespace and the name of their service."""
    grouped: dict[tuple[str, str], list[Object]] = {}
    for item in slices:
        key = meta.namespace_of(item), meta.labels_of(item).get(SERVICE_NAME, "")
        grouped.setdefault(key, []).append(item)
    return grouped


def _unserved(service: Object, port: Object) -> ServicePort:
    spec = service["spec"]
    name = f"{meta.namespace_of(service)}/{meta.name_of(service)}"
    sticky = ((spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}).get("timeoutSeconds")
    return ServicePort(
        name=f"{name}:{port['name']}" if port.get("name") else name,
        protocol=(port.get("protocol") or "TCP").lower(),
        cluster_ip=spec["clusterIP"],
        port=port["port"],
        node_port=port.get("nodePort") or 0,
        external_ips=_external_ips(service),
        balancer_ips=_balancer_ips(service),
        source_ranges=tuple(
            text.strip() for text in spec.get("loadBalancerSourceRanges") or () if ":" not in text
        ),
        sticky_seconds=sticky or 0 if spec.get("sessionAffinity") == "ClientIP" else 0,
        health_port=spec.get("healthCheckNodePort") or 0,
        is_external_local=spec.get("externalTrafficPolicy") == "Local",
        is_internal_local=spec.get("internalTrafficPolicy") == "Local",
    )


def _external_ips(service: Object) -> tuple[str, ...]:
    return tuple(ip for ip in service["spec"].get("externalIPs") or () if ":" not in ip)


def _balancer_ips(service: Object) -> tuple[str, ...]:
    """Those of a load balancer that leaves the address of the packets as it is."""
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return tuple(
        point["ip"]
        for point in ingress
        if point.get("ip") and ":" not in point["ip"] and point.get("ipMode") != "Proxy"
    )


def _endpoints(slices: Iterable[Object], name: str, protocol: str) -> Endpoints:
    """The endpoints of a port in all slices, each address once, in order."""
    endpoints: dict[str, Endpoint] = {}
    for item in slices:
        for port in item.get("ports") or ():
            is_meant = (port.get("name") or "") == name and port.get("protocol", "TCP") == protocol
            if is_meant and port.get("port"):
                for entry in item.get("endpoints") or ():
                    endpoint = _endpoint(entry, port["port"])
                    endpoints.setdefault(endpoint.address, endpoint)
    return tuple(endpoints[address] for address in sorted(endpoints))


def _endpoint(entry: Object, port: int) -> Endpoint:
    conditions, hints = entry.get("conditions") or {}, entry.get("hints") or {}
    return Endpoint(
        ip=entry["addresses"][0],
        port=port,
        node=entry.get("nodeName") or "",
        ready=conditions.get("ready") is not False,
        draining=conditions.get("serving") is not False and conditions.get("terminating") is True,
        zones=frozenset(zone["name"] for zone in hints.get("forZones") or ()),
        nodes=frozenset(named["name"] for named in hints.get("forNodes") or ()),
    )


def _near(ready: Sequence[Endpoint], node: Node) -> list[Endpoint]:
    """Those that are hinted for this node, or for its zone, when all have such a hint."""
    for hinted, here in ((_nodes, node.name), (_zones, node.zone)):
        near = [endpoint for endpoint in ready if here in hinted(endpoint)]
        if near and all(map(hinted, ready)):
            return near
    return []


def _nodes(endpoint: Endpoint) -> frozenset[str]:
    return endpoint.nodes


def _zones(endpoint: Endpoint) -> frozenset[str]:
    return endpoint.zones
