"""Eviction: a pod is deleted unless a disruption budget forbids it, and takes from that budget.

Budgets are brought up to date by the disruption controller; this only takes from what it allowed.

Models kubernetes pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CREATE
from apiserver_app.handlers import bodies, deletes, gates, options
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels

BUDGETS = "poddisruptionbudgets.policy"
DISRUPTED_PODS_MAX = 2000
RETRY_SECONDS = 10


async def evict(cluster: ClusterContext, call: Call) -> Outcome:
    info = cluster.resources.by_key["pods"]
    raw = bodies.read_as(cluster, call, "io.k8s.api.policy.v1.Eviction", "Eviction")
    if meta.name_of(raw) != call.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    deletion = dict(raw.get("deleteOptions") or {})
    if options.dry_run(call):
        deletion["dryRun"] = ["All"]
    dry_run = bool(deletion.get("dryRun"))
    attributes = gates.attributes(cluster, call, info, CREATE, raw, None, dry_run)
    await gates.mutating(cluster, attributes)
    await gates.validating(cluster, attributes)
    call.gate = "etcd"
    pod = cluster.storage.find(info, call.namespace, call.name)
    if pod is None:
        raise errors.not_found(info.group, info.plural, call.name)
    deletes.check_preconditions(info, pod, deletion)
    if not _needs_no_budget(pod):
        _take_from_budget(cluster, pod, dry_run)
    if not dry_run:
        marked = _with_condition(pod, meta.rfc3339(cluster.kernel.now))
        pod = cluster.storage.update(info, marked, pod, subresource="eviction")
    await deletes.finish(cluster, info, pod, deletion)
    return Outcome(201, obj=gates.created_status())


def _needs_no_budget(pod: Object) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or meta.is_deleting(pod)


def _take_from_budget(cluster: ClusterContext, pod: Object, dry_run: bool) -> None:
    """One disruption less is allowed by the pod's budget from now on; 429 when none is."""
    found = [
        budget
        for budget in cluster.cache.list(BUDGETS, meta.namespace_of(pod))
        if labels.from_label_selector(budget["spec"].get("selector")).matches(meta.labels_of(pod))
    ]
    if not found:
        return
    if len(found) > 1:
        raise errors.ApiError(
            500, "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support.",
        )  # fmt: skip
    budget = found[0]
    if not conditions.is_true(pod.get("status"), "Ready") and _lets_unready_go(budget):
        return
    _check_allowed(budget)
    if dry_run:
        return
    status = dict(budget["status"])
    status["disruptionsAllowed"] -= 1
    disrupted = dict(status.get("disruptedPods") or {})
    disrupted[meta.name_of(pod)] = meta.rfc3339(cluster.kernel.now)
    status["disruptedPods"] = disrupted
    info = cluster.resources.by_key[BUDGETS]
    cluster.storage.update(info, {**budget, "status": status}, budget, subresource="status")


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
            "policy", "poddisruptionbudget", name, "DisruptedPods map too big - too many "
            "evictions not confirmed by PDB controller",
        )  # fmt: skip
    if not allowed:
        raise _violated(
            f"The disruption budget {name} needs {status.get('desiredHealthy') or 0} healthy pods "
            f"and has {status.get('currentHealthy') or 0} currently", 0,
        )  # fmt: skip


def _violated(why: str, retry_after: int) -> errors.ApiError:
    error = errors.too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        retry_after=retry_after,
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
        "type": "DisruptionTarget", "status": "True", "lastProbeTime": None,
        "lastTransitionTime": now, "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }  # fmt: skip
    return {**pod, "status": conditions.put(pod.get("status"), target)}
