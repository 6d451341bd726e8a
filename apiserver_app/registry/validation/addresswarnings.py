"""Warnings about addresses in ambiguous forms that are accepted.

Only for validated fields; invalid addresses cause no warning here.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
"""

from __future__ import annotations

import ipaddress
import re

from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}/(3[0-2]|[12]?[0-9])")


def ip(value: str, path: str, release: Release, warnings: list[str]) -> None:
    address = checks.parse_ip(value)
    if address is None:
        return
    plain = _unmapped(address)
    if plain is not address or (address.version == 4 and str(address) != value):
        verdict = _verdict(release)
        warnings.append(f'{path}: non-standard IP address "{value}" {verdict}: use "{plain}"')
    elif str(address) != value:
        warnings.append(
            f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{address}")'
        )


def cidr(value: str, path: str, release: Release, warnings: list[str]) -> None:
    if _is_plain(value):
        return
    host, _, bits = value.partition("/")
    address = checks.parse_ip(host)
    if address is None or not names.is_number(bits) or int(bits) > address.max_prefixlen:
        return
    plain, size = _unmapped(address), int(bits)
    if plain is not address:
        size = max(size - 96, 0)
    network = ipaddress.ip_network(f"{plain}/{size}", strict=False)
    size_before = len(warnings)
    if network.network_address != plain:
        alone = f"{plain}/{plain.max_prefixlen}"
        warnings.append(
            f'{path}: CIDR value "{value}" is ambiguous in this context '
            f'(should be "{network}" or "{alone}"?)'
        )
    strict = plain is address and str(size) == bits
    if not strict or (address.version == 4 and str(address) != host):
        verdict = _verdict(release)
        warnings.append(f'{path}: non-standard CIDR value "{value}" {verdict}: use "{network}"')
    elif len(warnings) == size_before and str(network) != value:
        warnings.append(
            f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format '
            f'("{network}")'
        )


def _verdict(release: Release) -> str:
    strict = release.has("StrictIPCIDRValidation")
    return "is invalid" if strict else "will be considered invalid in a future Kubernetes release"


def _is_plain(value: str) -> bool:
    """Whether it is an IPv4 network in the form that most have, of which there is nothing to say:
    a policy may hold thousands."""
    match = _IPV4.fullmatch(value)
    if match is None:
        return False
    a, b, c, d, size = map(int, match.groups())
    return not (a << 24 | b << 16 | c << 8 | d) & (0xFFFFFFFF >> size)


def _unmapped(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Unwraps an IPv4-mapped IPv6 address; returns any other address unchanged."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped
