"""ReplicaSets: one replica by default, labels from the template.

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
        found: list[FieldError] = []
        spec = obj["spec"]
        checks.not_negative(spec.get("replicas"), "spec.replicas", found)
        checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
        workload.selector(spec, "spec", "deployment", found)
        workload.template(spec, "spec", "ReplicaSet", found, "invalid label selector")
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec is before:
            return []
        if spec.get("template") == before.get("template") and (
            spec.get("selector") == before.get("selector")
        ):
            found: list[FieldError] = []
            checks.not_negative(spec.get("replicas"), "spec.replicas", found)
            checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
            return found
        found = self.validate(ctx, obj)
        workload.immutable_selector(obj, old, found)
        return found
