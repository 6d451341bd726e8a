"""Validation of metav1.Condition.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
(ValidateConditions).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

REASON_LENGTH, MESSAGE_LENGTH = 1024, 32 * 1024
_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch
_REASON_TEXT = names.pattern_text(
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def validate(given: Sequence[Mapping[str, Any]], path: str, errs: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, condition in enumerate(given):
        kind = condition.get("type") or ""
        if kind in seen:
            errs.append(errors.duplicate(f"{path}[{index}]", kind))
        seen.add(kind)
        _condition(condition, f"{path}[{index}]", errs)


def _condition(condition: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind, reason = condition.get("type") or "", condition.get("reason") or ""
    if not kind:
        errs.append(errors.required(f"{path}.type", "is required"))
    else:
        checks.named(kind, f"{path}.type", names.qualified_name_errors, errs)
    checks.one_of(condition.get("status"), f"{path}.status", _STATUSES, errs)
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        text = "must be greater than or equal to zero"
        errs.append(errors.invalid_value(f"{path}.observedGeneration", generation, text))
    if not condition.get("lastTransitionTime"):
        errs.append(errors.required(f"{path}.lastTransitionTime"))
    if not reason:
        errs.append(errors.required(f"{path}.reason"))
    elif not _is_reason(reason):
        errs.append(errors.invalid_value(f"{path}.reason", reason, _REASON_TEXT))
    for field, limit in (("reason", REASON_LENGTH), ("message", MESSAGE_LENGTH)):
        if names.size(condition.get(field) or "") > limit:
            errs.append(errors.too_long(f"{path}.{field}", "", limit))
