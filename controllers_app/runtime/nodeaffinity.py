"""Which nodes a pod or volume may use: node selectors, required node affinity, taints. Pure.

Shared by the scheduler and the controllers.

Models kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1
(nodeaffinity/nodeaffinity.go, helpers.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels as selectors

Required = tuple[Mapping[str, str], Object | None]  # nodeSelector, required node selector terms


def required_of(spec: Mapping[str, Any]) -> Required | None:
    """A pod spec's nodeSelector and required node affinity; None when it has neither."""
    selector = spec.get("nodeSelector")
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return (selector or {}, terms) if selector or terms else None


def selects(required: Required, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod that requires this may run on the node with that name and those labels."""
    selector, terms = required
    for key, value in selector.items():
        if labels.get(key) != value:
            return False
    return terms is None or matches(terms, name, labels)


def labels_of(required: Required) -> list[str] | None:
    """The labels that decide; None when names of nodes do, too."""
    selector, terms = required
    keys = [*selector]
    for term in (terms or {}).get("nodeSelectorTerms") or ():
        if term.get("matchFields"):
            return None
        keys += [expression["key"] for expression in term.get("matchExpressions") or ()]
    return keys


def matches(selector: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether one of the node selector's terms matches the node."""
    terms = selector.get("nodeSelectorTerms") or ()
    return any(term_matches(term, name, labels) for term in terms)


def term_matches(term: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the node meets every requirement of the term. An empty term matches nothing."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    node_fields = {"metadata.name": name}
    return all(_is_met(requirement, labels) for requirement in expressions) and all(
        _is_met(requirement, node_fields) for requirement in fields
    )


def _is_met(requirement: Object, values: Mapping[str, str]) -> bool:
    value, operator = values.get(requirement["key"]), requirement["operator"]
    allowed = requirement.get("values") or []
    if operator == "In":
        return value in allowed
    if operator == "NotIn":
        return value not in allowed
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    number = selectors.parse_int64(value or "")
    bound = selectors.parse_int64(allowed[0] if allowed else "")
    if number is None or bound is None:
        return False
    return number > bound if operator == "Gt" else number < bound


def is_tolerated(taint: Object, tolerations: Iterable[Object]) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Object, taint: Object) -> bool:
    """v1.Toleration.ToleratesTaint."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint["effect"]:
        return False
    if key and key != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
