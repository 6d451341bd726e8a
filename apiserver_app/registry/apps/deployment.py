"""The strategy of Deployments: defaults, and validation of the rollout's numbers.

Models kubernetes pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation/validation.go and
pkg/registry/apps/deployment/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.workload import NOT_MORE_THAN_READY, NOT_MORE_THAN_REPLICAS
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks, gosyntax

_DEFAULT_SHARE = "25%"
# the fields of metadata in Go's order, up to annotations


class DeploymentStrategy(workload.WorkloadStrategy):
    status_numbers = (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    status_limits = (
        ("updatedReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("readyReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "replicas", NOT_MORE_THAN_REPLICAS),
        ("availableReplicas", "readyReplicas", NOT_MORE_THAN_READY),
    )

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        strategy: dict[str, Any] = spec.get("strategy") or {}
        spec["strategy"] = strategy
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            gofields.arrange(strategy, "apps.v1.DeploymentStrategy")
        if strategy["type"] == "RollingUpdate":
            rolling: dict[str, Any] = strategy.get("rollingUpdate") or {}
            strategy["rollingUpdate"] = rolling
            for field in ("maxUnavailable", "maxSurge"):
                if rolling.get(field) is None:
                    rolling[field] = _DEFAULT_SHARE
            if next(iter(rolling)) != "maxUnavailable":
                gofields.arrange(rolling, "apps.v1.RollingUpdateDeployment")
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10
        if spec.get("progressDeadlineSeconds") is None:
            spec["progressDeadlineSeconds"] = 600

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        checks.not_negative(spec.get("replicas"), "spec.replicas", errs)
        workload.selector(spec, "spec", "deployment", errs)
        workload.template(spec, "ReplicaSet", ctx.version, errs, "invalid label selector")
        _strategy(spec.get("strategy") or {}, "spec.strategy", errs)
        ready = spec.get("minReadySeconds") or 0
        checks.not_negative(ready, "spec.minReadySeconds", errs)
        checks.not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", errs)
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None:
            checks.not_negative(deadline, "spec.progressDeadlineSeconds", errs)
            if deadline <= ready:
                text = "must be greater than minReadySeconds"
                errs.append(errors.invalid_value("spec.progressDeadlineSeconds", deadline, text))
        return errs

    def spec_changed(self, obj: Object, old: Object) -> bool:
        """Annotations count too: a rollout's history is kept there."""
        return bool(
            obj["spec"] != old["spec"]
            or (obj["metadata"].get("annotations") or {})
            != (old["metadata"].get("annotations") or {})
        )

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Takes the annotations too: the controller writes the revision with the status."""
        annotations = obj["metadata"].get("annotations")
        super().prepare_for_status_update(ctx, obj, old)
        metadata = obj["metadata"]
        metadata.pop("annotations", None)
        if annotations:
            metadata["annotations"] = annotations
            gofields.arrange(metadata, "meta.v1.ObjectMeta")

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        return [*workload.name_warnings(obj, old), *super().warnings(ctx, obj, old)]

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] is old["spec"] or obj["spec"] == old["spec"]:
            return []
        errs = self.validate(ctx, obj)
        workload.immutable_selector(obj, old, errs)
        return errs


def _strategy(strategy: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            errs.append(errors.forbidden_value(f"{path}.rollingUpdate", text))
    elif kind == "RollingUpdate":
        if rolling is None:
            text = "this should be defaulted and never be nil"
            errs.append(errors.required(f"{path}.rollingUpdate", text))
        else:
            _rolling(rolling, f"{path}.rollingUpdate", errs)
    else:
        printed = errors.GoText(
            f"apps.DeploymentStrategy{{Type:{errors.go_value(kind)}, RollingUpdate:"
            f"{gosyntax.pointer('apps.RollingUpdateDeployment', rolling)}}}"
        )
        errs.append(errors.not_supported(path, printed, ("Recreate", "RollingUpdate")))


def _rolling(rolling: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    checks.int_or_percent(unavailable, f"{path}.maxUnavailable", errs)
    checks.int_or_percent(surge, f"{path}.maxSurge", errs)
    if not checks.int_or_percent_value(unavailable) and not checks.int_or_percent_value(surge):
        text = "may not be 0 when `maxSurge` is 0"
        printed = checks.int_or_string_text(unavailable)
        errs.append(errors.invalid_value(f"{path}.maxUnavailable", printed, text))
    checks.not_above_100_percent(unavailable, f"{path}.maxUnavailable", errs)
