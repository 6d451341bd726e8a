"""Allocation of cluster IPs, node ports and IP families for services.

The cluster is IPv4 only; its ranges are in the context (`net`). Allocated addresses and ports are
read from the services themselves. A free one is drawn at random from the upper part of the range,
as upstream does, so that the lower part stays free for static requests.

Models kubernetes pkg/registry/core/service/storage/alloc.go and
pkg/registry/core/service/ipallocator.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context

_TRIES = 64

Spec = Mapping[str, Any]


def is_headless(spec: Spec) -> bool:
    return list(spec.get("clusterIPs") or ()) == ["None"] or spec.get("clusterIP") == "None"


def is_external(spec: Spec) -> bool:
    """Whether it is reachable from outside: by node port, load balancer or external IPs."""
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort"):
        return True
    return kind == "ClusterIP" and bool(spec.get("externalIPs"))


def needs_cluster_ip(spec: Spec) -> bool:
    return spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_ports(spec: Spec) -> bool:
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and (
        spec.get("allocateLoadBalancerNodePorts") is not False
    )


def needs_health_check(spec: Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def align(spec: dict[str, Any]) -> None:
    """Derives clusterIPs from clusterIP when only the latter is set."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def align_update(spec: dict[str, Any], before: Spec) -> None:
    """Keeps clusterIP and clusterIPs equal when a client changes only one of them."""
    ip, ips = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    old_ip, old_ips = before.get("clusterIP") or "", before.get("clusterIPs") or []
    if ip and (not ips or (ip != old_ip and ips == old_ips)):
        spec["clusterIPs"] = [ip]
    elif old_ip and not ip and ips == old_ips:
        spec.pop("clusterIPs", None)
    if not spec.get("clusterIPs"):
        spec.pop("clusterIPs", None)


def keep_allocated(spec: dict[str, Any], before: Spec) -> None:
    """Keeps allocated values that the client left out."""
    if needs_cluster_ip(before) and needs_cluster_ip(spec):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if spec.get("clusterIP") == before.get("clusterIP"):
            for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if not spec.get(field) and before.get(field):
                    spec[field] = before[field]
    if needs_node_ports(before) and needs_node_ports(spec):
        _keep_node_ports(spec, before)
    checked = needs_health_check(before) and needs_health_check(spec)
    if checked and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")


def families(spec: dict[str, Any]) -> None:
    """Sets ipFamilies and ipFamilyPolicy if the client left them out."""
    if not needs_cluster_ip(spec):
        return
    policy, chosen = spec.get("ipFamilyPolicy"), spec.get("ipFamilies")
    if is_headless(spec) and not spec.get("selector"):
        if not policy:
            policy = spec["ipFamilyPolicy"] = (
                "SingleStack" if chosen and len(chosen) == 1 else "RequireDualStack"
            )
        if not chosen:
            chosen = ["IPv4"]
        if len(chosen) < 2 and policy != "SingleStack":
            chosen = [*chosen, "IPv6" if chosen[0] == "IPv4" else "IPv4"]
        spec["ipFamilies"] = chosen
        return
    if not policy:
        spec["ipFamilyPolicy"] = "SingleStack"
    if not chosen:
        addresses = spec.get("clusterIPs") or ()
        first = addresses[0] if addresses else ""
        spec["ipFamilies"] = ["IPv6" if ":" in first else "IPv4"]


def allocate(ctx: Context, spec: dict[str, Any]) -> None:
    """Allocates the addresses and ports that the service needs and does not have."""
    if needs_cluster_ip(spec) and not spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIP"] = address = _free_address(ctx)
        spec["clusterIPs"] = [address]
    if needs_node_ports(spec):
        _allocate_node_ports(ctx, spec)
    if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        taken = {port for port, _ in _node_ports(ctx, None)}
        spec["healthCheckNodePort"] = _free_port(ctx, taken)


def collisions(ctx: Context, obj: Object, old: Object | None, errs: list[FieldError]) -> None:
    """Refuses addresses and ports that another service holds, or that are out of range."""
    spec = obj["spec"]
    before = old["spec"] if old else {}
    _family_errors(spec, errs)
    address = spec.get("clusterIP")
    if address and address not in ("None", before.get("clusterIP")) and needs_cluster_ip(spec):
        _address_errors(ctx, obj, address, errs)
    known = {(port.get("nodePort"), port.get("protocol")) for port in before.get("ports") or ()}
    requested = [
        (index, port["nodePort"], port.get("protocol"))
        for index, port in enumerate(spec.get("ports") or ())
        if port.get("nodePort") and (port["nodePort"], port.get("protocol")) not in known
    ]
    if not requested:
        return
    taken = _node_ports(ctx, obj)
    for index, number, protocol in requested:
        path = f"spec.ports[{index}].nodePort"
        if not ctx.net.first_port <= number <= ctx.net.last_port:
            text = (
                "provided port is not in the valid range. The range of valid ports is "
                f"{ctx.net.ports}"
            )
            errs.append(errors.invalid_value(path, number, text))
        elif (number, protocol) in taken:
            text = "provided port is already allocated"
            errs.append(errors.invalid_value(path, number, text))


