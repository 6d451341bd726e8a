"""The scale subresource: a view on replicas, written through the object it belongs to.

Models kubernetes pkg/registry/apps/deployment/storage/storage.go (ScaleREST, scaleFromDeployment).
"""

from __future__ import annotations

from typing import Any

from apiserver_app.handlers import decision
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import bodies, patching
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import fieldowners, rest, writes
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax import labels
from apiserver_app.registry import storagecalls

_DEFINITION = "io.k8s.api.autoscaling.v1.Scale"
_ABOUT = ResourceInfo(  # it has no resource of its own: what messages need to know of it
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    namespaced=True,
    verbs=(),
    definition=_DEFINITION,
)


class GetScale(Operation):
    call = storagecalls.GET

    def answer(self, request: Request) -> Outcome:
        info = request.info
        obj = request.cluster.storage.get(info, request.namespace, request.name)[0]
        now = _scale_of(info, obj)
        if info.custom is not None and "replicas" not in now["spec"]:
            raise errors.internal(f"the spec replicas field {_where(info)} does not exist")
        return Outcome(200, obj=now)


class UpdateScale(writes.Update):
    """An update of the object with the replicas of the scale that was sent."""

    def begin(self, request: Request) -> None:
        """Its options are looked at where they are used."""
        request.strategy = request.cluster.strategy(request.info)

    def decode(self, request: Request) -> Decision:
        if request.raw is None:
            errs = self._change(request)
            if errs:
                request.gate = "validation"
                return decision.legal(_ABOUT, request.name, errs, request.cluster.version)
            # from here on it is an update like any other
            request.verb, request.content_type, request.duplicates = "update", "", []
        return super().decode(request)

    def _change(self, request: Request) -> list[FieldError]:
        """Set `request.raw` to the object with its new scale; or what is wrong with that."""
        info = request.info
        obj = request.cluster.storage.get(info, request.namespace, request.name)[0]
        wanted = _wanted(request, _scale_of(info, obj))
        replicas = (wanted.get("spec") or {}).get("replicas", 0)
        revision = (wanted.get("metadata") or {}).get("resourceVersion")
        shown = request.verb == "patch" and revision == obj["metadata"]["resourceVersion"]
        request.scale_revised = bool(revision) and not shown
        if replicas < 0:
            why = "must be greater than or equal to 0"
            return [errors.invalid_value("spec.replicas", replicas, why)]
        steps = ["spec", "replicas"]
        if info.custom is not None:
            if (wanted.get("spec") or {}).get("replicas") is None:
                raise errors.bad_request(f"the spec replicas field {_where(info)} cannot be empty")
            steps = _steps((info.custom.scale or {})["specReplicasPath"])
        changed = meta.with_path(obj, steps, replicas)
        metadata = {**obj["metadata"]}
        if revision:
            metadata["resourceVersion"] = revision
        changed["metadata"] = metadata
        request.raw = changed
        return []

    def tries_again(self, request: Request, error: ApiError) -> bool:
        if not rest.is_stale(error) or (request.scale_revised and not writes.is_gone(request)):
            return False
        call = request.call
        request.raw, request.verb, request.content_type = None, call.verb, call.content_type
        return True

    def log(self, request: Request, raw: Object) -> None:
        """The object is nothing that was sent: the scale was logged."""

    def answer(self, request: Request) -> Outcome:
        assert request.outcome.obj is not None
        return Outcome(200, obj=_scale_of(request.info, request.outcome.obj))


def _where(info: ResourceInfo) -> str:
    assert info.custom is not None
    return errors.go_value((info.custom.scale or {})["specReplicasPath"])


def _wanted(request: Request, now: Object) -> Object:
    """The scale that was sent, or that a patch makes of the present one."""
    if request.verb != "patch":
        raw = bodies.read(request, _ABOUT)
        if request.audit is not None and not request.attempt:
            request.audit.requested(raw)
    else:
        patching.check_type(request)
        patching.read(request)
        if request.audit is not None and not request.attempt:
            request.audit.patched(request.patch)
        if request.content_type == client.APPLY_PATCH:
            raw = fieldowners.applied(request, _ABOUT, now)
        else:
            raw = patching.patched(request, _ABOUT, now)
    try:
        wanted, unknown = request.cluster.types.decode(_DEFINITION, raw)
        if unknown or request.duplicates:
            mistakes = [*request.duplicates, *unknown]
            bodies.check_strict(request, _ABOUT, mistakes, raw, now)
    except errors.ApiError as error:
        raise patching.refusal(request, _ABOUT, error, now, raw) from None
    if request.verb != "patch":
        writes.check_name(request, wanted)
        rest.check_namespace(request, wanted)
    return wanted


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _at(obj: Object, path: str | None) -> Any:
    """What a path of a custom resource's scale leads to; nothing when there is nothing."""
    at: Any = obj
    for step in _steps(path) if path else [""]:
        at = at.get(step) if isinstance(at, dict) else None
    return at


def _custom_scale(scale: Object, obj: Object, paths: Object) -> Object:
    """Upstream's ScaleREST of custom resources, pkg/registry/customresource/etcd.go."""
    replicas = _at(obj, paths["specReplicasPath"])
    if isinstance(replicas, int):
        scale["spec"]["replicas"] = replicas
    there = _at(obj, paths["statusReplicasPath"])
    scale["status"]["replicas"] = there if isinstance(there, int) else 0
    selector = _at(obj, paths.get("labelSelectorPath"))
    if isinstance(selector, str) and selector:
        scale["status"]["selector"] = selector
    return scale


def _scale_of(info: ResourceInfo, obj: Object) -> Object:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Object = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {},
        "status": {"replicas": (obj.get("status") or {}).get("replicas", 0)},
    }
    if info.custom is not None:
        return _custom_scale(scale, obj, info.custom.scale or {})
    replicas = obj["spec"].get("replicas", 0)
    if replicas:
        scale["spec"]["replicas"] = replicas
    selector = obj["spec"].get("selector")
    if selector:
        if info.kind == "ReplicationController":
            selector = {"matchLabels": selector}
        scale["status"]["selector"] = str(labels.from_label_selector(selector))
    return scale


GET_SCALE, UPDATE_SCALE = GetScale(), UpdateScale()
