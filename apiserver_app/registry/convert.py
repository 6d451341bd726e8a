"""Kinds that are served in more versions than they are stored in: there and back.

Events are stored as core/v1 whichever API wrote them; horizontal pod autoscalers as autoscaling/v2.
An object of the stored version comes back as it is.

Models kubernetes pkg/apis/events/v1/conversion.go and pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.kinds import event

_EVENTS = "events.k8s.io/v1"


def to_stored(info: ResourceInfo, obj: Object) -> Object:
    convert = _TO.get((info.api_version, info.kind))
    return convert(obj) if convert else obj


def to_served(info: ResourceInfo, obj: Object) -> Object:
    """The object in the version of `info`, from whichever it is stored in."""
    if obj.get("apiVersion") == info.api_version:
        return obj
    convert = _FROM.get((info.api_version, info.kind))
    return convert(obj) if convert else obj


def is_converted(info: ResourceInfo) -> bool:
    return (info.api_version, info.kind) in _FROM


def _hpa_to_v2(obj: Object) -> Object:
    spec = dict(obj.get("spec") or {})
    target = spec.pop("targetCPUUtilizationPercentage", None)
    if target is not None:
        utilization = {"type": "Utilization", "averageUtilization": target}
        resource = {"name": "cpu", "target": utilization}
        spec["metrics"] = [{"type": "Resource", "resource": resource}]
    status = dict(obj.get("status") or {})
    status.pop("currentCPUUtilizationPercentage", None)
    return {**obj, "apiVersion": "autoscaling/v2", "spec": spec, "status": status}


def _hpa_to_v1(obj: Object) -> Object:
    spec = dict(obj.get("spec") or {})
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource") or {}
        target = resource.get("target") or {}
        if resource.get("name") == "cpu" and "averageUtilization" in target:
            spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
    spec.pop("behavior", None)
    status = dict(obj.get("status") or {})
    status.pop("conditions", None)
    status.pop("currentMetrics", None)
    return {**obj, "apiVersion": "autoscaling/v1", "spec": spec, "status": status}


_TO: dict[tuple[str, str], Callable[[Object], Object]] = {
    (_EVENTS, "Event"): event.from_events,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v2,
}
_FROM: dict[tuple[str, str], Callable[[Object], Object]] = {
    (_EVENTS, "Event"): event.to_events,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v1,
}
