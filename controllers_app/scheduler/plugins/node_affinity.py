"""NodeAffinity: nodeSelector, and required and preferred node affinity.

Models kubernetes pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import nodeaffinity
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
        return nodeaffinity.required_of(pod.spec)

    def narrow(self, state: Any, pod: PodInfo) -> Iterable[str] | None:
        """The only possible nodes, if every term requires node names, as DaemonSet pods do."""
        required = state[1]
        if required is None:
            return None
        names: set[str] = set()
        for term in required.get("nodeSelectorTerms") or ():
            term_names: set[str] | None = None
            for requirement in term.get("matchFields") or ():
                if requirement["key"] == "metadata.name" and requirement["operator"] == "In":
                    values = set(requirement.get("values") or ())
                    term_names = values if term_names is None else term_names & values
            if term_names is None:
                return None
            names |= term_names
        return names

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return None if nodeaffinity.selects(state, node.name, node.labels) else _NO

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
        return affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or None

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return sum(
            preferred["weight"]
            for preferred in state
            if nodeaffinity.term_matches(preferred.get("preference") or {}, node.name, node.labels)
        )

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return normalize_to_max(scores)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Wakes for a node that matches now and did not before."""
        required = nodeaffinity.required_of(pod.spec)
        if required is None or event.new is None:
            return True
        return not _selects(required, event.old) and _selects(required, event.new)


def _selects(required: nodeaffinity.Required, node: Object | None) -> bool:
    if node is None:
        return False
    return nodeaffinity.selects(required, meta.name_of(node), meta.labels_of(node))
