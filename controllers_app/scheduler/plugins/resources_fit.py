"""Does the node have what the pod asks for, and how much would be left.

Models kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go and least_allocated.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_EVENTS,
    POD_DELETED,
    POD_UPDATED,
    SCORE_MAX,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    ClusterEvent,
    No,
    Plugin,
)
from controllers_app.scheduler.nodeinfo import CPU, MEMORY, PODS, NodeInfo, PodInfo, amounts


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    weight = 1
    filters = True
    scores = True
    wakes_on = (*NODE_EVENTS, POD_DELETED, POD_UPDATED)
    source = "pkg/scheduler/framework/plugins/noderesources/fit.go"
    remedy = "resources:\n  requests: …"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        """Verdicts on nodes that are alike; None when they may differ in what the pod asks for."""
        return ({},) if pod.requests.keys() <= {CPU, MEMORY} else (None,)

    def decides_by(self, state: Any) -> Iterable[str] | None:
        return None if state[0] is None else ()

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        known: dict[int, No | None] | None = state[0]
        if known is None:
            return self._judge(pod, node)
        if node.alike in known:
            return known[node.alike]
        verdict = known[node.alike] = self._judge(pod, node)
        return verdict

    def _judge(self, pod: PodInfo, node: NodeInfo) -> No | None:
        have, used = node.allocatable, node.requested
        full = len(node.pods) + 1 > have.get(PODS, 0)
        if not full and not pod.requests:
            return None
        if not full and not any(
            asked > have.get(name, 0) - used.get(name, 0)
            for name, asked in pod.requests.items()
            if asked
        ):
            return None
        reasons = ["Too many pods"] if full else []
        never = False
        judges = self.version.has("UnresolvableWithoutCapacity")
        for name in sorted(pod.requests, key=_rank):
            asked, total = pod.requests[name], have.get(name, 0)
            if asked and asked > total - used.get(name, 0):
                reasons.append(f"Insufficient {name}")
                never = never or (judges and asked > total)
        return No(tuple(reasons), UNRESOLVABLE if never else UNSCHEDULABLE)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A pod left room of what is asked for, or a node came or grew that has it all."""
        if event.what == POD_UPDATED and event.pod is not None:
            shrunk = event.shrunk()
            if event.pod.key == pod.key:
                return bool(shrunk)
            return any(asked and name in shrunk for name, asked in pod.requests.items())
        if event.pod is not None:
            return True
        if event.new is None:
            return True
        have = amounts((event.new.get("status") or {}).get("allocatable") or {})
        if any(asked > have.get(name, 0) for name, asked in pod.requests.items()):
            return False
        if event.old is None:
            return True
        had = amounts((event.old.get("status") or {}).get("allocatable") or {})
        return any(have.get(name, 0) > had.get(name, 0) for name in (PODS, *pod.requests))

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        return []

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        """LeastAllocated: the share of processor and memory that stays free, on average."""
        total = 0
        counted = 0
        for name in (CPU, MEMORY):
            capacity = node.allocatable.get(name, 0)
            if not capacity:
                continue
            used = node.nonzero[name] + pod.nonzero[name]
            counted += 1
            if used <= capacity:
                total += (capacity - used) * SCORE_MAX // capacity
        return total // counted if counted else 0


_ORDER = {CPU: 0, MEMORY: 1, "ephemeral-storage": 2}


def _rank(name: str) -> tuple[int, str]:
    """The order in which upstream lists what is short."""
    return _ORDER.get(name, 3), name
