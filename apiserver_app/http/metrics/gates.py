"""What authentication, authorization, admission, etcd and the audit log show at /metrics.

Durations are virtual time. Plugins that had nothing to say are counted with a time of nothing.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/metrics.go,
pkg/admission/metrics/metrics.go, pkg/storage/etcd3/metrics/metrics.go and pkg/audit/metrics.go.
"""

from __future__ import annotations

import hashlib

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.server.counters import ADMISSION_BUCKETS, Counters
from apiserver_app.http.metrics.exposition import Page
from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.kernel import SECOND

_STEP = ("type", "operation", "rejected")


def render(cluster: ClusterContext, page: Page) -> None:
    counters = cluster.counters
    _gates(counters, page)
    _admission(counters, page)
    _webhooks(counters, page)
    etcd = [
        ({"operation": operation, "type": resource}, histogram)
        for (operation, resource), histogram in sorted(counters.etcd.items())
    ]
    text = "Etcd request latency in seconds for each operation and object type."
    page.histogram("etcd_request_duration_seconds", text, etcd)
    page.counter(
        "etcd_requests_total",
        "Etcd request counts for each operation and object type.",
        ((labels, histogram.count) for labels, histogram in etcd),
    )
    _audit(cluster, page)
    _reloads(cluster, page)


def _reloads(cluster: ClusterContext, page: Page) -> None:
    """Of the files that the server was started with; a family without a reload has no lines."""
    server = f"sha256:{hashlib.sha256(cluster.options.server_id.encode()).hexdigest()}"
    for what in ("authentication", "authorization"):
        times = {
            status: count
            for (name, status), count in sorted(cluster.counters.reloads.items())
            if name == what
        }
        if not times:
            continue
        prefix = f"apiserver_{what}_config_controller_automatic_reload"
        of = f"of {what} configuration split by status and apiserver identity."
        labels = {status: {"status": status, "apiserver_id_hash": server} for status in times}
        page.gauge(
            f"{prefix}_last_timestamp_seconds",
            f"Timestamp {of}",
            ((labels[status], at // SECOND) for status, (_, at) in times.items()),
        )
        page.counter(
            f"{prefix}s_total",
            f"Total number of automatic reloads {of}",
            ((labels[status], count) for status, (count, _) in times.items()),
        )


def _gates(counters: Counters, page: Page) -> None:
    attempts = {
        "authentication": ("authentication_attempts", "Counter of authenticated attempts."),
        "authorization": (
            "authorization_attempts_total",
            "Counter of authorization attempts broken down by result. It can be either 'allowed', "
            "'denied', 'no-opinion' or 'error'.",
        ),
    }
    for gate, (name, text) in attempts.items():
        rows = [
            ({"result": result}, histogram)
            for (at, result), histogram in sorted(counters.gates.items())
            if at == gate
        ]
        page.counter(name, text, ((labels, count.count) for labels, count in rows))
        text = f"{gate.capitalize()} duration in seconds broken out by result."
        page.histogram(f"{gate}_duration_seconds", text, rows)
    page.counter(
        "authenticated_user_requests",
        "Counter of authenticated requests broken out by username.",
        (({"username": name}, count) for name, count in sorted(counters.users.items())),
    )


def _admission(counters: Counters, page: Page) -> None:
    page.histogram(
        "apiserver_admission_step_admission_duration_seconds",
        "Admission sub-step latency histogram in seconds, broken out for each operation and API "
        "resource and step type (validate or admit).",
        ((_labels(_STEP, key), histogram) for key, histogram in sorted(counters.steps.items())),
    )
    histograms: dict[tuple[str, str, str, bool], Histogram] = {}
    for key, histogram in counters.plugins.items():
        for name in key[0].split(","):
            histograms.setdefault((name, *key[1:]), Histogram(ADMISSION_BUCKETS)).merge(histogram)
    for (quiet, kind, operation), count in counters.quiet.items():
        for name in ",".join(quiet).split(",") if quiet else ():
            at = (name, kind, operation, False)
            histograms.setdefault(at, Histogram(ADMISSION_BUCKETS)).add_many(0.0, count)
    page.histogram(
        "apiserver_admission_controller_admission_duration_seconds",
        "Admission controller latency histogram in seconds, identified by name and broken out for "
        "each operation and API resource and type (validate or admit).",
        (
            (_labels(("name", *_STEP), key), histogram)
            for key, histogram in sorted(histograms.items())
        ),
    )


def _webhooks(counters: Counters, page: Page) -> None:
    prefix = "apiserver_admission_webhook"
    page.histogram(
        f"{prefix}_admission_duration_seconds",
        "Admission webhook latency histogram in seconds, identified by name and broken out for "
        "each operation and API resource and type (validate or admit).",
        (
            (_labels(("name", *_STEP), key), histogram)
            for key, histogram in sorted(counters.webhooks.items())
        ),
    )
    page.counter(
        f"{prefix}_request_total",
        "Admission webhook request total, identified by name and broken out for each admission "
        "type (validating or admit) and operation. Additional labels specify whether the request "
        "was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, "
        "to keep the metrics cardinality bounded.",
        (
            (_labels(("name", *_STEP, "code"), key), count)
            for key, count in sorted(counters.webhook_answers.items())
        ),
    )
    page.counter(
        f"{prefix}_rejection_count",
        "Admission webhook rejection count, identified by name and broken out for each admission "
        "type (validating or admit) and operation. Additional labels specify an error type "
        "(calling_webhook_error or apiserver_internal_error if an error occurred; no_error "
        "otherwise) and optionally a non-zero rejection code if the webhook rejects the request "
        "with an HTTP status code (honored by the apiserver when the code is greater or equal to "
        "400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality "
        "bounded.",
        (
            (_labels(("name", "type", "operation", "error_type", "rejection_code"), key), count)
            for key, count in sorted(counters.webhook_refusals.items())
        ),
    )
    page.counter(
        f"{prefix}_fail_open_count",
        "Admission webhook fail open count, identified by name and broken out for each admission "
        "type (validating or admit).",
        (
            (_labels(("name", "type"), key), count)
            for key, count in sorted(counters.failed_open.items())
        ),
    )


def _audit(cluster: ClusterContext, page: Page) -> None:
    audit = cluster.audit
    page.counter(
        "apiserver_audit_event_total",
        "Counter of audit events generated and sent to the audit backend.",
        [({}, audit.events if audit else 0)],
    )
    page.counter(
        "apiserver_audit_requests_rejected_total",
        "Requests that were rejected because their audit event could not be stored.",
        [({}, audit.rejected if audit else 0)],
    )
    if audit is None:
        return
    page.counter(
        "apiserver_audit_level_total",
        "Counter of policy levels for audit events (1 per request).",
        (({"level": level}, count) for level, count in sorted(audit.levels.items())),
    )
    page.counter(
        "apiserver_audit_error_total",
        "Counter of audit events that failed to be audited properly. Plugin identifies the plugin "
        "affected by the error.",
        (({"plugin": backend.name}, backend.errors) for backend in audit.backends),
    )


def _labels(names: tuple[str, ...], values: tuple[object, ...]) -> dict[str, object]:
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in zip(names, values, strict=True)
    }
