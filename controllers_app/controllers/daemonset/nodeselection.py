"""Whether a pod may stand on a node at all: node name, selector, required affinity, taints.

Models kubernetes staging/src/k8s.io/component-helpers/scheduling/corev1 (nodeaffinity, taints).
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers import tainteviction

_OPERATORS = {
    "In": labels.IN,
    "NotIn": labels.NOT_IN,
    "Exists": labels.EXISTS,
    "DoesNotExist": labels.DOES_NOT_EXIST,
    "Gt": labels.GREATER,
    "Lt": labels.LESS,
}


def selects(spec: Object, node: Object) -> bool:
    """The pod spec's nodeSelector and required node affinity admit the node."""
    node_labels = meta.labels_of(node)
    for name, value in (spec.get("nodeSelector") or {}).items():
        if node_labels.get(name) != value:
            return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def untolerated(
    tolerations: Sequence[Object], node: Object, effects: Sequence[str]
) -> Object | None:
    """The first taint with one of the effects that nothing tolerates."""
    for taint in node["spec"].get("taints") or ():
        if taint["effect"] not in effects:
            continue
        if not any(tainteviction.tolerates(item, taint) for item in tolerations):
            return taint  # type: ignore[no-any-return]
    return None


def _term_matches(term: Object, node: Object) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    node_labels = meta.labels_of(node)
    for item in expressions:
        if not _holds(item, node_labels):
            return False
    name = {"metadata.name": meta.name_of(node)}
    return all(_holds(item, name) for item in fields)


def _holds(item: Object, found: dict[str, str]) -> bool:
    operator = _OPERATORS[item["operator"]]
    values = tuple(item.get("values") or ())
    return labels.Requirement(item["key"], operator, values).matches(found)
