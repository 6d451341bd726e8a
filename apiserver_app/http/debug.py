"""/debug: requests of flow control that execute or wait, the profiler's index, the log's verbosity.

There is no Go runtime to profile: the index says so, and the profiles answer 404.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller_debug.go and
pkg/server/routes/{profiling,flags}.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import quoted
from apiserver_app.machinery.syntax import goduration

FAIRNESS = "/debug/api_priority_and_fairness/"
_PPROF, _FLAGS = "/debug/pprof", "/debug/flags"
_INDEX = "/debug/pprof/\n\nThis API server is simulated: it has no Go profiles.\n"
_TEXT, _HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")
_FLAGS_PAGE = b"""<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>

<tr>v<br>

</table>
<br>
full flags configurable<br>
</body>
</html>
"""
_LEVELS = tuple(
    """
    PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests
    DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests
    """.split()
)
_QUEUES = tuple(
    """
    PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR
    InitialSeatsSum MaxSeatsSum TotalWorkSum
    """.split()
)
_REQUESTS = tuple(
    """
    PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime
    InitialSeats FinalSeats AdditionalLatency StartTime
    """.split()
)
_DETAILS = tuple("UserName Verb APIPath Namespace Name APIVersion Resource SubResource".split())


def dump(cluster: ClusterContext, name: str, *, details: bool) -> str | None:
    """Returns one of the three tables; None for an unknown name."""
    cluster.flow.refresh()
    levels: list[Any] = [level for _, level in sorted(cluster.flow.levels.items())]
    if name == "dump_priority_levels":
        return _table(_LEVELS, map(_level, levels))
    if name == "dump_queues":
        return _table(_QUEUES, (row for level in levels for row in _queues(level)))
    if name == "dump_requests":
        heads = (*_REQUESTS, *_DETAILS) if details else _REQUESTS
        return _table(heads, (row for level in levels for row in _requests(level, details)))
    return None


def profile(call: Call) -> Outcome | None:
    """Returns the index, or the 404 of a profile."""
    path = call.path
    if path == _PPROF:
        location = [("Location", f"{_PPROF}/")]
        if call.method not in ("GET", "HEAD"):
            return Outcome(302, value=b"", headers=location)
        link = f'<a href="{_PPROF}/">Found</a>.\n\n'
        return Outcome(302, value=link.encode(), content_type=_HTML, headers=location)
    if path == f"{_PPROF}/":
        return Outcome(200, value=_INDEX.encode(), content_type=_TEXT, headers=[_NO_SNIFF])
    if path.startswith(f"{_PPROF}/"):
        headers = [_NO_SNIFF, ("X-Go-Pprof", "1")]
        return Outcome(404, value=b"Unknown profile\n", content_type=_TEXT, headers=headers)
    return None


def flags(path: str, call: Call) -> Outcome | None:
    """Returns the flags that can be set at run time, or sets the verbosity. There is no log of
    klog's that it could change."""
    if path != _FLAGS and not path.startswith(f"{_FLAGS}/"):
        return None
    if path != f"{_FLAGS}/v":
        return Outcome(200, value=_FLAGS_PAGE, content_type=_HTML)
    given = call.raw.decode(errors="replace")
    if call.method != "PUT":
        code, text = 406, "unsupported http method"
    elif not given.isascii() or not given.isdigit():
        code, text = 400, f"strconv.ParseUint: parsing {quoted(given)}: invalid syntax"
    else:
        code, text = 200, f"successfully set klog.logging.verbosity to {given}"
    body = f"{text}\n".encode()
    return Outcome(code, value=body, content_type="text/plain", headers=[_NO_SNIFF])


def _level(level: Any) -> Sequence[object]:
    active = sum(bool(queue.waiting) for queue in level.queues)
    idle = not level.executing and not level.waiting
    return (
        level.name,
        active,
        _bool(idle),
        "false",
        level.waiting,
        level.executing,
        level.dispatched,
        level.rejected,
        level.timed_out,
        level.cancelled,
    )


def _queues(level: Any) -> Iterable[Sequence[object]]:
    for queue in level.queues:
        initial = sum(request.work.initial for request in queue.waiting)
        yield (
            level.name,
            queue.index,
            len(queue.waiting),
            queue.executing,
            queue.seats,
            f"{queue.next_dispatch:.8f}ss",
            initial,
            queue.waiting_seats,
            f"{queue.work:.8f}ss",
        )


def _requests(level: Any, details: bool) -> Iterable[Sequence[object]]:
    for queue in level.queues:
        for position, request in enumerate(queue.waiting):
            yield _request(request, position, details)
        for request in level.served:
            if request.queue is queue:
                yield _request(request, -1, details)
    for request in level.served:
        if request.queue is None:
            yield _request(request, -1, details)


def _request(request: Any, position: int, details: bool) -> Sequence[object]:
    started = meta.rfc3339_micro(request.since) if request.since else "0001-01-01T00:00:00Z"
    row = (
        request.level.name,
        request.flow.schema,
        -1 if request.queue is None else request.queue.index,
        position,
        request.flow.distinguisher,
        meta.rfc3339_micro(request.arrived),
        request.work.initial,
        request.work.final,
        goduration.text(request.work.extra * goduration.MICROSECOND),
        started,
    )
    if not details:
        return row
    call = request.call
    group, version, plural = call.asked if call.info is None else call.info.gvr
    served = meta.group_version(group, version)
    return (
        *row,
        request.user,
        call.verb,
        call.path,
        call.namespace,
        call.name,
        served,
        plural,
        call.subresource,
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligns columns as Go's tabwriter does; each but the last ends in a comma."""
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
