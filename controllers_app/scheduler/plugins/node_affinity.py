"""NodeAffinity: nodeSelector, and required and preferred node affinity.

Models kubernetes pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler import alike, scoring
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
    PreScoreFailed,
)
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

_NO = No(("node(s) didn't match Pod's node affinity/selector",), UNRESOLVABLE)
_CONFLICT = No(("pod affinity terms conflict",), UNRESOLVABLE)


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    weight = 2
    filters = True
    scores = True
    source = "pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go"

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        required = nodeaffinity.required_of(pod.spec)
        if required is None:
            return None
        names = _named(required)
        return _CONFLICT if names is not None and not names else required

    def narrow(self, state: Any, pod: PodInfo) -> Iterable[str] | None:
        return _named(state)

    def decides_by(self, state: Any) -> Iterable[str] | None:
        return nodeaffinity.labels_of(state)

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return None if nodeaffinity.selects(state, node.name, node.labels) else _NO

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
        terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        wrong = [text for index, term in enumerate(terms) for text in _unreadable(index, term)]
        if wrong:
            raise PreScoreFailed(errors.aggregate(wrong))
        return terms or None

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        terms = [preferred.get("preference") or {} for preferred in state]
        labels = nodeaffinity.labels_of(({}, {"nodeSelectorTerms": terms}))
        return None if labels is None else [alike.values_of(nodes, label) for label in labels]

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return sum(
            preferred["weight"]
            for preferred in state
            if nodeaffinity.term_matches(preferred.get("preference") or {}, node.name, node.labels)
        )

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return scoring.normalize_to_max(scores)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Wakes for a node that matches now and did not before. A term that compares with what
        is no number may match anything new."""
        required = nodeaffinity.required_of(pod.spec)
        if required is None or event.new is None:
            return True
        if event.old is not None and meta.labels_of(event.old) == meta.labels_of(event.new):
            return False
        if not _selects(required, event.new):
            terms = (required[1] or {}).get("nodeSelectorTerms") or ()
            return any(True for term in terms for _ in _unreadable(0, {"preference": term}))
        return not _selects(required, event.old)


def _unreadable(index: int, preferred: Object) -> Iterator[str]:
    """What is compared with something that is no number."""
    expressions = (preferred.get("preference") or {}).get("matchExpressions") or ()
    for number, rule in enumerate(expressions):
        if rule["operator"] in ("Gt", "Lt") and labels.parse_int64(rule["values"][0]) is None:
            yield (
                f"[{index}].matchExpressions[{number}].values[0]: Invalid value: "
                f"{json.dumps(rule['values'][0])}: for 'Gt', 'Lt' operators, the value must be an "
                "integer"
            )


def _named(required: nodeaffinity.Required) -> set[str] | None:
    """The only possible nodes, if every term requires node names, as DaemonSet pods do."""
    selector = required[1]
    if selector is None or not selector.get("nodeSelectorTerms"):
        return None
    names: set[str] = set()
    for term in selector["nodeSelectorTerms"]:
        term_names: set[str] | None = None
        for requirement in term.get("matchFields") or ():
            if requirement["key"] == "metadata.name" and requirement["operator"] == "In":
                values = set(requirement.get("values") or ())
                term_names = values if term_names is None else term_names & values
        if term_names is None:
            return None
        names |= term_names
    return names


def _selects(required: nodeaffinity.Required, node: Object | None) -> bool:
    if node is None:
        return False
    return nodeaffinity.selects(required, meta.name_of(node), meta.labels_of(node))
