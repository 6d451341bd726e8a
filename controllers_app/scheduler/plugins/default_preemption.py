"""DefaultPreemption: whether a pod that no node can take may make others leave, and whom on a node.

The pods of lower priority are taken from the node in thought; if the pod fits then, as many of them
as possible are put back, first those whose budgets allow no disruption, and of each kind the more
important ones first. Who does not find room again is a victim.

Models kubernetes pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.scheduler.framework import UNRESOLVABLE, Filtered, Filters, No, Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.nominator import nominated_node

# of the nodes that are worth a dry run, how many candidates are enough
CANDIDATES_MIN = 100
CANDIDATES_PERCENT = 10

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
REASON = "PreemptionByScheduler"

_NOBODY = No(("No preemption victims found for incoming pod",), UNRESOLVABLE)

Importance = Callable[[PodInfo], tuple[int, str]]  # the lower, the more important


class DefaultPreemption(Plugin):
    name = "DefaultPreemption"
    post_filters = True
    source = "pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go"
    remedy = "priorityClassName: …"


class Candidate(msgspec.Struct, frozen=True):
    """A node that can take the pod once the victims are gone."""

    node: str
    victims: tuple[PodInfo, ...]  # the most important first
    violations: int = 0  # victims whose budget allows no disruption


def ineligible(pod: PodInfo, filtered: Filtered, node: NodeInfo | None) -> str:
    """Why the pod may not preempt others now; empty when it may. `node`: it is nominated for."""
    if pod.spec.get("preemptionPolicy") == "Never":
        return NEVER
    if node is None:
        return ""
    refusal = filtered.failed.get(node.name)
    if refusal is None or refusal[1].code == UNRESOLVABLE:
        return ""
    for other in node.pods.values():
        if other.priority < pod.priority and _was_preempted(other.pod):
            return TERMINATING
    return ""


def _was_preempted(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    target = [condition for condition in conditions if condition["type"] == "DisruptionTarget"]
    if not target or not meta.is_deleting(pod):
        return False
    return bool(target[0]["status"] == "True" and target[0].get("reason") == REASON)


def nominated(pod: PodInfo, nodes: dict[str, NodeInfo]) -> NodeInfo | None:
    """The node that the pod's status nominates it for."""
    return nodes.get(nominated_node(pod.pod))


def candidates_to_find(count: int) -> int:
    """How many candidates are enough (calculateNumCandidates)."""
    return min(max(count * CANDIDATES_PERCENT // 100, CANDIDATES_MIN), count)


def select_victims(
    filters: Filters, node: NodeInfo, budgets: Sequence[Object], importance: Importance
) -> Candidate | No:
    """The fewest pods that have to leave the node (SelectVictimsOnNode), or why that is no help."""
    pod, room = filters.pod, node.copy()
    gone: dict[str, PodInfo] = {}

    def take(other: PodInfo) -> None:
        gone[other.key] = other
        room.remove(other.key)
        filters.count(other, node, -1)

    def put_back(other: PodInfo) -> None:
        del gone[other.key]
        room.add(other)
        filters.count(other, node, 1)

    lower = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lower:
        return _NOBODY
    try:
        for other in lower:
            take(other)
        refusal = filters.refusal(room)
        if refusal is not None:
            return refusal[1]
        violating, others = by_budget(sorted(lower, key=importance), budgets)
        violations = 0
        for other in (*violating, *others):
            put_back(other)
            if filters.refusal(room) is not None:
                take(other)
                violations += other in violating
        return Candidate(node.name, tuple(sorted(gone.values(), key=importance)), violations)
    finally:
        for other in list(gone.values()):
            filters.count(other, node, 1)


def by_budget(
    pods: Iterable[PodInfo], budgets: Sequence[Object]
) -> tuple[list[PodInfo], list[PodInfo]]:
    """Those whose eviction a budget would not allow, and the others (filterPodsWithPDBViolation).
    Each uses up what its budgets allow, so that the order matters."""
    allowed = [(budget.get("status") or {}).get("disruptionsAllowed") or 0 for budget in budgets]
    selectors = [labels.from_label_selector(budget["spec"].get("selector")) for budget in budgets]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            if not _covers(budget, selectors[index], pod):
                continue
            allowed[index] -= 1
            violates = violates or allowed[index] < 0
        (violating if violates else others).append(pod)
    return violating, others


def _covers(budget: Object, selector: labels.Selector, pod: PodInfo) -> bool:
    if not pod.labels or meta.namespace_of(budget) != pod.namespace:
        return False
    if selector.empty or not selector.matches(pod.labels):
        return False
    disrupted = (budget.get("status") or {}).get("disruptedPods") or {}
    return meta.name_of(pod.pod) not in disrupted
