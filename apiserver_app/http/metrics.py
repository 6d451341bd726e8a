"""/metrics, in Prometheus' text format: requests, flow control, what is stored, the kernel.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/metrics, pkg/util/flowcontrol/metrics
and pkg/storage/etcd3/metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.counters import BUCKETS, Sort

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SORT = ("verb", "group", "version", "resource", "subresource", "scope")

Rows = Iterable[tuple[Mapping[str, object], object]]


def render(cluster: ClusterContext) -> bytes:
    lines: list[str] = []
    _requests(cluster, lines)
    _flow(cluster, lines)
    _store(cluster, lines)
    return ("\n".join(lines) + "\n").encode()


def _family(lines: list[str], name: str, kind: str, text: str, rows: Rows) -> None:
    lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{_labels(labels)} {value}" for labels, value in rows]


def _labels(labels: Mapping[str, object]) -> str:
    if not labels:
        return ""
    pairs = (f'{key}="{_escaped(str(value))}"' for key, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _of(sort: Sort) -> dict[str, object]:
    return dict(zip(_SORT, sort, strict=True))


def _requests(cluster: ClusterContext, lines: list[str]) -> None:
    counters = cluster.counters
    _family(
        lines, "apiserver_request_total", "counter",
        "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
        "resource, scope, component, and HTTP response code.",
        (
            ({"code": code, "component": "apiserver", "dry_run": "All" if dry else "", **_of(sort)},
             count)
            for (sort, dry, code), count in sorted(counters.requests.items())
        ),
    )  # fmt: skip
    name = "apiserver_request_duration_seconds"
    lines += [
        f"# HELP {name} Response latency distribution in seconds of virtual time.",
        f"# TYPE {name} histogram",
    ]
    for sort, one in sorted(counters.durations.items()):
        labels: dict[str, object] = {"component": "apiserver", **_of(sort)}
        running = 0
        for bound, count in zip((*map(_number, BUCKETS), "+Inf"), one.buckets, strict=True):
            running += count
            lines.append(f"{name}_bucket{_labels({**labels, 'le': bound})} {running}")
        lines.append(f"{name}_sum{_labels(labels)} {one.total:.6f}")
        lines.append(f"{name}_count{_labels(labels)} {one.count}")
    _family(
        lines, "apiserver_current_inflight_requests", "gauge",
        "Number of requests that are being served now.",
        (
            ({"request_kind": "mutating" if changes else "readOnly"}, count)
            for changes, count in counters.in_flight.items()
        ),
    )  # fmt: skip


def _flow(cluster: ClusterContext, lines: list[str]) -> None:
    flow = cluster.flow
    flow.refresh()
    levels: Mapping[str, Any] = flow.levels
    for name, kind, text, field in (
        ("current_executing_requests", "gauge", "Requests in execution.", "executing"),
        ("current_executing_seats", "gauge", "Seats taken by requests in execution.", "seats"),
        ("current_inqueue_requests", "gauge", "Requests waiting in queues.", "waiting"),
        ("dispatched_requests_total", "counter", "Requests that were executed.", "dispatched"),
    ):
        _family(
            lines, f"apiserver_flowcontrol_{name}", kind, text,
            (
                ({"priority_level": level}, getattr(one, field))
                for level, one in sorted(levels.items())
            ),
        )  # fmt: skip
    _family(
        lines, "apiserver_flowcontrol_nominal_limit_seats", "gauge",
        "Nominal number of execution seats of each priority level.",
        (
            ({"priority_level": level}, one.shape.limit or 0)
            for level, one in sorted(levels.items())
        ),
    )  # fmt: skip
    _family(
        lines, "apiserver_flowcontrol_rejected_requests_total", "counter",
        "Requests that were refused.",
        (
            ({"flow_schema": schema, "priority_level": level, "reason": why}, count)
            for (level, schema, why), count in sorted(flow.rejected.items())
        ),
    )  # fmt: skip


def _store(cluster: ClusterContext, lines: list[str]) -> None:
    counts = []
    seen: set[str] = set()
    for info in cluster.resources.all:
        if info.storage and info.storage not in seen:
            seen.add(info.storage)
            counts.append(({"resource": info.key}, cluster.store.count(info.etcd_prefix())))
    _family(
        lines, "apiserver_storage_objects", "gauge", "Number of stored objects by resource.", counts
    )
    kernel = cluster.kernel
    for name, kind, text, value in (
        ("apiserver_storage_revision", "gauge", "Current revision of the store.",
         cluster.store.revision),
        ("kernel_steps_total", "counter", "Steps the cluster's kernel took.", kernel.steps),
        ("kernel_virtual_seconds", "counter", "Virtual time, seconds since 1970.",
         kernel.now / 1e6),
        ("kernel_tasks", "gauge", "Tasks that live in the kernel.", len(kernel.tasks)),
    ):  # fmt: skip
        _family(lines, name, kind, text, (({}, value),))


def _number(value: float) -> str:
    return f"{value:g}"
