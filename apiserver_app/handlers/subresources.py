"""Subresources that are more than a view: binding, scale, eviction, token, approval, finalize.

What needs a node (log, exec, attach, portforward, proxy) is in podlogs, streaming and proxy.

Models kubernetes pkg/registry/core/pod/storage/storage.go,
pkg/registry/apps/deployment/storage/storage.go (ScaleREST) and
pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.admission.plugin import CREATE
from apiserver_app.auth import jws
from apiserver_app.handlers import (
    bodies,
    eviction,
    gates,
    options,
    podlogs,
    proxy,
    scale,
    streaming,
    writes,
)
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object

Handler = Callable[[ClusterContext, Call], Awaitable[Outcome]]

ISSUED_AUDIT = "authentication.kubernetes.io/issued-credential-id"
TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX = 600, 1 << 32
# subresources written like the resource itself, under their own strategy rules
_WRITTEN = ("finalize", "approval", "ephemeralcontainers", "resize")


async def handle(cluster: ClusterContext, call: Call) -> Outcome:
    """What is asked of a subresource but status, or of the old resource `bindings`."""
    info = call.info
    assert info is not None
    if info.kind == "Binding":
        return await bind(cluster, call)
    if call.subresource == "scale":
        return await scale.handle(cluster, call)
    if call.subresource in _WRITTEN:
        return await writes.handle(cluster, call)
    return await _HANDLERS[info.key, call.subresource](cluster, call)


async def bind(cluster: ClusterContext, call: Call) -> Outcome:
    """Set spec.nodeName, once and for all."""
    info = cluster.resources.by_key["pods"]
    raw = bodies.read_as(cluster, call, "io.k8s.api.core.v1.Binding", "Binding")
    name = meta.name_of(raw)
    if call.subresource and name != call.name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    metadata = {**(raw.get("metadata") or {})}
    binding = {"kind": "Binding", "apiVersion": "v1", **raw, "metadata": metadata}
    attributes = gates.attributes(cluster, call, info, CREATE, binding, None, options.dry_run(call))
    attributes.name, attributes.subresource = name, "binding"
    await gates.mutating(cluster, attributes)
    target = raw.get("target") or {}
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(errors.not_supported("target.kind", target.get("kind"), ("Node", "<empty>")))
    if not target.get("name"):
        found.append(errors.required("target.name"))
    await gates.validation(cluster, cluster.resources.by_key["bindings"], name, found)
    await gates.validating(cluster, attributes)
    call.gate = "etcd"
    old = cluster.storage.find(info, call.namespace, name)
    if old is None:
        raise errors.not_found(info.group, info.plural, name)
    key = info.etcd_key(call.namespace, name)
    obj = _bound(cluster, old, binding, key, str(target["name"]))
    dry_run = attributes.dry_run
    stored = cluster.storage.update(info, obj, old, subresource="binding", dry_run=dry_run)
    await gates.etcd(cluster, dry_run, None, op="update", key=key, rev=meta.revision_of(stored))
    return Outcome(201, obj=gates.created_status())


def _bound(cluster: ClusterContext, old: Object, binding: Object, key: str, node: str) -> Object:
    """The pod with its node; 409 when it has one, is being deleted, or is another pod."""
    name = meta.name_of(old)

    def refuse(why: str) -> errors.ApiError:
        return errors.conflict("", "pods/binding", name, why)

    metadata = binding.get("metadata") or {}
    uid = metadata.get("uid")
    if uid and uid != meta.uid_of(old):
        raise errors.conflict("", "pods", name, gates.wrong_uid(key, uid, meta.uid_of(old)))
    if meta.is_deleting(old):
        raise refuse(f"pod {name} is being deleted, cannot be assigned to a host")
    spec = old["spec"]
    if spec.get("nodeName"):
        raise refuse(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise refuse(f"pod {name} has non-empty .spec.schedulingGates")
    obj = {**old, "spec": {**spec, "nodeName": node}}
    for field in ("annotations", "labels"):
        more = metadata.get(field)
        if more:
            merged = {**(old["metadata"].get(field) or {}), **more}
            obj["metadata"] = {**obj["metadata"], field: merged}
    now = meta.rfc3339(cluster.kernel.now)
    scheduled = {
        "type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now,
    }  # fmt: skip
    obj["status"] = conditions.put(old.get("status"), scheduled)
    return obj


async def token(cluster: ClusterContext, call: Call) -> Outcome:
    """A signed token of the service account, bound as asked."""
    info = call.info
    assert info is not None
    definition = "io.k8s.api.authentication.v1.TokenRequest"
    raw = bodies.read_as(cluster, call, definition, "TokenRequest")
    await cluster.probe.hop("gate", "decode", "allow", {"word": "well formed"})
    attributes = gates.attributes(cluster, call, info, CREATE, raw, None, options.dry_run(call))
    await gates.mutating(cluster, attributes)
    call.gate = "etcd"
    account, _ = cluster.storage.get(info, call.namespace, call.name)
    spec = dict(raw.get("spec") or {})
    seconds = spec.get("expirationSeconds")
    spec["expirationSeconds"] = 3600 if seconds is None else seconds
    request = cluster.resources.by_gvk("authentication.k8s.io", "v1", "TokenRequest")
    assert request is not None, "a body that is known by its kind"
    in_name = call.name if _misplaced(call, raw) else ""
    found = _misplaced(call, raw) or _bad_duration(spec["expirationSeconds"])
    await gates.validation(cluster, request, in_name, found)
    await gates.validating(cluster, attributes)
    call.gate = "etcd"
    _check_bound(cluster, call, spec.get("boundObjectRef"))
    longest, wanted = cluster.token_seconds_max, spec["expirationSeconds"]
    if 0 < longest < wanted:
        spec["expirationSeconds"] = longest
        call.warnings.append(
            f"requested expiration of {wanted} seconds shortened to {longest} seconds"
        )
    answer = cluster.issue_token(account, spec, cluster.kernel.now)
    if call.audit is not None:
        claims = jws.parse(answer["status"]["token"]).claims
        call.annotations[ISSUED_AUDIT] = f"JTI={claims['jti']}"
    await cluster.probe.hop("gate", "etcd", "skip", {"word": "not stored"})
    return Outcome(201, obj=answer)


def _misplaced(call: Call, raw: Object) -> list[FieldError]:
    """Name and namespace in the body are the URL's, if they are there."""
    for field, wanted in (("name", call.name), ("namespace", call.namespace)):
        given = (raw.get("metadata") or {}).get(field)
        if given and given != wanted:
            why = f"must match the service account {field} if specified"
            return [errors.invalid_value(f"metadata.{field}", given, why)]
    return []


