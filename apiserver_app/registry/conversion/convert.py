"""Conversion between the served versions of a kind and its storage version.

Custom resources convert as their definition says. Kinds with the same fields in both versions only
change their apiVersion.
Events are stored as core/v1 whichever API wrote them; horizontal pod autoscalers as autoscaling/v2.
An object already in the requested version is returned unchanged.

Models kubernetes pkg/apis/events/v1/conversion.go and pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.autoscaling import horizontalpodautoscaler
from apiserver_app.registry.conversion import v1beta1
from apiserver_app.registry.core import event
from apiserver_app.registry.resource import deviceversions

_EVENTS, _EVENTS_BETA = "events.k8s.io/v1", "events.k8s.io/v1beta1"


def to_stored(info: ResourceInfo, obj: Object) -> Object:
    if info.custom is not None:
        return info.custom.to_stored(obj)
    convert = _TO.get((info.api_version, info.kind))
    if convert is not None:
        return convert(obj)
    if info.stored_as and info.api_version == deviceversions.OLD:
        return deviceversions.newer(obj, info.stored_as)
    return {**obj, "apiVersion": info.stored_as} if info.stored_as else obj


def to_served(info: ResourceInfo, obj: Object) -> Object:
    """Converts a stored object to the version of `info`."""
    if info.custom is not None:
        return info.custom.to_served(obj)
    if obj.get("apiVersion") == info.api_version:
        return obj
    convert = _FROM.get((info.api_version, info.kind))
    if convert is not None:
        return convert(obj)
    if info.stored_as and info.api_version == deviceversions.OLD:
        return deviceversions.older(obj)
    return {**obj, "apiVersion": info.api_version} if info.stored_as else obj


def is_converted(info: ResourceInfo) -> bool:
    return bool(info.stored_as) or info.custom is not None or (info.api_version, info.kind) in _FROM


# autoscaling/v1 keeps fields that it does not have as JSON in annotations
_METRICS = horizontalpodautoscaler.METRICS
_FOUR_FIFTHS = {"type": "Utilization", "averageUtilization": 80}
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def _hpa_to_v2(obj: Object) -> Object:
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    out = {**obj, "apiVersion": "autoscaling/v2", "spec": spec, "status": status}
    target = spec.pop("targetCPUUtilizationPercentage", None)
    from_annotations = {}
    annotations = obj["metadata"].get("annotations") or {}
    for name in (_METRICS, _BEHAVIOR, _CURRENT, _CONDITIONS):
        if name in annotations:
            from_annotations[name] = _json(annotations[name])
    if from_annotations:
        rest = {name: value for name, value in annotations.items() if name not in from_annotations}
        out["metadata"] = {**obj["metadata"], "annotations": rest}
        if not rest:
            del out["metadata"]["annotations"]
    metrics = [_metric_to_v2(metric) for metric in from_annotations.get(_METRICS) or ()]
    if target is not None:
        metrics.insert(0, _cpu({"target": {"type": "Utilization", "averageUtilization": target}}))
    # v1's default
    spec["metrics"] = metrics or [_cpu({"target": dict(_FOUR_FIFTHS)})]
    if from_annotations.get(_BEHAVIOR):
        spec["behavior"] = from_annotations[_BEHAVIOR]
    current = status.pop("currentCPUUtilizationPercentage", None)
    current_metrics = [
        _metric_to_v2(metric, "current") for metric in from_annotations.get(_CURRENT) or ()
    ]
    if current is not None:
        current_metrics.insert(0, _cpu({"current": {"averageUtilization": current}}))
    if current_metrics:
        status["currentMetrics"] = current_metrics
    if from_annotations.get(_CONDITIONS):
        status["conditions"] = from_annotations[_CONDITIONS]
    return out


def _hpa_to_v1(obj: Object) -> Object:
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    annotations = dict(obj["metadata"].get("annotations") or {})
    target, metrics = _split_cpu(spec.pop("metrics", None) or (), "target")
    if target is not None:
        spec["targetCPUUtilizationPercentage"] = target
    current, current_metrics = _split_cpu(status.pop("currentMetrics", None) or (), "current")
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    for name, value in (
        (_METRICS, [_metric_to_v1(metric, "target") for metric in metrics]),
        (_BEHAVIOR, spec.pop("behavior", None)),
        (_CURRENT, [_metric_to_v1(metric, "current") for metric in current_metrics]),
        (_CONDITIONS, status.pop("conditions", None)),
    ):
        if value:
            annotations[name] = orjson.dumps(value).decode()
    metadata = {**obj["metadata"], "annotations": annotations} if annotations else obj["metadata"]
    return {
        **obj,
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _split_cpu(metrics: Iterable[Object], side: str) -> tuple[int | None, list[Object]]:
    """The CPU utilization in percent, for which v1 has a field, and the other metrics."""
    percent: int | None = None
    others = []
    for metric in metrics:
        resource = metric.get("resource") or {}
        value = (resource.get(side) or {}).get("averageUtilization")
        if percent is None and resource.get("name") == "cpu" and value is not None:
            percent = value
        else:
            others.append(metric)
    return percent, others


def _cpu(source: Object) -> Object:
    return {"type": "Resource", "resource": {"name": "cpu", **source}}


# field of a metric source -> (v1's field for its target value, for its current value)
_V1_NAMES = {
    "averageUtilization": ("targetAverageUtilization", "currentAverageUtilization"),
    "averageValue": ("targetAverageValue", "currentAverageValue"),
    "value": ("targetValue", "currentValue"),
}


def _metric_to_v1(metric: Object, side: str) -> Object:
    """Converts a metric to v1, whose sources have no `target`."""
    out = {}
    for name, source in metric.items():
        if isinstance(source, dict):
            flat = {key: value for key, value in source.items() if key != side}
            for field, value in (source.get(side) or {}).items():
                if field in _V1_NAMES:
                    flat[_V1_NAMES[field][side == "current"]] = value
            source = flat
        out[name] = source
    return out


def _metric_to_v2(metric: Object, side: str = "target") -> Object:
    names = {words[side == "current"]: field for field, words in _V1_NAMES.items()}
    kinds = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
    out = {}
    for name, source in metric.items():
        if isinstance(source, dict):
            deep = {key: value for key, value in source.items() if key not in names}
            inner = {names[key]: value for key, value in source.items() if key in names}
            if side == "target":
                kind = next((kinds[field] for field in inner), "Value")
                inner = {"type": kind, **inner}
            source = {**deep, side: inner}
        out[name] = source
    return out


def _json(text: str) -> Any:
    """The value of an annotation; None if it is not valid JSON, which upstream ignores."""
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _events_beta(obj: Object) -> Object:
    return {**event.to_events(obj), "apiVersion": _EVENTS_BETA}


_TO: dict[tuple[str, str], Callable[[Object], Object]] = {
    (_EVENTS, "Event"): event.from_events,
    (_EVENTS_BETA, "Event"): event.from_events,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v2,
    **v1beta1.TO,
}
_FROM: dict[tuple[str, str], Callable[[Object], Object]] = {
    (_EVENTS, "Event"): event.to_events,
    (_EVENTS_BETA, "Event"): _events_beta,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v1,
    **v1beta1.FROM,
}
