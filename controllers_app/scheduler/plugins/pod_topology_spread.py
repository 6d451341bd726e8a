"""Spread the pods of one owner over nodes and zones, as the pod asks or as the defaults do.

Constraints with DoNotSchedule filter, those with ScheduleAnyway cost points. A pod without
constraints of its own gets the system's: nodes (skew 3) and zones (skew 5), for pods that a
ReplicaSet, StatefulSet, ReplicationController or Service selects.

Models kubernetes pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring,plugin}.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver_app.machinery import labels, meta
from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.framework import NODE, POD_BOUND, POD_GONE, SCORE_MAX, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.plugins.node_affinity import NodeAffinity

HOSTNAME = "kubernetes.io/hostname"
DEFAULTS: tuple[Object, ...] = (
    {"maxSkew": 3, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
    {
        "maxSkew": 5,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
    },
)
_SKEW = No(("node(s) didn't match pod topology spread constraints",))
_MISSING = No(
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    "UnschedulableAndUnresolvable",
)

# the selector that owners of a pod put on it, or None; given by the component
OwnerSelector = Callable[[Object], labels.Selector | None]


@dataclass(slots=True)
class Constraint:
    key: str
    skew_max: int
    selector: labels.Selector
    min_domains: int = 1


@dataclass(slots=True)
class _Counts:
    """How many matching pods each domain of each constraint has."""

    constraints: list[Constraint]
    counts: list[dict[str, int]]
    ignored: frozenset[str] = frozenset()
    weights: tuple[float, ...] = ()


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"
    weight = 2
    filters = True
    scores = True
    wakes_on = (NODE, POD_GONE, POD_BOUND)
    source = "pkg/scheduler/framework/plugins/podtopologyspread/plugin.go"

    def __init__(self) -> None:
        self.owner_selector: OwnerSelector = lambda pod: None
        self._affinity = NodeAffinity()

    # -- filter ---------------------------------------------------------------------------------

    def prepare_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        constraints = _own(pod, "DoNotSchedule")
        if not constraints:
            return None
        counts = self._count(pod, constraints, nodes, all_keys=True)
        return _Counts(constraints, counts)

    def filter(self, state: _Counts, pod: PodInfo, node: NodeInfo) -> No | None:
        mine = meta.labels_of(pod.pod)
        for constraint, counts in zip(state.constraints, state.counts, strict=True):
            domain = node.labels.get(constraint.key)
            if domain is None:
                return _MISSING
            lowest = min(counts.values(), default=0)
            if len(counts) < constraint.min_domains:
                lowest = 0
            self_match = 1 if constraint.selector.matches(mine) else 0
            if counts.get(domain, 0) + self_match - lowest > constraint.skew_max:
                return _SKEW
        return None

    # -- score ----------------------------------------------------------------------------------

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        own = bool(pod.spec.get("topologySpreadConstraints"))
        constraints = _own(pod, "ScheduleAnyway") if own else self._defaults(pod)
        if not constraints:
            return None
        ignored = set()
        if own:
            for node in nodes:
                if any(one.key not in node.labels for one in constraints):
                    ignored.add(node.name)
        counted = [node for node in nodes if node.name not in ignored]
        counts = self._count(pod, constraints, counted, all_keys=own)
        weights = tuple(
            math.log(
                (len(counted) if one.key == HOSTNAME else len(domains)) + 2
            )
            for one, domains in zip(constraints, counts, strict=True)
        )
        return _Counts(constraints, counts, frozenset(ignored), weights)

    def score(self, state: _Counts, pod: PodInfo, node: NodeInfo) -> int:
        """How crowded the node's domains are: less is better."""
        if node.name in state.ignored:
            return 0
        total = 0.0
        for constraint, counts, weight in zip(
            state.constraints, state.counts, state.weights, strict=True
        ):
            domain = node.labels.get(constraint.key)
            if domain is not None:
                total += counts.get(domain, 0) * weight + (constraint.skew_max - 1)
        return round(total)

    def normalize(self, state: _Counts, scores: dict[str, int]) -> dict[str, int]:
        rated = {name: score for name, score in scores.items() if name not in state.ignored}
        low, high = min(rated.values(), default=0), max(rated.values(), default=0)
        out = {}
        for name, score in scores.items():
            if name in state.ignored:
                out[name] = 0
            elif high == 0:
                out[name] = SCORE_MAX
            else:
                out[name] = SCORE_MAX * (high + low - score) // high
        return out

    # -- counting -------------------------------------------------------------------------------

    def _defaults(self, pod: PodInfo) -> list[Constraint]:
        selector = self.owner_selector(pod.pod)
        if selector is None:
            return []
        return [Constraint(one["topologyKey"], one["maxSkew"], selector) for one in DEFAULTS]

    def _count(
        self,
        pod: PodInfo,
        constraints: list[Constraint],
        nodes: Sequence[NodeInfo],
        *,
        all_keys: bool,
    ) -> list[dict[str, int]]:
        counts: list[dict[str, int]] = [{} for _ in constraints]
        affinity = self._affinity.prepare_filter(pod, nodes)
        for node in nodes:
            if affinity is not None and self._affinity.filter(affinity, pod, node) is not None:
                continue
            have = node.labels
            if all_keys and any(one.key not in have for one in constraints):
                continue
            for constraint, domains in zip(constraints, counts, strict=True):
                domain = have.get(constraint.key)
                if domain is None:
                    continue
                domains[domain] = domains.get(domain, 0) + _matching(
                    node, pod.namespace, constraint.selector
                )
        return counts


def _matching(node: NodeInfo, namespace: str, selector: labels.Selector) -> int:
    return sum(
        info.namespace == namespace
        and not meta.is_deleting(info.pod)
        and selector.matches(meta.labels_of(info.pod))
        for info in node.pods.values()
    )


def _own(pod: PodInfo, when: str) -> list[Constraint]:
    """The pod's own constraints of one sort."""
    mine = meta.labels_of(pod.pod)
    out = []
    for one in pod.spec.get("topologySpreadConstraints") or ():
        if one["whenUnsatisfiable"] != when:
            continue
        selector = one.get("labelSelector")
        keys = [key for key in one.get("matchLabelKeys") or () if key in mine]
        if keys and selector is not None:
            more = {**(selector.get("matchLabels") or {}), **{key: mine[key] for key in keys}}
            selector = {**selector, "matchLabels": more}
        out.append(
            Constraint(
                one["topologyKey"], one["maxSkew"], labels.from_label_selector(selector),
                one.get("minDomains") or 1,
            )
        )  # fmt: skip
    return out
