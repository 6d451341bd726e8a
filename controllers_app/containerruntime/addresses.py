"""The range of pod addresses of one node.

Models containernetworking/plugins plugins/ipam/host-local.
"""

from __future__ import annotations

import ipaddress

from controllers_app.cri.services import NoAddress


class Addresses:
    """The node's range of pod addresses; no two pods have the same at a time."""

    def __init__(self) -> None:
        self._first = self._next = 0
        self._last = -1
        self.has_range = False
        self._taken: set[str] = set()

    def move(self, cidr: str) -> None:
        """The next addresses are of this range."""
        self.has_range = True
        network = ipaddress.ip_network(cidr)
        self._first = self._next = int(network.network_address) + 2  # .1 is the bridge
        self._last = int(network.broadcast_address) - 1

    def __len__(self) -> int:
        """How many are taken."""
        return len(self._taken)

    def take(self) -> str:
        """The next free one, going round, so that an address is not reused at once."""
        for _ in range(self._last - self._first + 1):
            address = str(ipaddress.ip_address(self._next))
            self._next = self._next + 1 if self._next < self._last else self._first
            if address not in self._taken:
                self._taken.add(address)
                return address
        raise NoAddress("failed to allocate for range 0: no IP addresses available in range set")

    def claim(self, address: str) -> bool:
        """Take over an address that is in use; False when somebody has it already."""
        if address in self._taken:
            return False
        self._taken.add(address)
        return True

    def release(self, address: str) -> None:
        self._taken.discard(address)