# -- inside -------------------------------------------------------------------------------------


def _keep_node_ports(spec: dict[str, Any], before: Spec) -> None:
    used = [port.get("nodePort") for port in spec.get("ports") or ()]
    old = {
        (port.get("protocol"), port.get("port")): port.get("nodePort")
        for port in before.get("ports") or ()
    }
    for port in spec.get("ports") or ():
        old_node_port = old.get((port.get("protocol"), port.get("port")))
        if not port.get("nodePort") and old_node_port and old_node_port not in used:
            port["nodePort"] = old_node_port


def _free_address(ctx: Context) -> str:
    taken = {service.get("spec", {}).get("clusterIP") for service in ctx.reader.list("services")}
    taken.add(ctx.net.apiserver)
    base, size = int(ctx.net.cidr.network_address), ctx.net.cidr.num_addresses - 1
    static = max(ctx.net.static_addresses, 1)
    for _ in range(_TRIES):
        offset = static + ctx.rand.below(size - static)
        address = str(ipaddress.IPv4Address(base + offset))
        if address not in taken:
            return address
    for offset in (*range(static, size), *range(1, static)):
        address = str(ipaddress.IPv4Address(base + offset))
        if address not in taken:
            return address
    raise errors.internal("failed to allocate a serviceIP: range is full")


def _allocate_node_ports(ctx: Context, spec: dict[str, Any]) -> None:
    ports = [port for port in spec.get("ports") or () if not port.get("nodePort")]
    if not ports:
        return
    taken = {number for number, _ in _node_ports(ctx, None)}
    own: dict[int, int] = {}
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            taken.add(port["nodePort"])
    for port in ports:
        # one port under two protocols shares its number
        service_port = int(port.get("port") or 0)
        number = own.get(service_port) or _free_port(ctx, taken)
        own[service_port] = number
        taken.add(number)
        port["nodePort"] = number


def _free_port(ctx: Context, taken: set[int]) -> int:
    low, high = ctx.net.first_port, ctx.net.last_port
    first = low + ctx.net.static_ports
    for _ in range(_TRIES):
        number = first + ctx.rand.below(high - first + 1)
        if number not in taken:
            return number
    for other in itertools.chain(range(first, high + 1), range(low, first)):
        if other not in taken:
            return other
    raise errors.internal("failed to allocate a nodePort: range is full")


def _node_ports(ctx: Context, but: Object | None) -> set[tuple[int, str]]:
    skip = (but["metadata"].get("namespace"), but["metadata"].get("name")) if but else None
    out: set[tuple[int, str]] = set()
    for service in ctx.reader.list("services"):
        metadata, spec = service["metadata"], service.get("spec") or {}
        if skip == (metadata.get("namespace"), metadata.get("name")):
            continue
        for port in spec.get("ports") or ():
            if port.get("nodePort"):
                out.add((port["nodePort"], port.get("protocol") or "TCP"))
        if spec.get("healthCheckNodePort"):
            out.add((spec["healthCheckNodePort"], "TCP"))
    return out


def _family_errors(spec: Spec, errs: list[FieldError]) -> None:
    if not needs_cluster_ip(spec) or (is_headless(spec) and not spec.get("selector")):
        return
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        errs.append(errors.invalid_value("spec.ipFamilyPolicy", "RequireDualStack", text))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != "IPv4":
            text = "not configured on this cluster"
            errs.append(errors.invalid_value(f"spec.ipFamilies[{index}]", family, text))


def _address_errors(ctx: Context, obj: Object, address: str, errs: list[FieldError]) -> None:
    path, printed = "spec.clusterIPs", list(obj["spec"].get("clusterIPs") or [address])
    try:
        inside = ipaddress.IPv4Address(address) in ctx.net.cidr
    except ValueError:
        inside = False
    if not inside:
        text = (
            f"failed to allocate IP {address}: the provided IP ({address}) is not in the "
            f"valid range. The range of valid IPs is {ctx.net.cidr}"
        )
        errs.append(errors.invalid_value(path, printed, text))
        return
    metadata = obj["metadata"]
    me = (metadata.get("namespace"), metadata.get("name"))
    for service in ctx.reader.list("services"):
        other = service["metadata"]
        if (other.get("namespace"), other.get("name")) == me:
            continue
        if service.get("spec", {}).get("clusterIP") == address:
            text = f"failed to allocate IP {address}: provided IP is already allocated"
            errs.append(errors.invalid_value(path, printed, text))
            return
