"""What flow control shows at /metrics. The histograms over time (seat and request utilization,
read against write, demand) are left out.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http.metrics.exposition import Page
from apiserver_app.machinery.histograms import Histogram

_APF = " of the API Priority and Fairness subsystem"
_OF_SCHEMA = (
    ("current_inqueue_requests", "Number of requests currently pending in queues" + _APF,
     "waiting"),
    ("current_inqueue_seats", "Number of seats currently pending in queues" + _APF,
     "waiting_seats"),
    ("current_executing_requests",
     "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the "
     "API Priority and Fairness subsystem", "serving"),
    ("current_executing_seats",
     "Concurrency (number of seats) occupied by the currently executing (initial stage for a "
     "WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
     "serving_seats"),
)  # fmt: skip
_OF_LEVEL: tuple[tuple[str, str, Callable[[Any], object]], ...] = (
    ("nominal_limit_seats", "Nominal number of execution seats configured for each priority level",
     lambda level: level.account.bounds.nominal),
    ("lower_limit_seats",
     "Configured lower bound on number of execution seats available to each priority level",
     lambda level: level.account.bounds.minimum),
    ("upper_limit_seats",
     "Configured upper bound on number of execution seats available to each priority level",
     lambda level: level.account.bounds.maximum),
    ("current_limit_seats",
     "current derived number of execution seats available to each priority level",
     lambda level: level.account.current),
    ("demand_seats_high_watermark",
     "High watermark, over last adjustment period, of demand_seats",
     lambda level: level.account.high_watermark),
    ("demand_seats_average", "Time-weighted average, over last adjustment period, of demand_seats",
     lambda level: level.account.average),
    ("demand_seats_stdev",
     "Time-weighted standard deviation, over last adjustment period, of demand_seats",
     lambda level: level.account.deviation),
    ("demand_seats_smoothed", "Smoothed seat demands", lambda level: level.account.smoothed),
    ("target_seats", "Seat allocation targets", lambda level: level.account.target),
    ("current_r", "R(time of last change)", lambda level: level.progress),
    ("dispatch_r", "R(time of last dispatch)", lambda level: level.latest_dispatch),
    ("latest_s", "S(most recently dispatched request)", lambda level: level.latest_start),
)  # fmt: skip
_Histograms = Iterable[tuple[dict[str, object], Histogram]]
_HISTOGRAMS: tuple[tuple[str, str, Callable[[Any], _Histograms]], ...] = (
    ("request_queue_length_after_enqueue",
     "Length of queue in the API Priority and Fairness subsystem, as seen by each request after "
     "it is enqueued",
     lambda tally: [({}, tally.all_lengths)]),
    ("request_wait_duration_seconds", "Length of time a request spent waiting in its queue",
     lambda tally: [
         ({"execute": "true"}, tally.all_waits), ({"execute": "false"}, tally.waited[False]),
     ]),
    ("request_execution_seconds",
     "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution "
     "in the API Priority and Fairness subsystem",
     lambda tally: [({"type": "regular"}, tally.served), ({"type": "watch"}, tally.watched)]),
    ("watch_count_samples", "count of watchers for mutating requests in API Priority and Fairness",
     lambda tally: [({}, tally.watches)]),
    ("work_estimated_seats",
     "Number of estimated seats (maximum of initial and final seats) associated with requests in "
     "API Priority and Fairness",
     lambda tally: [({}, tally.all_widths)]),
)  # fmt: skip


def render(cluster: ClusterContext, page: Page) -> None:
    flow = cluster.flow
    flow.refresh()
    if not flow.levels:
        return
    tallies = sorted(flow.tallies.items())
    keyed: list[tuple[dict[str, object], Any]] = [
        ({"priority_level": level, "flow_schema": schema}, tally)
        for (level, schema), tally in tallies
    ]
    for name, text, field in _OF_SCHEMA:
        rows = ((labels, getattr(tally, field)) for labels, tally in keyed)
        page.gauge(f"apiserver_flowcontrol_{name}", text, rows)
    page.counter(
        "apiserver_flowcontrol_dispatched_requests_total",
        "Number of requests executed by API Priority and Fairness subsystem",
        ((labels, tally.dispatched) for labels, tally in keyed),
    )
    page.counter(
        "apiserver_flowcontrol_rejected_requests_total",
        "Number of requests rejected by API Priority and Fairness subsystem",
        (
            ({**labels, "reason": why}, count)
            for labels, tally in keyed
            for why, count in sorted(tally.rejected.items())
        ),
    )
    page.counter(
        "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
        "Number of times a dispatch attempt resulted in a non accommodation due to lack of "
        "available seats",
        ((labels, tally.unaccommodated) for labels, tally in keyed if tally.unaccommodated),
    )
    _histograms(page, keyed)
    _of_levels(flow.levels, page)
    page.gauge(
        "apiserver_flowcontrol_seat_fair_frac",
        "Fair fraction of server's concurrency to allocate to each priority level that can use it",
        [({}, flow.fair_fraction)],
    )


def _histograms(page: Page, keyed: Iterable[tuple[dict[str, object], Any]]) -> None:
    for name, text, of in _HISTOGRAMS:
        rows = (
            ({**labels, **more}, histogram)
            for labels, tally in keyed
            for more, histogram in of(tally)
            if histogram.count
        )
        page.histogram(f"apiserver_flowcontrol_{name}", text, rows)


def _of_levels(levels: Mapping[str, Any], page: Page) -> None:
    for metric, text, value in _OF_LEVEL:
        rows = (({"priority_level": name}, value(level)) for name, level in sorted(levels.items()))
        page.gauge(f"apiserver_flowcontrol_{metric}", text, rows)
