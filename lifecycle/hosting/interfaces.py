"""The addresses of this machine at which others may reach it; it asks the system and sends nothing.

First comes the address that packets to elsewhere leave from: whoever is in the same room is most
likely to reach that one.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import socket
import struct
import sys
from pathlib import Path

ADDRESSES_MAX = 16
_ELSEWHERE = {socket.AF_INET: "203.0.113.1", socket.AF_INET6: "2001:db8::1"}  # nobody's
_SIOCGIFADDR = 0xC0206921 if sys.platform == "darwin" else 0x8915
_IFREQ = struct.Struct("16s16s")  # a name, then a sockaddr_in
_OF_IPV6 = Path("/proc/net/if_inet6")  # Linux only


def addresses(family: socket.AddressFamily) -> list[str]:
    """At most ADDRESSES_MAX, none of them for this machine or this cable only."""
    found = [_of_route(family), *(_of_ipv6() if family == socket.AF_INET6 else _of_ipv4())]
    usable = [address for address in dict.fromkeys(found) if _leads_here(address)]
    return usable[:ADDRESSES_MAX]


def _of_route(family: socket.AddressFamily) -> str:
    """Empty without a route. To connect such a socket sends nothing."""
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((_ELSEWHERE[family], 9))
        return str(asked.getsockname()[0])
    return ""


def _of_ipv4() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # it has none
                request = _IFREQ.pack(name.encode()[:15], b"")
                _, answer = _IFREQ.unpack(fcntl.ioctl(asked, _SIOCGIFADDR, request))
                found.append(socket.inet_ntoa(answer[4:8]))
    return found


def _of_ipv6() -> list[str]:
    try:
        lines = _OF_IPV6.read_text().splitlines()
    except OSError:
        return []
    return [str(ipaddress.IPv6Address(bytes.fromhex(line.split()[0]))) for line in lines]


def _leads_here(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified)
