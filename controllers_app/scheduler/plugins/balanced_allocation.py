"""Prefer nodes whose processor and memory would be used to similar shares.

Models kubernetes pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import SCORE_MAX, Plugin
from controllers_app.scheduler.nodeinfo import CPU, MEMORY, NodeInfo, PodInfo


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"
    weight = 1
    scores = True
    source = "pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go"

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        """A pod that asks for nothing has nothing to balance."""
        return () if pod.requests.get(CPU) or pod.requests.get(MEMORY) else None

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        return []

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        shares = []
        for name in (CPU, MEMORY):
            capacity = node.allocatable.get(name, 0)
            if capacity:
                used = node.requested.get(name, 0) + pod.requests.get(name, 0)
                shares.append(min(1.0, used / capacity))
        deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
        return int((1 - deviation) * SCORE_MAX)
