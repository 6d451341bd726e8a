"""ReplicationControllers: the older ReplicaSet, whose selector is a plain map.

Models kubernetes pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go and
pkg/registry/core/replicationcontroller/strategy.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.pod import validation
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks


class ReplicationControllerStrategy(workload.ReplicaStrategy):
    selectable = ("status.replicas",)
    orphans_dependents = True

    def default(self, obj: Object) -> None:
        given = (obj.get("spec") or {}).get("template") is not None
        super().default(obj)
        if not given:
            del obj["spec"]["template"]

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", errs)
        selector = spec.get("selector") or {}
        if not selector:
            errs.append(errors.required("spec.selector"))
        checks.not_negative(spec.get("replicas"), "spec.replicas", errs)
        template = spec.get("template")
        if template is None:
            errs.append(errors.required("spec.template"))
            return errs
        if selector:
            workload.template_labels({"matchLabels": selector}, template, "spec.template", errs)
        validation.validate_template(template, "spec.template", ctx.version, errs)
        workload.always(template, "spec.template", "ReplicationController", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return [] if obj["spec"] == old["spec"] else self.validate(ctx, obj)
