"""One metric of an autoscaler's spec: measured, judged, and told in its status.

Models kubernetes pkg/controller/podautoscaler/horizontal.go (computeReplicasForMetric and below).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from apiserver_app.machinery.client import Client
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels, quantity
from controllers_app.controllers.podautoscaler import metrics
from controllers_app.controllers.podautoscaler import replicacalculator as replicas
from controllers_app.controllers.podautoscaler.metrics import NoMetrics

ResourceOf = Callable[[Object], str]  # of a reference to an object


class Target(msgspec.Struct, frozen=True):
    """What is scaled, as it is now."""

    namespace: str
    wanted: int  # replicas
    there: int
    selector: labels.Selector
    pods: Sequence[Object]
    now: int


class Proposal(NamedTuple):
    """How many replicas one metric asks for, by which name, and what its status says."""

    replicas: int
    name: str
    status: Object


class Failed(Exception):
    """A metric could not be had. `reason` is the condition's; `whole` says it among several."""

    def __init__(self, reason: str, why: str, whole: str) -> None:
        super().__init__(why)
        self.reason = reason
        self.whole = whole


async def measure(
    client: Client, resource_of: ResourceOf, spec: Object, target: Target
) -> Proposal:
    """What the metric asks for. Raises Failed."""
    kind = spec["type"]
    if kind == "Resource":
        return await _resource(client, spec["resource"], target, kind)
    if kind == "ContainerResource":
        return await _resource(client, spec["containerResource"], target, kind)
    if kind == "Pods":
        return await _pods(client, spec["pods"], target)
    if kind == "Object":
        return await _object(client, resource_of, spec["object"], target)
    if kind == "External":
        return await _external(client, spec["external"], target)
    why = f'unknown metric source type "{kind}"'
    raise Failed("InvalidMetricSourceType", why, why)


async def _resource(client: Client, source: Object, target: Target, kind: str) -> Proposal:
    resource, container = source["name"], source.get("container") or ""
    aim = source["target"]
    use = "usage" if aim.get("averageValue") is not None else "utilization"
    current: Object
    try:
        figures = await _figures(client, resource, target, container)
        if use == "usage":
            wanted = quantity.milli_value(aim["averageValue"])
            count, average = replicas.by_average(
                target.wanted, wanted, resource, figures, target.pods, target.now
            )
            name, current = f"{resource} resource", {"averageValue": _milli(average)}
        else:
            count, percent, average = replicas.by_utilization(
                target.wanted,
                aim["averageUtilization"],
                resource,
                container,
                figures,
                target.pods,
                target.now,
            )
            name = f"{resource} resource utilization (percentage of request)"
            if container:
                name = f"{resource} container resource utilization (percentage of request)"
            current = {"averageValue": _milli(average), "averageUtilization": percent}
    except NoMetrics as error:
        why = f"failed to get {resource} {use}: {error}"
        what = "container" if container else "resource"
        whole = f"failed to get {resource} {what} metric value: {why}"
        raise Failed(f"FailedGet{kind}Metric", why, whole) from error
    status: Object = {"name": resource, "current": current}
    if container:
        status["container"] = container
    return Proposal(count, name, {"type": kind, kind[0].lower() + kind[1:]: status})


async def _figures(
    client: Client, resource: str, target: Target, container: str
) -> metrics.Figures:
    try:
        return await metrics.of_resource(
            client, resource, target.namespace, str(target.selector), container
        )
    except NoMetrics as error:
        raise NoMetrics(f"unable to get metrics for resource {resource}: {error}") from error


async def _pods(client: Client, source: Object, target: Target) -> Proposal:
    metric = source["metric"]
    name = metric["name"]
    try:
        try:
            figures = await metrics.of_pods(
                client, name, target.namespace, str(target.selector), _selector(metric)
            )
        except NoMetrics as error:
            raise NoMetrics(f"unable to get metric {name}: {error}") from error
        wanted = quantity.milli_value(source["target"]["averageValue"])
        count, average = replicas.by_average(
            target.wanted, wanted, "", figures, target.pods, target.now
        )
    except NoMetrics as error:
        whole = f"failed to get pods metric value: {error}"
        raise Failed("FailedGetPodsMetric", str(error), whole) from error
    status = {"metric": metric, "current": {"averageValue": _milli(average)}}
    return Proposal(count, f"pods metric {name}", {"type": "Pods", "pods": status})


async def _object(
    client: Client, resource_of: ResourceOf, source: Object, target: Target
) -> Proposal:
    metric, about, aim = source["metric"], source["describedObject"], source["target"]
    name, kind, described = metric["name"], about["kind"], about["name"]
    try:
        value = await metrics.of_object(
            client, name, target.namespace, resource_of(about), described, _selector(metric)
        )
    except NoMetrics as error:  # upstream's arguments stand in this order
        why = f"unable to get metric {name}: {kind} on {target.namespace} {described}/{error}"
        whole = why if aim["type"] == "Value" else f"failed to get {name} object metric: {why}"
        whole = f"failed to get object metric value: {whole}"
        raise Failed("FailedGetObjectMetric", why, whole) from error
    status: Object = {"metric": metric}
    if aim["type"] == "Value":
        count = _whole_value(value, aim, target, "Object")
        called = f"{kind} metric {name}"
        status |= {"current": {"value": _milli(value)}, "describedObject": about}
    else:
        wanted = quantity.milli_value(aim["averageValue"])
        count, average = replicas.by_value_per_pod(target.there, value, wanted)
        called = f"external metric {name}({_go(metric)})"
        status |= {"current": {"averageValue": _milli(average)}, "describedObject": about}
    return Proposal(count, called, {"type": "Object", "object": status})


async def _external(client: Client, source: Object, target: Target) -> Proposal:
    metric, aim = source["metric"], source["target"]
    name = metric["name"]
    try:
        values = await metrics.external(client, name, target.namespace, _selector(metric))
    except NoMetrics as error:
        why = f"unable to get external metric {target.namespace}/{name}/{_go(metric)}: {error}"
        inner = f"failed to get external metric {name}: {why}"
        if aim.get("averageValue") is not None:
            inner = f"failed to get {name} external metric: {why}"
        whole = f"failed to get {name} external metric value: {inner}"
        raise Failed("FailedGetExternalMetric", why, whole) from error
    value = sum(values)
    if aim.get("averageValue") is not None:
        wanted = quantity.milli_value(aim["averageValue"])
        count, average = replicas.by_value_per_pod(target.there, value, wanted)
        current = {"averageValue": _milli(average)}
    else:
        count = _whole_value(value, aim, target, "External")
        current = {"value": _milli(value)}
    status = {"metric": metric, "current": current}
    called = f"external metric {name}({_go(metric)})"
    return Proposal(count, called, {"type": "External", "external": status})


def _whole_value(value: int, aim: Object, target: Target, kind: str) -> int:
    wanted = quantity.milli_value(aim["value"])
    try:
        return replicas.by_value(target.wanted, value, wanted, target.pods)
    except NoMetrics as error:
        why = f"unable to calculate ready pods: {error}"
        raise Failed(f"FailedGet{kind}Metric", why, why) from error


def _milli(value: int) -> str:
    return str(quantity.from_milli(value))


def _selector(metric: Object) -> str:
    selector = metric.get("selector")
    return str(labels.from_label_selector(selector)) if selector else ""


def _go(metric: Object) -> str:
    """The metric's selector as Go prints it."""
    selector = metric.get("selector")
    return "nil" if selector is None else labels.go_struct(selector)
