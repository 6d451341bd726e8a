"""Subresources that are more than a view: a pod's binding, a service account's token.

Models kubernetes pkg/registry/core/pod/storage/storage.go and
pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import Attributes
from apiserver_app.auth import jws
from apiserver_app.handlers import attributes, bodies, decision, options, rest
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import WELL_FORMED, Decision
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo

ISSUED_AUDIT = "authentication.kubernetes.io/issued-credential-id"
TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX = 600, 1 << 32


class Bind(Operation):
    """Set spec.nodeName, once and for all."""

    passes = ("decode", "current", "mutating", "validation", "validating", "etcd")

    def decode(self, request: Request) -> Decision:
        raw = bodies.read_as(request, "io.k8s.api.core.v1.Binding", "Binding")
        name = meta.name_of(raw)
        if request.subresource and name != request.name:
            raise errors.bad_request("name in URL does not match name in Binding object")
        metadata = {**(raw.get("metadata") or {})}
        request.obj = {"kind": "Binding", "apiVersion": "v1", **raw, "metadata": metadata}
        return WELL_FORMED

    def current(self, request: Request) -> None:
        request.dry_run = options.dry_run(request.call)

    def attributes(self, request: Request) -> Attributes:
        found = attributes.of(request, request.obj)
        found.info, found.subresource = request.cluster.resources.by_key["pods"], "binding"
        found.name = meta.name_of(request.obj)
        return found

    def findings(self, request: Request) -> list[FieldError]:
        target = request.obj.get("target") or {}
        found = []
        if target.get("kind") not in (None, "", "Node"):
            known = ("Node", "<empty>")
            found.append(errors.not_supported("target.kind", target.get("kind"), known))
        if not target.get("name"):
            found.append(errors.required("target.name"))
        return found

    def subject(self, request: Request) -> tuple[ResourceInfo, str]:
        return request.cluster.resources.by_key["bindings"], meta.name_of(request.obj)

    async def store(self, request: Request) -> Decision:
        cluster, dry_run = request.cluster, request.dry_run
        info, name = cluster.resources.by_key["pods"], meta.name_of(request.obj)
        old = cluster.storage.find(info, request.namespace, name)
        if old is None:
            raise errors.not_found(info.group, info.plural, name)
        key = info.etcd_key(request.namespace, name)
        obj = _bound(cluster, old, request.obj, key)
        stored = cluster.storage.update(info, obj, old, subresource="binding", dry_run=dry_run)
        request.outcome = Outcome(201, obj=rest.created_status())
        return decision.stored("update", key, meta.revision_of(stored), dry_run=dry_run)


def _bound(cluster: ClusterContext, old: Object, binding: Object, key: str) -> Object:
    """The pod with its node; 409 when it has one, is being deleted, or is another pod."""
    name = meta.name_of(old)

    def refuse(why: str) -> errors.ApiError:
        return errors.conflict("", "pods/binding", name, why)

    metadata = binding.get("metadata") or {}
    uid = metadata.get("uid")
    if uid and uid != meta.uid_of(old):
        raise errors.conflict("", "pods", name, rest.wrong_uid(key, uid, meta.uid_of(old)))
    if meta.is_deleting(old):
        raise refuse(f"pod {name} is being deleted, cannot be assigned to a host")
    spec = old["spec"]
    if spec.get("nodeName"):
        raise refuse(f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise refuse(f"pod {name} has non-empty .spec.schedulingGates")
    obj = {**old, "spec": {**spec, "nodeName": str(binding["target"]["name"])}}
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


class IssueToken(Operation):
    """A signed token of the service account, bound as asked."""

    passes = ("decode", "current", "mutating", "validation", "validating", "etcd")

    def decode(self, request: Request) -> Decision:
        definition = "io.k8s.api.authentication.v1.TokenRequest"
        request.obj = bodies.read_as(request, definition, "TokenRequest")
        return WELL_FORMED

    def current(self, request: Request) -> None:
        request.dry_run = options.dry_run(request.call)

    def attributes(self, request: Request) -> Attributes:
        return attributes.of(request, request.obj)

    def findings(self, request: Request) -> list[FieldError]:
        request.gate = "etcd"
        request.old = request.cluster.storage.get(request.info, request.namespace, request.name)[0]
        request.gate = "validation"
        return _misplaced(request) or _bad_duration(_spec_of(request.obj)["expirationSeconds"])

    def subject(self, request: Request) -> tuple[ResourceInfo, str]:
        resources = request.cluster.resources
        info = resources.by_gvk("authentication.k8s.io", "v1", "TokenRequest")
        assert info is not None, "a body that is known by its kind"
        return info, request.name if _misplaced(request) else ""

    async def store(self, request: Request) -> Decision:
        cluster, spec = request.cluster, _spec_of(request.obj)
        assert request.old is not None, "behind validation"
        _check_bound(request, spec.get("boundObjectRef"))
        longest, wanted = cluster.token_seconds_max, spec["expirationSeconds"]
        if 0 < longest < wanted:
            spec["expirationSeconds"] = longest
            request.warnings.append(
                f"requested expiration of {wanted} seconds shortened to {longest} seconds"
            )
        answer = cluster.issue_token(request.old, spec, cluster.kernel.now)
        if request.audit is not None:
            claims = jws.parse(answer["status"]["token"]).claims
            request.annotations[ISSUED_AUDIT] = f"JTI={claims['jti']}"
        request.outcome = Outcome(201, obj=answer)
        return decision.answered()


def _spec_of(request: Object) -> Object:
    """Of a TokenRequest, with its default."""
    spec = dict(request.get("spec") or {})
    seconds = spec.get("expirationSeconds")
    spec["expirationSeconds"] = 3600 if seconds is None else seconds
    return spec


def _misplaced(request: Request) -> list[FieldError]:
    """Name and namespace in the body are the URL's, if they are there."""
    for field, wanted in (("name", request.name), ("namespace", request.namespace)):
        given = (request.obj.get("metadata") or {}).get(field)
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


def _check_bound(request: Request, bound: Object | None) -> None:
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
    cluster = request.cluster
    obj, _ = cluster.storage.get(cluster.resources.by_key[resource], request.namespace, name)
    if kind == "Pod" and obj["spec"].get("serviceAccountName") != request.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {errors.go_value(request.name)} to pod running "
            "with different serviceaccount name."
        )
    if uid and uid != meta.uid_of(obj):
        raise errors.conflict(
            group, kind, name,
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )  # fmt: skip


BIND, TOKEN = Bind(), IssueToken()
