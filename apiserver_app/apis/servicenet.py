"""The ranges of service IPs and node ports.

IPv4 only. The first address is the API server's own, the tenth that of the cluster's DNS service;
the lower part of each range is reserved for static requests.

Models kubernetes pkg/controlplane/services.go (ServiceIPRange),
cmd/kube-apiserver/app/options/validation.go, staging/src/k8s.io/apimachinery/pkg/util/net/
port_range.go and pkg/registry/core/service/{ipallocator,portallocator} (calculateRangeOffset).
"""

from __future__ import annotations

import ipaddress
import re

import msgspec

CIDR, PORTS = "10.96.0.0/12", "30000-32767"  # as kubeadm has them
ADDRESSES_MIN, HOST_BITS_MAX = 8, 20
_RANGE = re.compile(r"(\d{1,6})(?:([-+])(\d{1,6}))?")


class ServiceNet(msgspec.Struct, frozen=True):
    """The two ranges; both ports are inclusive."""

    cidr: ipaddress.IPv4Network
    first_port: int
    last_port: int

    @property
    def apiserver(self) -> str:
        """The address of the service `kubernetes`."""
        return str(self.cidr[1])

    @property
    def dns(self) -> str:
        """The address that kubeadm gives to kube-dns."""
        return str(self.cidr[min(10, self.cidr.num_addresses - 2)])

    @property
    def static_addresses(self) -> int:
        """The number of low addresses that are only allocated on request."""
        return min(max(16, self.cidr.num_addresses // 16), 256) if self._is_big else 0

    @property
    def static_ports(self) -> int:
        count = self.last_port - self.first_port + 1
        return min(max(16, count // 32), 128) if count > 16 else 0

    @property
    def ports(self) -> str:
        return f"{self.first_port}-{self.last_port}"

    @property
    def _is_big(self) -> bool:
        return self.cidr.num_addresses > 16


def parse(cidr: str, ports: str) -> ServiceNet:
    """Parses both ranges. Raises ValueError with upstream's message."""
    if "," in cidr or ":" in cidr:
        raise ValueError(f"service-cluster-ip-range {cidr}: ranges of IPv6 are not simulated")
    try:
        network = ipaddress.IPv4Network(cidr, strict=False)
    except ValueError as error:
        raise ValueError("service-cluster-ip-range is not a valid cidr") from error
    if network.max_prefixlen - network.prefixlen > HOST_BITS_MAX:
        raise ValueError(
            "specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask "
            f"must be >= {network.max_prefixlen - HOST_BITS_MAX}"
        )
    if network.num_addresses < ADDRESSES_MIN:
        raise ValueError(
            "error determining service IP ranges: the service cluster IP range must be at least "
            f"{ADDRESSES_MIN} IP addresses"
        )
    return ServiceNet(network, *_ports(ports))


def _ports(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text.strip())
    low = int(match[1]) if match else 0
    high = low if match is None or not match[3] else int(match[3])
    if match is not None and match[2] == "+":
        high = low + high
    message = ""
    if match is None:
        message = f"unable to parse port range: {text}"
    elif not 0 < low <= 65535 or high > 65535:
        message = f"the port range cannot be greater than 65535: {text}"
    elif high < low:
        message = f"end port cannot be less than start port: {text}"
    if message:
        raise ValueError(
            f'invalid argument "{text}" for "--service-node-port-range" flag: {message}'
        )
    return low, high


DEFAULT = parse(CIDR, PORTS)
