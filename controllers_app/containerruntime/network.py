"""The cluster's network as containers see it: names, services and who answers behind them.

A service's address leads where the rules of kube-proxy lead it (controllers_app/proxy), a name to
what CoreDNS would say. Where a service is said to be the DNS, it is asked as any other: without
ready endpoints nobody answers. No packet moves.

Models coredns plugin/kubernetes.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping

from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime.containers import Containers
from controllers_app.containerruntime.environment import Environment
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.containerruntime.servers import server
from controllers_app.containerruntime.servers.server import Bound, Servers
from controllers_app.cri.environment import DOMAIN
from controllers_app.proxy.proxies import Client, Proxies
from controllers_app.shell.machine import Unreachable

_APISERVER = ("default", "kubernetes")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?\.?", re.IGNORECASE)


class Network:
    """One cluster's network."""

    def __init__(
        self,
        environment: Environment,
        nodes: Mapping[str, Containers],
        servers: Servers,
        proxies: Proxies,
        dns: tuple[str, str] | None,
    ) -> None:
        """`dns` is the service that answers for names, if one must."""
        self._environment = environment
        self._nodes = nodes
        self._servers = servers
        self._proxies = proxies
        self.dns = dns

    # -- names ----------------------------------------------------------------------------------

    def resolve(self, name: str, namespace: str) -> tuple[str, list[str]]:
        """(the full name, its addresses); no address: there is no such name."""
        if is_address(name):
            return name, [name]
        if name.rstrip(".") == "localhost":
            return "localhost", ["127.0.0.1"]
        if not _NAME.fullmatch(name) or self.dns_fault():
            return name, []
        for full in _searched(name.lower(), namespace):
            address = self._lookup(full)
            if address:
                return full, address
        return f"{name.rstrip('.')}.{namespace}.svc.{DOMAIN}" if "." not in name else name, []

    def dns_fault(self) -> str:
        """Why names are not answered; empty when they are."""
        if self.dns is None:
            return ""
        if self._environment.lookup("services", *self.dns) is None:
            return "timed out"
        endpoints = self._environment.lookup("endpoints", *self.dns) or {}
        return "" if any(_ready(endpoints, "dns")) else "Connection refused"

    def _lookup(self, full: str) -> list[str]:
        labels = full.removesuffix(f".{DOMAIN}").split(".")
        if not full.endswith(f".{DOMAIN}"):
            return []
        if len(labels) >= 3 and labels[-1] == "svc":
            *above, name, namespace, _ = labels
            service = self._environment.lookup("services", namespace, name)
            if service is None:
                return []
            address = service["spec"].get("clusterIP") or ""
            if above:
                return [
                    address["ip"]
                    for address in self._addresses(namespace, name)
                    if address.get("hostname") == above[-1] and len(above) == 1
                ]
            if service["spec"].get("type") == "ExternalName":
                target = str(service["spec"].get("externalName", ""))
                return self._lookup(target.rstrip(".")) if target.endswith(DOMAIN) else []
            if address == "None":
                return [address["ip"] for address in self._addresses(namespace, name)]
            return [address] if address else []
        if len(labels) == 3 and labels[-1] == "pod" and is_address(labels[0].replace("-", ".")):
            return [labels[0].replace("-", ".")]
        return []

    def _addresses(self, namespace: str, name: str) -> list[Object]:
        endpoints = self._environment.lookup("endpoints", namespace, name) or {}
        return [
            address
            for part in endpoints.get("subsets") or ()
            for address in part.get("addresses") or ()
        ]

    # -- connections ----------------------------------------------------------------------------

    def listening(self, sandbox: PodSandbox, port: int) -> Bound | None:
        """What listens on the pod's port now."""
        return server.listening(self._servers, self._nodes[sandbox.node], sandbox, port)

    def connect(self, address: str, port: int, me: PodSandbox | None) -> Bound:
        """Who answers at an address. Raises Unreachable."""
        if address.startswith("127.") or address == "::1":
            return _taken(self.listening(me, port) if me is not None else None)
        target = self._proxies.target(address, port, _client(me))
        if target is not None:
            address, port = target
        sandbox = self.pod_at(address, port)
        if sandbox is None:
            raise Unreachable("Connection timed out", timed_out=True)
        return _taken(self.listening(sandbox, port))

    def is_apiserver(self, address: str, port: int, me: PodSandbox | None) -> bool:
        """Whether the address leads to the API server: its service's, or its own."""
        if address.startswith("127."):
            return False
        target = self._proxies.target(address, port, _client(me), turns=False) or (address, port)
        return target in _ready(self._environment.lookup("endpoints", *_APISERVER) or {}, None)

    def pod_at(self, address: str, port: int) -> PodSandbox | None:
        """The pod with that address; on a node's own address the one that has the port."""
        pod = None
        for containers in self._nodes.values():
            for sandbox in containers.host.sandboxes.values():
                network = sandbox.network
                if network is not None and network.address == address:
                    if network.own or self.listening(sandbox, port) is not None:
                        return sandbox
                    pod = sandbox
        return pod

    def has_node(self, address: str) -> bool:
        return bool(self._proxies.node_at(address))


def _client(sandbox: PodSandbox | None) -> Client:
    if sandbox is None or sandbox.network is None:
        return Client()
    return Client(sandbox.node, sandbox.network.address)


def _ready(endpoints: Object, name: str | None) -> Iterator[tuple[str, int]]:
    for part in endpoints.get("subsets") or ():
        for port in part.get("ports") or ():
            if name is None or (port.get("name") or "") == name:
                for address in part.get("addresses") or ():
                    yield address["ip"], port["port"]


def _taken(bound: Bound | None) -> Bound:
    if bound is None:
        raise Unreachable("Connection refused")
    return bound


def _searched(name: str, namespace: str) -> Iterable[str]:
    """The full names that a resolver tries, as resolv.conf tells it."""
    if name.endswith("."):
        return (name[:-1],)
    return (f"{name}.{namespace}.svc.{DOMAIN}", f"{name}.svc.{DOMAIN}", f"{name}.{DOMAIN}", name)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
