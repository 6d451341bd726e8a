"""The nodes a pod selects: nodeSelector, required affinity, preferred affinity.

Models kubernetes pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go and
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.framework import UNRESOLVABLE, No, Plugin, normalize_to_max
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_NO = No(("node(s) didn't match Pod's node affinity/selector",), UNRESOLVABLE)


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    weight = 2
    filters = True
    scores = True
    source = "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go"

    def prepare_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        selector = pod.spec.get("nodeSelector")
        required = _affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
        return (selector or {}, required) if selector or required else None

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        selector, required = state
        labels = node.labels
        for key, value in selector.items():
            if labels.get(key) != value:
                return _NO
        if required is None:
            return None
        terms = required.get("nodeSelectorTerms") or ()
        return None if any(_term_matches(term, node) for term in terms) else _NO

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        return _affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution") or None

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return sum(
            preferred["weight"]
            for preferred in state
            if _term_matches(preferred.get("preference") or {}, node)
        )

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        return normalize_to_max(scores)


def _affinity(pod: PodInfo) -> Object:
    affinity = pod.spec.get("affinity") or {}
    return affinity.get("nodeAffinity") or {}


def _term_matches(term: Object, node: NodeInfo) -> bool:
    expressions = term.get("matchExpressions") or ()
    names = term.get("matchFields") or ()
    if not expressions and not names:
        return False
    fields = {"metadata.name": node.name}
    return all(_holds(one, node.labels) for one in expressions) and all(
        _holds(one, fields) for one in names
    )


def _holds(one: Object, values: Mapping[str, str]) -> bool:
    have, operator = values.get(one["key"]), one["operator"]
    wanted = one.get("values") or []
    if operator == "In":
        return have in wanted
    if operator == "NotIn":
        return have not in wanted
    if operator == "Exists":
        return have is not None
    if operator == "DoesNotExist":
        return have is None
    try:
        number, bound = int(have or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound
