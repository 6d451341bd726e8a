"""Rows of the network's kinds: services, endpoints, ingresses, policies, addresses.

Models the print functions of kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.http.tables import cells
from apiserver_app.machinery.meta import Object

_ENDPOINTS_SHOWN_MAX = 3
_HOSTS_SHOWN_MAX = 3


def service(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    addresses = spec.get("clusterIPs")
    return [
        cells.name(obj),
        spec.get("type", ""),
        addresses[0] if addresses else cells.NONE,
        _external_address(obj, spec),
        cells.joined(_port(port) for port in spec.get("ports") or ()),
        cells.age(obj, now),
        cells.labels(spec.get("selector")),
    ]


def endpoints(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), _subsets(obj.get("subsets") or ()), cells.age(obj, now)]


def endpoint_slice(obj: Object, now: int) -> list[Any]:
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    addresses = [
        address
        for endpoint in obj.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [
        cells.name(obj),
        obj.get("addressType", ""),
        cells.shortened(ports),
        cells.shortened(addresses),
        cells.age(obj, now),
    ]


def ingress(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    name = spec.get("ingressClassName")
    return [
        cells.name(obj),
        cells.NONE if name is None else name,
        _hosts(spec.get("rules") or ()),
        _load_balancer(obj),
        "80, 443" if spec.get("tls") else "80",
        cells.age(obj, now),
    ]


def ingress_class(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    given = spec.get("parameters")
    parameters = cells.NONE
    if given is not None:
        group = given.get("apiGroup")
        kind = given.get("kind", "") if group is None else f"{given.get('kind', '')}.{group}"
        parameters = f"{kind}/{given.get('name', '')}"
    return [cells.name(obj), spec.get("controller", ""), parameters, cells.age(obj, now)]


def network_policy(obj: Object, now: int) -> list[Any]:
    selector = cells.selector_or_none(cells.part(obj, "spec").get("podSelector"))
    return [cells.name(obj), selector, cells.age(obj, now)]


def service_cidr(obj: Object, now: int) -> list[Any]:
    return [
        cells.name(obj),
        ",".join(cells.part(obj, "spec").get("cidrs") or ()),
        cells.age(obj, now),
    ]


def ip_address(obj: Object, now: int) -> list[Any]:
    """One cell more than there are columns, as upstream has it."""
    parent = cells.part(obj, "spec").get("parentRef")
    text = cells.NONE
    if parent is not None:
        group = parent.get("group")
        resource = parent.get("resource", "")
        parts = [f"{resource}.{group}" if group else resource]
        parts[0] = parts[0].lower()
        if parent.get("namespace"):
            parts.append(parent["namespace"])
        text = "/".join([*parts, parent.get("name", "")])
    return [cells.name(obj), text, cells.age(obj, now)]


def _external_address(obj: Object, spec: Object) -> str:
    kind, external = spec.get("type"), spec.get("externalIPs") or []
    if kind in ("ClusterIP", "NodePort"):
        return cells.joined(external)
    if kind == "LoadBalancer":
        balancer = _load_balancer(obj)
        return ",".join([*([balancer] if balancer else []), *external]) or "<pending>"
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    return cells.UNKNOWN


def _load_balancer(obj: Object) -> str:
    addresses = {
        entry.get("ip") or entry.get("hostname")
        for entry in cells.part(obj, "status", "loadBalancer").get("ingress") or ()
    }
    return ",".join(sorted(address for address in addresses if address))


def _port(port: Object) -> str:
    if port.get("nodePort"):
        return f"{port['port']}:{port['nodePort']}/{port.get('protocol', 'TCP')}"
    return f"{port['port']}/{port.get('protocol', 'TCP')}"


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


def _subsets(subsets: Any) -> str:
    if not subsets:
        return cells.NONE
    endpoints: list[str] = []
    for subset in subsets:
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            endpoints += addresses
        for port in ports or ():
            endpoints += [_host_port(address, port["port"]) for address in addresses]
    text = ",".join(endpoints[:_ENDPOINTS_SHOWN_MAX])
    more = len(endpoints) - _ENDPOINTS_SHOWN_MAX
    return f"{text} + {more} more..." if more > 0 else text


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _hosts(rules: Any) -> str:
    """The first three hosts. Once they are found, every further rule counts as one more."""
    hosts: list[str] = []
    more = False
    for rule in rules:
        if len(hosts) == _HOSTS_SHOWN_MAX:
            more = True
        elif rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    text = ",".join(hosts)
    return f"{text} + {len(rules) - _HOSTS_SHOWN_MAX} more..." if more else text
