"""What a HorizontalPodAutoscaler may measure: one source for each metric, with a target.

Models kubernetes pkg/apis/autoscaling/validation/validation.go (validateMetricSpec).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import resources
from apiserver_app.registry.validation import checks, gosyntax, objectmeta

Part = Mapping[str, Any]

# in the order in which upstream looks for them
_FIELDS = ("object", "external", "pods", "resource", "containerResource")
_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_NO_SOURCE = "must populate information for the given metric source"
_BOTH_RAW = "may not set both a target raw value and a target utilization"
_NEITHER_RAW = "must set either a target raw value or a target utilization"


def reference(target: Part, path: str, errs: list[FieldError]) -> None:
    """A CrossVersionObjectReference."""
    for field in ("kind", "name"):
        value = target.get(field) or ""
        if not value:
            errs.append(errors.required(f"{path}.{field}"))
        else:
            _segment(value, f"{path}.{field}", errs)


def metrics(items: Sequence[Part], least: int | None, path: str, errs: list[FieldError]) -> None:
    for index, item in enumerate(items):
        _metric(item, f"{path}[{index}]", errs)
    if least == 0 and not any(item.get("type") in ("Object", "External") for item in items):
        text = (
            "must specify at least one Object or External metric "
            "to support scaling to zero replicas"
        )
        errs.append(errors.forbidden_value(path, text))


# -- inside -------------------------------------------------------------------------------------


def _metric(metric: Part, path: str, errs: list[FieldError]) -> None:
    kind = metric.get("type") or ""
    if not kind:
        errs.append(errors.required(f"{path}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        errs.append(errors.not_supported(f"{path}.type", kind, _TYPES))
    present = [field for field in _FIELDS if metric.get(field) is not None]
    if present:
        _source(metric[present[0]], present[0], f"{path}.{present[0]}", errs)
    expected = kind[:1].lower() + kind[1:]
    if kind not in _TYPES:
        errs.append(errors.not_supported(f"{path}.type", kind, _TYPES))
    elif expected not in present:
        errs.append(errors.required(f"{path}.{expected}", _NO_SOURCE))
    if len(present) != 1:
        for field in sorted(present):
            if field != expected:
                text = "must populate the given metric source only"
                errs.append(errors.forbidden_value(f"{path}.{field}", text))


def _source(source: Part, field: str, path: str, errs: list[FieldError]) -> None:
    if field == "object":
        reference(source.get("describedObject") or {}, f"{path}.describedObject", errs)
    if field in ("resource", "containerResource"):
        _resource(source, field, path, errs)
    else:
        name = (source.get("metric") or {}).get("name") or ""
        if not name:
            errs.append(errors.required(f"{path}.metric.name", "must specify a metric name"))
        else:
            _segment(name, f"{path}.metric.name", errs)
    target, at = source.get("target") or {}, f"{path}.target"
    _target(target, at, errs)
    value, average = target.get("value"), target.get("averageValue")
    percent = target.get("averageUtilization")
    if field == "pods":
        if average is None:
            text = "must specify a positive target averageValue"
            errs.append(errors.required(f"{at}.averageValue", text))
    elif field == "object":
        if value is None and average is None:
            text = "must set either a target value or averageValue"
            errs.append(errors.required(f"{at}.averageValue", text))
    elif field == "external":
        if value is None and average is None:
            text = "must set either a target value for metric or a per-pod target"
            errs.append(errors.required(f"{at}.averageValue", text))
        if value is not None and average is not None:
            text = "may not set both a target value for metric and a per-pod target"
            errs.append(errors.forbidden_value(f"{at}.value", text))
    else:
        if percent is None and average is None:
            errs.append(errors.required(f"{at}.averageUtilization", _NEITHER_RAW))
        if percent is not None and average is not None:
            errs.append(errors.forbidden_value(f"{at}.averageValue", _BOTH_RAW))


def _resource(source: Part, field: str, path: str, errs: list[FieldError]) -> None:
    name = source.get("name") or ""
    if not name:
        errs.append(errors.required(f"{path}.name", "must specify a resource name"))
    elif field == "containerResource":
        resources.container_name(name, f"{path}.name", errs)
    if field == "containerResource":
        container = source.get("container") or ""
        if not container:
            errs.append(errors.required(f"{path}.container", "must specify a container"))
        else:
            checks.named(container, f"{path}.container", names.dns1123_label_errors, errs)


def _target(target: Part, path: str, errs: list[FieldError]) -> None:
    kind = target.get("type") or ""
    if not kind:
        errs.append(errors.required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        text = "must be either Utilization, Value, or AverageValue"
        errs.append(errors.invalid_value(f"{path}.type", kind, text))
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and resources.nano(amount) <= 0:
            printed = gosyntax.quantity(amount)
            errs.append(errors.invalid_value(f"{path}.{field}", printed, "must be positive"))
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        at = f"{path}.averageUtilization"
        errs.append(errors.invalid_value(at, percent, "must be greater than 0"))


def _segment(value: str, path: str, errs: list[FieldError]) -> None:
    for text in objectmeta.path_segment(value, False):
        errs.append(errors.invalid_value(path, value, text))
