"""What the horizontal pod autoscaler measures: figures of pods and objects, from the metrics APIs.

Those are served by others, if anybody: a cluster has them when somebody installs a server for them.

Models kubernetes pkg/controller/podautoscaler/metrics/client.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import goduration, quantity

RESOURCE = "metrics.k8s.io/v1beta1"
CUSTOM = ("custom.metrics.k8s.io/v1beta2", "custom.metrics.k8s.io/v1beta1")
EXTERNAL = "external.metrics.k8s.io/v1beta1"
WINDOW_SECONDS = 60  # of a custom metric that does not say


class NoMetrics(Exception):
    """Why there is no figure, in upstream's words."""


class Figure(NamedTuple):
    """What a pod was measured at, in thousandths, and over which time."""

    value: int
    at: int = 0  # µs
    window: int = 0  # µs


Figures = dict[str, Figure]  # by the pod's name


async def of_resource(
    client: Client, resource: str, namespace: str, selector: str, container: str
) -> Figures:
    """What pods use of the CPU or memory; of one container, or of all together."""
    out: Figures = {}
    for item in await _items(client, "resource", RESOURCE, "pods", namespace, selector):
        measured = item.get("containers") or []
        if container:
            measured = [pod for pod in measured if pod["name"] == container]
            if not measured:
                about = f"{meta.namespace_of(item)}/{meta.name_of(item)}"
                message = f"container {container} not present in metrics for pod {about}"
                raise NoMetrics(f"failed to get container metrics: {message}")
        used = [pod["usage"][resource] for pod in measured if resource in (pod.get("usage") or {})]
        if used and len(used) == len(measured):
            total = sum(map(quantity.milli_value, used))
            at = meta.parse_time(item["timestamp"])
            out[meta.name_of(item)] = Figure(total, at, _micros(item.get("window") or ""))
    return out


async def of_pods(
    client: Client, metric: str, namespace: str, selector: str, metric_selector: str
) -> Figures:
    """A custom metric of each pod."""
    answer = await _custom(client, "pods", namespace, "*", metric, selector, metric_selector)
    out: Figures = {}
    for item in _some(answer, "custom"):
        window = int(item.get("windowSeconds", WINDOW_SECONDS)) * SECOND
        value = quantity.milli_value(item["value"])
        at = meta.parse_time(item["timestamp"])
        out[item["describedObject"]["name"]] = Figure(value, at, window)
    return out


async def of_object(
    client: Client, metric: str, namespace: str, plural: str, name: str, metric_selector: str
) -> int:
    """A custom metric of one object, in thousandths."""
    answer = await _custom(client, plural, namespace, name, metric, "", metric_selector)
    items = answer.get("items") or []
    if len(items) != 1:
        raise NoMetrics(
            "unable to fetch metrics from custom metrics API: the custom metrics API server "
            f"returned {len(items)} results when we asked for exactly one"
        )
    return quantity.milli_value(items[0]["value"])


async def external(client: Client, metric: str, namespace: str, selector: str) -> list[int]:
    """All values of a metric that has to do with nothing in the cluster, in thousandths."""
    items = await _items(client, "external", EXTERNAL, metric, namespace, selector)
    return [quantity.milli_value(item["value"]) for item in items]


async def _items(
    client: Client, api: str, group_version: str, plural: str, namespace: str, selector: str
) -> list[Object]:
    try:
        answer = await client.fetch(
            group_version, plural, namespace, params={"labelSelector": selector}
        )
    except errors.ApiError as error:
        message = f"unable to fetch metrics from {api} metrics API: {error.message}"
        raise NoMetrics(message) from error
    return _some(answer, api)


def _some(answer: Object, api: str) -> list[Object]:
    items: list[Object] = answer.get("items") or []
    if not items:
        raise NoMetrics(f"no metrics returned from {api} metrics API")
    return items


async def _custom(
    client: Client,
    plural: str,
    namespace: str,
    name: str,
    metric: str,
    selector: str,
    metric_selector: str,
) -> Object:
    """From the newest version that is served."""
    params = {"labelSelector": selector, "metricLabelSelector": metric_selector}
    why = "no known available metric versions found"
    for version in CUSTOM:
        try:
            return await client.fetch(
                version, plural, namespace, name=name, subresource=metric, params=params
            )
        except errors.ApiError as error:
            if not _is_absent(error):
                why = error.message
                break
    raise NoMetrics(f"unable to fetch metrics from custom metrics API: {why}")


def _is_absent(error: errors.ApiError) -> bool:
    return error.code == 404 and not error.reason


def utilization(figures: Figures, requests: dict[str, int], target: int) -> tuple[float, int, int]:
    """(ratio of use to what is aimed at, use in percent of what was asked for, use of a pod)."""
    known = [name for name in figures if name in requests]
    used = sum(figures[name].value for name in known)
    asked = sum(requests[name] for name in known)
    if asked == 0:
        raise NoMetrics("no metrics returned matched known pods")
    percent = used * 100 // asked
    return percent / target, percent, used // len(known)


def ratio(figures: Figures, target: int) -> tuple[float, int]:
    """(ratio of the average to what is aimed at, the average)."""
    average = sum(figure.value for figure in figures.values()) // len(figures)
    return average / target, average


def _micros(text: str) -> int:
    """Of a Go duration, "15.0s"; 0 for any other text."""
    try:
        return goduration.parse(text) // goduration.MICROSECOND
    except goduration.DurationError:
        return 0
