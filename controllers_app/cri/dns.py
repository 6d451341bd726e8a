"""What the kubelet has a pod's /etc/resolv.conf say. Pure.

Models kubernetes pkg/kubelet/network/dns/dns.go (GetPodDNS).
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.cri.environment import DOMAIN

NODE_SERVER = "10.0.0.1"  # of which the nodes' own resolv.conf tells
NDOTS = "ndots:5"
SERVERS_MAX, DOMAINS_MAX = 3, 32


def resolv_conf(pod: Object, server: str) -> str:
    """The file's text; `server` is the address of the cluster's DNS."""
    spec = pod["spec"]
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    servers, domains, options = [NODE_SERVER], list[str](), list[str]()
    if policy == "None":
        servers = []
    elif policy == "ClusterFirstWithHostNet" or (
        policy == "ClusterFirst" and not spec.get("hostNetwork")
    ):
        servers = [server]
        domains = [f"{meta.namespace_of(pod)}.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN]
        options = [NDOTS]
    config = spec.get("dnsConfig") or {}
    servers = [*dict.fromkeys((*servers, *(config.get("nameservers") or ())))]
    domains = [*dict.fromkeys((*domains, *(config.get("searches") or ())))]
    options = _merged(options, config.get("options") or ())
    lines = [f"search {' '.join(domains[:DOMAINS_MAX])}"] if domains else []
    lines += [f"nameserver {address}" for address in servers[:SERVERS_MAX]]
    lines += [f"options {' '.join(options)}"] if options else []
    return "\n".join([*lines, ""])


def _merged(options: Sequence[str], given: Sequence[Object]) -> list[str]:
    """What the pod gives counts; upstream puts them in no order."""
    values = {name: value for name, _, value in (option.partition(":") for option in options)}
    values |= {option["name"]: str(option.get("value") or "") for option in given}
    return [f"{name}:{value}" if value else name for name, value in values.items()]
