"""Addresses in fields that are older than their strict validation.

Until 1.35 a notation that software reads in different ways is warned of, since 1.36 it is refused,
unless the stored object has it already.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from typing import NamedTuple

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.validation import checks

_MAPPED = "an IPv4-mapped IPv6 address"


class Rule(NamedTuple):
    """How the addresses of a field are judged."""

    strict: bool
    known: Collection[str] = ()

    def ip(self, value: str, path: str, errs: list[FieldError]) -> None:
        self._judge(value, path, errs, checks.ip, ip_fault)

    def cidr(self, value: str, path: str, errs: list[FieldError]) -> None:
        self._judge(value, path, errs, checks.cidr, cidr_fault)

    def _judge(
        self,
        value: str,
        path: str,
        errs: list[FieldError],
        check: Callable[[str, str, list[FieldError]], object],
        fault: Callable[[str], str],
    ) -> None:
        if value in self.known:
            return
        before = len(errs)
        check(value, path, errs)
        text = fault(value) if self.strict and len(errs) == before else ""
        if text:
            errs.append(errors.invalid_value(path, value, text))


def rule(release: Release, known: Collection[str] = ()) -> Rule:
    return Rule(release.has("StrictIPCIDRValidation"), known)


def of_balancer(release: Release, old: Object) -> Rule:
    """The rule for the addresses that a load balancer reports in the status."""
    balancer = (old.get("status") or {}).get("loadBalancer") or {}
    known = [ingress["ip"] for ingress in balancer.get("ingress") or () if ingress.get("ip")]
    return rule(release, known)


def ip_fault(value: str) -> str:
    """What makes a valid address ambiguous; empty if nothing does."""
    address = checks.parse_ip(value)
    if isinstance(address, ipaddress.IPv4Address):
        return "" if str(address) == value else "must not have leading 0s"
    return f"must not be {_MAPPED}" if address is not None and address.ipv4_mapped else ""


def cidr_fault(value: str) -> str:
    """What makes a valid CIDR ambiguous; empty if nothing does."""
    host, _, bits = value.partition("/")
    address = checks.parse_ip(host)
    assert address is not None
    if str(int(bits)) != bits or (address.version == 4 and str(address) != host):
        return "must not have leading 0s in IP or prefix length"
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return f"must not have {_MAPPED}"
    network = ipaddress.ip_network(f"{address}/{bits}", strict=False)
    if network.network_address != address:
        return "must not have bits set beyond the prefix length"
    return ""
