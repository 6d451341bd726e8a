"""The scale subresource: a view on replicas, written through the object it belongs to.

Models kubernetes pkg/registry/apps/deployment/storage/storage.go (ScaleREST, scaleFromDeployment).
"""

from __future__ import annotations

from typing import Any

from apiserver_app.handlers import bodies, gates, patching, writes
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import client, errors, meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax import labels

_DEFINITION = "io.k8s.api.autoscaling.v1.Scale"


async def handle(cluster: ClusterContext, call: Call) -> Outcome:
    info = call.info
    assert info is not None
    obj, _ = cluster.storage.get(info, call.namespace, call.name)
    now = _scale_of(info, obj)
    paths = info.custom.scale if info.custom is not None else None
    where = errors.go_value(paths["specReplicasPath"]) if paths else ""
    if paths and "replicas" not in now["spec"] and call.verb == "get":
        raise errors.internal(f"the spec replicas field {where} does not exist")
    if call.verb == "get":
        return Outcome(200, obj=now)
    wanted = _wanted(cluster, call, now)
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    revision = (wanted.get("metadata") or {}).get("resourceVersion")
    found = []
    if replicas < 0:
        why = "must be greater than or equal to 0"
        found.append(errors.invalid_value("spec.replicas", replicas, why))
    if found:
        await gates.validation(cluster, _scale_info(cluster), call.name, found)
    steps = ["spec", "replicas"]
    if paths:
        if (wanted.get("spec") or {}).get("replicas") is None:
            raise errors.bad_request(f"the spec replicas field {where} cannot be empty")
        steps = _steps(paths["specReplicasPath"])
    changed = meta.with_path(obj, steps, replicas)
    metadata = {**obj["metadata"]}
    if revision:
        metadata["resourceVersion"] = revision
    changed["metadata"] = metadata
    inner = Call(
        verb="update", path=call.path, credential=call.credential, agent=call.agent, info=info,
        subresource="scale", namespace=call.namespace, name=call.name, params=call.params,
        body=changed, outside=call.outside, user=call.user, warnings=call.warnings,
    )  # fmt: skip
    try:
        outcome = await writes.update(cluster, inner)
    finally:
        call.gate = inner.gate
    assert outcome.obj is not None
    return Outcome(200, obj=_scale_of(info, outcome.obj))


def _wanted(cluster: ClusterContext, call: Call, now: Object) -> Object:
    """The scale that was sent, or that a patch makes of the present one."""
    about = _scale_info(cluster)
    if call.verb != "patch":
        raw = bodies.read(cluster, call, about)
    else:
        patching.check_type(call)
        patching.read(call)
        if call.content_type == client.APPLY_PATCH:
            raw = writes.applied(cluster, call, about, now)
        else:
            raw = patching.patched(cluster, call, about, now)
    try:
        wanted, unknown = cluster.types.decode(_DEFINITION, raw)
        if unknown or call.duplicates:
            found = [*call.duplicates, *unknown]
            gates.check_strict(cluster, call, about, found, raw, now)
    except errors.ApiError as error:
        raise patching.refusal(call, error, now, raw) from error
    return wanted


def _scale_info(cluster: ClusterContext) -> ResourceInfo:
    """Scale has no resource of its own: what patches and messages need to know of it."""
    return ResourceInfo(
        group="autoscaling", version="v1", kind="Scale", plural="scales", singular="scale",
        namespaced=True, verbs=(), definition=_DEFINITION,
    )  # fmt: skip


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
