"""Rows of what makes pods: deployments, sets, jobs, autoscalers, disruption budgets.

Models the print functions of kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.http.tables import cells, duration
from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.meta import Object

_METRICS_SHOWN_MAX = 2
_NIL = "<nil>"  # an amount that is not there, as Go prints it


def pod_template(obj: Object, now: int) -> list[Any]:
    template = obj.get("template") or {}
    labels = cells.labels(cells.part(template, "metadata").get("labels"))
    return [cells.name(obj), *cells.containers(template), labels]


def replication_controller(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    selector = cells.labels(spec.get("selector"))
    return [*_counts(obj, now), *cells.containers(spec.get("template") or {}), selector]


def replica_set(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    selector = cells.selector_or_none(spec.get("selector"))
    return [*_counts(obj, now), *cells.containers(spec.get("template") or {}), selector]


def deployment(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    return [
        cells.name(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        cells.age(obj, now),
        *cells.containers(spec.get("template") or {}),
        cells.selector(spec.get("selector")),
    ]


def stateful_set(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    return [
        cells.name(obj),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        cells.age(obj, now),
        *cells.containers(spec.get("template") or {}),
    ]


def daemon_set(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    template = spec.get("template") or {}
    return [
        cells.name(obj),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        cells.labels(cells.part(template, "spec").get("nodeSelector")),
        cells.age(obj, now),
        *cells.containers(template),
        cells.selector_or_none(spec.get("selector")),
    ]


def job(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    return [
        cells.name(obj),
        _job_status(obj, status),
        _completions(spec, status),
        _job_duration(status, now),
        cells.age(obj, now),
        *cells.containers(spec.get("template") or {}),
        cells.selector_or_none(spec.get("selector")),
    ]


def cron_job(obj: Object, now: int) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    job_spec = cells.part(spec, "jobTemplate", "spec")
    last = status.get("lastScheduleTime")
    return [
        cells.name(obj),
        spec.get("schedule", ""),
        cells.NONE if spec.get("timeZone") is None else spec["timeZone"],
        cells.bool_word(spec.get("suspend")),
        len(status.get("active") or ()),
        cells.since(last, now) if last else cells.NONE,
        cells.age(obj, now),
        *cells.containers(job_spec.get("template") or {}),
        cells.selector_or_none(job_spec.get("selector")),
    ]


def disruption_budget(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        cells.name(obj),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        cells.part(obj, "status").get("disruptionsAllowed", 0),
        cells.age(obj, now),
    ]


def autoscaler(obj: Object, now: int) -> list[Any]:
    return _autoscaler(obj, now, named=True)


def autoscaler_of_the_past(obj: Object, now: int) -> list[Any]:
    """It did not say which resource is measured."""
    return _autoscaler(obj, now, named=False)


def _autoscaler(obj: Object, now: int, *, named: bool) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        cells.name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec, status, named),
        cells.UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        cells.age(obj, now),
    ]


def controller_revision(obj: Object, now: int) -> list[Any]:
    owner = meta.controller_of(obj)
    controller = cells.NONE
    if owner is not None:
        group, slash, _ = owner.get("apiVersion", "").partition("/")
        kind = f"{owner['kind']}.{group}" if slash else owner["kind"]
        controller = f"{kind.lower()}/{owner['name']}"
    return [cells.name(obj), controller, obj.get("revision", 0), cells.age(obj, now)]


def scale(obj: Object, now: int) -> list[Any]:
    return [
        cells.name(obj),
        cells.part(obj, "spec").get("replicas", 0),
        cells.part(obj, "status").get("replicas", 0),
        cells.age(obj, now),
    ]


def _counts(obj: Object, now: int) -> list[Any]:
    status = cells.part(obj, "status")
    return [
        cells.name(obj),
        cells.part(obj, "spec").get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        cells.age(obj, now),
    ]


def _job_status(obj: Object, status: Object) -> str:
    if conditions.is_true(status, "Complete"):
        return "Complete"
    if conditions.is_true(status, "Failed"):
        return "Failed"
    if meta.is_deleting(obj):
        return "Terminating"
    if conditions.is_true(status, "Suspended"):
        return "Suspended"
    if conditions.is_true(status, "FailureTarget"):
        return "FailureTarget"
    return "Running"


def _completions(spec: Object, status: Object) -> str:
    succeeded = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Object, now: int) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return duration.human((meta.parse_time(end) if end else now) - meta.parse_time(start))


def _metrics(spec: Object, status: Object, named: bool) -> str:
    specs, statuses = spec.get("metrics"), status.get("currentMetrics") or []
    if specs is None and spec.get("targetCPUUtilizationPercentage") is not None:
        specs, statuses = _metrics_of_v1(spec, status)
    if not specs:
        return cells.NONE
    shown = [
        _metric(metric, statuses[index] if index < len(statuses) else {}, named)
        for index, metric in enumerate(specs)
    ]
    more = len(shown) - _METRICS_SHOWN_MAX
    text = ", ".join(shown[:_METRICS_SHOWN_MAX])
    return f"{text} + {more} more..." if more > 0 else text


def _metrics_of_v1(spec: Object, status: Object) -> tuple[list[Object], list[Object]]:
    """The one metric that autoscaling/v1 knows, as v2 has it."""
    target = {"averageUtilization": spec["targetCPUUtilizationPercentage"]}
    specs = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    current = status.get("currentCPUUtilizationPercentage")
    if current is None:
        return specs, []
    return specs, [{"resource": {"name": "cpu", "current": {"averageUtilization": current}}}]


def _metric(metric: Object, status: Object, named: bool) -> str:
    form = _METRIC_FORMS.get(metric.get("type", ""))
    if form is None:
        return "<unknown type>"
    field, write = form
    used = status.get(field)
    current = None if used is None else used.get("current") or {}
    wanted = metric.get(field) or {}
    text = write(wanted, current)
    return f"{wanted.get('name', '')}: {text}" if named and write is _resource_metric else text


def _value_metric(metric: Object, current: Object | None) -> str:
    target = metric.get("target") or {}
    if target.get("averageValue") is not None:
        shown = (current or {}).get("averageValue", cells.UNKNOWN)
        return f"{shown}/{target['averageValue']} (avg)"
    shown = cells.UNKNOWN if current is None else current.get("value", _NIL)
    return f"{shown}/{target.get('value', _NIL)}"


def _pods_metric(metric: Object, current: Object | None) -> str:
    shown = cells.UNKNOWN if current is None else current.get("averageValue", _NIL)
    return f"{shown}/{(metric.get('target') or {}).get('averageValue', _NIL)}"


def _resource_metric(metric: Object, current: Object | None) -> str:
    target = metric.get("target") or {}
    if target.get("averageValue") is not None:
        shown = cells.UNKNOWN if current is None else current.get("averageValue", _NIL)
        return f"{shown}/{target['averageValue']}"
    used = (current or {}).get("averageUtilization")
    wanted = target.get("averageUtilization")
    shown = cells.UNKNOWN if used is None else f"{used}%"
    return f"{shown}/{'<auto>' if wanted is None else f'{wanted}%'}"


_METRIC_FORMS: dict[str, tuple[str, Callable[[Object, Object | None], str]]] = {
    "External": ("external", _value_metric),
    "Pods": ("pods", _pods_metric),
    "Object": ("object", _value_metric),
    "Resource": ("resource", _resource_metric),
    "ContainerResource": ("containerResource", _resource_metric),
}
