"""Spread the pods of one owner over nodes and zones, as the pod asks or as the defaults do.

Constraints with DoNotSchedule filter, those with ScheduleAnyway cost points. A pod without
constraints of its own gets the system's: nodes (skew 3) and zones (skew 5), for pods that a
Service and their ReplicaSet, StatefulSet or ReplicationController select.

Models kubernetes pkg/scheduler/framework/plugins/podtopologyspread/{filtering,scoring,plugin}.go.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.runtime import nodeaffinity
from controllers_app.scheduler import alike
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_ADDED,
    NODE_DELETED,
    NODE_UPDATED,
    POD_ADDED,
    POD_DELETED,
    POD_UPDATED,
    SCORE_MAX,
    UNRESOLVABLE,
    ClusterEvent,
    No,
    Plugin,
)
from controllers_app.scheduler.nodeinfo import ZONE, NodeInfo, PodInfo
from controllers_app.scheduler.plugins.taint_toleration import TaintToleration

HOSTNAME = "kubernetes.io/hostname"
DEFAULTS = ((HOSTNAME, 3), (ZONE, 5))

_NAME = operator.attrgetter("name")
_SKEW = No(("node(s) didn't match pod topology spread constraints",))
_MISSING = No(
    ("node(s) didn't match pod topology spread constraints (missing required label)",), UNRESOLVABLE
)

# the selector that services and owners of a pod put on it, or None; given by the component
OwnerSelector = Callable[[Object], labels.Selector | None]


class Constraint(msgspec.Struct):
    key: str
    skew_max: int
    selector: labels.Selector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False

    def includes_all(self, required: nodeaffinity.Required | None) -> bool:
        """Whether no node is left out by a policy."""
        return not self.honor_taints and (required is None or not self.honor_affinity)


class _Filtering(msgspec.Struct):
    constraints: list[Constraint]
    counts: list[dict[str, int]]  # domain -> matching pods, of each constraint
    lowest: list[int]
    self_match: list[int]


class _Scoring(msgspec.Struct):
    constraints: list[Constraint]
    counts: list[Mapping[str, int]]  # by node for the host name, else by domain
    weights: list[float]
    values: list[list[str | None] | None]  # each node's label; None when all nodes have a host name
    ignored: frozenset[str]


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"
    weight = 2
    filters = True
    scores = True
    counts_pods = True
    wakes_on = (NODE_ADDED, NODE_UPDATED, NODE_DELETED, POD_ADDED, POD_UPDATED, POD_DELETED)
    source = "pkg/scheduler/framework/plugins/podtopologyspread/plugin.go"

    def __init__(self) -> None:
        self.owner_selector: OwnerSelector = lambda pod: None
        self._taints = TaintToleration()

    # -- filter ---------------------------------------------------------------------------------

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        constraints = _own(pod, "DoNotSchedule")
        if not constraints:
            return None
        counts = self._count(constraints, pod, cache)
        lowest = [
            _lowest(constraint, domains)
            for constraint, domains in zip(constraints, counts, strict=True)
        ]
        mine = pod.labels
        return _Filtering(
            constraints,
            counts,
            lowest,
            [int(constraint.selector.matches(mine)) for constraint in constraints],
        )

    def _count(
        self, constraints: list[Constraint], pod: PodInfo, cache: Cache
    ) -> list[dict[str, int]]:
        """Domain -> matching pods, of each constraint, on the nodes that have all the labels."""
        required = nodeaffinity.required_of(pod.spec)
        if len(constraints) == 1 and constraints[0].includes_all(required):
            (only,) = constraints
            of_domain = _domain_counts(cache, pod, only)
            return [{domain: of_domain.get(domain, 0) for domain in cache.domains(only.key)}]
        counts: list[dict[str, int]] = [{} for _ in constraints]
        matching = [_counts(cache, pod, constraint) for constraint in constraints]
        for node in cache.nodes.values():
            have = node.labels
            if any(constraint.key not in have for constraint in constraints):
                continue
            for constraint, domains, matches in zip(constraints, counts, matching, strict=True):
                if self._is_included(constraint, required, pod, node):
                    domain = have[constraint.key]
                    domains[domain] = domains.get(domain, 0) + matches.get(node.name, 0)
        return counts

    def decides_by(self, state: _Filtering) -> Iterable[str] | None:
        return [constraint.key for constraint in state.constraints]

    def filter(self, state: _Filtering, pod: PodInfo, node: NodeInfo) -> No | None:
        for number, constraint in enumerate(state.constraints):
            domain = node.labels.get(constraint.key)
            if domain is None:
                return _MISSING
            count = state.counts[number].get(domain, 0) + state.self_match[number]
            if count - state.lowest[number] > constraint.skew_max:
                return _SKEW
        return None

    def count_pod(
        self, state: _Filtering, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int
    ) -> None:
        have = node.labels
        if other.namespace != pod.namespace or any(
            constraint.key not in have for constraint in state.constraints
        ):
            return
        required = nodeaffinity.required_of(pod.spec)
        for number, constraint in enumerate(state.constraints):
            if constraint.selector.matches(other.labels) and self._is_included(
                constraint, required, pod, node
            ):
                domains, domain = state.counts[number], have[constraint.key]
                domains[domain] = domains.get(domain, 0) + sign
                state.lowest[number] = _lowest(constraint, domains)

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A pod that counts came or left, or began or ceased to count; a node with the labels came,
        left or changed; or the pod got a toleration that a constraint asks about."""
        constraints = _own(pod, "DoNotSchedule")
        if event.pod is not None:
            if not event.assigned and event.pod.key != pod.key:
                return False
            return event.pod.namespace == pod.namespace and _counts_otherwise(
                constraints, event, pod
            )
        nodes = [NodeInfo(node) for node in (event.old, event.new) if node is not None]
        if len(nodes) == 2 and _taints(event.old) == _taints(event.new):
            if all(nodes[0].labels.get(c.key) == nodes[1].labels.get(c.key) for c in constraints):
                return False
        return any(
            all(constraint.key in node.labels for constraint in constraints) for node in nodes
        )

    # -- score ----------------------------------------------------------------------------------

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        own = bool(pod.spec.get("topologySpreadConstraints"))
        constraints = _own(pod, "ScheduleAnyway") if own else self._defaults(pod)
        if not constraints:
            return None
        values = [
            None
            if constraint.key == HOSTNAME and cache.all_have(HOSTNAME)
            else alike.values_of(nodes, constraint.key)
            for constraint in constraints
        ]
        ignored = set()
        if own and any(None in column for column in values if column):
            for node in nodes:  # the defaults leave out a label that a node has not
                if any(constraint.key not in node.labels for constraint in constraints):
                    ignored.add(node.name)
        counts: list[Mapping[str, int]] = []
        weights = []
        for constraint, column in zip(constraints, values, strict=True):
            if constraint.key == HOSTNAME:
                counts.append(_counts(cache, pod, constraint))
                size = len(nodes) - len(ignored)
            else:
                named: Iterable[str | None] = column or ()
                if ignored:
                    named = [
                        value
                        for value, node in zip(named, nodes, strict=True)
                        if node.name not in ignored
                    ]
                domains = self._domains(constraint, constraints, pod, named, cache, own)
                counts.append(domains)
                size = len(domains)
            weights.append(math.log(size + 2))
        return _Scoring(constraints, counts, weights, values, frozenset(ignored))

    def _domains(
        self,
        constraint: Constraint,
        constraints: list[Constraint],
        pod: PodInfo,
        named: Iterable[str | None],
        cache: Cache,
        own: bool,
    ) -> dict[str, int]:
        """Domain -> matching pods on all its nodes, of the domains that nodes to choose from name.
        Nodes without the label are one domain more, which no node is scored by."""
        key = constraint.key
        domains = dict.fromkeys(sorted(value or "" for value in {*named}), 0)
        required = nodeaffinity.required_of(pod.spec)
        if constraint.includes_all(required) and (not own or len(constraints) == 1):
            of_domain = _domain_counts(cache, pod, constraint)
            return {domain: of_domain.get(domain, 0) for domain in domains}
        for name, count in _counts(cache, pod, constraint).items():
            node = cache.nodes[name]
            domain = node.labels.get(key, "")
            if domain not in domains or not self._is_included(constraint, required, pod, node):
                continue
            if own and any(constraint.key not in node.labels for constraint in constraints):
                continue
            domains[domain] += count
        return domains

    def scores_by(self, state: _Scoring, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        columns: list[list[Any]] = []
        for constraint, counts, values in zip(
            state.constraints, state.counts, state.values, strict=True
        ):
            if constraint.key == HOSTNAME:
                columns.append([*map(counts.get, map(_NAME, nodes))])
                if values is not None:
                    columns.append([value is None for value in values])
            elif values is not None:
                columns.append(values)
        return columns

    def score(self, state: _Scoring, pod: PodInfo, node: NodeInfo) -> int:
        """How crowded the node's domains are: less is better."""
        if node.name in state.ignored:
            return 0
        total = 0.0
        for number, constraint in enumerate(state.constraints):
            value = node.labels.get(constraint.key)
            if value is not None:
                domain = node.name if constraint.key == HOSTNAME else value
                total += self._points(state, number, state.counts[number].get(domain, 0))
        return math.floor(total + 0.5)

    def _points(self, state: _Scoring, number: int, count: int) -> float:
        """What so many pods cost by one constraint."""
        return count * state.weights[number] + (state.constraints[number].skew_max - 1)

    def normalize(self, state: _Scoring, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        ignored = state.ignored
        rated = (
            [score for score, node in zip(scores, nodes, strict=True) if node.name not in ignored]
            if ignored
            else scores
        )
        different = {*rated}
        low, high = min(different, default=0), max(different, default=0)
        if not ignored:
            return _turned(scores, low, high)
        return [
            0 if node.name in ignored else score
            for score, node in zip(_turned(scores, low, high), nodes, strict=True)
        ]

    # -- both -----------------------------------------------------------------------------------

    def _defaults(self, pod: PodInfo) -> list[Constraint]:
        selector = self.owner_selector(pod.pod)
        if selector is None or selector.empty:
            return []
        return [Constraint(key, skew, selector) for key, skew in DEFAULTS]

    def _is_included(
        self,
        constraint: Constraint,
        required: nodeaffinity.Required | None,
        pod: PodInfo,
        node: NodeInfo,
    ) -> bool:
        """nodeAffinityPolicy and nodeTaintsPolicy."""
        if constraint.honor_affinity:
            if required and not nodeaffinity.selects(required, node.name, node.labels):
                return False
        return not constraint.honor_taints or self._taints.filter((), pod, node) is None


def _counts(cache: Cache, pod: PodInfo, constraint: Constraint) -> Mapping[str, int]:
    """Node -> matching pods. A selector that selects everything counts nothing."""
    if constraint.selector.empty:
        return {}
    return cache.counts(pod.namespace, constraint.selector)


def _lowest(constraint: Constraint, domains: Mapping[str, int]) -> int:
    """How many matching pods the emptiest domain has; none while domains are missing."""
    return 0 if len(domains) < constraint.min_domains else min(domains.values())


def _counts_otherwise(constraints: list[Constraint], event: ClusterEvent, pod: PodInfo) -> bool:
    """Whether what happened to a pod changes what one of the constraints counts."""
    assert event.pod is not None
    now = event.pod.labels
    if event.what != POD_UPDATED or event.was is None:
        return any(constraint.selector.matches(now) for constraint in constraints)
    if event.tolerates_more(pod) and any(constraint.honor_taints for constraint in constraints):
        return True
    before = event.was.labels
    return any(
        constraint.selector.matches(before) != constraint.selector.matches(now)
        for constraint in constraints
    )


def _taints(node: Object | None) -> object:
    return ((node or {}).get("spec") or {}).get("taints")


def _domain_counts(cache: Cache, pod: PodInfo, constraint: Constraint) -> Mapping[str, int]:
    """The same by domain, nodes without the label together as ""."""
    if constraint.selector.empty:
        return {}
    return cache.domain_counts(pod.namespace, constraint.selector, constraint.key)


def _turned(scores: list[int], low: int, high: int) -> list[int]:
    if high == 0:
        return [SCORE_MAX] * len(scores)
    turned = {score: SCORE_MAX * (high + low - score) // high for score in {*scores}}
    return list(map(turned.__getitem__, scores))


def _own(pod: PodInfo, when: str) -> list[Constraint]:
    """The pod's own constraints of one sort."""
    out = []
    for constraint in pod.spec.get("topologySpreadConstraints") or ():
        if constraint["whenUnsatisfiable"] != when:
            continue
        selector = constraint.get("labelSelector")
        mine = pod.labels
        keys = [key for key in constraint.get("matchLabelKeys") or () if key in mine]
        if keys:
            selector = selector or {}
            more = {**(selector.get("matchLabels") or {}), **{key: mine[key] for key in keys}}
            selector = {**selector, "matchLabels": more}
        out.append(
            Constraint(
                constraint["topologyKey"],
                constraint["maxSkew"],
                labels.from_label_selector(selector),
                constraint.get("minDomains") or 1,
                constraint.get("nodeAffinityPolicy") != "Ignore",
                constraint.get("nodeTaintsPolicy") == "Honor",
            )
        )
    return out
