"""Node selector terms: what pods and volumes say of the nodes they can be on. Pure.

Models kubernetes
staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler.nodeinfo import NodeInfo


def matches(selector: Object, node: NodeInfo, *, by_name: bool = True) -> bool:
    """Whether one of the terms selects the node; of volumes not `by_name`, as upstream."""
    terms = selector.get("nodeSelectorTerms") or ()
    return any(holds(term, node, by_name=by_name) for term in terms)


def holds(term: Object, node: NodeInfo, *, by_name: bool = True) -> bool:
    """Whether everything the term asks for is so. A term that asks for nothing selects nothing."""
    expressions = term.get("matchExpressions") or ()
    names = term.get("matchFields") or ()
    if not expressions and not names:
        return False
    fields = {"metadata.name": node.name if by_name else ""}
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
