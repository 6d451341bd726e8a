"""The kube-proxies of all nodes: which rules a node has now, and where connections go by them.

Nothing is kept ready: rules follow from the Services and EndpointSlices that the proxies' watches
hold, and are worked out when somebody looks at them or connects.

Models kubernetes pkg/proxy (which endpoint a connection gets) and
cmd/kube-proxy/app/server_linux.go (which mode).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import yamlbody
from controllers_app.proxy import iptables, ipvs, servicemap
from controllers_app.proxy.servicemap import Endpoints, Node, ServicePort
from controllers_app.shell.machine import Unreachable

IPTABLES, IPVS, NFTABLES = MODES = "iptables", "ipvs", "nftables"
_CONFIG = ("kube-system", "kube-proxy")
# nodes whose rules of a service are compared: fewer where these are long
NODES_MAX, NODES_MIN, ENDPOINTS = 100, 3, 20
_CLIENTS_MAX = 1000  # whose endpoints are remembered

Lookup = Callable[[str, str, str], Object | None]
Listing = Callable[[str, str], Sequence[Object]]


class Configuration(msgspec.Struct, frozen=True):
    """What matters here of a KubeProxyConfiguration."""

    mode: str = IPTABLES  # empty: kube-proxy does not start with it
    pods: str = ""  # clusterCIDR
    scheduler: str = "rr"  # of ipvs


class _Ipvs(msgspec.Struct):
    scheduler: str | None = None


class _File(msgspec.Struct):
    """The same as it stands in the file; there is more in it."""

    mode: str | None = None
    clusterCIDR: str | None = None
    ipvs: _Ipvs | None = None


class Client(msgspec.Struct, frozen=True):
    """Who connects."""

    node: str = ""
    address: str = ""


class Compared(msgspec.Struct, frozen=True):
    """The rules of one service: which nodes have which text."""

    mode: str
    nodes: int  # there are; of many the first are looked at
    texts: dict[str, list[str]]


class Proxies:
    """One cluster's."""

    def __init__(self, kernel: Kernel, lookup: Lookup, listing: Listing) -> None:
        self._kernel = kernel
        self._lookup = lookup
        self._listing = listing
        self.addresses: dict[str, str] = {}  # of the nodes, by name
        self._turn = 0
        # all slices as they were listed, and by the namespace and name of their service
        self._slices: tuple[Sequence[Object], dict[tuple[str, str], list[Object]]] = (), {}
        self._read: tuple[Object | None, Configuration] = None, Configuration()
        # (node, port, client) -> the endpoint it had last, and when
        self._recent: dict[tuple[str, str, str], tuple[str, int]] = {}

    def configuration(self) -> Configuration:
        """As the proxies' config map says it now."""
        found = self._lookup("configmaps", *_CONFIG)
        if found is not self._read[0]:
            self._read = found, _configured(found)
        return self._read[1]

    # -- what a node has ------------------------------------------------------------------------

    def ports(self, node: str) -> Iterator[ServicePort]:
        """All that a node serves, a port at a time: there may be many."""
        return servicemap.ports(self._listing("services", ""), self._slices_of, self.node(node))

    def rules_of(self, namespace: str, name: str) -> Compared:
        """What the nodes have of a service, as their mode writes it. KeyError: there is none."""
        service = self._lookup("services", namespace, name)
        if service is None:
            raise KeyError(f"{namespace}/{name}")
        config = self.configuration()
        ports = list(servicemap.ports_of(service, self._slices_of))
        texts: dict[str, list[str]] = {}
        known: dict[tuple[object, ...], str] = {}
        endpoints = max((len(known) for _, known in ports), default=0)
        names = list(self.addresses)[: max(NODES_MIN, NODES_MAX // (1 + endpoints // ENDPOINTS))]
        for node in map(self.node, names):
            served = tuple(servicemap.seen_from(node, *port) for port in ports)
            # by their address nodes differ in what they lead on from it, and in who is the node
            is_own = any(port.node_port or port.source_ranges for port in served)
            key = (served, node.address if is_own else "")
            if key not in known:
                known[key] = _written(served, node, config)
            texts.setdefault(known[key], []).append(node.name)
        return Compared(config.mode, len(self.addresses), texts)

    def node(self, name: str) -> Node:
        labels = meta.labels_of(self._lookup("nodes", "", name) or {"metadata": {}})
        return Node(name, self.addresses.get(name, ""), labels.get(servicemap.ZONE, ""))

    def node_at(self, address: str) -> str:
        """The node with that address; empty when there is none."""
        return next((name for name, own in self.addresses.items() if own == address), "")

    def _slices_of(self, service: Object) -> list[Object]:
        slices = self._listing("endpointslices.discovery.k8s.io", "")
        if slices is not self._slices[0]:
            self._slices = slices, servicemap.by_service(slices)
        return self._slices[1].get((meta.namespace_of(service), meta.name_of(service)), [])

    # -- connections ----------------------------------------------------------------------------

    def target(
        self, address: str, port: int, client: Client, *, protocol: str = "tcp", turns: bool = True
    ) -> tuple[str, int] | None:
        """The endpoint that a connection gets; None: the address is no service's. Raises
        Unreachable. `turns`: the next connection is the next endpoint's; without, who asks only
        looks, and nothing is remembered of it."""
        node = self.node_at(address)
        is_closed = False
        for service in self._addressed(address, port, node):
            here = self.node(node or client.node)
            for known, endpoints in servicemap.ports_of(service, self._slices_of):
                number = known.node_port if node else known.port
                if number == port and known.protocol == protocol:
                    served = servicemap.seen_from(here, known, endpoints)
                    chosen = self._chosen(served, address, here, client, keeps=turns)
                    self._turn += turns
                    return chosen
            is_closed = is_closed or service["spec"]["clusterIP"] == address
        if is_closed:
            raise _unreachable(refused=self.configuration().mode in (IPVS, NFTABLES))
        return None

    def _addressed(self, address: str, port: int, node: str) -> Iterator[Object]:
        """The services with that address, or that node port."""
        for service in self._listing("services", ""):
            if not servicemap.is_proxied(service):
                continue
            if node:
                is_meant = any(
                    entry.get("nodePort") == port for entry in service["spec"].get("ports") or ()
                )
            else:
                is_meant = address in servicemap.addresses_of(service)
            if is_meant:
                yield service

    def _chosen(
        self, port: ServicePort, address: str, node: Node, client: Client, *, keeps: bool
    ) -> tuple[str, int]:
        """The endpoint whose turn it is, or the one that the client had, if it is to stay."""
        config = self.configuration()
        endpoints = _endpoints(port, address, node, client, config)
        if not endpoints:
            raise _unreachable(refused=config.mode == IPVS or not port.has_endpoints)
        endpoint = endpoints[self._turn % len(endpoints)]
        if port.sticky_seconds:
            now, key = self._kernel.now, (node.name, port.name, client.address)
            last, at = self._recent.get(key, ("", 0))
            if now - at <= port.sticky_seconds * SECOND:
                endpoint = next((known for known in endpoints if known.address == last), endpoint)
            if not keeps:
                return endpoint.ip, endpoint.port
            self._recent.pop(key, None)  # the newest are the last
            self._recent[key] = endpoint.address, now
            if len(self._recent) > _CLIENTS_MAX:
                del self._recent[next(iter(self._recent))]
        return endpoint.ip, endpoint.port


def _configured(config_map: Object | None) -> Configuration:
    text = ((config_map or {}).get("data") or {}).get("config.conf")
    if text is None:
        return Configuration()
    try:
        given = msgspec.convert(yamlbody.load(text.encode())[0], _File)
        blocks = (given.clusterCIDR or "").replace(" ", "").split(",")
        pods = next((block for block in blocks if block and ":" not in block), "")
        if pods:
            ipaddress.IPv4Network(pods, strict=False)
    except (yamlbody.YamlError, msgspec.ValidationError, ValueError):
        return Configuration("")
    mode, scheduler = given.mode or IPTABLES, (given.ipvs or _Ipvs()).scheduler or "rr"
    return Configuration(mode if mode in MODES else "", pods, scheduler)


def _written(ports: Sequence[ServicePort], node: Node, config: Configuration) -> str:
    if config.mode == IPVS:
        return ipvs.of_service(ports, node, config.scheduler)
    return iptables.of_service(ports, node, config.pods) if config.mode == IPTABLES else ""


def _endpoints(
    port: ServicePort, address: str, node: Node, client: Client, config: Configuration
) -> Endpoints:
    """The endpoints that the rules lead to."""
    if not config.mode:
        raise _unreachable(refused=False)
    if address == port.cluster_ip:
        return ipvs.internal(port) if config.mode == IPVS else port.internal
    if address in port.balancer_ips and port.source_ranges:
        if not any(_is_in(client.address, block) for block in port.source_ranges):
            raise _unreachable(refused=False)
    if config.mode == IPVS:
        return ipvs.external(port)
    is_inside = client.address == node.address or _is_in(client.address, config.pods)
    return port.cluster if is_inside else port.external


def _is_in(address: str, block: str) -> bool:
    if not address or not block:
        return False
    return ipaddress.ip_address(address) in ipaddress.ip_network(block, strict=False)


def _unreachable(*, refused: bool) -> Unreachable:
    return Unreachable(
        "Connection refused" if refused else "Connection timed out", timed_out=not refused
    )
