"""Resolves a Service to one endpoint, as the API server's proxies do.

Endpoints come from the Service's EndpointSlices; for a Service without slices (its endpoints were
written by hand) from its Endpoints. Only ready endpoints count. Reads the caches and draws at most
one random number.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/proxy/proxy.go (ResolveEndpoint), which is
what an API server with --enable-aggregator-routing does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from apiserver_app.egress.outbound import ServiceTarget
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader

SERVICE_NAME = "kubernetes.io/service-name"
_TYPES = ("ClusterIP", "LoadBalancer", "NodePort")


class NoRoute(Exception):
    """No endpoint is available; the message is upstream's."""


class Endpoint(msgspec.Struct, frozen=True):
    """The chosen endpoint. `pod` is None for an address outside the cluster."""

    address: str
    port: int
    pod: Object | None


def resolve(reader: Reader, rand: Rand, target: ServiceTarget) -> Endpoint:
    """Chooses a ready endpoint of the Service. Raises NoRoute."""
    service = reader.get("services", target.namespace, target.name)
    if service is None:
        raise NoRoute(f'service "{target.name}" not found')
    spec = service.get("spec") or {}
    if spec.get("type", "ClusterIP") not in _TYPES:
        raise NoRoute(f'unsupported service type "{spec.get("type")}"')
    ports = [port for port in spec.get("ports") or () if port.get("port") == target.port]
    if not ports:
        raise NoRoute(f'no service port {target.port} found for service "{target.name}"')
    name = ports[0].get("name") or ""
    endpoints = list(_endpoints(reader, target, name))
    if not endpoints:
        raise NoRoute(f'no endpoints available for service "{target.name}"')
    address, chosen_port, pod_name = (
        endpoints[rand.below(len(endpoints))] if len(endpoints) > 1 else endpoints[0]
    )
    pod = reader.get("pods", target.namespace, pod_name) if pod_name else None
    if pod_name and pod is None:
        raise NoRoute(f'no endpoints available for service "{target.name}"')
    return Endpoint(address, chosen_port, pod)


def by_host(reader: Reader, host: str, port: int) -> ServiceTarget | None:
    """The Service of a cluster host name or cluster IP."""
    parts = host.removesuffix(".").removesuffix(".cluster.local").split(".")
    if len(parts) == 3 and parts[2] == "svc":
        return ServiceTarget(parts[1], parts[0], port)
    for service in reader.list("services") if _is_address(host) else ():
        spec = service.get("spec") or {}
        if host == spec.get("clusterIP") or host in (spec.get("clusterIPs") or ()):
            return ServiceTarget(meta.namespace_of(service), meta.name_of(service), port)
    return None


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


def _endpoints(reader: Reader, target: ServiceTarget, name: str) -> Iterator[tuple[str, int, str]]:
    """(address, port, name of the pod or nothing), in the order of their objects."""
    slices = [
        slice_
        for slice_ in reader.list("endpointslices.discovery.k8s.io", target.namespace)
        if meta.labels_of(slice_).get(SERVICE_NAME) == target.name
    ]
    for slice_ in slices:
        port = _port(slice_.get("ports") or (), name)
        if port is None:
            continue
        for endpoint in slice_.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is False:
                continue
            for address in (endpoint.get("addresses") or ())[:1]:
                yield address, port, _pod(endpoint)
    if slices:
        return
    written = reader.get("endpoints", target.namespace, target.name) or {}
    for subset in written.get("subsets") or ():
        port = _port(subset.get("ports") or (), name)
        for endpoint in (subset.get("addresses") or ()) if port is not None else ():
            yield endpoint["ip"], port or 0, _pod(endpoint)


def _port(ports: Sequence[Object], name: str) -> int | None:
    for port in ports:
        if (port.get("name") or "") == name and port.get("port"):
            return int(port["port"])
    return None


def _pod(endpoint: Object) -> str:
    reference = endpoint.get("targetRef") or {}
    return reference.get("name", "") if reference.get("kind") == "Pod" else ""
