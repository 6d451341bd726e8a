"""What CoreDNS says of a name: the cluster's zone, made of its Services, Endpoints and Namespaces.

Models coredns plugin/kubernetes/{kubernetes,parse}.go with `pods insecure`, as kubeadm configures
it, and plugin/backend_lookup.go (A). What would be forwarded is told by nobody: outside of the
cluster there is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime.environment import Lookup
from controllers_app.cri.environment import DOMAIN
from controllers_app.shell import resolver
from controllers_app.shell.resolver import NOERROR, NXDOMAIN, Record, Reply

CHAIN_MAX = 8  # names that lead to names


def answer(lookup: Lookup, full: str, chain: tuple[Record, ...] = ()) -> Reply:
    """The reply to one full name in small letters."""
    if full != DOMAIN and not full.endswith(f".{DOMAIN}"):
        return Reply(NXDOMAIN, "outside")
    labels = full.removesuffix(DOMAIN).removesuffix(".").split(".")
    sort = labels.pop()
    if not sort or (sort in ("svc", "pod") and not labels):
        return Reply(NOERROR, "apex")
    if sort not in ("svc", "pod") or len(labels) > 3:
        return Reply(NXDOMAIN, "no-form")
    namespace = labels.pop()
    if lookup("namespaces", "", namespace) is None:
        return Reply(NXDOMAIN, "no-namespace", namespace)
    if not labels:
        return Reply(NOERROR, "apex", namespace)
    name = labels.pop()
    if sort == "pod":
        return _pod(full, name)
    return _service(lookup, full, namespace, name, labels.pop() if labels else "", chain)


def _pod(full: str, name: str) -> Reply:
    """Any address, whether a pod has it or not."""
    address = name.replace("-", ".")
    if not resolver.is_address(address):
        return Reply(NXDOMAIN, "no-address")
    return Reply(NOERROR, "pod", address, (Record(full, "A", address),))


def _service(
    lookup: Lookup, full: str, namespace: str, name: str, endpoint: str, chain: tuple[Record, ...]
) -> Reply:
    about = f"{namespace}/{name}"
    service = lookup("services", namespace, name)
    if service is None:
        return Reply(NXDOMAIN, "no-service", about)
    if service["spec"].get("type") == "ExternalName":
        target = str(service["spec"].get("externalName") or "").rstrip(".").lower()
        if endpoint or resolver.is_address(target):
            return Reply(NXDOMAIN, "no-endpoint", about)
        return _elsewhere(lookup, full, target, about, chain)
    address = str(service["spec"].get("clusterIP") or "")
    if endpoint or address == "None":
        found = dict.fromkeys(
            known for host, known in _endpoints(lookup, namespace, name) if endpoint in ("", host)
        )
        if not found:
            return Reply(NXDOMAIN, "no-endpoint" if endpoint else "no-endpoints", about)
        why = "endpoint" if endpoint else "headless"
        return Reply(NOERROR, why, about, tuple(Record(full, "A", known) for known in found))
    return Reply(NOERROR, "cluster-ip", about, (Record(full, "A", address),) if address else ())


def _elsewhere(
    lookup: Lookup, full: str, target: str, about: str, chain: tuple[Record, ...]
) -> Reply:
    """Another name, and what is said of that."""
    led = Record(full, "CNAME", target)
    if target == full or led in chain or len(chain) >= CHAIN_MAX:
        return Reply(NOERROR, "loop", about)
    then = answer(lookup, target, (*chain, led))
    if then.why == "outside":
        return Reply(NOERROR, "external-outside", about, (led,))
    if not then.records:
        return Reply(NOERROR, "external-none", about)
    return Reply(NOERROR, "external", about, (led, *then.records))


def _endpoints(lookup: Lookup, namespace: str, name: str) -> Iterator[tuple[str, str]]:
    """(what it is called, its address) of those that are ready."""
    endpoints: Object = lookup("endpoints", namespace, name) or {}
    for part in endpoints.get("subsets") or ():
        for address in part.get("addresses") or ():
            yield address.get("hostname") or address["ip"].replace(".", "-"), address["ip"]
