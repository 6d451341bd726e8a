"""Subresources that are more than a view: binding, scale, eviction, token, approval, finalize.

What needs a container's streams (log, exec, attach, portforward, proxy) is refused by name.

Models kubernetes pkg/registry/core/pod/storage/{storage,eviction}.go,
pkg/registry/apps/deployment/storage/storage.go (ScaleREST) and
pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.admission.plugin import CREATE
from apiserver_app.handlers import bodies, deletes, gates, options, scale, writes
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors, labels, meta
from apiserver_app.machinery.meta import Object

Handler = Callable[[ClusterContext, Call], Awaitable[Outcome]]

TOKEN_SECONDS_MAX = 1 << 32
# subresources written like the resource itself, under their own strategy rules
_WRITTEN = ("finalize", "approval", "ephemeralcontainers", "resize")


async def handle(cluster: ClusterContext, call: Call) -> Outcome:
    info = call.info
    assert info is not None
    if call.subresource == "scale":
        return await scale.handle(cluster, call)
    if call.subresource in _WRITTEN:
        return await writes.handle(cluster, call)
    answer = _HANDLERS.get((info.key, call.subresource))
    if answer is None:
        raise errors.ApiError(
            501,
            "NotImplemented",
            f"{info.plural}/{call.subresource} is not simulated: there is no process behind a "
            "simulated container",
        )
    return await answer(cluster, call)


async def bind(cluster: ClusterContext, call: Call) -> Outcome:
    """Set spec.nodeName, once and for all."""
    info = cluster.resources.by_key["pods"]
    raw = bodies.read_as(cluster, call, "io.k8s.api.core.v1.Binding", "Binding")
    target = raw.get("target") or {}
    name = call.name or meta.name_of(raw)
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(errors.not_supported("target.kind", target.get("kind"), ("Node", '""')))
    if not target.get("name"):
        found.append(errors.required("target.name"))
    await gates.validation(cluster, cluster.resources.by_key["bindings"], name, found)
    old = cluster.storage.find(info, call.namespace, name)
    if old is None:
        raise errors.not_found(info.group, info.plural, name)
    binding = {"kind": "Binding", "apiVersion": "v1", **raw}
    attributes = gates.attributes(cluster, call, info, CREATE, binding, None, options.dry_run(call))
    await gates.mutating(cluster, attributes)
    await gates.validating(cluster, attributes)
    key = info.etcd_key(call.namespace, name)
    try:
        obj = _bound(cluster, old, raw, str(target["name"]))
        stored = cluster.storage.update(
            info, obj, old, subresource="binding", dry_run=attributes.dry_run
        )
    except errors.ApiError as error:
        await gates.etcd(cluster, attributes.dry_run, error, key=key)
        raise
    await gates.etcd(cluster, attributes.dry_run, None, key=key, rev=meta.revision_of(stored))
    return Outcome(201, obj={"kind": "Status", "apiVersion": "v1", "metadata": {},
                             "status": "Success", "code": 201})  # fmt: skip


def _bound(cluster: ClusterContext, old: Object, binding: Object, node: str) -> Object:
    """The pod with its node; 409 when it has one, is being deleted, or is another pod."""
    name = meta.name_of(old)

    def refuse(why: str) -> errors.ApiError:
        return errors.conflict("", "pods/binding", name, why)

    metadata = binding.get("metadata") or {}
    uid = metadata.get("uid")
    if uid and uid != meta.uid_of(old):
        raise refuse(
            f"Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {meta.uid_of(old)}"
        )
    if meta.is_deleting(old):
        raise refuse(f"pod {name} is being deleted, cannot be assigned to a host")
    spec = old["spec"]
    if spec.get("nodeName"):
        raise refuse(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise refuse(f"pod {name} has non-empty .spec.schedulingGates")
    obj = {**old, "spec": {**spec, "nodeName": node}}
    annotations = metadata.get("annotations")
    if annotations:
        merged = {**meta.annotations_of(old), **annotations}
        obj["metadata"] = {**old["metadata"], "annotations": merged}
    now = meta.rfc3339(cluster.kernel.now)
    scheduled = {
        "type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now,
    }  # fmt: skip
    status = dict(old.get("status") or {})
    others = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
    status["conditions"] = [*others, scheduled]
    obj["status"] = status
    return obj


async def evict(cluster: ClusterContext, call: Call) -> Outcome:
    """Delete the pod, unless a disruption budget forbids it."""
    info = cluster.resources.by_key["pods"]
    raw = bodies.read_as(cluster, call, "io.k8s.api.policy.v1.Eviction", "Eviction")
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    pod = cluster.storage.find(info, call.namespace, call.name)
    if pod is None:
        raise errors.not_found(info.group, info.plural, call.name)
    deletion = dict(raw.get("deleteOptions") or {})
    if options.dry_run(call):
        deletion["dryRun"] = ["All"]
    budget = _forbidding_budget(cluster, pod)
    if budget is not None:
        error = errors.too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.", retry_after=0
        )
        error.details["causes"] = [
            {
                "reason": "DisruptionBudget",
                "message": f"The disruption budget {meta.name_of(budget)} needs "
                f"{budget.get('status', {}).get('desiredHealthy', 0)} healthy pods and has "
                f"{budget.get('status', {}).get('currentHealthy', 0)} currently",
            }
        ]
        await cluster.probe.hop("gate", "validating", "deny", {"message": error.message})
        raise error
    await deletes.delete_one(cluster, call, info, pod, deletion)
    return Outcome(201, obj={"kind": "Status", "apiVersion": "v1", "metadata": {},
                             "status": "Success", "code": 201})  # fmt: skip


def _forbidding_budget(cluster: ClusterContext, pod: Object) -> Object | None:
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Pending", "Succeeded", "Failed") or meta.is_deleting(pod):
        return None
    budgets = cluster.cache.list("poddisruptionbudgets.policy", meta.namespace_of(pod))
    for budget in budgets:
        selector = labels.from_label_selector(budget["spec"].get("selector"))
        if not selector.matches(meta.labels_of(pod)):
            continue
        if not (budget.get("status") or {}).get("disruptionsAllowed"):
            return budget
    return None


async def token(cluster: ClusterContext, call: Call) -> Outcome:
    """A signed token of the service account, bound as asked."""
    info = call.info
    assert info is not None
    account, _ = cluster.storage.get(info, call.namespace, call.name)
    definition = "io.k8s.api.authentication.v1.TokenRequest"
    raw = bodies.read_as(cluster, call, definition, "TokenRequest")
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    spec = dict(raw.get("spec") or {})
    seconds = int(spec.get("expirationSeconds") or 3600)
    why = ""
    if seconds < 600:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > TOKEN_SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        found = [errors.invalid_value("spec.expirationSeconds", seconds, why)]
        request = cluster.resources.by_gvk("authentication.k8s.io", "v1", "TokenRequest")
        if request is not None:
            await gates.validation(cluster, request, "", found)
        raise errors.invalid("authentication.k8s.io", "TokenRequest", "", found)
    spec["expirationSeconds"] = seconds
    answer = cluster.issue_token(account, spec, cluster.kernel.now)
    await cluster.probe.hop("gate", "etcd", "skip", {"word": "not stored"})
    return Outcome(201, obj=answer)


_HANDLERS: dict[tuple[str, str], Handler] = {
    ("pods", "binding"): bind,
    ("pods", "eviction"): evict,
    ("serviceaccounts", "token"): token,
}
