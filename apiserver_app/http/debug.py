"""/debug: who is served and who waits in flow control, and the profiler's index.

There is no Go runtime whose profiles could be served: the index says so, and the rest is not found.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller_debug.go and
pkg/server/routes/{profiling,flags}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import meta
from apiserver_app.machinery.syntax import goduration

FAIRNESS = "/debug/api_priority_and_fairness/"
PPROF = "/debug/pprof"
INDEX = "/debug/pprof/\n\nThis API server is simulated: it has no Go profiles.\n"
_LEVELS = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
    "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
    "CancelledRequests",
)  # fmt: skip
_QUEUES = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
    "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip
_REQUESTS = (
    "PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue",
    "FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency",
    "StartTime",
)  # fmt: skip
_DETAILS = (
    "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource",
)  # fmt: skip


def dump(cluster: ClusterContext, name: str, *, details: bool) -> str | None:
    """One of the three tables; None when there is none of that name."""
    cluster.flow.refresh()
    levels: list[Any] = [one for _, one in sorted(cluster.flow.levels.items())]
    if name == "dump_priority_levels":
        return _table(_LEVELS, map(_level, levels))
    if name == "dump_queues":
        return _table(_QUEUES, (row for one in levels for row in _queues(one)))
    if name == "dump_requests":
        heads = (*_REQUESTS, *_DETAILS) if details else _REQUESTS
        return _table(heads, (row for one in levels for row in _requests(one, details)))
    return None


def _level(level: Any) -> Sequence[object]:
    active = sum(bool(queue.waiting) for queue in level.queues)
    idle = not level.executing and not level.waiting
    return (
        level.name, active, _bool(idle), "false", level.waiting, level.executing,
        level.dispatched, level.rejected, level.timed_out, level.cancelled,
    )  # fmt: skip


def _queues(level: Any) -> Iterable[Sequence[object]]:
    for queue in level.queues:
        initial = sum(one.work.initial for one in queue.waiting)
        yield (
            level.name, queue.index, len(queue.waiting), queue.executing, queue.seats,
            f"{queue.next_dispatch:.8f}ss", initial, queue.waiting_seats, f"{queue.work:.8f}ss",
        )  # fmt: skip


def _requests(level: Any, details: bool) -> Iterable[Sequence[object]]:
    for queue in level.queues:
        for place, one in enumerate(queue.waiting):
            yield _request(one, place, details)
        for one in level.served:
            if one.queue is queue:
                yield _request(one, -1, details)
    for one in level.served:
        if one.queue is None:
            yield _request(one, -1, details)


def _request(one: Any, place: int, details: bool) -> Sequence[object]:
    started = meta.rfc3339_micro(one.since) if one.since else "0001-01-01T00:00:00Z"
    row = (
        one.level.name, one.flow.schema, -1 if one.queue is None else one.queue.index, place,
        one.flow.distinguisher, meta.rfc3339_micro(one.arrived), one.work.initial,
        one.work.final, goduration.text(one.work.extra * goduration.MICROSECOND), started,
    )  # fmt: skip
    if not details:
        return row
    call = one.call
    group, version, plural = call.asked
    if call.info is not None:
        group, version, plural = call.info.group, call.info.version, call.info.plural
    served = f"{group}/{version}" if group else version
    return (
        *row, one.user, call.verb, call.path, call.namespace, call.name, served, plural,
        call.subresource,
    )  # fmt: skip


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as Go's tabwriter aligns them; each but the last ends in a comma."""
    lines = [[str(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(line[index]) for line in lines) + 2 for index in range(len(heads))]
    return "".join(
        "".join(
            cell if index == len(line) - 1 else f"{cell},".ljust(max(widths[index], 8))
            for index, cell in enumerate(line)
        )
        + "\n"
        for line in lines
    )
