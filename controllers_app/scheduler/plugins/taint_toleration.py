"""Taints keep pods away that do not tolerate them; preferred ones cost points.

Models kubernetes pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go and
staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.framework import UNRESOLVABLE, No, Plugin, normalize_to_max
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo


class TaintToleration(Plugin):
    name = "TaintToleration"
    weight = 3
    filters = True
    scores = True
    source = "pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go"

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        tolerations = pod.spec.get("tolerations") or ()
        for taint in node.taints:
            if taint["effect"] in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations):
                word = f"{{{taint['key']}: {taint.get('value', '')}}}"
                return No((f"node(s) had untolerated taint {word}",), UNRESOLVABLE)
        return None

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        return [
            one
            for one in pod.spec.get("tolerations") or ()
            if one.get("effect") in (None, "", "PreferNoSchedule")
        ]

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        """How many preferred taints it does not tolerate: less is better."""
        return sum(
            taint["effect"] == "PreferNoSchedule" and not tolerated(taint, state)
            for taint in node.taints
        )

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        return normalize_to_max(scores, reverse=True)


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
    return operator == "Equal" and bool(key) and (
        (toleration.get("value") or "") == (taint.get("value") or "")
    )
