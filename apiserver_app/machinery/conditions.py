"""Helpers for the conditions of a status.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/meta/conditions.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery.meta import Object

Status = Mapping[str, Any] | None


def every(status: Status) -> Sequence[Object]:
    return (status.get("conditions") if status else None) or ()


def find(status: Status, kind: str) -> Object | None:
    """The first condition of the type."""
    for condition in (status.get("conditions") if status else None) or ():
        if condition.get("type") == kind:
            return condition  # type: ignore[no-any-return]
    return None


def is_true(status: Status, kind: str) -> bool:
    condition = find(status, kind)
    return condition is not None and condition.get("status") == "True"


def without(status: Status, kind: str) -> list[Object]:
    """All conditions except those of the type."""
    return [condition for condition in every(status) if condition.get("type") != kind]


def put(status: Status, condition: Object) -> Object:
    """The status with this condition appended, replacing an earlier condition of its type."""
    return {**(status or {}), "conditions": [*without(status, condition["type"]), condition]}
