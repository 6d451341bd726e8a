"""Affinity between pods as a pod's spec says it, parsed once for each pod. Pure.

Models kubernetes pkg/scheduler/framework/types.go (AffinityTerm, getAffinityTerms).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels

NamespaceLabels = Callable[[str], Mapping[str, str]]


class Term(msgspec.Struct, frozen=True):
    """Pods it selects, and the label of nodes that says what is together."""

    key: str
    selector: labels.Selector
    namespaces: frozenset[str]
    namespace_selector: labels.Selector | None
    weight: int = 0

    def matches(
        self, namespace: str, pod_labels: Mapping[str, str], labels_of: NamespaceLabels
    ) -> bool:
        """Whether it selects a pod of that namespace with those labels."""
        if not self.selector.matches(pod_labels):
            return False
        if namespace in self.namespaces:
            return True
        wanted = self.namespace_selector
        return wanted is not None and wanted.matches(labels_of(namespace))


class Affinity(msgspec.Struct, frozen=True):
    """All terms of one pod."""

    required: tuple[Term, ...]
    anti_required: tuple[Term, ...]
    preferred: tuple[Term, ...]
    anti_preferred: tuple[Term, ...]


def parse(pod: Object) -> Affinity | None:
    """The pod's terms; None when it has none."""
    affinity = pod["spec"].get("affinity") or {}
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    if not near and not far:
        return None
    return Affinity(
        _required(pod, near), _required(pod, far), _preferred(pod, near), _preferred(pod, far)
    )


def _required(pod: Object, affinity: Mapping[str, Any]) -> tuple[Term, ...]:
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_term(pod, term, 0) for term in terms)


def _preferred(pod: Object, affinity: Mapping[str, Any]) -> tuple[Term, ...]:
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_term(pod, term["podAffinityTerm"], term["weight"]) for term in terms)


def _term(pod: Object, term: Object, weight: int) -> Term:
    namespaces = frozenset(term.get("namespaces") or ())
    chooser = term.get("namespaceSelector")
    if not namespaces and chooser is None:
        namespaces = frozenset((meta.namespace_of(pod),))
    return Term(
        term["topologyKey"],
        labels.from_label_selector(term.get("labelSelector")),
        namespaces,
        None if chooser is None else labels.from_label_selector(chooser),
        weight,
    )
