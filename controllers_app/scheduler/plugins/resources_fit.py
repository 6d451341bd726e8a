"""Does the node have what the pod asks for, and how much would be left.

Models kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go and least_allocated.go.
"""

from __future__ import annotations

from typing import Any

from controllers_app.scheduler.framework import (
    NODE,
    POD_GONE,
    SCORE_MAX,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    No,
    Plugin,
)
from controllers_app.scheduler.nodeinfo import CPU, MEMORY, PODS, NodeInfo, PodInfo


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    weight = 1
    filters = True
    scores = True
    wakes_on = (NODE, POD_GONE)
    source = "pkg/scheduler/framework/plugins/noderesources/fit.go"

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        reasons = []
        never = False
        have = node.allocatable
        if len(node.pods) + 1 > have.get(PODS, 0):
            reasons.append("Too many pods")
        for name, asked in pod.requests.items():
            total = have.get(name, 0)
            if asked and asked > total - node.requested.get(name, 0):
                reasons.append(f"Insufficient {name}")
                never = never or asked > total
        if not reasons:
            return None
        return No(tuple(reasons), UNRESOLVABLE if never else UNSCHEDULABLE)

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
