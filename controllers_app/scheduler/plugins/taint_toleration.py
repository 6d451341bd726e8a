"""TaintToleration: rejects nodes with untolerated taints; PreferNoSchedule taints cost points.

Models kubernetes pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_EVENTS,
    POD_UPDATED,
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
    normalize_to_max,
)
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo


class TaintToleration(Plugin):
    name = "TaintToleration"
    weight = 3
    filters = True
    scores = True
    wakes_on = (*NODE_EVENTS, POD_UPDATED)
    source = "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return cache.tainted_nodes > 0

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        if not node.hard_taints:
            return None
        tolerations = pod.spec.get("tolerations") or ()
        for taint in node.hard_taints:
            if not nodeaffinity.is_tolerated(taint, tolerations):
                text = f"{{{taint['key']}: {taint.get('value') or ''}}}"
                return No((f"node(s) had untolerated taint {text}",), UNRESOLVABLE)
        return None

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        if not cache.soft_tainted_nodes:
            return False
        return [
            toleration
            for toleration in pod.spec.get("tolerations") or ()
            if toleration.get("effect") in (None, "", "PreferNoSchedule")
        ]

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        """The number of untolerated PreferNoSchedule taints: less is better."""
        return sum(not nodeaffinity.is_tolerated(taint, state) for taint in node.soft_taints)

    def score_all(self, state: Any, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        if state is False:  # no node has such a taint
            return [0] * len(nodes)
        return [self.score(state, pod, node) if node.soft_taints else 0 for node in nodes]

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return normalize_to_max(scores, reverse=True)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Wakes for a node whose taints the pod tolerates now and did not before, and for a new
        toleration of the pod."""
        if event.what == POD_UPDATED:
            return event.tolerates_more(pod)
        if event.new is None:
            return True
        if self.filter((), pod, NodeInfo(event.new)) is not None:
            return False
        return event.old is None or self.filter((), pod, NodeInfo(event.old)) is not None
