"""The strategy of ReplicaSets: one replica by default, labels from the template.

Models kubernetes pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation/validation.go and
pkg/registry/apps/replicaset/strategy.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.core import workload
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks


class ReplicaSetStrategy(workload.ReplicaStrategy):
    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        checks.not_negative(spec.get("replicas"), "spec.replicas", errs)
        checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", errs)
        workload.selector(spec, "spec", "deployment", errs)
        workload.template(spec, "ReplicaSet", ctx.version, errs, "invalid label selector")
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec is before:
            return []
        if spec.get("template") == before.get("template") and (
            spec.get("selector") == before.get("selector")
        ):
            errs: list[FieldError] = []
            checks.not_negative(spec.get("replicas"), "spec.replicas", errs)
            checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", errs)
            return errs
        errs = self.validate(ctx, obj)
        workload.immutable_selector(obj, old, errs)
        return errs
