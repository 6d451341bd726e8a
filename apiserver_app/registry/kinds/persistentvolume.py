"""PersistentVolumes: a source, a size, and what it is bound to. The source never changes.

Models kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go and
pkg/registry/core/persistentvolume/strategy.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, rfc3339
from apiserver_app.registry.kinds import (
    checks,
    godiff,
    gosyntax,
    persistentvolumeclaim,
    podscheduling,
    resources,
)
from apiserver_app.registry.strategy import Context, Strategy

_RECLAIM = ("Delete", "Recycle", "Retain")
_PLAIN = {
    "capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName",
    "mountOptions", "volumeMode", "nodeAffinity", "volumeAttributesClassName",
}  # fmt: skip


class PersistentVolumeStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if not spec.get("volumeMode"):
            spec["volumeMode"] = "Filesystem"
        if spec.get("capacity"):
            resources.canonicalize(spec["capacity"])
        if spec.get("hostPath") is not None:
            spec["hostPath"].setdefault("type", "")
        status: dict[str, Any] = obj.get("status") or {}
        obj["status"] = status
        if not status.get("phase"):
            status["phase"] = "Pending"
            gosyntax.arrange(status, ("phase", "message", "reason", "lastPhaseTransitionTime"))

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": rfc3339(ctx.now)}

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        phase = (old.get("status") or {}).get("phase")
        if obj.get("status") and obj["status"].get("phase") != phase:
            obj["status"]["lastPhaseTransitionTime"] = rfc3339(ctx.now)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        modes = spec.get("accessModes") or ()
        if not modes:
            found.append(errors.required("spec.accessModes"))
        persistentvolumeclaim.access_modes(modes, "spec.accessModes", found)
        capacity = spec.get("capacity") or {}
        if not capacity:
            found.append(errors.required("spec.capacity"))
        if "storage" not in capacity or len(capacity) > 1:
            shown = errors.GoText("core.ResourceList{...}")
            found.append(errors.not_supported("spec.capacity", shown, ("storage",)))
        for name, value in capacity.items():
            resources.positive(value, f"spec.capacity[{name}]", found)
        policy = spec.get("persistentVolumeReclaimPolicy")
        if policy not in _RECLAIM:
            path = "spec.persistentVolumeReclaimPolicy"
            found.append(errors.not_supported(path, policy, _RECLAIM))
        if (spec.get("nodeAffinity") or {}).get("required") is not None:
            path = "spec.nodeAffinity.required"
            podscheduling.node_selector(spec["nodeAffinity"]["required"], path, found)
        sources = [kind for kind in spec if kind not in _PLAIN]
        if not sources:
            found.append(errors.required("spec", "must specify a volume type"))
        for kind in sources[1:]:
            text = "may not specify more than 1 volume type"
            found.append(errors.forbidden_value(f"spec.{kind}", text))
        if spec.get("storageClassName"):
            value = spec["storageClassName"]
            checks.named(value, "spec.storageClassName", names.dns1123_subdomain_errors, found)
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        found = self.validate(ctx, obj)
        new = {kind: value for kind, value in spec.items() if kind not in _PLAIN}
        source = {kind: value for kind, value in before.items() if kind not in _PLAIN}
        if new != source:
            text = "spec.persistentvolumesource is immutable after creation\n" + godiff.of(
                source, new, "core.PersistentVolumeSource", ctx.version
            )
            found.append(errors.forbidden_value("spec.persistentvolumesource", text))
        if spec.get("volumeMode") != before.get("volumeMode"):
            found.append(
                errors.invalid_value("volumeMode", spec.get("volumeMode"), "field is immutable")
            )
        return found
