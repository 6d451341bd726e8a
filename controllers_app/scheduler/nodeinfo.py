"""What the scheduler knows of a node and of a pod, in numbers it can add.

Models kubernetes pkg/scheduler/framework/types.go and
staging/src/k8s.io/component-helpers/resource/helpers.go (PodRequests).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import meta, quantity
from apiserver_app.machinery.meta import Object

# what a container that asks for nothing is counted as when nodes are compared
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

CPU, MEMORY, PODS = "cpu", "memory", "pods"

Amounts = dict[str, int]  # cpu in thousandths, everything else in units


class PodInfo:
    """A pod and what it asks for. Built once for each version of the pod."""

    __slots__ = ("key", "namespace", "nonzero", "pod", "ports", "requests", "spec")

    def __init__(self, pod: Object) -> None:
        self.pod = pod
        self.key = meta.key_of(pod)
        self.namespace = meta.namespace_of(pod)
        self.spec: Mapping[str, Any] = pod["spec"]
        self.requests = pod_requests(pod)
        self.nonzero = pod_requests(pod, nonzero=True)
        self.ports = host_ports(pod)


class NodeInfo:
    """A node, the pods on it, and what is left."""

    __slots__ = ("allocatable", "images", "name", "node", "nonzero", "pods", "ports", "requested")

    def __init__(self, node: Object) -> None:
        self.name = meta.name_of(node)
        self.pods: dict[str, PodInfo] = {}
        self.requested: Amounts = {}
        self.nonzero: Amounts = {CPU: 0, MEMORY: 0}
        self.ports: dict[tuple[str, str, int], int] = {}
        self.set_node(node)

    def set_node(self, node: Object) -> None:
        self.node = node
        status = node.get("status") or {}
        self.allocatable = amounts(status.get("allocatable") or status.get("capacity") or {})
        self.images: dict[str, int] = {}
        for image in status.get("images") or ():
            for name in image.get("names") or ():
                self.images[name] = image.get("sizeBytes", 0)

    @property
    def taints(self) -> list[Object]:
        return self.node.get("spec", {}).get("taints") or []

    @property
    def labels(self) -> Mapping[str, str]:
        return meta.labels_of(self.node)

    def add(self, info: PodInfo) -> None:
        self.pods[info.key] = info
        self._count(info, 1)

    def remove(self, key: str) -> None:
        info = self.pods.pop(key, None)
        if info is not None:
            self._count(info, -1)

    def _count(self, info: PodInfo, sign: int) -> None:
        for name, amount in info.requests.items():
            self.requested[name] = self.requested.get(name, 0) + sign * amount
        for name in (CPU, MEMORY):
            self.nonzero[name] += sign * info.nonzero.get(name, 0)
        for port in info.ports:
            self.ports[port] = self.ports.get(port, 0) + sign


def amounts(resources: Mapping[str, Any]) -> Amounts:
    return {
        name: quantity.milli_value(text) if name == CPU else quantity.value(text)
        for name, text in resources.items()
    }


def pod_requests(pod: Object, *, nonzero: bool = False) -> Amounts:
    """Containers add up; init containers run one after another, so the largest counts; sidecars
    (init containers that restart always) stay beside what comes after them."""
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _requests(container, nonzero))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _requests(container, nonzero)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            together = dict(asked)
            _add(together, sidecars)
            _raise(peak, together)
    _raise(total, peak)
    if spec.get("overhead"):
        _add(total, amounts(spec["overhead"]))
    return total


def _requests(container: Object, nonzero: bool) -> Amounts:
    asked = (container.get("resources") or {}).get("requests")
    out = amounts(asked) if asked else {}
    if nonzero:
        out.setdefault(CPU, DEFAULT_MILLI_CPU)
        out.setdefault(MEMORY, DEFAULT_MEMORY)
    return out


def _add(into: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        into[name] = into.get(name, 0) + amount


def _raise(into: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if amount > into.get(name, 0):
            into[name] = amount


def host_ports(pod: Object) -> tuple[tuple[str, str, int], ...]:
    """(address, protocol, port) of every host port the pod claims."""
    found = []
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address = port.get("hostIP") or "0.0.0.0"
                found.append((address, port.get("protocol") or "TCP", port["hostPort"]))
    return tuple(found)
