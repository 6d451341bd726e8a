"""The strategy of pods: defaults, validation, updates, status, graceful deletion.

A pod's spec is immutable except for a few fields; only a binding sets its node. Every pod is
written about ten times in its life, so unchanged parts are never validated again.

Models kubernetes pkg/registry/core/pod/strategy.go, pkg/registry/core/pod/storage/storage.go and
pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.apis import initializers
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import (
    apparmor,
    defaults,
    disabled,
    podlevel,
    scheduling,
    update,
    validation,
)
from apiserver_app.registry.core.pod import status as podstatus
from apiserver_app.registry.core.pod import warnings as podwarnings
from apiserver_app.registry.strategy import Context, Strategy

_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodStrategy(Strategy):
    keeps_spec = True
    selectable = (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
        "spec.host",  # the former name of spec.nodeName
    )

    def default(self, obj: Object) -> None:
        spec = obj.get("spec")
        if spec is None:
            spec = obj["spec"] = {}
        defaults.pod_spec(spec)
        defaults.pod(spec)
        if spec.get("resources") and self.release.has("PodLevelResources"):
            podlevel.with_defaults(spec)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        if ctx.version.has("PodGeneration"):
            obj["metadata"]["generation"] = 1
        else:
            obj["metadata"].pop("generation", None)
        spec = obj["spec"]
        account = spec.get("serviceAccountName")
        if account:
            spec["serviceAccount"] = account
        if spec.get("affinity") and ctx.version.has("MatchLabelKeysInPodAffinity"):
            spec["affinity"] = scheduling.with_label_keys(spec["affinity"], meta.labels_of(obj))
        spec = obj["spec"] = disabled.without(spec, None, ctx.version)
        if ctx.version.has("AppArmorFields"):
            apparmor.synchronize(obj, ctx.version.has("AppArmorAnnotations"), ctx.warnings)
        gofields.arrange(spec, "core.v1.PodSpec")
        status: dict[str, Any] = {"phase": "Pending"}
        if spec.get("schedulingGates"):
            status["conditions"] = [_gated(ctx.now)]
        status["qosClass"] = resources.qos_class(spec)
        obj["status"] = status

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        self._validate_spec(obj, ctx.version, errs)
        spec = obj["spec"]
        if spec.get("ephemeralContainers"):
            text = "cannot be set on create"
            errs.append(errors.forbidden_value("spec.ephemeralContainers", text))
        if spec.get("schedulingGates") and spec.get("nodeName"):
            text = "cannot be set until all schedulingGates have been cleared"
            errs.append(errors.forbidden_value("spec.nodeName", text))
        return errs

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status") or {}
        obj["spec"] = disabled.without(obj["spec"], old["spec"], ctx.version)
        if ctx.subresource == "ephemeralcontainers":
            update.keep_all_but_ephemeral(obj, old)
        elif ctx.subresource == "resize":
            update.keep_all_but_resources(obj, old)
        spec = obj["spec"]
        generation = old["metadata"].get("generation") or 0
        if generation:
            changed = spec is not old["spec"] and spec != old["spec"]
            obj["metadata"]["generation"] = generation + changed

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if initializers.pending(old):  # nothing runs yet: all of it may change
            return self.validate(ctx, obj)
        errs: list[FieldError] = []
        spec, before = obj["spec"], old["spec"]
        same = spec is before or spec == before
        if not same:
            self._validate_spec(obj, ctx.version, errs)
        update.changed_annotations(obj, old, errs)
        if same:
            return errs
        if ctx.subresource == "ephemeralcontainers":
            update.ephemeral(spec, before, ctx.version, errs)
        elif ctx.subresource == "resize":
            update.resize(obj, old, errs)
        else:
            update.spec(spec, before, ctx.version, errs)
        return errs

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        metadata, before = obj["metadata"], old["metadata"]
        kept = dict(before)
        for name in ("labels", "annotations", "finalizers", "resourceVersion", "managedFields"):
            if metadata.get(name) is not before.get(name):
                if name in metadata:
                    kept[name] = metadata[name]
                else:
                    kept.pop(name, None)
        obj["metadata"] = kept
        obj["spec"] = old["spec"]
        status = obj.get("status")
        if status is None:
            status = obj["status"] = {}
        podstatus.fill(status, old.get("status") or {})

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        update.changed_annotations(obj, old, errs)
        podstatus.validate(obj, old, ctx.version, errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        if old is not None:
            return []
        warnings = []
        name = meta.name_of(obj)
        messages = names.dns1123_label_errors(name) if name else []
        if messages:
            warnings.append(
                "metadata.name: this is used in the Pod's hostname, which can result in "
                f"surprising behavior; a DNS label is recommended: [{' '.join(messages)}]"
            )
        podwarnings.add(obj["spec"], obj["metadata"], "spec", ctx.version, warnings)
        return warnings

    def grace_seconds(self, obj: Object, options: Object) -> int | None:
        """The requested grace period, else the pod's own; 0 when no kubelet runs the pod. One that
        runs already stays unless another is asked for."""
        seconds = options.get("gracePeriodSeconds")
        if meta.is_deleting(obj):
            was = obj["metadata"].get("deletionGracePeriodSeconds") or 0
            seconds = was if seconds is None or not was else seconds
        elif not obj["spec"].get("nodeName"):
            return 0
        elif (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        elif seconds is None:
            seconds = obj["spec"].get("terminationGracePeriodSeconds") or 0
        return 1 if seconds < 0 else int(seconds)

    def selectable_value(self, obj: Object, path: str) -> str | None:
        if path in ("spec.nodeName", "spec.host"):
            return obj["spec"].get("nodeName") or ""
        if path == "status.phase":
            return (obj.get("status") or {}).get("phase") or ""
        if path == "spec.hostNetwork":
            return "true" if obj["spec"].get("hostNetwork") else "false"
        if path in ("status.podIP", "status.podIPs"):
            addresses = (obj.get("status") or {}).get("podIPs") or ()
            return str(addresses[0].get("ip") or "") if addresses else ""
        return super().selectable_value(obj, path)

    def _validate_spec(self, obj: Object, release: Release, errs: list[FieldError]) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        annotations = metadata.get("annotations")
        if annotations:
            validation.pod_annotations(annotations, spec, "metadata.annotations", errs)
        validation.validate(spec, metadata.get("name") or "", "spec", True, release, errs)
        if not spec.get("serviceAccountName"):
            _tokens_without_account(spec.get("volumes") or (), errs)
        for group in ("containers", "initContainers"):
            update.images(spec.get(group) or (), f"spec.{group}", errs)


def _gated(now: int) -> dict[str, Any]:
    condition = {**_GATED, "lastTransitionTime": meta.rfc3339(now)}
    gofields.arrange(condition, "core.v1.PodCondition")
    return condition


def _tokens_without_account(volumes: Any, errs: list[FieldError]) -> None:
    for index, volume in enumerate(volumes):
        for position, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                text = "must not be specified when serviceAccountName is not set"
                at = f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken"
                errs.append(errors.forbidden_value(at, text))
