"""Eviction: a pod is deleted unless a disruption budget forbids it, and takes from that budget.

Budgets are brought up to date by the disruption controller; this only takes from what it allowed.

Models kubernetes pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import Attributes
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import WELL_FORMED, Decision
from apiserver_app.handlers.input import bodies, options
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import attributes, deletes, rest
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from apiserver_app.registry import generic

BUDGETS = "poddisruptionbudgets.policy"
DISRUPTED_PODS_MAX = 2000
RETRY_SECONDS = 10
CONFLICTS_MAX = 20


class Evict(Operation):
    """Delete a pod, if its budget allows that."""

    passes = ("decode", "current", "mutating", "validating", "etcd")

    def decode(self, request: Request) -> Decision:
        request.obj = bodies.read_as(request, "io.k8s.api.policy.v1.Eviction", "Eviction")
        if meta.name_of(request.obj) != request.name:
            raise errors.bad_request("name in URL does not match name in Eviction object")
        if request.audit is not None:
            request.audit.requested(request.obj)
        return WELL_FORMED

    def current(self, request: Request) -> None:
        request.options = dict(request.obj.get("deleteOptions") or {})
        if options.dry_run(request.call):
            request.options["dryRun"] = ["All"]
        request.dry_run = bool(request.options.get("dryRun"))

    def attributes(self, request: Request) -> Attributes:
        return attributes.of(request, request.obj)

    async def store(self, request: Request) -> Decision:
        cluster, info = request.cluster, request.info
        pod = cluster.storage.find(info, request.namespace, request.name)
        if pod is None:
            raise generic.not_found(info, request.name)
        deletes.check_preconditions(info, pod, request.options)
        if not _needs_no_budget(pod):
            await _take_from_budget(cluster, pod, request.dry_run)
            pod = cluster.storage.get(info, request.namespace, request.name)[0]
        if not request.dry_run:
            marked = _with_condition(pod, meta.rfc3339(cluster.kernel.now))
            cluster.storage.update(info, marked, pod, subresource="eviction")
            # a write of its own, seen before it goes
            synced = cluster.kernel.spend_time(cluster.options.sync)
            if synced is not None:
                await synced
            pod = cluster.storage.get(info, request.namespace, request.name)[0]
        decided = deletes.finish(request, info, pod, request.options)
        return decided if isinstance(decided, Decision) else await decided

    def answer(self, request: Request) -> Outcome:
        return Outcome(201, obj=rest.created_status())


def _needs_no_budget(pod: Object) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or meta.is_deleting(pod)


async def _take_from_budget(cluster: ClusterContext, pod: Object, dry_run: bool) -> None:
    """One disruption less is allowed by the pod's budget from now on; 429 when none is. The server
    reads and writes the budget by requests to itself."""
    client, namespace = cluster.egress.loopback(), meta.namespace_of(pod)
    listed = (await client.list(BUDGETS, namespace)).get("items") or ()
    budgets = [
        budget
        for budget in listed
        if labels.from_label_selector(budget["spec"].get("selector")).matches(meta.labels_of(pod))
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        raise errors.ApiError(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
        )
    budget = budgets[0]
    if not conditions.is_true(pod.get("status"), "Ready") and _lets_unready_go(budget):
        return
    name = meta.name_of(budget)
    for left in reversed(range(CONFLICTS_MAX)):
        _check_allowed(budget)
        if dry_run:
            return
        changed = {**budget, "status": _with_one_less(budget["status"], pod, cluster.kernel.now)}
        try:
            await client.update(BUDGETS, namespace, name, changed, subresource="status")
            return
        except errors.ApiError as error:
            if error.reason != "Conflict" or not left:
                raise
        budget = await client.get(BUDGETS, namespace, name)


def _with_one_less(old: Object, pod: Object, now: int) -> Object:
    status = {**old, "disruptionsAllowed": old["disruptionsAllowed"] - 1}
    disrupted = dict(status.get("disruptedPods") or {})
    disrupted[meta.name_of(pod)] = meta.rfc3339(now)
    status["disruptedPods"] = disrupted
    known = conditions.find(status, "DisruptionAllowed")
    if not status["disruptionsAllowed"] and known is not None and known["status"] == "True":
        none_left = {
            **known,
            "status": "False",
            "reason": "InsufficientPods",
            "lastTransitionTime": meta.rfc3339(now),
        }
        status = conditions.put(status, none_left)
    return status


def _check_allowed(budget: Object) -> None:
    name, status = meta.name_of(budget), budget.get("status") or {}
    allowed = status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _violated(why, RETRY_SECONDS)
    if allowed < 0:
        raise errors.forbidden(
            "policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative"
        )
    if len(status.get("disruptedPods") or ()) > DISRUPTED_PODS_MAX:
        raise errors.forbidden(
            "policy",
            "poddisruptionbudget",
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if not allowed:
        raise _violated(
            f"The disruption budget {name} needs {status.get('desiredHealthy') or 0} healthy pods "
            f"and has {status.get('currentHealthy') or 0} currently",
            0,
        )


def _violated(why: str, retry_after: int) -> errors.ApiError:
    error = errors.too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.", retry_after=retry_after
    )
    error.details["causes"] = [{"reason": "DisruptionBudget", "message": why}]
    return error


def _lets_unready_go(budget: Object) -> bool:
    """A pod that is not ready counts for nothing: it may go while the others are enough."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy") or 0
    return desired > 0 and (status.get("currentHealthy") or 0) >= desired


def _with_condition(pod: Object, now: str) -> Object:
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    return {**pod, "status": conditions.put(pod.get("status"), target)}


EVICT = Evict()
