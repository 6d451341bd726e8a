"""The virtual servers that kube-proxy writes in the mode ipvs, as `ipvsadm -Ln` prints them. Pure.

Models kubernetes pkg/proxy/ipvs/proxier.go (syncService, syncEndpoint) and ipvsadm's ipvsadm.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controllers_app.proxy.servicemap import Endpoints, Node, ServicePort

HEAD = """\
IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
"""


def internal(port: ServicePort) -> Endpoints:
    """Those that the cluster IP leads to. Where the policy is Local and the node has none, those of
    the policy Cluster, which has some if the port has more addresses than that."""
    return port.internal or port.cluster


def external(port: ServicePort) -> Endpoints:
    """Those that the other addresses lead to, whoever asks."""
    return port.external or port.cluster


def servers(port: ServicePort, node: Node) -> Iterator[tuple[str, Endpoints]]:
    """(address and port, endpoints) of each virtual server of a port."""
    yield f"{port.cluster_ip}:{port.port}", internal(port)
    for ip in (*port.external_ips, *port.balancer_ips):
        yield f"{ip}:{port.port}", external(port)
    if port.node_port:
        yield f"{node.address}:{port.node_port}", external(port)


def of_service(ports: Iterable[ServicePort], node: Node, scheduler: str) -> str:
    lines = []
    for port in ports:
        flags = f" persistent {port.sticky_seconds}" if port.sticky_seconds else ""
        for address, endpoints in servers(port, node):
            lines.append(f"{port.protocol.upper():<4} {address} {scheduler}{flags}")
            lines += [
                f"  -> {endpoint.address:<28} Masq    1      0          0         "
                for endpoint in endpoints
            ]
    return "".join(f"{line}\n" for line in lines)
