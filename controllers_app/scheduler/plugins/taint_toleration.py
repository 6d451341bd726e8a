"""Taints keep pods away that do not tolerate them; preferred ones cost points.

Models kubernetes pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go and
staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
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
    source = "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go"

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        return cache.tainted_nodes > 0

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        if not node.hard_taints:
            return None
        tolerations = pod.spec.get("tolerations") or ()
        for taint in node.hard_taints:
            if not tolerated(taint, tolerations):
                word = f"{{{taint['key']}: {taint.get('value') or ''}}}"
                return No((f"node(s) had untolerated taint {word}",), UNRESOLVABLE)
        return None

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        return [
            one
            for one in pod.spec.get("tolerations") or ()
            if one.get("effect") in (None, "", "PreferNoSchedule")
        ]

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        """How many preferred taints it does not tolerate: less is better."""
        return sum(not tolerated(taint, state) for taint in node.soft_taints)

    def score_all(self, state: Any, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        return [self.score(state, pod, node) if node.soft_taints else 0 for node in nodes]

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return normalize_to_max(scores, reverse=True)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A node whose taints the pod tolerates now, and did not before."""
        if event.new is None:
            return True
        if self.filter((), pod, NodeInfo(event.new)) is not None:
            return False
        return event.old is None or self.filter((), pod, NodeInfo(event.old)) is not None


def tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    return any(_tolerates(one, taint) for one in tolerations)


def _tolerates(toleration: Object, taint: Object) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint["effect"]:
        return False
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return (
        operator == "Equal"
        and bool(key)
        and ((toleration.get("value") or "") == (taint.get("value") or ""))
    )
