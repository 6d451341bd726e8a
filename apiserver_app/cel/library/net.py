"""Addresses: IPs, CIDRs and URLs.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/{ip,cidr,urls}.go.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, traversal
from apiserver_app.machinery.net import gourl, netip
from apiserver_app.machinery.releases import Release

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


class IP:
    cel_type = "net.IP"
    __slots__ = ("address",)

    def __init__(self, address: _Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __str__(self) -> str:
        return str(self.address)


class CIDR:
    cel_type = "net.CIDR"
    __slots__ = ("interface",)

    def __init__(self, interface: _Interface) -> None:
        self.interface = interface

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and self.interface == other.interface

    def __hash__(self) -> int:
        return hash(self.interface)

    def __str__(self) -> str:
        return self.interface.with_prefixlen


def _ip(text: str) -> IP:
    try:
        netip.check_address(text)
    except netip.AddressError as error:
        raise EvaluationError(
            f'IP Address "{text}" parse error during conversion from string: {error}'
        ) from None
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IP(address)


def _is_ip(text: str) -> bool:
    try:
        _ip(text)
    except EvaluationError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_ip(text)) == text


def _is_global(ip: IP) -> bool:
    address = ip.address
    broadcast = str(address) == "255.255.255.255"
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _is_link_multicast(ip: IP) -> bool:
    packed = ip.address.packed
    if len(packed) == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def _cidr(text: str) -> CIDR:
    try:
        netip.check_prefix(text)
    except netip.AddressError as error:
        head = "network address parse error during conversion from string: "
        raise EvaluationError(f"{head}{head}{error}") from None
    interface = ipaddress.ip_interface(text)
    if interface.version == 6 and interface.ip.ipv4_mapped:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return CIDR(interface)


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip(cidr: CIDR, ip: Any) -> bool:
    address = (_ip(ip) if isinstance(ip, str) else ip).address
    return address in cidr.interface.network


def _contains_cidr(cidr: CIDR, other: Any) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).interface.network
    outer: Any = cidr.interface.network
    return inner.version == outer.version and inner.subnet_of(outer)


def _masked(cidr: CIDR) -> CIDR:
    return CIDR(ipaddress.ip_interface(cidr.interface.network))


class URL:
    cel_type = "kubernetes.URL"
    __slots__ = ("text", "url")

    def __init__(self, text: str, url: gourl.Url) -> None:
        self.text = text
        self.url = url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _url(text: str) -> URL:
    """Checked as a request's, which has to be absolute, and read as any."""
    try:
        gourl.parse_request_uri(text)
        return URL(text, gourl.parse(text))
    except gourl.UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _declare() -> None:
    since = Release(30)
    functions: dict[str, Any] = {
        "ip(string) IP": _ip,
        "isIP(string) bool": _is_ip,
        "$ip.isCanonical(string) bool": _is_canonical,
        "cidr(string) CIDR": _cidr,
        "isCIDR(string) bool": _is_cidr,
        "CIDR.containsIP(string) bool": _contains_ip,
        "CIDR.containsIP(IP) bool": _contains_ip,
        "CIDR.containsCIDR(string) bool": _contains_cidr,
        "CIDR.containsCIDR(CIDR) bool": _contains_cidr,
        "CIDR.ip() IP": lambda cidr: IP(cidr.interface.ip),
        "CIDR.prefixLength() int": lambda cidr: cidr.interface.network.prefixlen,
        "CIDR.masked() CIDR": _masked,
        "IP.family() int": lambda ip: ip.address.version,
        "IP.isUnspecified() bool": lambda ip: ip.address.is_unspecified,
        "IP.isLoopback() bool": lambda ip: ip.address.is_loopback,
        "IP.isLinkLocalMulticast() bool": _is_link_multicast,
        "IP.isLinkLocalUnicast() bool": lambda ip: ip.address.is_link_local,
        "IP.isGlobalUnicast() bool": _is_global,
        "string(IP) string": str,
        "string(CIDR) string": str,
    }
    for signature, impl in functions.items():
        cost = traversal if signature.startswith(("ip(", "cidr(", "is", "$")) else None
        declare(signature, impl, cost, since)
    urls: dict[str, Any] = {
        "url(string) URL": _url,
        "isURL(string) bool": gourl.is_request_uri,
        "URL.getScheme() string": lambda url: url.url.scheme,
        "URL.getHost() string": lambda url: url.url.host,
        "URL.getHostname() string": lambda url: url.url.hostname,
        "URL.getPort() string": lambda url: url.url.port,
        "URL.getEscapedPath() string": lambda url: url.url.path,
        "URL.getQuery() map(string, list(string))": lambda url: url.url.values(),
    }
    for signature, impl in urls.items():
        declare(signature, impl, traversal if "(string)" in signature else None)


_declare()
