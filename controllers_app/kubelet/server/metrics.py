"""The kubelet's resource metrics: what metrics-server scrapes, as Prometheus' text. Pure.

Everything is taken from the summary of use, so that both always agree. A node has no swap here, so
there is none in them.

Models kubernetes pkg/kubelet/metrics/collectors/resource_metrics.go.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

Lines = dict[str, list[str]]  # of a family: labels, value and time of each series
_FAMILIES = (  # in the order of their names, as a registry gathers them
    ("container_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the container in core-seconds"),
    ("container_memory_working_set_bytes", "gauge",
     "Current working set of the container in bytes"),
    ("container_start_time_seconds", "gauge",
     "Start time of the container since unix epoch in seconds"),
    ("node_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the node in core-seconds"),
    ("node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes"),
    ("pod_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the pod in core-seconds"),
    ("pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes"),
    ("resource_scrape_error", "gauge",
     "1 if there was an error while getting container metrics, 0 otherwise"),
)  # fmt: skip


def resource(summary: Object) -> str:
    """The text at /metrics/resource."""
    lines: Lines = {name: [] for name, _, _ in _FAMILIES}
    _figures(lines, "node", "", summary["node"])
    for pod in summary["pods"]:
        reference = pod["podRef"]
        of_pod = f'namespace="{reference["namespace"]}",pod="{reference["name"]}"'
        for container in pod["containers"]:
            labels = f'{{container="{container["name"]}",{of_pod}}}'
            _figures(lines, "container", labels, container)
            began = meta.parse_time(container["startTime"]) / SECOND
            lines["container_start_time_seconds"].append(f"{labels} {number(began)}")
        _figures(lines, "pod", f"{{{of_pod}}}", pod)
    lines["resource_scrape_error"].append(" 0")
    stable = [(name, kind, f"[STABLE] {words}") for name, kind, words in _FAMILIES]
    return text(stable, lines)


def _figures(lines: Lines, what: str, labels: str, of: Object) -> None:
    cpu, memory = of["cpu"], of["memory"]
    seconds = number(cpu["usageCoreNanoSeconds"] / 1e9)
    stamp = meta.parse_time(cpu["time"]) // 1000
    lines[f"{what}_cpu_usage_seconds_total"].append(f"{labels} {seconds} {stamp}")
    size = number(memory["workingSetBytes"])
    lines[f"{what}_memory_working_set_bytes"].append(f"{labels} {size} {stamp}")


def text(families: Sequence[tuple[str, str, str]], lines: Lines) -> str:
    """The families that have series, as (name, kind, words), in Prometheus' text format."""
    out = []
    for name, kind, words in families:
        if lines[name]:
            out.append(f"# HELP {name} {words}\n# TYPE {name} {kind}\n")
            out += [f"{name}{line}\n" for line in sorted(lines[name])]
    return "".join(out)


def number(value: float) -> str:
    """As Go's strconv writes it: the shortest digits, with an exponent from a million on."""
    number = decimal.Decimal(repr(value)).normalize()
    if not number or 1e-4 <= abs(number) < 1e6:
        return f"{number:f}"
    digits, _, exponent = f"{number:e}".partition("e")
    return f"{digits}e{int(exponent):+03d}"
