"""Validation of a job's podFailurePolicy and successPolicy.

Models kubernetes pkg/apis/batch/validation/validation.go (validatePodFailurePolicy,
validateSuccessPolicy, validateIndexesFormat).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks, gosyntax

Spec = Mapping[str, Any]

FAILURE_RULES_MAX = 20
PATTERNS_MAX = 20
EXIT_CODES_MAX = 255
SUCCESS_RULES_MAX = 20
INDEXES_SIZE = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")


def failure(spec: Spec, path: str, errs: list[FieldError]) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > FAILURE_RULES_MAX:
        errs.append(errors.too_many(path, len(rules), FAILURE_RULES_MAX))
    inside = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name")
        for group in ("containers", "initContainers")
        for container in inside.get(group) or ()
    }
    for index, rule in enumerate(rules):
        at = f"{path}[{index}]"
        _action(spec, rule.get("action") or "", f"{at}.action", errs)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            _exit_codes(codes, containers, f"{at}.onExitCodes", errs)
        if conditions:
            _conditions(conditions, f"{at}.onPodConditions", errs)
        if codes is not None and conditions:
            text = "specifying both OnExitCodes and OnPodConditions is not supported"
            errs.append(errors.invalid_value(at, errors.OMITTED, text))
        if codes is None and not conditions:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
            errs.append(errors.invalid_value(at, errors.OMITTED, text))


def success(spec: Spec, path: str, errs: list[FieldError]) -> None:
    policy = spec["successPolicy"]
    rules = policy.get("rules") or ()
    if spec.get("completionMode") != "Indexed":
        text = "requires indexed completion mode"
        errs.append(errors.invalid_value(path, success_text(policy), text))
        return
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errs.append(errors.required(f"{path}.rules", text))
    if len(rules) > SUCCESS_RULES_MAX:
        errs.append(errors.too_many(f"{path}.rules", len(rules), SUCCESS_RULES_MAX))
    for index, rule in enumerate(rules):
        _success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{index}]", errs)


def success_text(policy: Mapping[str, Any]) -> errors.GoText:
    """A success policy as a bad value."""
    rules = ", ".join(
        f"batch.SuccessPolicyRule{{"
        f"SucceededIndexes:{gosyntax.pointer('string', rule.get('succeededIndexes'))}, "
        f"SucceededCount:{gosyntax.pointer('int32', rule.get('succeededCount'))}}}"
        for rule in policy.get("rules") or ()
    )
    return errors.GoText(f"batch.SuccessPolicy{{Rules:[]batch.SuccessPolicyRule{{{rules}}}}}")


_CONDITION = (("Type", "type"), ("Status", "status"))


def failure_text(policy: Mapping[str, Any]) -> errors.GoText:
    """A pod failure policy as a bad value."""
    rules = ", ".join(map(_failure_rule_text, policy.get("rules") or ()))
    return errors.GoText(f"batch.PodFailurePolicy{{Rules:[]batch.PodFailurePolicyRule{{{rules}}}}}")


def _failure_rule_text(rule: Mapping[str, Any]) -> str:
    kind = "batch.PodFailurePolicyOnExitCodesRequirement"
    codes = gosyntax.pointer(kind, rule.get("onExitCodes"))
    kind, fields = "batch.PodFailurePolicyOnPodConditionsPattern", _CONDITION
    given = rule.get("onPodConditions") or ()
    conditions = [gosyntax.of_words(kind, each, fields) for each in given]
    patterns = f"[]{kind}{{{', '.join(conditions)}}}" if conditions else f"[]{kind}(nil)"
    action = errors.go_value(rule.get("action") or "")
    return (
        f"batch.PodFailurePolicyRule{{Action:{action}, OnExitCodes:{codes}, "
        f"OnPodConditions:{patterns}}}"
    )


def indexes_error(text: str, completions: int) -> tuple[int, str]:
    """The number of indexes in a list such as `1,3-5`, and its error (empty if it is valid)."""
    last: int | None = None
    total = 0
    for interval in text.split(",") if text else ():
        low, high, message = _interval(interval, completions)
        if not message and last is not None and last >= low:
            message = f"non-increasing order, previous: {last}, current: {low}"
        if message:
            return 0, message
        total += high - low + 1
        last = high
    return total, ""


def overlap_error(completed: str, failed: str, completions: int) -> str:
    """The error for an index that both failed and completed. Ignores lists that do not parse."""
    spans = []
    for text in (completed, failed):
        if not text or indexes_error(text, completions)[1]:
            return ""
        spans.append([_interval(part, completions)[:2] for part in text.split(",")])
    for low, high in spans[0]:
        for begin, end in spans[1]:
            if max(low, begin) <= min(high, end):
                index = max(low, begin)
                return f"failedIndexes and completedIndexes overlap at index: {index}"
    return ""


# -- inside -------------------------------------------------------------------------------------


def _action(spec: Spec, action: str, path: str, errs: list[FieldError]) -> None:
    if not action:
        errs.append(errors.required(path, f"valid values: {_quoted(_ACTIONS)}"))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            text = "requires the backoffLimitPerIndex to be set"
            errs.append(errors.invalid_value(path, action, text))
    elif action not in _ACTIONS:
        errs.append(errors.not_supported(path, action, _ACTIONS))


def _conditions(patterns: Sequence[Spec], path: str, errs: list[FieldError]) -> None:
    if len(patterns) > PATTERNS_MAX:
        errs.append(errors.too_many(path, len(patterns), PATTERNS_MAX))
    for index, pattern in enumerate(patterns):
        at = f"{path}[{index}]"
        kind, status = pattern.get("type") or "", pattern.get("status") or ""
        checks.named(kind, f"{at}.type", names.qualified_name_errors, errs)
        if not status:
            errs.append(errors.required(f"{at}.status", f"valid values: {_quoted(_STATUSES)}"))
        elif status not in _STATUSES:
            errs.append(errors.not_supported(f"{at}.status", status, _STATUSES))


def _exit_codes(codes: Spec, containers: set[Any], path: str, errs: list[FieldError]) -> None:
    operator, name = codes.get("operator") or "", codes.get("containerName")
    if not operator:
        errs.append(errors.required(f"{path}.operator", f"valid values: {_quoted(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        errs.append(errors.not_supported(f"{path}.operator", operator, _OPERATORS))
    if name is not None and name not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errs.append(errors.invalid_value(f"{path}.containerName", name, text))
    values, at = codes.get("values") or [], f"{path}.values"
    if not values:
        printed = errors.GoText("[]int32{}" if codes.get("values") is not None else "[]int32(nil)")
        errs.append(errors.invalid_value(at, printed, "at least one value is required"))
    elif len(values) > EXIT_CODES_MAX:
        errs.append(errors.too_many(at, len(values), EXIT_CODES_MAX))
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            text = "must not be 0 for the In operator"
            errs.append(errors.invalid_value(f"{at}[{index}]", value, text))
        if value in seen:
            errs.append(errors.duplicate(f"{at}[{index}]", value))
        seen.add(value)
    if any(before > after for before, after in itertools.pairwise(values)):
        printed = errors.GoText(f"[]int32{{{', '.join(map(str, values))}}}")
        errs.append(errors.invalid_value(at, printed, "must be ordered"))


def _success_rule(rule: Spec, completions: int, path: str, errs: list[FieldError]) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        errs.append(errors.required(path, text))
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if names.size(indexes) > INDEXES_SIZE:
            errs.append(errors.too_long(at, indexes, INDEXES_SIZE))
        total, message = indexes_error(indexes, completions)
        if message:
            text = f"error parsing succeededIndexes: {message}"
            errs.append(errors.invalid_value(at, indexes, text))
    if count is None:
        return
    at = f"{path}.succeededCount"
    checks.not_negative(count, at, errs)
    if count > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        errs.append(errors.invalid_value(at, count, text))
    if indexes is not None and count > total:
        text = (
            f"must be less than or equal to {total} "
            "(the number of indexes in the specified succeededIndexes field)"
        )
        errs.append(errors.invalid_value(at, count, text))


def _interval(text: str, completions: int) -> tuple[int, int, str]:
    bounds = text.split("-")
    if len(bounds) > 2:
        return (
            0,
            0,
            (
                f"the fragment {json.dumps(text)} violates the requirement that an index "
                "interval can have at most two parts separated by '-'"
            ),
        )
    values = []
    for bound in bounds:
        value, message = _number(bound)
        if not message and value >= completions:
            message = f"too large index: {json.dumps(bound)}"
        if message:
            return 0, 0, message
        values.append(value)
    if len(values) == 2 and values[0] >= values[1]:
        message = f"non-increasing order, previous: {values[0]}, current: {values[1]}"
        return 0, 0, message
    return values[0], values[-1], ""


def _number(text: str) -> tuple[int, str]:
    if not names.is_number(text[1:] if text[:1] in ("-", "+") else text):
        return 0, f"cannot convert string to integer for index: {json.dumps(text)}"
    return int(text), ""


def _quoted(words: Sequence[str]) -> str:
    """A list of strings as %q prints it."""
    return f"[{' '.join(map(errors.go_value, words))}]"
