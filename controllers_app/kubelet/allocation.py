"""What the pods of a node were given of it: who has no room is refused, and a resize that there is
no room for is deferred, or infeasible.

Models kubernetes pkg/kubelet/kubelet.go (canAdmitPod, canResizePod), pkg/kubelet/lifecycle/
predicate.go and pkg/scheduler/eventhandlers.go (AdmissionCheck).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler import nodeinfo
from controllers_app.scheduler.nodeinfo import CPU, MEMORY, PODS, Amounts
from controllers_app.scheduler.plugins import node_ports

INFEASIBLE, DEFERRED = "Infeasible", "Deferred"
CRITICAL_PRIORITY = 2_000_000_000  # for such pods a kubelet makes room
_STATUSES = {"containers": "containerStatuses", "initContainers": "initContainerStatuses"}
_ORDER = {PODS: 0, CPU: 1, MEMORY: 2, "ephemeral-storage": 3}


class Holder(Protocol):
    """A pod of the node, with what it was given, and the sum of its requests."""

    @property
    def pod(self) -> Object: ...

    @property
    def requests(self) -> Amounts: ...

    @property
    def is_over(self) -> bool: ...


class Pending(msgspec.Struct, frozen=True):
    """A resize that was not made, why not, and the spec that asks for it."""

    reason: str
    message: str
    spec: Object


class Allocation:
    """What the pods of one node were given. `holders` are all that its kubelet knows."""

    def __init__(
        self,
        allocatable: Mapping[str, str],
        node: Callable[[], Object | None],
        holders: Callable[[], Collection[Holder]],
        version: Release,
    ) -> None:
        self._allocatable = nodeinfo.amounts(allocatable)
        self._node = node
        self._holders = holders
        self._version = version

    def refusal(self, new: Holder) -> tuple[str, str] | None:
        """The reason and message with which a pod that comes is refused, if it is."""
        pod = new.pod
        if (pod["spec"].get("priority") or 0) >= CRITICAL_PRIORITY:
            return None
        for name, message in self._lacks(pod, new.requests):
            return f"OutOf{name}", message
        for name, message in self._misfits(pod):
            return name, f"Predicate {name} failed: {message}"
        return None

    def judge(self, pod: Object, given: Object) -> Pending | None:
        """Why the pod cannot have what its spec asks for, if it asks for other than it was
        given."""
        spec = pod["spec"]
        if _resources(spec) == _resources(given["spec"]):
            return None
        asked = nodeinfo.pod_requests(pod)
        for name in (MEMORY, CPU):
            most = self._allocatable.get(name, 0)
            if asked.get(name, 0) > most:
                message = f"{name}, requested: {asked[name]}, capacity: {most}"
                return Pending(INFEASIBLE, f"Node didn't have enough capacity: {message}", spec)
        for _, message in self._lacks(pod, asked):
            return Pending(DEFERRED, message, spec)
        return None

    def _lacks(self, pod: Object, asked: Amounts) -> Iterator[tuple[str, str]]:
        """What the node has too little of, beside what the others hold."""
        allocatable, holders = self._allocatable, self._holders()
        if not asked and len(holders) <= allocatable.get(PODS, 0):  # it is one of them
            return
        others = self._others(pod, holders)
        wanted = {PODS: 1, **asked}
        for name in sorted(wanted.keys() & allocatable.keys(), key=_rank):
            most, amount = allocatable[name], wanted[name]
            taken = sum(1 if name == PODS else pod.requests.get(name, 0) for pod in others)
            if amount > 0 and amount > most - taken:
                numbers = f"requested: {amount}, used: {taken}, capacity: {most}"
                yield name, f"Node didn't have enough resource: {name}, {numbers}"

    def _others(self, pod: Object, holders: Iterable[Holder]) -> list[Holder]:
        """Those beside the pod that hold something of the node."""
        uid = meta.uid_of(pod)
        return [
            holder for holder in holders if not holder.is_over and meta.uid_of(holder.pod) != uid
        ]

    def _misfits(self, pod: Object) -> Iterator[tuple[str, str]]:
        """The plugins of the scheduler that say no, had they been asked, with their reasons."""
        node, spec = self._node(), pod["spec"]
        if node is None:
            return
        required = nodeaffinity.required_of(spec)
        if required is not None and not nodeaffinity.selects(
            required, meta.name_of(node), meta.labels_of(node)
        ):
            yield "NodeAffinity", "node(s) didn't match Pod's node affinity/selector"
        sidecars = self._version.has("SidecarHostPorts")
        ports = nodeinfo.host_ports(pod, sidecars=sidecars)
        if ports and any(
            node_ports.collide(ports, nodeinfo.host_ports(other.pod, sidecars=sidecars))
            for other in self._others(pod, self._holders())
        ):
            yield "NodePorts", "node(s) didn't have free ports for the requested pod ports"
        tolerations = spec.get("tolerations") or ()
        if any(
            taint["effect"] == "NoExecute" and not nodeaffinity.is_tolerated(taint, tolerations)
            for taint in node["spec"].get("taints") or ()
        ):
            yield "TaintToleration", "node(s) had taints that the pod didn't tolerate"


def _rank(name: str) -> tuple[int, str]:
    return _ORDER.get(name, 4), name


def limited(pod: Object, given: Object) -> Object:
    """The pod with what it was given."""
    return _with_resources(pod, _resources(given["spec"]))


def restored(pod: Object) -> Object:
    """The pod with what an earlier kubelet reported that it was given."""
    status = pod.get("status") or {}
    if not any(each["type"] == "PodResizePending" for each in status.get("conditions") or ()):
        return pod
    given = {
        (group, reported["name"]): reported["resources"]
        for group, field in _STATUSES.items()
        for reported in status.get(field) or ()
        if reported.get("resources") is not None
    }
    return _with_resources(pod, given)


def _resources(spec: Object) -> dict[tuple[str, str], Object]:
    return {
        (group, container["name"]): container.get("resources") or {}
        for group in _STATUSES
        for container in spec.get(group) or ()
    }


def _with_resources(pod: Object, given: Mapping[tuple[str, str], Object]) -> Object:
    spec = dict(pod["spec"])
    for group in _STATUSES:
        if group in spec:
            spec[group] = [
                {**container, "resources": given.get((group, container["name"]), {})}
                for container in spec[group]
            ]
    return {**pod, "spec": spec}
