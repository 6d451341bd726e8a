"""Validation of a job's status: a finished job stays finished, and its numbers agree.

A rule applies only when its fields changed: a status that was already invalid may stay, and the
controller has time to follow a change of the spec.

Models kubernetes pkg/apis/batch/validation/validation.go (validateJobStatus,
ValidateJobStatusUpdate) and pkg/registry/batch/job/strategy.go (getStatusValidationOptions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import conditions, errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.batch.job import policies
from apiserver_app.registry.validation import checks

Status = Mapping[str, Any]

_NUMBERS = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS = "status.conditions"
_CHANGING = tuple(
    """
    active startTime completionTime completedIndexes failedIndexes ready terminating
    uncountedTerminatedPods
    """.split()
)


def validate(obj: Object, old: Object, errs: list[FieldError]) -> None:
    spec, now, before = obj["spec"], obj.get("status") or {}, old.get("status") or {}
    changed = {field for field in _CHANGING if now.get(field) != before.get(field)}
    words = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
    changed |= {
        word for word in words if conditions.is_true(now, word) != conditions.is_true(before, word)
    }
    if is_finished(now) != is_finished(before):
        changed.add("finished")
    checks.not_negatives(dict(now), "status", _NUMBERS, errs)
    _uncounted(now.get("uncountedTerminatedPods") or {}, errs)
    _completion(now, changed, errs)
    if is_finished(now):
        _finished(now, changed, errs)
    _indexes(spec, now, changed, errs)
    ready, active = now.get("ready"), now.get("active") or 0
    if changed & {"ready", "active"} and ready is not None and ready > active:
        text = "cannot set more ready pods than active"
        errs.append(errors.invalid_value("status.ready", ready, text))
    _criteria(spec, now, errs)
    _transition(spec, now, before, changed, errs)


def is_finished(status: Status) -> bool:
    return conditions.is_true(status, "Complete") or conditions.is_true(status, "Failed")


# -- inside -------------------------------------------------------------------------------------


def _condition(text: str, errs: list[FieldError]) -> None:
    errs.append(errors.invalid_value(_CONDITIONS, errors.OMITTED, text))


def _uncounted(pods: Status, errs: list[FieldError]) -> None:
    """Validates the uids of terminated pods that are not counted yet."""
    path, seen = "status.uncountedTerminatedPods", set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            if not uid:
                errs.append(errors.invalid_value(at, uid, "must not be empty"))
            elif uid in seen:
                errs.append(errors.duplicate(at, uid))
            seen.add(uid)


def _completion(now: Status, changed: set[str], errs: list[FieldError]) -> None:
    complete, at = conditions.is_true(now, "Complete"), "status.completionTime"
    ended, began = now.get("completionTime"), now.get("startTime")
    if complete and changed & {"Complete", "Failed"} and conditions.is_true(now, "Failed"):
        _condition("cannot set Complete=True and Failed=true conditions", errs)
    if (
        complete
        and changed & {"Complete", "FailureTarget"}
        and conditions.is_true(now, "FailureTarget")
    ):
        _condition("cannot set Complete=True and FailureTarget=true conditions", errs)
    if changed & {"Complete", "completionTime"}:
        if ended and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errs.append(errors.invalid_value(at, ended, text))
        if complete and not ended:
            errs.append(errors.required(at, "completionTime is required for Complete jobs"))
    if changed & {"startTime", "completionTime"} and ended and began and ended < began:
        text = "completionTime cannot be set before startTime"
        errs.append(errors.invalid_value(at, ended, text))
    failed = conditions.is_true(now, "Failed")
    if (
        failed
        and changed & {"Failed", "FailureTarget"}
        and not conditions.is_true(now, "FailureTarget")
    ):
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        _condition(text, errs)
    met = conditions.is_true(now, "SuccessCriteriaMet")
    if complete and changed & {"Complete", "SuccessCriteriaMet"} and not met:
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        _condition(text, errs)


def _finished(now: Status, changed: set[str], errs: list[FieldError]) -> None:
    if changed & {"finished", "active"} and (now.get("active") or 0) > 0:
        text = "active>0 is invalid for finished job"
        errs.append(errors.invalid_value("status.active", now["active"], text))
    if changed & {"finished", "startTime"} and not now.get("startTime"):
        text = "startTime is required for finished job"
        errs.append(errors.required("status.startTime", text))
    pods = now.get("uncountedTerminatedPods") or {}
    uncounted = pods.get("failed") or pods.get("succeeded")
    if changed & {"finished", "uncountedTerminatedPods"} and uncounted:
        printed = errors.GoText(
            f"batch.UncountedTerminatedPods{{Succeeded:{_uids(pods.get('succeeded'))}, "
            f"Failed:{_uids(pods.get('failed'))}}}"
        )
        text = "uncountedTerminatedPods needs to be empty for finished job"
        errs.append(errors.invalid_value("status.uncountedTerminatedPods", printed, text))
    ending = now.get("terminating") or 0
    if changed & {"finished", "terminating"} and ending > 0:
        text = "terminating>0 is invalid for finished job"
        errs.append(errors.invalid_value("status.terminating", ending, text))


def _uids(uids: Sequence[str] | None) -> str:
    if uids is None:
        return "[]types.UID(nil)"
    return f"[]types.UID{{{', '.join(map(errors.go_value, uids))}}}"


def _indexes(spec: Status, now: Status, changed: set[str], errs: list[FieldError]) -> None:
    count, done, failed = spec.get("completions"), now.get("completedIndexes") or "", None
    per_index = spec.get("backoffLimitPerIndex") is not None
    at, failed = "status.failedIndexes", now.get("failedIndexes")
    if "completedIndexes" in changed and count is not None:
        _, message = policies.indexes_error(done, count)
        if message:
            text = f"error parsing completedIndexes: {message}"
            errs.append(errors.invalid_value("status.completedIndexes", done, text))
    if "failedIndexes" in changed and count is not None and per_index and failed is not None:
        _, message = policies.indexes_error(failed, count)
        if message:
            text = f"error parsing failedIndexes: {message}"
            errs.append(errors.invalid_value(at, failed, text))
    if "completedIndexes" in changed and done and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errs.append(errors.invalid_value("status.completedIndexes", done, text))
    if "failedIndexes" in changed and failed is not None and not per_index:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errs.append(errors.invalid_value(at, failed, text))
    if changed & {"failedIndexes", "completedIndexes"} and count is not None and failed is not None:
        message = policies.overlap_error(done, failed, count)
        if message:
            errs.append(errors.invalid_value(at, failed, message))


def _criteria(spec: Status, now: Status, errs: list[FieldError]) -> None:
    """Refuses SuccessCriteriaMet together with Failed or FailureTarget."""
    if not conditions.is_true(now, "SuccessCriteriaMet"):
        if spec.get("successPolicy") is not None and conditions.is_true(now, "Complete"):
            text = (
                "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            )
            _condition(text, errs)
        return
    for kind in ("Failed", "FailureTarget"):
        if conditions.is_true(now, kind):
            text = f"cannot set SuccessCriteriaMet=True and {kind}=true conditions"
            _condition(text, errs)


def _transition(
    spec: Status, now: Status, before: Status, changed: set[str], errs: list[FieldError]
) -> None:
    for kind in ("Failed", "Complete", "FailureTarget"):
        if conditions.is_true(before, kind) and not conditions.is_true(now, kind):
            _condition(f"cannot disable the terminal {kind}=True condition", errs)
    indexed = spec.get("completionMode") == "Indexed"
    elastic = indexed and spec.get("completions") == spec.get("parallelism")
    for field in ("failed", "succeeded"):
        value = now.get(field) or 0
        if value < (before.get(field) or 0) and not (elastic and field == "succeeded"):
            text = f"cannot decrease the {field} counter"
            errs.append(errors.invalid_value(f"status.{field}", value, text))
    ended, then = now.get("completionTime"), before.get("completionTime")
    if ended and then and ended != then:
        text = "completionTime cannot be mutated"
        errs.append(errors.invalid_value("status.completionTime", ended, text))
    if "startTime" in changed and before.get("startTime") and not spec.get("suspend"):
        text = "startTime cannot be removed for unsuspended job"
        errs.append(errors.required("status.startTime", text))
    met, was_met = (
        conditions.is_true(now, "SuccessCriteriaMet"),
        conditions.is_true(before, "SuccessCriteriaMet"),
    )
    if was_met and not met:
        _condition("cannot disable the SuccessCriteriaMet=True condition", errs)
    if conditions.is_true(before, "Complete") and met and not was_met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        _condition(text, errs)
