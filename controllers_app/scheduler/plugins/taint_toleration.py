"""TaintToleration: rejects nodes with untolerated taints; PreferNoSchedule taints cost points.

Models kubernetes pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler import scoring
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_EVENTS,
    POD_UPDATED,
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
)
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo, hard_taints


class TaintToleration(Plugin):
    name = "TaintToleration"
    weight = 3
    filters = True
    scores = True
    wakes_on = (*NODE_EVENTS, POD_UPDATED)
    source = "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return cache.tainted_nodes > 0

    def decides_by(self, state: Any) -> Iterable[str] | None:
        return ()

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return _refusal(pod, node.hard_taints)

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        return [
            toleration
            for toleration in pod.spec.get("tolerations") or ()
            if toleration.get("effect") in (None, "", "PreferNoSchedule")
        ]

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        return []

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        """The number of untolerated PreferNoSchedule taints: less is better."""
        return sum(not nodeaffinity.is_tolerated(taint, state) for taint in node.soft_taints)

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return scoring.normalize_to_max(scores, reverse=True)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Wakes for a node whose taints the pod tolerates now and did not before, and for a new
        toleration of the pod."""
        if event.what == POD_UPDATED:
            return event.tolerates_more(pod)
        if event.new is None:
            return True
        if _refusal(pod, hard_taints(event.new)) is not None:
            return False
        return event.old is None or _refusal(pod, hard_taints(event.old)) is not None


def _refusal(pod: PodInfo, taints: Sequence[Object]) -> No | None:
    for taint in taints:
        if not nodeaffinity.is_tolerated(taint, pod.spec.get("tolerations") or ()):
            text = f"{{{taint['key']}: {taint.get('value') or ''}}}"
            return No((f"node(s) had untolerated taint {text}",), UNRESOLVABLE)
    return None
