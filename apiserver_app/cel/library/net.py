"""Addresses: IPs, CIDRs and URLs.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/{ip,cidr,urls}.go.
"""

from __future__ import annotations

import ipaddress
import urllib.parse
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, traversal

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
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): unable to parse IP'
        ) from None
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
    one = ip.address
    broadcast = str(one) == "255.255.255.255"
    return not (
        broadcast or one.is_unspecified or one.is_loopback or one.is_multicast or one.is_link_local
    )


def _is_link_multicast(ip: IP) -> bool:
    packed = ip.address.packed
    if len(packed) == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def _cidr(text: str) -> CIDR:
    address, slash, bits = text.partition("/")
    head = "network address parse error during conversion from string: netip.ParsePrefix"
    if not slash:
        raise EvaluationError(f"{head}(\"{text}\"): no '/'")
    try:
        if not bits.isdigit() or (len(bits) > 1 and bits[0] == "0"):
            raise ValueError
        interface = ipaddress.ip_interface(text)
    except ValueError:
        raise EvaluationError(f'{head}("{text}"): bad bits after slash: "{bits}"') from None
    if interface.version == 6 and interface.ip.ipv4_mapped:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{address}" is not allowed')
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
    __slots__ = ("parts", "text")

    def __init__(self, text: str, parts: urllib.parse.SplitResult) -> None:
        self.text = text
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _url(text: str) -> URL:
    head = "URL parse error during conversion from string: parse"
    if not text:
        raise EvaluationError(f'{head} "": empty url')
    if any(char <= " " or char == "\x7f" for char in text.partition("?")[0]):
        raise EvaluationError(f'{head} "{text}": net/url: invalid control character in URL')
    try:
        parts = urllib.parse.urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise EvaluationError(f'{head} "{text}": {error}') from None
    del port
    if not parts.scheme and not text.startswith("/"):
        raise EvaluationError(f'{head} "{text}": invalid URI for request')
    return URL(text, parts)


def _is_url(text: str) -> bool:
    try:
        _url(text)
    except EvaluationError:
        return False
    return True


def _host(url: URL) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: URL) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: URL) -> str:
    port = url.parts.port
    return "" if port is None else str(port)


def _query(url: URL) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(url.parts.query, keep_blank_values=True)


def _declare() -> None:
    since = (1, 30)
    one: dict[str, Any] = {
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
    for signature, impl in one.items():
        cost = traversal if signature.startswith(("ip(", "cidr(", "is", "$")) else None
        declare(signature, impl, cost, since)
    urls: dict[str, Any] = {
        "url(string) URL": _url,
        "isURL(string) bool": _is_url,
        "URL.getScheme() string": lambda url: url.parts.scheme,
        "URL.getHost() string": _host,
        "URL.getHostname() string": _hostname,
        "URL.getPort() string": _port,
        "URL.getEscapedPath() string": lambda url: url.parts.path,
        "URL.getQuery() map(string, list(string))": _query,
    }
    for signature, impl in urls.items():
        declare(signature, impl, traversal if "(string)" in signature else None)


_declare()
