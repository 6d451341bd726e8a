"""HorizontalPodAutoscalers: bounds, metrics, and how fast to go up and down.

Models kubernetes pkg/apis/autoscaling/v2/defaults.go and
pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.autoscaling import metrics
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks

_SELECT = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
METRICS = "autoscaling.alpha.kubernetes.io/metrics"  # what v1 has no field for
WINDOW_SECONDS_MAX = 3600
PERIOD_SECONDS_MAX = 1800
_ALL = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR = {"type": "Pods", "value": 4, "periodSeconds": 15}


class HorizontalPodAutoscalerStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if self.info.version == "v1":
            # upstream has this from its way through v2, where something is always measured
            if METRICS not in meta.annotations_of(obj):
                spec.setdefault("targetCPUUtilizationPercentage", 80)
            gofields.arrange(spec, "autoscaling.v1.HorizontalPodAutoscalerSpec")
            return
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
            spec["metrics"] = [metric]
        behavior = spec.get("behavior")
        if behavior is not None:
            up: dict[str, Any] = behavior.get("scaleUp") or {}
            down: dict[str, Any] = behavior.get("scaleDown") or {}
            up.setdefault("stabilizationWindowSeconds", 0)
            up.setdefault("policies", [dict(_FOUR), dict(_ALL)])
            down.setdefault("policies", [dict(_ALL)])
            for rules in (up, down):
                rules.setdefault("selectPolicy", "Max")
                gofields.arrange(rules, "autoscaling.v2.HPAScalingRules")
            obj["spec"]["behavior"] = {"scaleUp": up, "scaleDown": down}
        gofields.arrange(spec, "autoscaling.v2.HorizontalPodAutoscalerSpec")
        if obj.get("status") is None:
            obj["status"] = self._zero()

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = self._zero()

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        obj["status"] = {**self._zero(), **(obj.get("status") or {})}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return self._validate(ctx, obj, None)

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self._validate(ctx, obj, old)

    def _validate(self, ctx: Context, obj: Object, old: Object | None) -> list[FieldError]:
        errs: list[FieldError] = []
        spec, before = obj["spec"], old["spec"] if old else {}
        bound = 0 if before.get("minReplicas") == 0 else 1
        least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
        if least is not None and least < bound:
            text = f"must be greater than or equal to {bound}"
            errs.append(errors.invalid_value("spec.minReplicas", least, text))
        late = ctx.version.has("MaxReplicasReworded")
        if most == 0 and late:
            errs.append(errors.required("spec.maxReplicas", "must be set and greater than 0"))
        elif most < 1:
            text = f"must be greater than {'or equal to 1' if late else '0'}"
            errs.append(errors.invalid_value("spec.maxReplicas", most, text))
        if least is not None and most < least:
            text = "must be greater than or equal to `minReplicas`"
            errs.append(errors.invalid_value("spec.maxReplicas", most, text))
        target, path = spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef"
        metrics.reference(target, path, errs)
        if ctx.version.has("ScaleTargetVersionValidation"):
            _version(target, before.get("scaleTargetRef"), path, errs)
        metrics.metrics(_metrics(spec), least, "spec.metrics", errs)
        behavior = spec.get("behavior") or {}
        for direction in ("scaleUp", "scaleDown"):
            if behavior.get(direction) is not None:
                _rules(behavior[direction], f"spec.behavior.{direction}", errs)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        fields = ("currentReplicas", "desiredReplicas")
        checks.not_negatives(obj["status"], "status", fields, errs)
        return errs

    def _zero(self) -> dict[str, Any]:
        if self.info.version == "v1":
            return {"currentReplicas": 0, "desiredReplicas": 0}
        return {"desiredReplicas": 0, "currentMetrics": None}


def _version(
    target: Mapping[str, Any], before: Mapping[str, Any] | None, path: str, errs: list[FieldError]
) -> None:
    """Requires a version with a group, but of what was there already."""
    value, kind = target.get("apiVersion") or "", target.get("kind")
    if before and (before.get("apiVersion") or "", before.get("kind")) == (value, kind):
        return
    if value.count("/") > 1:
        text = f"unexpected GroupVersion string: {value}"
    elif kind == "ReplicationController" or value.rpartition("/")[0]:
        return
    else:
        text = "apiVersion must specify API group"
    errs.append(errors.invalid_value(f"{path}.apiVersion", value, text))


def _metrics(spec: Mapping[str, Any]) -> list[Any]:
    """The metrics; v1 has a field of its own for the one of the CPU."""
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is None:
        return spec.get("metrics") or []
    target = {"type": "Utilization", "averageUtilization": percent}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _rules(rules: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    window, at = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        text = "must be greater than or equal to zero"
        errs.append(errors.invalid_value(at, window, text))
    if window is not None and window > WINDOW_SECONDS_MAX:
        text = f"must be less than or equal to {WINDOW_SECONDS_MAX}"
        errs.append(errors.invalid_value(at, window, text))
    choice = rules.get("selectPolicy")
    if choice is not None and choice not in _SELECT:
        errs.append(errors.not_supported(f"{path}.selectPolicy", choice, _SELECT))
    policies = rules.get("policies") or ()
    if not policies:
        text = "must specify at least one Policy"
        errs.append(errors.required(f"{path}.policies", text))
    for index, policy in enumerate(policies):
        _policy(policy, f"{path}.policies[{index}]", errs)


def _policy(policy: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind = policy.get("type") or ""
    if kind not in _POLICIES:
        errs.append(errors.not_supported(f"{path}.type", kind, _POLICIES))
    for field in ("value", "periodSeconds"):
        value = policy.get(field) or 0
        if value <= 0:
            errs.append(errors.invalid_value(f"{path}.{field}", value, "must be greater than zero"))
    period = policy.get("periodSeconds") or 0
    if period > PERIOD_SECONDS_MAX:
        text = f"must be less than or equal to {PERIOD_SECONDS_MAX}"
        errs.append(errors.invalid_value(f"{path}.periodSeconds", period, text))
