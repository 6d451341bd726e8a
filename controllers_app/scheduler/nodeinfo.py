"""What the scheduler knows of a node and of a pod, in numbers it can add.

Models kubernetes pkg/scheduler/framework/types.go and
staging/src/k8s.io/component-helpers/resource/helpers.go (PodRequests).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from apiserver_app.apis.podresources import is_for_whole_pods
from apiserver_app.machinery import meta, releases
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import quantity
from controllers_app.runtime import persistentvolumes
from controllers_app.scheduler import affinity as affinities

# what a container that asks for nothing is counted as when nodes are compared
DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024

CPU, MEMORY, PODS = "cpu", "memory", "pods"
ZONE = "topology.kubernetes.io/zone"

Amounts = dict[str, int]  # cpu in thousandths, everything else in units


class Group(msgspec.Struct, frozen=True):
    """What pods that look the same to any selector have in common."""

    namespace: str
    pairs: tuple[tuple[str, str], ...]
    deleting: bool

    @property
    def labels(self) -> Mapping[str, str]:
        return dict(self.pairs)


class PodInfo:
    """A pod and what it asks for. Built once for each version of the pod that matters."""

    __slots__ = (
        "affinity",
        "claims",
        "group",
        "key",
        "namespace",
        "nonzero",
        "pod",
        "ports",
        "priority",
        "requests",
        "spec",
    )

    def __init__(self, pod: Object, version: Release = releases.DEFAULT) -> None:
        self.pod = pod
        self.key = meta.key_of(pod)
        self.namespace = meta.namespace_of(pod)
        self.spec: Mapping[str, Any] = pod["spec"]
        self.priority: int = self.spec.get("priority") or 0
        given = _given(pod) if version.has("InPlacePodVerticalScaling") else {}
        self.requests = shared(pod_requests(pod, given))
        self.nonzero = shared(pod_requests(pod, given, nonzero=True))
        self.ports = host_ports(pod, sidecars=version.has("SidecarHostPorts"))
        self.claims = persistentvolumes.claims_of_pod(pod)
        self.affinity = affinities.parse(pod) if self.spec.get("affinity") else None
        pairs = tuple(sorted(meta.labels_of(pod).items()))
        self.group = Group(self.namespace, pairs, meta.is_deleting(pod))

    @property
    def labels(self) -> Mapping[str, str]:
        return meta.labels_of(self.pod)

    def renew(self, pod: Object) -> None:
        """Takes a newer version of the pod that asks for the same."""
        self.pod, self.spec = pod, pod["spec"]


class NodeInfo:
    """A node, the pods on it, and what is left."""

    __slots__ = (
        "alike",
        "allocatable",
        "hard_taints",
        "images",
        "labels",
        "marks",
        "name",
        "node",
        "nonzero",
        "pods",
        "ports",
        "rank",
        "requested",
        "soft_taints",
        "unschedulable",
        "zone",
    )

    def __init__(self, node: Object) -> None:
        self.name = meta.name_of(node)
        self.rank = 0  # by name, of all nodes
        self.pods: dict[str, PodInfo] = {}
        self.requested: Amounts = {}
        self.nonzero: Amounts = {CPU: 0, MEMORY: 0}
        # as upstream (HostPortInfo): two pods with one port hold it once, and either frees it
        self.ports: set[tuple[str, str, int]] = set()
        self.set_node(node)

    def copy(self) -> NodeInfo:
        """One that pods can be added to and removed from in thought."""
        out = copy.copy(self)
        out.pods, out.ports = dict(self.pods), set(self.ports)
        out.requested, out.nonzero = dict(self.requested), dict(self.nonzero)
        return out

    def set_node(self, node: Object) -> None:
        self.node = node
        self.labels: Mapping[str, str] = meta.labels_of(node)
        self.zone = self.labels.get(ZONE)
        spec, status = node.get("spec") or {}, node.get("status") or {}
        self.unschedulable = bool(spec.get("unschedulable"))
        taints = spec.get("taints") or ()
        self.hard_taints = hard_taints(node)
        self.soft_taints = tuple(taint for taint in taints if taint["effect"] == "PreferNoSchedule")
        self.allocatable = shared(
            amounts(status.get("allocatable") or status.get("capacity") or {})
        )
        marks = [(taint["key"], taint.get("value"), taint["effect"]) for taint in taints]
        self.marks = (self.unschedulable, *marks)
        images: dict[str, int] = {}
        for image in status.get("images") or ():
            for name in image.get("names") or ():
                images[name] = image.get("sizeBytes", 0)
        self.images = shared(images)
        self._compare()

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
        if info.ports:
            (self.ports.update if sign > 0 else self.ports.difference_update)(info.ports)
        self._compare()

    def _compare(self) -> None:
        """Nodes with the same number in `alike` have as much, and as much of it in use, of
        processor, memory and pods, and the same taints and images: what is worked out for one
        holds for all.
        """
        asked, nonzero = self.requested, self.nonzero
        kind = (
            id(self.allocatable),
            len(self.pods),
            asked.get(CPU, 0),
            asked.get(MEMORY, 0),
            nonzero[CPU],
            nonzero[MEMORY],
            self.marks,
            id(self.images),
        )
        if len(_kinds) >= KNOWN_MAX:
            _kinds.clear()
        number = _kinds.get(kind)
        if number is None:
            number = _kinds[kind] = next(_numbers)
        self.alike = number


def hard_taints(node: Object) -> tuple[Object, ...]:
    """Those that turn pods away."""
    taints = (node.get("spec") or {}).get("taints") or ()
    return tuple(taint for taint in taints if taint["effect"] != "PreferNoSchedule")


_known: dict[tuple[tuple[str, int], ...], Amounts] = {}
_kinds: dict[tuple[object, ...], int] = {}
_numbers = itertools.count()
KNOWN_MAX = 4096


def shared(total: Amounts) -> Amounts:
    """The same dict for the same numbers: thousands of pods ask for the same. Never changed."""
    key = tuple(sorted(total.items()))
    if len(_known) >= KNOWN_MAX:
        _known.clear()
        _kinds.clear()  # they are told by identity, which another dict may have next
    return _known.setdefault(key, total)


def amounts(resources: Mapping[str, Any]) -> Amounts:
    return {
        name: quantity.milli_value(text) if name == CPU else quantity.value(text)
        for name, text in resources.items()
    }


def pod_requests(
    pod: Object, given: Mapping[str, Amounts] | None = None, *, nonzero: bool = False
) -> Amounts:
    """Containers add up; init containers run one after another, so the largest counts; sidecars
    (init containers that restart always) stay beside what comes after them. What is asked for the
    whole pod counts instead. `given` is what
    containers count as while they are resized, by their names."""
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _requests(container, given or {}, nonzero))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for container in spec.get("initContainers") or ():
        beside = container.get("restartPolicy") == "Always"
        asked = _requests(container, given if given and beside else {}, nonzero)
        if beside:
            _add(total, asked)
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            together = dict(asked)
            _add(together, sidecars)
            _raise(peak, together)
    _raise(total, peak)
    for name, text in ((spec.get("resources") or {}).get("requests") or {}).items():
        if is_for_whole_pods(name):
            total |= amounts({name: text})
    if spec.get("overhead"):
        _add(total, amounts(spec["overhead"]))
    return total


def _requests(container: Object, given: Mapping[str, Amounts], nonzero: bool) -> Amounts:
    asked = (container.get("resources") or {}).get("requests")
    out = amounts(asked) if asked else {}
    if given:
        out = dict(given.get(container["name"], out))
    if nonzero:
        out.setdefault(CPU, DEFAULT_MILLI_CPU)
        out.setdefault(MEMORY, DEFAULT_MEMORY)
    return out


def is_resizing(pod: Object) -> bool:
    """Whether what a container has, or was promised, is not what the pod asks for."""
    return any(True for _ in _differing(pod))


def _differing(pod: Object) -> Iterator[tuple[Object, Object]]:
    """Containers, and their statuses that tell of other requests."""
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for reported in status.get(field) or ():
            if reported.get("resources") is None:
                continue
            held = reported["resources"].get("requests") or {}
            promised = reported.get("allocatedResources") or {}
            if not held and not promised:
                continue
            group = "containers" if field == "containerStatuses" else "initContainers"
            for container in pod["spec"].get(group) or ():
                if container["name"] == reported["name"]:
                    asked = (container.get("resources") or {}).get("requests") or {}
                    if asked != held or (promised and asked != promised):
                        yield container, reported


def _given(pod: Object) -> dict[str, Amounts]:
    """The requests of containers that are being resized: the largest of what is asked for, held
    and promised; without what is asked for when the node can never give it."""
    out: dict[str, Amounts] = {}
    for container, reported in _differing(pod):
        total: Amounts = {}
        sources = [reported["resources"].get("requests"), reported.get("allocatedResources")]
        if not _is_infeasible(pod):
            sources.append((container.get("resources") or {}).get("requests"))
        for source in sources:
            _raise(total, amounts(source or {}))
        out[container["name"]] = total
    return out


def _is_infeasible(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    pending = [condition for condition in conditions if condition["type"] == "PodResizePending"]
    return bool(pending) and pending[0].get("reason") == "Infeasible"


def _add(into: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        into[name] = into.get(name, 0) + amount


def _raise(into: Amounts, other: Amounts) -> None:
    for name, amount in other.items():
        if amount > into.get(name, 0):
            into[name] = amount


def host_ports(pod: Object, *, sidecars: bool) -> tuple[tuple[str, str, int], ...]:
    """(address, protocol, port) of every host port the pod claims."""
    ports = []
    spec = pod["spec"]
    containers = list(spec.get("containers") or ())
    if sidecars:
        containers += [
            container
            for container in spec.get("initContainers") or ()
            if container.get("restartPolicy")
        ]
    for container in containers:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address = port.get("hostIP") or "0.0.0.0"
                ports.append((address, port.get("protocol") or "TCP", port["hostPort"]))
    return tuple(ports)
