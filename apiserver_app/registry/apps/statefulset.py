"""The strategy of StatefulSets: defaults and validation; few fields of the spec may change.

Models kubernetes pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation/validation.go and
pkg/registry/apps/statefulset/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import persistentvolumeclaim, workload
from apiserver_app.registry.core.pod import validation
from apiserver_app.registry.core.workload import NOT_MORE_THAN_REPLICAS
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks, gosyntax, objectmeta, selectors

_LIMIT = "revisionHistoryLimit"  # is one of them since 1.33
_MUTABLE = (
    "replicas", "ordinals", "template", "updateStrategy", _LIMIT,
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


class StatefulSetStrategy(workload.WorkloadStrategy):
    name_rule = staticmethod(objectmeta.dns_label)
    status_zero: ClassVar[Mapping[str, Any]] = {"replicas": 0, "availableReplicas": 0}
    status_numbers = (
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    )
    status_limits = (
        ("readyReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("currentReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("updatedReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"),
    )

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        if not spec.get("podManagementPolicy"):
            spec["podManagementPolicy"] = "OrderedReady"
        strategy: dict[str, Any] = spec.get("updateStrategy") or {}
        spec["updateStrategy"] = strategy
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            if strategy.get("rollingUpdate") is None:
                strategy["rollingUpdate"] = {}
            gofields.arrange(strategy, "apps.v1.StatefulSetUpdateStrategy")
        if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
            strategy["rollingUpdate"].setdefault("partition", 0)
        retention: dict[str, Any] = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        spec["persistentVolumeClaimRetentionPolicy"] = retention
        for field in ("whenDeleted", "whenScaled"):
            if not retention.get(field):
                retention[field] = "Retain"
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        for claim in spec.get("volumeClaimTemplates") or ():
            claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
            claim.setdefault("metadata", {})
            persistentvolumeclaim.default(claim)
            gofields.arrange(claim, "core.v1.PersistentVolumeClaim")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        _drop_unavailable(ctx, obj["spec"], None)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        if obj["spec"] is not old["spec"]:
            _drop_unavailable(ctx, obj["spec"], old["spec"])
        super().prepare_for_update(ctx, obj, old)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        whole = ctx.version.has("StatefulSetTemplateValidation")
        return self._validate(ctx, obj, True, whole=whole)

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings = super().warnings(ctx, obj, old)
        limit = obj["spec"].get("revisionHistoryLimit")
        if limit is not None and limit < 0:
            warnings.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return warnings

    def _validate(self, ctx: Context, obj: Object, fresh: bool, *, whole: bool) -> list[FieldError]:
        """`whole`: the templates of pods and claims as well, all of them."""
        errs: list[FieldError] = []
        spec = obj["spec"]
        policy = spec.get("podManagementPolicy")
        if policy not in ("OrderedReady", "Parallel"):
            text = "must be 'OrderedReady' or 'Parallel'"
            errs.append(errors.invalid_value("spec.podManagementPolicy", policy or "", text))
        _update_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errs)
        retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
        for field in ("whenDeleted", "whenScaled"):
            value = retention.get(field)
            if retention and value not in ("Retain", "Delete"):
                path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
                errs.append(errors.not_supported(path, value or "", ("Retain", "Delete")))
        if fresh and whole:
            for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
                path = f"spec.volumeClaimTemplates[{index}].spec"
                persistentvolumeclaim.validate_spec(claim.get("spec") or {}, path, errs)
        checks.not_negative(spec.get("replicas"), "spec.replicas", errs)
        checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", errs)
        start = (spec.get("ordinals") or {}).get("start")
        checks.not_negative(start, "spec.ordinals.start", errs)
        if fresh and spec.get("serviceName"):
            checks.named(spec["serviceName"], "spec.serviceName", names.dns1123_label_errors, errs)
        workload.selector(spec, "spec", "statefulset", errs)
        _template(spec, whole, ctx.version, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        whole = ctx.version.has("StatefulSetTemplateValidation")
        whole = whole and not self._validate(ctx, old, False, whole=True)
        errs = self._validate(ctx, obj, False, whole=whole)
        late = ctx.version.has("RevisionHistoryLimitMutable")
        mutable = [field for field in _MUTABLE if field != _LIMIT or late]
        fixed = {key: value for key, value in spec.items() if key not in mutable}
        if fixed != {key: value for key, value in before.items() if key not in mutable}:
            *most, last = (f"'{field}'" for field in mutable)
            text = (
                f"updates to statefulset spec for fields other than {', '.join(most)} and {last} "
                "are forbidden"
            )
            errs.append(errors.forbidden_value("spec", text))
        return errs


def _drop_unavailable(ctx: Context, spec: dict[str, Any], old: Object | None) -> None:
    """How many pods may be unavailable, unless the gate is on or somebody had said it."""
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate")
    before = ((old or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
    if not rolling or ctx.version.has("MaxUnavailableStatefulSet"):
        return
    if "maxUnavailable" in rolling and before.get("maxUnavailable") is None:
        kept = {name: value for name, value in rolling.items() if name != "maxUnavailable"}
        spec["updateStrategy"] = {**spec["updateStrategy"], "rollingUpdate": kept}


def _update_strategy(strategy: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            printed = errors.GoText(
                "apps.RollingUpdateStatefulSetStrategy{Partition:"
                f"{rolling.get('partition') or 0}, MaxUnavailable:(*intstr.IntOrString)(nil)}}"
            )
            text = "only allowed for updateStrategy 'RollingUpdate'"
            errs.append(errors.invalid_value(f"{path}.rollingUpdate", printed, text))
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        checks.not_negative(partition, f"{path}.rollingUpdate.partition", errs)
    else:
        printed = errors.GoText(
            f"apps.StatefulSetUpdateStrategy{{Type:{errors.go_value(kind)}, RollingUpdate:"
            f"{gosyntax.pointer('apps.RollingUpdateStatefulSetStrategy', rolling)}}}"
        )
        text = "must be 'RollingUpdate' or 'OnDelete'"
        errs.append(errors.invalid_value(path, printed, text))


def _as_of_a_pod(spec: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any]:
    """The template with what the controller puts into each pod, and without what it replaces."""
    inside: dict[str, Any] = dict(template.get("spec") or {})
    for field in ("subdomain", "hostname"):
        inside.pop(field, None)
    claims = dict.fromkeys(
        (claim.get("metadata") or {}).get("name") or ""
        for claim in spec.get("volumeClaimTemplates") or ()
    )  # a name that is there twice is one volume
    if claims:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        others = [
            volume for volume in inside.get("volumes") or () if volume.get("name") not in claims
        ]
        inside["volumes"] = [*made, *others]
    return {**template, "spec": inside}


def _template(
    spec: Mapping[str, Any], whole: bool, release: Release, errs: list[FieldError]
) -> None:
    value = spec.get("selector")
    template = spec.get("template") or {}
    if not selectors.is_valid(value):
        printed = gosyntax.label_selector(value)
        errs.append(errors.invalid_value("spec.selector", printed, ""))
    else:
        workload.template_labels(value, template, "spec.template", errs)
        if whole:
            made = _as_of_a_pod(spec, template)
            validation.validate_template(made, "spec.template", release, errs)
        validation.template_metadata(template, "spec.template", errs)
    workload.always(template, "spec.template", "StatefulSet", errs)
