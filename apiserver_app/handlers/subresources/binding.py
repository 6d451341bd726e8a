"""A pod's binding: the scheduler's word on which node it runs.

Models kubernetes pkg/registry/core/pod/storage/storage.go (BindingREST).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import Attributes
from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import WELL_FORMED, Decision
from apiserver_app.handlers.input import bodies, options
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import attributes, rest
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry import generic


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
        if request.audit is not None:
            request.audit.requested(request.obj)
        return WELL_FORMED

    def current(self, request: Request) -> None:
        request.dry_run = options.dry_run(request.call)

    def attributes(self, request: Request) -> Attributes:
        attrs = attributes.of(request, request.obj)
        attrs.info, attrs.subresource = request.cluster.resources.by_key["pods"], "binding"
        attrs.name = meta.name_of(request.obj)
        return attrs

    def findings(self, request: Request) -> list[FieldError]:
        target = request.obj.get("target") or {}
        errs = []
        if target.get("kind") not in (None, "", "Node"):
            known = ("Node", "<empty>")
            errs.append(errors.not_supported("target.kind", target.get("kind"), known))
        if not target.get("name"):
            errs.append(errors.required("target.name"))
        if errs:
            raise errors.unclassified(errors.aggregate([str(err) for err in errs]))
        return errs

    def store(self, request: Request) -> Decision:
        cluster, dry_run = request.cluster, request.dry_run
        info, name = cluster.resources.by_key["pods"], meta.name_of(request.obj)
        old = cluster.storage.find(info, request.namespace, name)
        if old is None:
            raise generic.not_found(info, name)
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
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    obj["status"] = conditions.put(old.get("status"), scheduled)
    return obj


BIND = Bind()
