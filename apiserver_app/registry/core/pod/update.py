"""Validation of updates of a pod: the fields that may change, and the errors for all others.

Models kubernetes pkg/apis/core/validation/validation.go (ValidatePodUpdate, ValidatePodResize,
ValidatePodEphemeralContainersUpdate) and pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import scheduling, validation
from apiserver_app.registry.validation import checks, godiff

Spec = Mapping[str, Any]

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)
_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_GROUPS = ("containers", "initContainers")


def changed_annotations(obj: Object, old: Object, errs: list[FieldError]) -> None:
    after = obj["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    if after is before or after == before:
        return
    changed = [(key, "remove or update") for key in before if after.get(key) != before[key]]
    for key, verb in (*changed, *((key, "add") for key in after if key not in before)):
        what = "AppArmor annotations" if key.startswith(_APP_ARMOR) else ""
        if key == _MIRROR:
            what = "mirror pod annotation"
        if what:
            text = f"may not {verb} {what}"
            errs.append(errors.forbidden_value(f"metadata.annotations[{key}]", text))
    validation.pod_annotations(after, obj["spec"], "metadata.annotations", errs)


def images(
    containers: Sequence[Spec], path: str, errs: list[FieldError], *, required: bool = False
) -> None:
    """Validates what only a pod itself is held to, not a template."""
    for index, container in enumerate(containers):
        image, at = container.get("image") or "", f"{path}[{index}].image"
        if required and not image:
            errs.append(errors.required(at))
        if image != image.strip():
            text = "must not have leading or trailing whitespace"
            errs.append(errors.invalid_value(at, image, text))


def spec(after: Spec, before: Spec, version: Release, errs: list[FieldError]) -> None:
    """Validates an ordinary update whose spec differs."""
    for group in _GROUPS:
        if len(after.get(group) or ()) != len(before.get(group) or ()):
            text = "pod updates may not add or remove containers"
            errs.append(errors.forbidden_value(f"spec.{group}", text))
            return
        images(after.get(group) or (), f"spec.{group}", errs, required=True)
    if not _deadline(after, before, errs):
        return
    _tolerations(after, before, version, errs)
    _gates(after, before, errs)
    munged = _munged(after, before)
    if before.get("schedulingGates"):
        _gated(munged, before, errs)
    if munged != before:
        text = (
            f"pod updates may not change fields other than {_UPDATABLE}\n"
            f"{godiff.of(before, munged, 'core.PodSpec', version)}"
        )
        errs.append(errors.forbidden_value("spec", text))


def ephemeral(after: Spec, before: Spec, version: Release, errs: list[FieldError]) -> None:
    """Validates `/ephemeralcontainers`: ephemeral containers may only be added."""
    now = {item.get("name"): item for item in after.get("ephemeralContainers") or ()}
    for item in before.get("ephemeralContainers") or ():
        name = item.get("name")
        path = "spec.ephemeralContainers"
        if name not in now:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            errs.append(errors.forbidden_value(path, text))
        elif now[name] != item:
            text = (
                f'existing ephemeral containers "{name}" may not be changed\n'
                f"{godiff.of(item, now[name], 'core.EphemeralContainer', version)}"
            )
            errs.append(errors.forbidden_value(path, text))


def resize(obj: Object, old: Object, errs: list[FieldError]) -> None:
    """Validates `/resize`: only cpu and memory of containers may change, none may be removed."""
    after, before = obj["spec"], old["spec"]
    for word, holds in (
        ("pods with pod-level resources", after.get("resources") or before.get("resources")),
        ("static pods", _MIRROR in (old["metadata"].get("annotations") or {})),
        ("windows pods", (before.get("os") or {}).get("name") == "windows"),
    ):
        if holds:
            errs[:] = [errors.forbidden_value("", f"{word} cannot be resized")]
            return
    if resources.qos_class(before) != resources.qos_class(after):
        value = (obj.get("status") or {}).get("qosClass") or ""
        text = "Pod QOS Class may not change as a result of resizing"
        errs.append(errors.invalid_value("spec", value, text))
    if not _can_resize(old):
        text = "Pod running on node without support for resize"
        errs.append(errors.forbidden_value("spec", text))
    size = len(errs)
    for group in _GROUPS:
        _same_containers(after, before, group, errs)
    if len(errs) != size:
        return
    for group in ("initContainers", "containers"):
        pairs = zip(after.get(group) or (), before.get(group) or (), strict=False)
        for index, (now, then) in enumerate(pairs):
            if group == "initContainers" and now.get("restartPolicy") != "Always":
                if now != then:
                    text = "resources for non-sidecar init containers are immutable"
                    errs.append(errors.forbidden_value("spec", text))
                continue
            _resized(now, then, f"spec.{group}[{index}].resources", errs)


def keep_all_but_ephemeral(obj: Object, old: Object) -> None:
    containers = obj["spec"].get("ephemeralContainers")
    _reset_metadata(obj, old)
    obj["spec"] = {**old["spec"]}
    if containers:
        obj["spec"]["ephemeralContainers"] = containers
        gofields.arrange(obj["spec"], "core.v1.PodSpec")


def keep_all_but_resources(obj: Object, old: Object) -> None:
    spec = {**old["spec"]}
    for group in _GROUPS:
        after, before = obj["spec"].get(group) or [], old["spec"].get(group) or []
        if [item.get("name") for item in after] != [item.get("name") for item in before]:
            return
        if before:
            spec[group] = [
                _with_resources(then, now) for now, then in zip(after, before, strict=True)
            ]
    _reset_metadata(obj, old)
    obj["spec"] = spec


# -- inside -------------------------------------------------------------------------------------


def _reset_metadata(obj: Object, old: Object) -> None:
    metadata = {**old["metadata"]}
    for name in ("resourceVersion", "managedFields"):
        if name in obj["metadata"]:
            metadata[name] = obj["metadata"][name]
    obj["metadata"] = metadata


def _with_resources(then: Spec, now: Spec) -> dict[str, Any]:
    out = {**then}
    for field in ("resources", "resizePolicy"):
        if field in now:
            out[field] = now[field]
    return out


def _deadline(after: Spec, before: Spec, errs: list[FieldError]) -> bool:
    path = "spec.activeDeadlineSeconds"
    new, old = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is not None:
        if not 0 <= new <= checks.MAX_INT32:
            text = f"must be between 0 and {checks.MAX_INT32}, inclusive"
            errs.append(errors.invalid_value(path, new, text))
            return False
        if old is not None and old < new:
            text = "must be less than or equal to previous value"
            errs.append(errors.invalid_value(path, new, text))
            return False
    elif old is not None:
        text = "must not update from a positive integer to nil value"
        errs.append(errors.invalid_value(path, None, text))
    return True


def _tolerations(after: Spec, before: Spec, version: Release, errs: list[FieldError]) -> None:
    new, old = after.get("tolerations") or [], before.get("tolerations") or []
    if new == old:
        return
    kept = [{k: v for k, v in item.items() if k != "tolerationSeconds"} for item in new]
    for item in old:
        if {k: v for k, v in item.items() if k != "tolerationSeconds"} not in kept:
            text = "existing toleration can not be modified except its tolerationSeconds"
            errs.append(errors.forbidden_value("spec.tolerations", text))
            return
    scheduling.tolerations(new, "spec.tolerations", version, errs)


def _gates(after: Spec, before: Spec, errs: list[FieldError]) -> None:
    old = {gate.get("name") for gate in before.get("schedulingGates") or ()}
    for index, gate in enumerate(after.get("schedulingGates") or ()):
        name = gate.get("name")
        if name not in old:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            errs.append(errors.forbidden_value(f"spec.schedulingGates[{index}].name", text))


def _munged(after: Spec, before: Spec) -> dict[str, Any]:
    """The new spec with every mutable field reset to its old value."""
    out = dict(after)
    for group in _GROUPS:
        if after.get(group):
            out[group] = [
                {**now, "image": then.get("image")}
                for now, then in zip(after[group], before[group], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        out.pop(field, None)
        if field in before:
            out[field] = before[field]
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and after.get("terminationGracePeriodSeconds") == 1:
        out["terminationGracePeriodSeconds"] = grace
    return out


def _gated(munged: dict[str, Any], before: Spec, errs: list[FieldError]) -> None:
    """Allows a gated pod's node selector and affinity to become narrower."""
    old, new = before.get("nodeSelector") or {}, munged.get("nodeSelector") or {}
    if old != new:
        if any(new.get(key) != value for key, value in old.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errs.append(errors.invalid_value("spec.nodeSelector", new, text))
        _set_back(munged, before, "nodeSelector")
    then, now = before.get("affinity") or {}, munged.get("affinity") or {}
    if then.get("nodeAffinity") != now.get("nodeAffinity"):
        _node_affinity(now.get("nodeAffinity") or {}, then.get("nodeAffinity") or {}, errs)
        rest = {key: value for key, value in now.items() if key != "nodeAffinity"}
        if "nodeAffinity" in then:
            rest["nodeAffinity"] = then["nodeAffinity"]
        munged.pop("affinity", None)
        if rest or "affinity" in before:
            munged["affinity"] = rest


def _set_back(munged: dict[str, Any], before: Spec, field: str) -> None:
    munged.pop(field, None)
    if field in before:
        munged[field] = before[field]


def _node_affinity(now: Spec, then: Spec, errs: list[FieldError]) -> None:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    old: Sequence[Spec] = (then.get(key) or {}).get("nodeSelectorTerms") or ()
    new: Sequence[Spec] = (now.get(key) or {}).get("nodeSelectorTerms") or ()
    path = f"spec.affinity.nodeAffinity.{key}.nodeSelectorTerms"
    if old and len(old) != len(new):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errs.append(errors.invalid_value(path, list(new), text))
        return
    for index, (was, became) in enumerate(zip(old, new, strict=False)):
        for part in ("matchExpressions", "matchFields"):
            size = len(was.get(part) or ())
            if (became.get(part) or [])[:size] != (was.get(part) or []):
                text = "only additions are allowed (no mutations or deletions)"
                errs.append(errors.invalid_value(f"{path}[{index}]", dict(became), text))
                break


def _can_resize(pod: Object) -> bool:
    """Whether the status reports the containers' actual resources, or no container runs yet."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _same_containers(after: Spec, before: Spec, group: str, errs: list[FieldError]) -> None:
    new, old = after.get(group) or (), before.get(group) or ()
    if len(new) != len(old):
        text = f"{group} may not be added or removed on resize"
        errs.append(errors.forbidden_value(f"spec.{group}", text))
        return
    for index, (now, then) in enumerate(zip(new, old, strict=True)):
        if now.get("name") != then.get("name"):
            text = f"{group} may not be renamed or reordered on resize"
            errs.append(errors.forbidden_value(f"spec.{group}[{index}].name", text))


def _resized(now: Spec, then: Spec, path: str, errs: list[FieldError]) -> None:
    after, before = now.get("resources") or {}, then.get("resources") or {}
    for kind in ("requests", "limits"):
        new, old = after.get(kind) or {}, before.get(kind) or {}
        if any(name not in new for name in old):
            text = f"resource {kind} cannot be removed"
            errs.append(errors.forbidden_value(f"{path}.{kind}", text))
        others = {k: v for k, v in new.items() if k not in ("cpu", "memory")}
        if others != {k: v for k, v in old.items() if k not in ("cpu", "memory")}:
            text = "only cpu and memory resources are mutable"
            errs.append(errors.forbidden_value("spec", text))
    policies = now.get("resizePolicy") or ()
    restart = next(
        (item.get("restartPolicy") for item in policies if item.get("resourceName") == "memory"),
        "NotRequired",
    )
    new_limit = (after.get("limits") or {}).get("memory")
    old_limit = (before.get("limits") or {}).get("memory")
    if restart == "NotRequired" and new_limit is not None:
        if old_limit is None:
            text = "memory limits cannot be added unless resizePolicy is RestartContainer"
            errs.append(errors.forbidden_value(f"{path}.limits[memory]", text))
        elif resources.nano(new_limit) < resources.nano(old_limit):
            text = "memory limits cannot be decreased unless resizePolicy is RestartContainer"
            errs.append(errors.forbidden_value(f"{path}.limits[memory]", text))
