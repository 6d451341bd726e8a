"""The kubelet's metrics of containers: what Prometheus scrapes at /metrics/cadvisor. Pure.

Everything is taken from the summary of use and the pods' statuses. What nothing measures here
(files, network, the machine) has no family.

Models google/cadvisor metrics/prometheus.go, as kubernetes pkg/kubelet/server/server.go labels it.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.server import metrics

_CPU, _START = "container_cpu_usage_seconds_total", "container_start_time_seconds"
_MEMORY = {
    "rssBytes": "container_memory_rss",
    "usageBytes": "container_memory_usage_bytes",
    "workingSetBytes": "container_memory_working_set_bytes",
}
_FAMILIES = (  # in the order of their names, as a registry gathers them
    (_CPU, "counter", "Cumulative cpu time consumed in seconds."),
    ("container_memory_rss", "gauge", "Size of RSS in bytes."),
    ("container_memory_usage_bytes", "gauge",
     "Current memory usage in bytes, including all memory regardless of when it was accessed"),
    ("container_memory_working_set_bytes", "gauge", "Current working set in bytes."),
    ("container_scrape_error", "gauge",
     "1 if there was an error while getting container metrics, 0 otherwise"),
    (_START, "gauge", "Start time of the container since unix epoch in seconds."),
)  # fmt: skip


def containers(summary: Object, pods: Mapping[str, Object]) -> str:
    """The text at /metrics/cadvisor. `pods` are those of the node, by uid."""
    lines: metrics.Lines = {name: [] for name, _, _ in _FAMILIES}
    _figures(lines, _labels(id="/"), summary["node"])
    for one in summary["pods"]:
        reference = one["podRef"]
        pod = pods[reference["uid"]]
        known = {"namespace": reference["namespace"], "pod": reference["name"]}
        slice_ = _slice(pod)
        _figures(lines, _labels(id=slice_, **known), one)
        statuses = {each["name"]: each for each in _statuses(pod)}
        for container in one["containers"]:
            status = statuses.get(container["name"]) or {}
            name = str(status.get("containerID") or "").rpartition("/")[2]
            labels = _labels(
                container=container["name"],
                id=f"{slice_}/cri-containerd-{name}.scope",
                image=status.get("image") or "",
                name=name,
                **known,
            )
            _figures(lines, labels, container)
    lines["container_scrape_error"].append(" 0")
    return metrics.text(_FAMILIES, lines)


def _figures(lines: metrics.Lines, labels: dict[str, str], of: Object) -> None:
    stamp = meta.parse_time(of["cpu"]["time"]) // 1000
    seconds = metrics.number(of["cpu"]["usageCoreNanoSeconds"] / 1e9)
    lines[_CPU].append(f"{_written({**labels, 'cpu': 'total'})} {seconds} {stamp}")
    for key, name in _MEMORY.items():
        lines[name].append(f"{_written(labels)} {metrics.number(of['memory'][key])} {stamp}")
    if of.get("startTime"):
        began = meta.parse_time(of["startTime"]) / SECOND
        lines[_START].append(f"{_written(labels)} {metrics.number(began)} {stamp}")


def _labels(**labels: str) -> dict[str, str]:
    every = ("container", "id", "image", "name", "namespace", "pod")
    return {name: labels.get(name, "") for name in every}


def _written(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{labels[name]}"' for name in sorted(labels)) + "}"


def _slice(pod: Object) -> str:
    """The pod's cgroup, by the systemd driver's names."""
    uid = meta.uid_of(pod).replace("-", "_")
    level = ((pod.get("status") or {}).get("qosClass") or "BestEffort").lower()
    if level == "guaranteed":
        return f"/kubepods.slice/kubepods-pod{uid}.slice"
    return f"/kubepods.slice/kubepods-{level}.slice/kubepods-{level}-pod{uid}.slice"


def _statuses(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    names = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    return [each for name in names for each in status.get(name) or ()]
