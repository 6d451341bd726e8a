"""The simulated container runtime of one node: images, sandboxes with addresses, containers.

It does what CRI and CNI promise, in virtual time, and starts nothing. What it holds is gone when
the kubelet's process is; `adopt` takes over what a pod's status says is running.

Models kubernetes staging/src/k8s.io/cri-api and pkg/kubelet/images/image_manager.go.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from apiserver_app.machinery.kernel import SECOND, Kernel, Lock, Signal
from apiserver_app.machinery.rand import Rand
from controllers_app.kubelet.images import Behaviour, Catalog, normalized

SANDBOX_SECONDS = 0.18
NETWORK_SECONDS = 0.04
CREATE_SECONDS = 0.05
BANDWIDTH_BYTES = 24_000_000  # a second, of one pull
MANIFEST_SECONDS = 0.35  # asking the registry, also when every layer is there
PULL_BACKOFF_SECONDS, PULL_BACKOFF_SECONDS_MAX = 10, 300


class PullError(Exception):
    """The image cannot be had; `reason` is the container's waiting reason."""

    def __init__(self, message: str, reason: str = "ErrImagePull") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(slots=True)
class Sandbox:
    """A pod's network and what belongs to it."""

    id: str
    address: str


@dataclass(slots=True)
class Container:
    """One container that was created. `ends` is set when it has ended."""

    id: str
    name: str
    behaviour: Behaviour
    started_at: int = 0
    finished_at: int = 0
    exit_code: int | None = None
    logs: list[str] = field(default_factory=list)


class Addresses:
    """The node's range of pod addresses; no two pods have the same at a time."""

    def __init__(self, cidr: str) -> None:
        network = ipaddress.ip_network(cidr)
        self._first = int(network.network_address) + 2  # .1 is the bridge
        self._last = int(network.broadcast_address) - 1
        self._next = self._first
        self._taken: set[str] = set()

    def take(self) -> str:
        """The next free one, going round, so that an address is not reused at once."""
        for _ in range(self._last - self._first + 1):
            address = str(ipaddress.ip_address(self._next))
            self._next = self._next + 1 if self._next < self._last else self._first
            if address not in self._taken:
                self._taken.add(address)
                return address
        raise PullError("failed to allocate for range 0: no IP addresses available in range set")

    def claim(self, address: str) -> None:
        self._taken.add(address)

    def release(self, address: str) -> None:
        self._taken.discard(address)


class Runtime:
    """Images and sandboxes of one node."""

    def __init__(self, kernel: Kernel, rand: Rand, catalog: Catalog, cidr: str) -> None:
        self.kernel = kernel
        self.rand = rand
        self.catalog = catalog
        self.addresses = Addresses(cidr)
        self.images: dict[str, Behaviour] = {}
        self.images_changed = Signal(kernel)
        self._pulling = Lock(kernel)

    def has(self, image: str) -> bool:
        return normalized(image) in self.images

    async def pull(self, image: str) -> tuple[Behaviour, float, float]:
        """Pull it, one at a time; (image, seconds of the pull, seconds with the wait)."""
        asked = self.kernel.now
        async with self._pulling:
            began = self.kernel.now
            behaviour = self.catalog.find(image)
            await self.kernel.sleep(MANIFEST_SECONDS * self.rand.uniform(0.8, 1.2))
            if behaviour.missing:
                raise PullError(_pull_message(image, behaviour))
            if behaviour.name not in self.images:
                seconds = behaviour.size_bytes / BANDWIDTH_BYTES
                await self.kernel.sleep(seconds * self.rand.uniform(0.9, 1.1))
                self.images[behaviour.name] = behaviour
                self.images_changed.set()
        now = self.kernel.now
        return behaviour, (now - began) / SECOND, (now - asked) / SECOND

    def new_id(self) -> str:
        return self.rand.hex(64)


def _pull_message(image: str, behaviour: Behaviour) -> str:
    name = behaviour.name
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{name}": '
        f'failed to resolve reference "{name}": {name}: {behaviour.missing}'
    )


def go_duration(seconds: float) -> str:
    """A Go duration rounded to milliseconds: 641ms, 1.234s, 1m2.5s."""
    millis = round(seconds * 1000)
    if millis < 1000:
        return f"{millis}ms"
    minutes, rest = divmod(millis, 60_000)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if not minutes:
        return text
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
