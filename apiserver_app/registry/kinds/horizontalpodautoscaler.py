"""HorizontalPodAutoscalers: bounds, metrics, and how fast to go up and down.

Models kubernetes pkg/apis/autoscaling/v2/defaults.go and
pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry import objectmeta
from apiserver_app.registry.kinds import checks, gosyntax
from apiserver_app.registry.strategy import Context, Strategy

_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior")
_SPEC_V1 = ("scaleTargetRef", "minReplicas", "maxReplicas", "targetCPUUtilizationPercentage")
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_SOURCES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_ALL = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR = {"type": "Pods", "value": 4, "periodSeconds": 15}


class HorizontalPodAutoscalerStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if self.info.version == "v1":
            gosyntax.arrange(spec, _SPEC_V1)
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
                gosyntax.arrange(rules, _RULES)
            behavior["scaleUp"], behavior["scaleDown"] = up, down
        gosyntax.arrange(spec, _SPEC)
        if obj.get("status") is None:
            obj["status"] = self._zero()

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = self._zero()

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_status_update(ctx, obj, old)
        obj["status"] = {**self._zero(), **(obj.get("status") or {})}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
        if least is not None and least < 1:
            text = "must be greater than or equal to 1"
            found.append(errors.invalid_value("spec.minReplicas", least, text))
        if most < 1:
            text = "must be greater than 0"
            found.append(errors.invalid_value("spec.maxReplicas", most, text))
        if least is not None and most < least:
            text = "must be greater than or equal to `minReplicas`"
            found.append(errors.invalid_value("spec.maxReplicas", most, text))
        target = spec.get("scaleTargetRef") or {}
        for field in ("kind", "name"):
            value = target.get(field) or ""
            if not value:
                found.append(errors.required(f"spec.scaleTargetRef.{field}"))
            for text in objectmeta.path_segment(value, False) if value else ():
                found.append(errors.invalid_value(f"spec.scaleTargetRef.{field}", value, text))
        for index, metric in enumerate(spec.get("metrics") or ()):
            _metric(metric, f"spec.metrics[{index}]", found)
        return found

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        found: list[FieldError] = []
        fields = ("currentReplicas", "desiredReplicas")
        checks.not_negatives(obj["status"], "status", fields, found)
        return found

    def _zero(self) -> dict[str, Any]:
        if self.info.version == "v1":
            return {"currentReplicas": 0, "desiredReplicas": 0}
        return {"desiredReplicas": 0, "currentMetrics": None}


def _metric(metric: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    kind = metric.get("type") or ""
    if not kind:
        found.append(errors.required(f"{path}.type", "must specify a metric source type"))
        return
    if kind not in _SOURCES:
        found.append(errors.not_supported(f"{path}.type", kind, _SOURCES))
        return
    field = kind[:1].lower() + kind[1:]
    source = metric.get(field)
    if source is None:
        text = "must populate information for the given metric source"
        found.append(errors.required(f"{path}.{field}", text))
        return
    if kind == "Resource" and not source.get("name"):
        text = "must specify a resource name"
        found.append(errors.required(f"{path}.resource.name", text))
    target = source.get("target") or {}
    if not target.get("type"):
        text = "must specify a metric target type"
        found.append(errors.required(f"{path}.{field}.target.type", text))
    elif target["type"] not in ("AverageValue", "Utilization", "Value"):
        text = "must be either Utilization, Value, or AverageValue"
        at = f"{path}.{field}.target.type"
        found.append(errors.invalid_value(at, target["type"], text))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        at = f"{path}.{field}.target.averageUtilization"
        found.append(errors.invalid_value(at, utilization, "must be greater than 0"))
