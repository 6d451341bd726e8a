"""The cluster's network as containers see it: names, services and who answers behind them.

A service's address leads where the rules of kube-proxy lead it (controllers_app/proxy), a name to
what CoreDNS would say (zone.py). Where a service is said to be the DNS, it is asked as any other:
without ready endpoints nobody answers. No packet moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime import zone
from controllers_app.containerruntime.containers import Containers
from controllers_app.containerruntime.environment import Environment
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.containerruntime.servers import server
from controllers_app.containerruntime.servers.server import Bound, Servers
from controllers_app.cri.images import Image
from controllers_app.cri.services import ContainerRecord
from controllers_app.proxy.proxies import Client, Proxies
from controllers_app.shell import resolver
from controllers_app.shell.machine import Unreachable
from controllers_app.shell.resolver import NXDOMAIN, Config, Endpoint, Reply, Resolved, Tried

_APISERVER = ("default", "kubernetes")
_DNS_PORT = 53
_LOCAL = "localhost"


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

    def resolve(self, name: str, config: Config, me: PodSandbox | None = None) -> Resolved:
        """What becomes of a name where resolv.conf says that, for a pod or for one that is on no
        node."""
        if resolver.is_address(name):
            return Resolved(name, [name], "address")
        if name.rstrip(".") == _LOCAL:
            return Resolved(_LOCAL, ["127.0.0.1"], "hosts")
        if not resolver.is_name(name):
            return Resolved(name, [], "")
        nameserver, fault = config.servers[0], ""
        for nameserver in config.servers:
            try:
                endpoint, said = self._answering(nameserver, me)
            except Unreachable as error:
                fault = "timed out" if error.timed_out else str(error)
                continue
            tried = resolver.search(name, config, said)
            found = tried[-1].reply.addresses
            full = name if "." in name else tried[0].name
            if found:
                full = tried[-1].reply.records[-1].name
            return Resolved(full, found, "dns", nameserver, endpoint, "", tried)
        # after the first question that nobody answers the program gives up
        full, domain = next(resolver.searched(name.lower(), config))
        tried = (Tried(full, domain, Reply("")),)
        return Resolved(name, [], "dns", nameserver, None, fault, tried)

    def _answering(
        self, nameserver: str, me: PodSandbox | None
    ) -> tuple[Endpoint | None, Callable[[str], Reply]]:
        """(the endpoint that a nameserver's address leads to, if there is one, what is said there).
        Raises Unreachable."""
        is_own = nameserver == self._environment.dns_address
        if is_own and self.dns is None:
            return None, self._told
        target = self._proxies.target(
            nameserver, _DNS_PORT, _client(me), protocol="udp", turns=False
        )
        address, port = target or (nameserver, _DNS_PORT)
        there = list(self._pods_at(address))
        if not there:
            if target is None and not is_own and not address.startswith("127."):
                return None, _outside
            raise Unreachable("Connection timed out", timed_out=True)
        for sandbox in there:
            if server.is_listening(self._nodes[sandbox.node], sandbox, port):
                pod = f"{meta.namespace_of(sandbox.pod)}/{meta.name_of(sandbox.pod)}"
                return Endpoint(address, port, pod, sandbox.node), self._told
        raise Unreachable("Connection refused")

    def _told(self, full: str) -> Reply:
        return zone.answer(self._environment.lookup, full)

    # -- connections ----------------------------------------------------------------------------

    def listening(self, sandbox: PodSandbox, port: int) -> Bound | None:
        """What listens on the pod's port now."""
        return server.listening(self._servers, self._nodes[sandbox.node], sandbox, port)

    def start(self, sandbox: PodSandbox, record: ContainerRecord, image: Image) -> None:
        """Have the servers of a container that runs do what they do unasked."""
        for name in sorted(set(image.ports.values())):
            start = self._servers[name].start if name in self._servers else None
            if start is not None:
                start(self._nodes[sandbox.node].get(sandbox.pod, record, image))

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
        for sandbox in self._pods_at(address):
            network = sandbox.network
            if network is not None and network.own or self.listening(sandbox, port) is not None:
                return sandbox
            pod = sandbox
        return pod

    def _pods_at(self, address: str) -> Iterator[PodSandbox]:
        """All with that address: on a node's own there may be many."""
        for containers in self._nodes.values():
            for sandbox in containers.host.sandboxes.values():
                if sandbox.network is not None and sandbox.network.address == address:
                    yield sandbox

    def has_node(self, address: str) -> bool:
        return bool(self._proxies.node_at(address))


def _outside(_full: str) -> Reply:
    return Reply(NXDOMAIN, "outside")


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
