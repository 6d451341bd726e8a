"""The strategy of Jobs: the generated selector and labels, validation, and allowed updates.

Models kubernetes pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation/validation.go and
pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.batch.job import policies, rules, status
from apiserver_app.registry.core import workload
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks, gostructs, gosyntax, selectors

_PREFIX = "batch.kubernetes.io/"
_FIXED = (
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_PRINTED = {"podFailurePolicy": policies.failure_text, "successPolicy": policies.success_text}


class JobStrategy(workload.WorkloadStrategy):
    selectable = ("status.successful",)
    orphans_dependents = True
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy="
        "Background to remove them or set propagationPolicy=Orphan to suppress this warning"
    )

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        default_job_spec(spec)
        if spec.get("manualSelector") is None:
            spec["manualSelector"] = False
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = labels  # one map, as upstream's defaulting leaves it

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        metadata, inside = obj["metadata"], obj["spec"]["template"].get("metadata") or {}
        shared = metadata.get("labels") is inside.get("labels")
        if not obj["spec"].get("manualSelector"):
            _generate_selector(ctx, obj)
        labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
        if labels and (shared or not metadata.get("labels")):  # or as a read defaults it
            metadata["labels"] = dict(labels)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if not obj["spec"].get("manualSelector") and obj["spec"].get("selector") is not None:
            _generated(ctx, obj, errs)
        rules.with_selector(obj["spec"], ctx.version, errs)
        _pod_names(obj, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        errs: list[FieldError] = []
        rules.with_selector(spec, ctx.version, errs)
        _completions(spec, before, errs)
        workload.immutable_selector(obj, old, errs)
        if _settled(spec, old) != _settled(before, old):
            printed = gostructs.text(spec.get("template"), "core.v1.PodTemplateSpec", ctx.version)
            text = "field is immutable"
            errs.append(errors.invalid_value("spec.template", printed, text))
        for field in _FIXED:
            if spec.get(field) != before.get(field):
                value = spec.get(field)
                if value is not None and field in _PRINTED:
                    value = _PRINTED[field](value)
                errs.append(errors.invalid_value(f"spec.{field}", value, "field is immutable"))
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status.validate(obj, old, errs)
        return errs

    def field_refusal(self, path: str) -> str:
        refusal = super().field_refusal(path)
        return f"field label {errors.go_value(path)} not supported for Job" if refusal else ""

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings = rules.warnings(obj["spec"], "spec")
        return [*workload.name_warnings(obj, old), *warnings, *super().warnings(ctx, obj, old)]

    def selectable_value(self, obj: Object, path: str) -> str | None:
        if path == "status.successful":
            return str((obj.get("status") or {}).get("succeeded") or 0)
        return super().selectable_value(obj, path)


def default_job_spec(spec: dict[str, Any]) -> None:
    """Sets the defaults that a Job and the template of a CronJob share."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        per_index = spec.get("backoffLimitPerIndex") is not None
        spec["backoffLimit"] = checks.MAX_INT32 if per_index else 6
    if spec.get("completionMode") is None:
        spec["completionMode"] = "NonIndexed"
    if spec.get("suspend") is None:
        spec["suspend"] = False
    if spec.get("podReplacementPolicy") is None:
        failed = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if failed else "TerminatingOrFailed"
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


# -- inside -------------------------------------------------------------------------------------


def _made_labels(ctx: Context, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The labels that tie pods to their job."""
    made = {"controller-uid": metadata.get("uid") or "", "job-name": metadata.get("name") or ""}
    if ctx.version.has("JobLabelsWithPrefix"):
        made |= {f"{_PREFIX}{label}": value for label, value in made.items()}
    return made


def _generate_selector(ctx: Context, obj: Object) -> None:
    spec = obj["spec"]
    inside = spec["template"].get("metadata") or {}
    made = _made_labels(ctx, obj["metadata"])
    labels = {**made, **(inside.get("labels") or {})}
    spec["template"]["metadata"] = {**inside, "labels": dict(sorted(labels.items()))}
    uid = f"{_PREFIX}controller-uid"
    if uid not in made:
        uid = "controller-uid"
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {uid: made[uid], **(selector.get("matchLabels") or {})}
    spec["selector"] = selector
    gofields.arrange(spec, "batch.v1.JobSpec")


def _generated(ctx: Context, obj: Object, errs: list[FieldError]) -> None:
    """Validates the generated labels and selector. A manifest copied from another job still
    carries that job's."""
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels") or {}
    made = _made_labels(ctx, obj["metadata"])
    for key, expected in made.items():
        text, path = f"must be '{expected}'", f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errs.append(errors.required(path, text))
        elif labels[key] != expected:
            errs.append(errors.invalid_value(path, dict(labels), text))
    selector = obj["spec"].get("selector")
    if selectors.is_valid(selector) and not selectors.matches(selector, made):
        printed = gosyntax.label_selector(selector)
        text = "`selector` not auto-generated"
        errs.append(errors.invalid_value("spec.selector", printed, text))


def _pod_names(obj: Object, errs: list[FieldError]) -> None:
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if names.dns1123_label_errors(hostname):
            text = f"will not able to create pod with invalid DNS label: {hostname}"
            errs.append(errors.invalid_value("metadata.name", name, text))


def _completions(
    spec: Mapping[str, Any], before: Mapping[str, Any], errs: list[FieldError]
) -> None:
    new, old = spec.get("completions"), before.get("completions")
    if new == old:
        return
    if spec.get("completionMode") == "Indexed" and new is None:
        return
    if spec.get("completionMode") != "Indexed":
        errs.append(errors.invalid_value("spec.completions", new, "field is immutable"))
    elif new != spec.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        errs.append(errors.invalid_value("spec.completions", new, text))


def _settled(spec: Mapping[str, Any], old: Object) -> Any:
    """The template without the fields that may change while a suspended job has not started."""
    template = spec.get("template") or {}
    free = old["spec"].get("suspend") and not (old.get("status") or {}).get("startTime")
    if not free:
        return template
    inside = {
        key: value
        for key, value in (template.get("spec") or {}).items()
        if key not in ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    }
    affinity = dict((template.get("spec") or {}).get("affinity") or {})
    affinity.pop("nodeAffinity", None)
    metadata = {
        key: value
        for key, value in (template.get("metadata") or {}).items()
        if key not in ("labels", "annotations")
    }
    return {"metadata": metadata, "spec": inside, "affinity": affinity}
