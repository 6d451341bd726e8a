"""Kinds that are served in more versions than they are stored in: there and back.

Events are stored as core/v1 whichever API wrote them; horizontal pod autoscalers as autoscaling/v2.
An object of the stored version comes back as it is.

Models kubernetes pkg/apis/events/v1/conversion.go and pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery.meta import Object, ResourceInfo

_EVENTS = "events.k8s.io/v1"
# served field -> stored field
_EVENT_FIELDS = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)


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


def _event_to_core(obj: Object) -> Object:
    names = dict(_EVENT_FIELDS)
    out = {names.get(name, name): value for name, value in obj.items()}
    out["apiVersion"] = "v1"
    out.setdefault("source", {})
    return out


def _event_from_core(obj: Object) -> Object:
    names = {stored: served for served, stored in _EVENT_FIELDS}
    out = {names.get(name, name): value for name, value in obj.items()}
    out["apiVersion"] = _EVENTS
    return out


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
    (_EVENTS, "Event"): _event_to_core,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v2,
}
_FROM: dict[tuple[str, str], Callable[[Object], Object]] = {
    (_EVENTS, "Event"): _event_from_core,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _hpa_to_v1,
}
