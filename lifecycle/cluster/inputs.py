"""What a cluster is given from outside: seed, epoch, keys, flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver_app import flags
from apiserver_app.etcd.backend import ClusterState
from apiserver_app.machinery import releases
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.rand import Rand
from controllers_app.kubelet import dependencies

POD_RANGE, NODES_MAX = "10.244.0.0/16", 256  # a node has 256 addresses
POD_RANGE_OF_MANY = "10.128.0.0/9"


def pod_range(nodes: int) -> str:
    """The range of the addresses of pods, wider for more nodes than the usual one is for."""
    return POD_RANGE if nodes <= NODES_MAX else POD_RANGE_OF_MANY


class Machine(NamedTuple):
    """One on which a kubelet runs."""

    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a cluster is given. Equal inputs give equal clusters."""

    name: str = "demo"
    seed: int = 1
    version: str = str(releases.DEFAULT)
    profile: str = "default"
    epoch: int = 1_735_689_600 * SECOND  # 2025-01-01: a run that names none is repeatable
    nodes: int = 3
    machines: tuple[Machine, ...] = ()  # those that are not called node-1, node-2, ...
    ca_pem: str = ""
    ca_key: bytes = field(default=b"", repr=False)
    service_account_key: bytes = b""
    flags: flags.Flags = field(default_factory=flags.Flags)
    # further inputs of single parts, by name
    options: dict[str, Any] = field(default_factory=dict)

    def machine(self, number: int) -> Machine:
        """The one that node `number` is, counted from 1; the control plane runs on the first."""
        if number <= len(self.machines):
            return self.machines[number - 1]
        return Machine(f"node-{number}", dependencies.address_of(number))

    def state(self) -> ClusterState:
        """That of a new cluster."""
        return ClusterState(
            name=self.name,
            seed=self.seed,
            version=self.version,
            profile=self.profile,
            epoch=self.epoch,
            now=self.epoch,
            rand=Rand(self.seed).state,
        )
