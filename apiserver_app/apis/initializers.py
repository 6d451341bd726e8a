"""Initializers: who still has to act on an object before others see it, and what may change there.

An object is uninitialized as long as its metadata has `initializers`: the names that are `pending`,
the first of which acts next, or the `result` with which one of them refused the object. Pure.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go
(ValidateInitializers, ValidateInitializersUpdate) of 1.7 to 1.13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.apis import qualifiednames
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object

CONFIGURATIONS = "initializerconfigurations.admissionregistration.k8s.io"
FIELD = "metadata.initializers"
COMPLETED = "field is immutable once initialization has completed"
IMMUTABLE = "field is immutable"


def uninitialized(obj: Object) -> bool:
    return obj["metadata"].get("initializers") is not None


def pending(obj: Object) -> list[str]:
    """The names of those that have to act, in order."""
    initializers = obj["metadata"].get("initializers") or {}
    return [str(one.get("name") or "") for one in initializers.get("pending") or ()]


def result(obj: Object) -> Object | None:
    """The Status with which an initializer refused the object, if one did."""
    initializers: Object = obj["metadata"].get("initializers") or {}
    return initializers.get("result")


def is_empty(initializers: Mapping[str, Any]) -> bool:
    """Whether nobody has to act, and nobody refused."""
    return not initializers.get("pending") and initializers.get("result") is None


def validate(initializers: Mapping[str, Any], errs: list[FieldError]) -> None:
    """Validates what an object says of itself."""
    for index, one in enumerate(initializers.get("pending") or ()):
        qualifiednames.validate(one.get("name") or "", f"{FIELD}.pending[{index}].name", errs)
    if initializers.get("result") is not None:
        _result(initializers["result"], errs)


def validate_change(
    after: Mapping[str, Any] | None, before: Mapping[str, Any] | None, errs: list[FieldError]
) -> None:
    """Validates a change. Its order is not looked at: that each initializer takes away its own
    name, and only when it is the first, is up to them."""
    if after is None:
        return
    if before is None:
        errs.append(errors.invalid_value(FIELD, None, COMPLETED))
        return
    now, was = after.get("result"), before.get("result")
    if was is None and now is not None:
        _result(now, errs)
    elif was is not None and now != was:
        errs.append(errors.invalid_value(f"{FIELD}.result", now, IMMUTABLE))


def _result(status: Mapping[str, Any], errs: list[FieldError]) -> None:
    word = status.get("status") or ""
    if word != "Failure":
        errs.append(errors.invalid_value(f"{FIELD}.result.status", word, "must be 'Failure'"))
