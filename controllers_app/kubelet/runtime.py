"""The simulated container runtime of one node: images and addresses.

It does what CRI and CNI promise, in virtual time, and starts nothing. What it holds is gone when
the kubelet's process is; kubelets take over what the API server's objects say is there.

Models kubernetes staging/src/k8s.io/cri-api and pkg/kubelet/images/puller.go (one pull at a time).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from apiserver_app.machinery.kernel import SECOND, Kernel, Lock
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.syntax import goduration
from controllers_app.kubelet.images import Behaviour, Catalog, normalized

SANDBOX_SECONDS = 0.18
NETWORK_SECONDS = 0.04
CREATE_SECONDS = 0.05
BANDWIDTH_BYTES = 24_000_000  # a second, of one pull
MANIFEST_SECONDS = 0.35  # asking the registry, also when every layer is there


class PullError(Exception):
    """The registry does not give the image; the text is the runtime's."""


class NoAddress(Exception):
    """Every address of the node's range is taken; the text is the CNI plugin's."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A pod's network. `own` says that the address is of the node's range."""

    id: str
    address: str
    own: bool


class Addresses:
    """The node's range of pod addresses; no two pods have the same at a time."""

    def __init__(self, cidr: str) -> None:
        network = ipaddress.ip_network(cidr)
        self._first = int(network.network_address) + 2  # .1 is the bridge
        self._last = int(network.broadcast_address) - 1
        self._next = self._first
        self._taken: set[str] = set()

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


class Runtime:
    """Images and addresses of one node."""

    def __init__(self, kernel: Kernel, rand: Rand, catalog: Catalog, cidr: str) -> None:
        self.kernel = kernel
        self.rand = rand
        self.catalog = catalog
        self.addresses = Addresses(cidr)
        self.images: dict[str, Behaviour] = {}
        self._pulling = Lock(kernel)

    def has(self, image: str) -> bool:
        return normalized(image) in self.images

    def remember(self, image: str) -> Behaviour:
        """An image that is on the node from before."""
        behaviour = self.catalog.find(image)
        return self.images.setdefault(behaviour.name, behaviour)

    async def pull(self, image: str) -> tuple[Behaviour, float, float]:
        """Pull it, one at a time; (image, seconds of the pull, seconds with the wait)."""
        asked = self.kernel.now
        async with self._pulling:
            began = self.kernel.now
            behaviour = self.catalog.find(image)
            await self.kernel.sleep(MANIFEST_SECONDS * self.rand.uniform(0.8, 1.2))
            if behaviour.missing:
                raise PullError(_pull_message(behaviour))
            if behaviour.name not in self.images:
                seconds = behaviour.size_bytes / BANDWIDTH_BYTES
                await self.kernel.sleep(seconds * self.rand.uniform(0.9, 1.1))
                self.images[behaviour.name] = behaviour
            now = self.kernel.now
        return behaviour, (now - began) / SECOND, (now - asked) / SECOND

    def new_id(self) -> str:
        return self.rand.hex(64)


def _pull_message(behaviour: Behaviour) -> str:
    name, why = behaviour.name, behaviour.missing
    said = f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": '
    if why == "not found":
        return f"rpc error: code = NotFound desc = {said}{name}: {why}"
    return said + why  # the kubelet leaves out a code that is unknown


def go_duration(seconds: float) -> str:
    """A Go duration rounded to milliseconds: 641ms, 1.234s, 1m2.5s, 5m0s."""
    return goduration.text(round(seconds * 1000) * goduration.MILLISECOND)