def _bad_duration(seconds: int) -> list[FieldError]:
    why = ""
    if seconds < TOKEN_SECONDS_MIN:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > TOKEN_SECONDS_MAX:
        why = "may not specify a duration larger than 2^32 seconds"
    return [errors.invalid_value("spec.expirationSeconds", seconds, why)] if why else []


def _check_bound(cluster: ClusterContext, call: Call, bound: Object | None) -> None:
    """What a token is bound to must be there, be meant, and run as the account."""
    if not bound:
        return
    group, _, version = str(bound.get("apiVersion") or "").rpartition("/")
    kind, name, uid = (str(bound.get(field) or "") for field in ("kind", "name", "uid"))
    resource = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}.get(kind)
    if group or resource is None:
        raise errors.bad_request(
            f"cannot bind token to object of type {group}/{version}, Kind={kind}"
        )
    obj, _ = cluster.storage.get(cluster.resources.by_key[resource], call.namespace, name)
    if kind == "Pod" and obj["spec"].get("serviceAccountName") != call.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {errors.go_value(call.name)} to pod running "
            "with different serviceaccount name."
        )
    if uid and uid != meta.uid_of(obj):
        raise errors.conflict(
            group, kind, name,
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )  # fmt: skip


_HANDLERS: dict[tuple[str, str], Handler] = {
    ("nodes", "proxy"): proxy.nodes,
    ("pods", "attach"): streaming.attach,
    ("pods", "binding"): bind,
    ("pods", "eviction"): eviction.evict,
    ("pods", "exec"): streaming.exec_,
    ("pods", "log"): podlogs.read,
    ("pods", "portforward"): streaming.portforward,
    ("pods", "proxy"): proxy.pods,
    ("serviceaccounts", "token"): token,
    ("services", "proxy"): proxy.services,
}
