"""Validation of a job's spec, in Jobs and in the template of a CronJob.

Models kubernetes pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.batch.job import policies
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.pod import validation
from apiserver_app.registry.validation import checks, selectors

Spec = Mapping[str, Any]

MANAGED_BY_LENGTH = 63
_PARALLELISM_LIMIT = 100_000
_MANY = 100_000  # completions above which per-index limits are stricter
_MANY_PARALLEL = 10_000
_NUMBERS = tuple(
    """
    parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished
    backoffLimitPerIndex maxFailedIndexes
    """.split()
)


def with_selector(spec: Spec, release: Release, errs: list[FieldError]) -> None:
    """Validates the spec of a Job."""
    validate(spec, "spec", release, errs)
    selector = spec.get("selector")
    if selector is None:
        errs.append(errors.required("spec.selector"))
    else:
        selectors.validate(selector, "spec.selector", errs)
    if selectors.is_valid(selector):
        template = spec.get("template") or {}
        workload.template_labels(selector, template, "spec.template", errs)


def validate(spec: Spec, path: str, release: Release, errs: list[FieldError]) -> None:
    """Validates what a Job and a CronJob's template share."""
    checks.not_negatives(dict(spec), path, _NUMBERS, errs)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        text = "when maxFailedIndexes is specified"
        errs.append(errors.required(f"{path}.backoffLimitPerIndex", text))
    if spec.get("managedBy") is not None:
        checks.domain_prefixed_path(spec["managedBy"], f"{path}.managedBy", errs)
        if names.size(spec["managedBy"]) > MANAGED_BY_LENGTH:
            value = spec["managedBy"]
            errs.append(errors.too_long(f"{path}.managedBy", value, MANAGED_BY_LENGTH))
    _mode(spec, path, errs)
    if spec.get("podFailurePolicy") is not None:
        policies.failure(spec, f"{path}.podFailurePolicy.rules", errs)
    if spec.get("successPolicy") is not None:
        policies.success(spec, f"{path}.successPolicy", errs)
    _replacement(spec, path, errs)
    template = spec.get("template") or {}
    validation.validate_template(template, f"{path}.template", release, errs)
    _restart_policy(spec, template, f"{path}.template.spec.restartPolicy", errs)


def warnings(spec: Spec, path: str) -> list[str]:
    """Warnings about valid values that will cause trouble."""
    if (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY
        and (spec.get("parallelism") or 0) > _MANY_PARALLEL
    ):
        return [
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a "
            "big number of indexes fail"
        ]
    return []


# -- inside -------------------------------------------------------------------------------------


def _mode(spec: Spec, path: str, errs: list[FieldError]) -> None:
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        allowed = ("NonIndexed", "Indexed")
        errs.append(errors.not_supported(f"{path}.completionMode", mode, allowed))
    if mode == "Indexed":
        if spec.get("completions") is None:
            text = "when completion mode is Indexed"
            errs.append(errors.required(f"{path}.completions", text))
        parallelism = spec.get("parallelism") or 0
        if parallelism > _PARALLELISM_LIMIT:
            text = (
                f"must be less than or equal to {_PARALLELISM_LIMIT} "
                "when completion mode is Indexed"
            )
            errs.append(errors.invalid_value(f"{path}.parallelism", parallelism, text))
        most, completions = spec.get("maxFailedIndexes"), spec.get("completions")
        if most is not None and completions is not None and most > completions:
            text = "must be less than or equal to completions"
            errs.append(errors.invalid_value(f"{path}.maxFailedIndexes", most, text))
        if most is not None and most > _MANY:
            text = f"must be less than or equal to {_MANY}"
            errs.append(errors.invalid_value(f"{path}.maxFailedIndexes", most, text))
        if (completions or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None:
            _many(parallelism, most, path, errs)
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if spec.get(field) is not None and mode in (None, "NonIndexed"):
            text = "requires indexed completion mode"
            errs.append(errors.invalid_value(f"{path}.{field}", spec[field], text))


def _many(parallelism: int, most: int | None, path: str, errs: list[FieldError]) -> None:
    """Validates a job with very many indexes and a backoff limit for each."""
    text = (
        f"must be less than or equal to {_MANY_PARALLEL} when completions are above {_MANY} "
        "and used with backoff limit per index"
    )
    if most is None:
        message = f"must be specified when completions is above {_MANY}"
        errs.append(errors.required(f"{path}.maxFailedIndexes", message))
    if parallelism > _MANY_PARALLEL:
        errs.append(errors.invalid_value(f"{path}.parallelism", parallelism, text))
    if most is not None and most > _MANY_PARALLEL:
        errs.append(errors.invalid_value(f"{path}.maxFailedIndexes", most, text))


def _replacement(spec: Spec, path: str, errs: list[FieldError]) -> None:
    policy, at = spec.get("podReplacementPolicy"), f"{path}.podReplacementPolicy"
    if policy is None:
        return
    if spec.get("podFailurePolicy") is not None:
        if policy != "Failed":
            errs.append(errors.not_supported(at, policy, ("Failed",)))
    elif policy not in ("Failed", "TerminatingOrFailed"):
        errs.append(errors.not_supported(at, policy, ("Failed", "TerminatingOrFailed")))


def _restart_policy(spec: Spec, template: Spec, path: str, errs: list[FieldError]) -> None:
    policy = (template.get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        text = 'valid values: "OnFailure", "Never"'
        errs.append(errors.required(path, text))
    elif policy not in ("OnFailure", "Never"):
        errs.append(errors.not_supported(path, policy, ("OnFailure", "Never")))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        errs.append(errors.invalid_value(path, policy, text))
