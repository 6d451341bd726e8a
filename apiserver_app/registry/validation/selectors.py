"""Label selectors inside specs: their validation, and whether they select given labels.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go and
pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.syntax.labels import REQUIREMENTS_MAX
from apiserver_app.registry.validation import objectmeta

Selector = Mapping[str, Any]


def validate(selector: Selector | None, path: str, errs: list[FieldError]) -> None:
    if not selector:
        return
    labels = selector.get("matchLabels")
    count = len(labels or ()) + len(selector.get("matchExpressions") or ())
    if count > REQUIREMENTS_MAX:
        errs.append(errors.too_many(path, count, REQUIREMENTS_MAX))
        return
    if labels:
        objectmeta.label_errors(labels, f"{path}.matchLabels", errs)
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        _requirement(requirement, f"{path}.matchExpressions[{index}]", errs)


def is_empty(selector: Selector) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def matches(selector: Selector | None, labels: Mapping[str, str] | None) -> bool:
    """A missing selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    labels = labels or {}
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for requirement in selector.get("matchExpressions") or ():
        if not _holds(requirement, labels):
            return False
    return True


def is_valid(selector: Selector | None) -> bool:
    """Whether the selector is valid; the labels are compared only if it is."""
    errs: list[FieldError] = []
    validate(selector, "", errs)
    return not errs


def _requirement(requirement: Selector, path: str, errs: list[FieldError]) -> None:
    values = requirement.get("values") or ()
    operator(requirement, path, errs)
    for text in names.qualified_name_errors(requirement.get("key") or ""):
        errs.append(errors.invalid_value(f"{path}.key", requirement.get("key") or "", text))
    for index, value in enumerate(values):
        for text in names.label_value_errors(value):
            errs.append(errors.invalid_value(f"{path}.values[{index}]", value, text))


def operator(requirement: Selector, path: str, errs: list[FieldError]) -> None:
    """Checks an operator against the number of its values, as selectors of labels and of nodes
    have them."""
    name, values = requirement.get("operator") or "", requirement.get("values") or ()
    if name in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errs.append(errors.required(f"{path}.values", text))
    elif name in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errs.append(errors.forbidden_value(f"{path}.values", text))
    else:
        text = "not a valid selector operator"
        errs.append(errors.invalid_value(f"{path}.operator", name, text))


def _holds(requirement: Selector, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.get("key") or "")
    operator = requirement.get("operator")
    if operator == "In":
        return value is not None and value in (requirement.get("values") or ())
    if operator == "NotIn":
        return value is None or value not in (requirement.get("values") or ())
    if operator == "Exists":
        return value is not None
    return operator == "DoesNotExist" and value is None
