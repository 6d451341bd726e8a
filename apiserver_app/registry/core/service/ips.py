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

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context

_BEYOND = 32768
_TRIES = 64

Spec = Mapping[str, Any]
Held = tuple[str | int, str]  # an address; or a port and its protocol


def is_headless(spec: Spec) -> bool:
    return list(spec.get("clusterIPs") or ()) == ["None"] or spec.get("clusterIP") == "None"


def is_external(spec: Spec) -> bool:
    """Whether it is reachable from outside: by node port, load balancer or external IPs."""
    kind = spec.get("type")
    if kind in ("LoadBalancer", "NodePort"):
        return True
    return kind == "ClusterIP" and bool(spec.get("externalIPs"))


def needs_cluster_ip(spec: Spec) -> bool:
    return spec.get("type") not in (None, "ExternalName")  # a type that is refused later does


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


def allocate(ctx: Context, obj: Object, old: Object | None = None) -> None:
    """Gives the service the addresses and ports that it needs and does not have. Raises 422 or 500
    where it asks for what it cannot have."""
    spec, before = obj["spec"], old["spec"] if old else {}
    if needs_cluster_ip(spec):
        _take_address(ctx, obj, before)
    ports = _Ports(ctx, obj)
    if spec.get("type") in ("NodePort", "LoadBalancer"):
        if old is None:
            _take_ports(spec, ports)
        else:
            _take_changed_ports(spec, before, ports)
    if needs_health_check(spec) and not needs_health_check(before):
        asked = spec.get("healthCheckNodePort")
        why = ports.take(asked) if asked else ""
        if why:
            raise errors.internal(
                f"failed to allocate requested HealthCheck NodePort {asked}: {why}"
            )
        spec["healthCheckNodePort"] = asked or ports.free()


def family_errors(spec: Spec) -> list[FieldError]:
    """What is wrong with the IP families on a cluster that has IPv4 only."""
    errs: list[FieldError] = []
    if not needs_cluster_ip(spec) or (is_headless(spec) and not spec.get("selector")):
        return errs
    if spec.get("ipFamilyPolicy") == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        errs.append(errors.invalid_value("spec.ipFamilyPolicy", "RequireDualStack", text))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != "IPv4":
            text = "not configured on this cluster"
            errs.append(errors.invalid_value(f"spec.ipFamilies[{index}]", family, text))
    return errs


def held(service: Object) -> set[Held]:
    """The addresses and ports that no other service may hold."""
    spec = service.get("spec") or {}
    if not needs_cluster_ip(spec):
        return set()
    numbers: set[Held] = {(ip, "") for ip in spec.get("clusterIPs") or () if ip != "None"}
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            numbers.add((port["nodePort"], port.get("protocol") or "TCP"))
    if spec.get("healthCheckNodePort"):
        numbers.add((spec["healthCheckNodePort"], "TCP"))
    return numbers


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
    """A free one at random; of a dry run the first of the range, which none ever gets."""
    if ctx.dry_run:
        return str(ctx.net.cidr.network_address)
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


class _Ports:
    """The node ports that services hold, and those that this one takes."""

    def __init__(self, ctx: Context, obj: Object) -> None:
        self._ctx, self._name = ctx, meta.name_of(obj)
        self._taken: set[int] = set()
        self._own: list[int] = []
        for service in ctx.reader.list("services"):
            spec = service.get("spec") or {}
            numbers = [port.get("nodePort") for port in spec.get("ports") or ()]
            self._taken.update(filter(None, (*numbers, spec.get("healthCheckNodePort"))))

    def take(self, number: int) -> str:
        """Empty, or why it cannot be taken; a dry run does not look at the range."""
        net = self._ctx.net
        if not self._ctx.dry_run and not net.first_port <= number <= net.last_port:
            return (
                f"provided port is not in the valid range. The range of valid ports is {net.ports}"
            )
        if number in self._taken:
            return "provided port is already allocated"
        self._hold(number)
        return ""

    def take_for(self, index: int, number: int) -> int:
        why = self.take(number)
        if why:
            wrong = errors.invalid_value(f"spec.ports[{index}].nodePort", number, why)
            raise errors.invalid("", "Service", self._name, [wrong])
        return number

    def free(self) -> int:
        """A free one at random; of a dry run some number beyond those that there are."""
        if self._ctx.dry_run:
            return self._hold(max(self._own, default=_BEYOND) + 1)
        net = self._ctx.net
        low, high = net.first_port, net.last_port
        first = low + net.static_ports
        tried = (first + self._ctx.rand.below(high - first + 1) for _ in range(_TRIES))
        for number in itertools.chain(tried, range(first, high + 1), range(low, first)):
            if number not in self._taken:
                return self._hold(number)
        raise errors.internal("failed to allocate a nodePort: range is full")

    def _hold(self, number: int) -> int:
        self._taken.add(number)
        self._own.append(number)
        return number


def _take_ports(spec: dict[str, Any], node_ports: _Ports) -> None:
    """Of a new service: one port under two protocols shares its number."""
    ports: list[dict[str, Any]] = spec.get("ports") or []
    shared: dict[Any, int] = {}
    for index, port in enumerate(ports):
        asked, number = port.get("nodePort"), port.get("port")
        if not asked and not needs_node_ports(spec):
            continue
        if number not in shared:
            given = (
                port["nodePort"]
                for port in ports
                if port.get("port") == number and port.get("nodePort")
            )
            first = next(given, 0)
            shared[number] = node_ports.take_for(index, first) if first else node_ports.free()
            port["nodePort"] = shared[number]
        elif not asked:
            port["nodePort"] = shared[number]
        elif asked != shared[number]:
            node_ports.take_for(index, asked)


def _take_changed_ports(spec: dict[str, Any], before: Spec, node_ports: _Ports) -> None:
    held = {port.get("nodePort") for port in before.get("ports") or ()}
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.get("ports") or ()):
        if not port.get("nodePort"):
            if not needs_node_ports(spec):
                continue
            port["nodePort"] = node_ports.free()
        elif port["nodePort"] not in held:
            held.add(node_ports.take_for(index, port["nodePort"]))
        place = (port.get("protocol") or "", port["nodePort"])
        if place in seen:
            raise errors.unclassified(f"duplicate nodePort: {{{place[0]} {place[1]}}}")
        seen.add(place)


def _take_address(ctx: Context, obj: Object, before: Spec) -> None:
    spec = obj["spec"]
    address = spec.get("clusterIP")
    if not address and not spec.get("clusterIPs"):
        spec["clusterIP"] = address = _free_address(ctx)
        spec["clusterIPs"] = [address]
    elif address != "None" and not needs_cluster_ip(before):
        errs: list[FieldError] = []
        _address_errors(ctx, obj, address, errs)
        if errs:
            raise errors.invalid("", "Service", meta.name_of(obj), errs)


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
