"""How many replicas a measured figure asks for. Pure.

Pods that are not ready yet, or of which nothing is known, never make the change larger: they count
as using nothing when it goes up, and everything when it goes down.

Models kubernetes pkg/controller/podautoscaler/replica_calculator.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from controllers_app.controllers.podautoscaler import metrics
from controllers_app.controllers.podautoscaler.metrics import Figure, Figures, NoMetrics
from controllers_app.controllers.workload import podstate

TOLERANCE = 0.1  # --horizontal-pod-autoscaler-tolerance
INITIALIZATION_SECONDS = 300  # --horizontal-pod-autoscaler-cpu-initialization-period
READINESS_SECONDS = 30  # --horizontal-pod-autoscaler-initial-readiness-delay


class _Groups(msgspec.Struct, frozen=True):
    """Names of pods by what their figures are worth."""

    ready: int
    unready: list[str]
    missing: list[str]
    ignored: list[str]


def by_utilization(
    current: int,
    target: int,
    resource: str,
    container: str,
    figures: Figures,
    pods: Sequence[Object],
    now: int,
) -> tuple[int, int, int]:
    """(replicas, use in percent of what is asked for, average use of a pod in thousandths)."""
    groups, figures = _sorted_out(pods, figures, resource, now)
    requests = {meta.name_of(pod): _request(pod, resource, container) for pod in pods}
    if not figures:
        raise NoMetrics("did not receive metrics for any ready pods")
    ratio, percent, average = metrics.utilization(figures, requests, target)

    def again(changed: Figures) -> float:
        return metrics.utilization(changed, requests, target)[0]

    return _replicas(current, ratio, figures, groups, requests.__getitem__, again), percent, average


def by_average(
    current: int, target: int, resource: str, figures: Figures, pods: Sequence[Object], now: int
) -> tuple[int, int]:
    """(replicas, average of a pod in thousandths); `resource` is empty for a custom metric."""
    groups, figures = _sorted_out(pods, figures, resource, now)
    if not figures:
        raise NoMetrics("did not receive metrics for any ready pods")
    ratio, average = metrics.ratio(figures, target)

    def again(changed: Figures) -> float:
        return metrics.ratio(changed, target)[0]

    return _replicas(current, ratio, figures, groups, lambda _name: target, again), average


def by_value(current: int, value: int, target: int, pods: Sequence[Object]) -> int:
    """Replicas for one value that all of them cause together."""
    ratio = value / target
    if current == 0:
        return math.ceil(ratio)
    if _is_near(ratio):
        return current
    known(pods)
    ready = sum(podstate.phase_of(pod) == "Running" and podstate.is_ready(pod) for pod in pods)
    return math.ceil(ratio * ready)


def by_value_per_pod(there: int, value: int, target: int) -> tuple[int, int]:
    """(replicas, value for each that there is)."""
    replicas = there
    if there == 0 or not _is_near(value / (target * there)):
        replicas = math.ceil(value / target)
    return replicas, math.ceil(value / there) if there else 0


def known(pods: Sequence[Object]) -> Sequence[Object]:
    """The pods, of which there must be some."""
    if not pods:
        raise NoMetrics("no pods returned by selector while calculating replica count")
    return pods


def _is_near(ratio: float) -> bool:
    return abs(1.0 - ratio) <= TOLERANCE


def _replicas(
    current: int,
    ratio: float,
    figures: Figures,
    groups: _Groups,
    whole: Callable[[str], int],
    again: Callable[[Figures], float],
) -> int:
    """`whole` is what a pod uses that is fully used, `again` measures with figures made up."""
    hold_back = bool(groups.unready) and ratio > 1.0
    if not hold_back and not groups.missing:
        return current if _is_near(ratio) else math.ceil(ratio * groups.ready)
    made_up = dict(figures)
    for name in groups.missing:
        if ratio < 1.0:
            made_up[name] = Figure(whole(name))
        elif ratio > 1.0:
            made_up[name] = Figure(0)
    if hold_back:
        made_up |= dict.fromkeys(groups.unready, Figure(0))
    changed = again(made_up)
    turned = (ratio < 1.0 < changed) or (changed < 1.0 < ratio)
    if _is_near(changed) or turned:
        return current
    wanted = math.ceil(changed * len(made_up))
    if (changed < 1.0 and wanted > current) or (changed > 1.0 and wanted < current):
        return current
    return wanted


def _sorted_out(
    pods: Sequence[Object], figures: Figures, resource: str, now: int
) -> tuple[_Groups, Figures]:
    """The pods in groups, and the figures of those that count."""
    groups = _grouped(known(pods), figures, resource, now)
    without = {*groups.ignored, *groups.unready}
    return groups, {name: figure for name, figure in figures.items() if name not in without}


def _grouped(pods: Iterable[Object], figures: Figures, resource: str, now: int) -> _Groups:
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    ready = 0
    for pod in pods:
        name, phase = meta.name_of(pod), podstate.phase_of(pod)
        if meta.is_deleting(pod) or phase == "Failed":
            ignored.append(name)
        elif phase == "Pending":
            unready.append(name)
        elif name not in figures:
            missing.append(name)
        elif resource == "cpu" and _is_starting(pod, figures[name], now):
            unready.append(name)
        else:
            ready += 1
    return _Groups(ready, unready, missing, ignored)


def _is_starting(pod: Object, figure: Figure, now: int) -> bool:
    """Whether what the pod uses of the CPU is still that of its start."""
    condition = conditions.find(pod.get("status"), "Ready")
    started = (pod.get("status") or {}).get("startTime")
    if condition is None or not started:
        return True
    since, changed = meta.parse_time(started), meta.parse_time(condition["lastTransitionTime"])
    is_ready = condition["status"] != "False"
    if since + INITIALIZATION_SECONDS * SECOND > now:
        return not is_ready or figure.at < changed + figure.window
    return not is_ready and since + READINESS_SECONDS * SECOND > changed


def _request(pod: Object, resource: str, container: str) -> int:
    """What the pod asks for, or one container of it, in thousandths."""
    spec = pod["spec"]
    beside = [
        container
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy")
    ]
    total = 0
    for each in (*spec["containers"], *beside):
        if container not in ("", each["name"]):
            continue
        asked = ((each.get("resources") or {}).get("requests") or {}).get(resource)
        if asked is None:
            raise NoMetrics(
                f"missing request for {resource} in container {each['name']} "
                f"of Pod {meta.name_of(pod)}"
            )
        total += quantity.milli_value(asked)
    return total
