"""The nodes a pod selects: nodeSelector, required affinity, preferred affinity.

Models kubernetes pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler import nodeterms
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
    normalize_to_max,
)
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_NO = No(("node(s) didn't match Pod's node affinity/selector",), UNRESOLVABLE)


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    weight = 2
    filters = True
    scores = True
    source = "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        return required_of(pod)

    def narrow(self, state: Any, pod: PodInfo) -> Iterable[str] | None:
        """The nodes that every term asks for by name, as DaemonSet pods do."""
        required = state[1]
        if required is None:
            return None
        names: set[str] = set()
        for term in required.get("nodeSelectorTerms") or ():
            meant: set[str] | None = None
            for one in term.get("matchFields") or ():
                if one["key"] == "metadata.name" and one["operator"] == "In":
                    values = set(one.get("values") or ())
                    meant = values if meant is None else meant & values
            if meant is None:
                return None
            names |= meant
        return names

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return None if selects(state, node) else _NO

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        return _affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution") or None

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return sum(
            preferred["weight"]
            for preferred in state
            if nodeterms.holds(preferred.get("preference") or {}, node)
        )

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return normalize_to_max(scores)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A node that matches and did not before."""
        required = required_of(pod)
        if required is None or event.new is None:
            return True
        matched = event.old is not None and selects(required, NodeInfo(event.old))
        return not matched and selects(required, NodeInfo(event.new))


def required_of(pod: PodInfo) -> tuple[Object, Object | None] | None:
    """nodeSelector and required terms; None when the pod asks for neither."""
    selector = pod.spec.get("nodeSelector")
    required = _affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    return (selector or {}, required) if selector or required else None


def selects(state: tuple[Object, Object | None], node: NodeInfo) -> bool:
    """Whether the node is one of those the pod requires."""
    selector, required = state
    have = node.labels
    for key, value in selector.items():
        if have.get(key) != value:
            return False
    if required is None:
        return True
    return nodeterms.matches(required, node)


def _affinity(pod: PodInfo) -> Object:
    affinity = pod.spec.get("affinity") or {}
    return affinity.get("nodeAffinity") or {}
