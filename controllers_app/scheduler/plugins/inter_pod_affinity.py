"""Near to some pods, far from others: required terms filter, preferred terms give points. Terms
of pods that run already count as well: their anti-affinity keeps others away.

Models kubernetes pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring,plugin}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from apiserver_app.machinery import meta
from controllers_app.scheduler import alike
from controllers_app.scheduler.affinity import NamespaceLabels, Term
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import (
    NODE_ADDED,
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
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

HARD_WEIGHT = 1  # of a required term of a running pod that selects the new one

_NEAR = No(("node(s) didn't match pod affinity rules",), UNRESOLVABLE)
_FAR = No(("node(s) didn't match pod anti-affinity rules",))
_EXISTING = No(("node(s) didn't satisfy existing pods anti-affinity rules",))

Domain = tuple[str, str]  # label of nodes and its value


class _Filtering(msgspec.Struct):
    near: dict[Domain, int]
    far: dict[Domain, int]
    existing: dict[Domain, int]
    matches_itself: bool


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"
    weight = 2
    filters = True
    scores = True
    counts_pods = True
    wakes_on = (NODE_ADDED, NODE_UPDATED, POD_ADDED, POD_UPDATED, POD_DELETED)
    source = "pkg/scheduler/framework/plugins/interpodaffinity/plugin.go"

    def __init__(self) -> None:
        # the labels of a namespace; given by the component
        self.namespace_labels: NamespaceLabels = lambda namespace: {}

    # -- filter ---------------------------------------------------------------------------------

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        existing = self._existing(pod, cache)
        terms = pod.affinity
        required = terms.required if terms is not None else ()
        apart = terms.anti_required if terms is not None else ()
        if not existing and not required and not apart:
            return None
        near: dict[Domain, int] = {}
        far: dict[Domain, int] = {}
        if required or apart:
            for group, where in cache.groups():
                have = group.labels
                if required and all(
                    self._selects(term, group.namespace, have) for term in required
                ):
                    for term in required:
                        _add(near, term.key, where, cache)
                for term in apart:
                    if self._selects(term, group.namespace, have):
                        _add(far, term.key, where, cache)
        mine = pod.labels
        itself = all(self._selects(term, pod.namespace, mine) for term in required)
        return _Filtering(near, far, existing, itself)

    def filter(self, state: _Filtering, pod: PodInfo, node: NodeInfo) -> No | None:
        have = node.labels
        if pod.affinity is not None:
            together = True
            for term in pod.affinity.required:
                domain = have.get(term.key)
                if domain is None:
                    return _NEAR
                together = together and state.near.get((term.key, domain), 0) > 0
            # the first of pods that want to be together may go anywhere
            if not together and (state.near or not state.matches_itself):
                return _NEAR
            for term in pod.affinity.anti_required:
                domain = have.get(term.key)
                if domain is not None and state.far.get((term.key, domain), 0) > 0:
                    return _FAR
        if state.existing:
            for key, value in have.items():
                if state.existing.get((key, value), 0) > 0:
                    return _EXISTING
        return None

    def count_pod(
        self, state: _Filtering, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int
    ) -> None:
        terms, theirs = pod.affinity, other.affinity
        for term in theirs.anti_required if theirs is not None else ():
            if self._selects(term, pod.namespace, pod.labels):
                _count(state.existing, term.key, node, sign)
        if terms is None:
            return
        where, have = other.namespace, other.labels
        if terms.required and all(self._selects(term, where, have) for term in terms.required):
            for term in terms.required:
                _count(state.near, term.key, node, sign)
        for term in terms.anti_required:
            if self._selects(term, where, have):
                _count(state.far, term.key, node, sign)

    def _existing(self, pod: PodInfo, cache: Cache) -> dict[Domain, int]:
        """Where pods are that want none like this one near them."""
        out: dict[Domain, int] = {}
        for other in cache.with_affinity.values():
            assert other.affinity is not None
            for term in other.affinity.anti_required:
                if self._selects(term, pod.namespace, pod.labels):
                    _add(out, term.key, {cache.node_of[other.key]: 1}, cache)
        return out

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """A pod came, or changed, that all terms of affinity select; one left, or changed, that all
        terms of anti-affinity selected; or a node's domain changed."""
        if event.pod is None:
            return _may_change_domains(event, pod)
        if not event.assigned:
            return False
        terms = pod.affinity
        near = terms.required if terms is not None else ()
        far = terms.anti_required if terms is not None else ()
        if event.what == POD_UPDATED:
            was = event.was
            assert was is not None
            return (not _selected(near, was) and _selected(near, event.pod)) or (
                _selected(far, was) and not _selected(far, event.pod)
            )
        return _selected(near if event.what == POD_ADDED else far, event.pod)

    # -- score ----------------------------------------------------------------------------------

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        """Domain -> points; skipped when no term of anybody gives any."""
        points: dict[Domain, int] = {}
        mine = pod.affinity
        if mine is not None and (mine.preferred or mine.anti_preferred):
            for group, where in cache.groups():
                have = group.labels
                for terms, sign in ((mine.preferred, 1), (mine.anti_preferred, -1)):
                    for term in terms:
                        if self._selects(term, group.namespace, have):
                            _add(points, term.key, where, cache, sign * term.weight)
        for other in cache.with_affinity.values():
            affinity = other.affinity
            assert affinity is not None
            where = {cache.node_of[other.key]: 1}
            for term in affinity.required:
                if self._selects(term, pod.namespace, pod.labels):
                    _add(points, term.key, where, cache, HARD_WEIGHT)
            for terms, sign in ((affinity.preferred, 1), (affinity.anti_preferred, -1)):
                for term in terms:
                    if self._selects(term, pod.namespace, pod.labels):
                        _add(points, term.key, where, cache, sign * term.weight)
        return points or None

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        keys = dict.fromkeys(key for key, _ in state)
        return [alike.values_of(nodes, key) for key in keys]

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return sum(state.get(pair, 0) for pair in node.labels.items())

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        low, high = min(scores), max(scores)
        if high == low:
            return [0] * len(scores)
        return [int(SCORE_MAX * ((score - low) / (high - low))) for score in scores]

    def _selects(self, term: Term, namespace: str, have: Mapping[str, str]) -> bool:
        return term.matches(namespace, have, self.namespace_labels)


def _selected(terms: Sequence[Term], pod: PodInfo) -> bool:
    """Whether all of the terms select the pod. As upstream's hint, without namespaces' labels."""
    return bool(terms) and all(
        term.matches(pod.namespace, pod.labels, lambda namespace: {}) for term in terms
    )


def _may_change_domains(event: ClusterEvent, pod: PodInfo) -> bool:
    """Whether a node that came or was labelled brings a domain nearer to what the pod wants."""
    terms = pod.affinity
    if terms is None or event.new is None:
        return False
    have = meta.labels_of(event.new)
    if event.old is None:
        return bool(terms.anti_required) or any(term.key in have for term in terms.required)
    had = meta.labels_of(event.old)
    return any(
        term.key in have and have[term.key] != had.get(term.key) for term in terms.required
    ) or (
        any(term.key in had and had[term.key] != have.get(term.key) for term in terms.anti_required)
    )


def _count(into: dict[Domain, int], key: str, node: NodeInfo, sign: int) -> None:
    """One pod more or less in the domain of the node."""
    value = node.labels.get(key)
    if value is None:
        return
    count = into.get((key, value), 0) + sign
    if count:
        into[key, value] = count
    else:
        del into[key, value]


def _add(
    into: dict[Domain, int], key: str, where: Mapping[str, int], cache: Cache, each: int = 1
) -> None:
    """Count pods by the domain their node is in."""
    for name, count in where.items():
        node = cache.nodes.get(name)
        domain = node.labels.get(key) if node is not None else None
        if domain is not None:
            into[key, domain] = into.get((key, domain), 0) + each * count
