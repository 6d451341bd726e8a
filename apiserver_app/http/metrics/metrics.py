"""/metrics, in Prometheus' text format: requests, flow control, what is stored, the kernel.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/metrics, pkg/util/flowcontrol/metrics
and pkg/storage/etcd3/metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TypeVar

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.server.counters import BUCKETS, Sort
from apiserver_app.http.metrics import flowcontrol, gates, process
from apiserver_app.http.metrics.exposition import Page
from apiserver_app.machinery import meta
from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.apiregistration import apiservices
from apiserver_app.registry.core.service.ranges import ADDRESSES, PORTS

_V = TypeVar("_V")
_SORT = ("verb", "group", "version", "resource", "subresource", "scope")


def render(cluster: ClusterContext, build: Object, started: int) -> bytes:
    """The page. `build` is what /version says, `started` when the server started."""
    page = Page()
    _requests(cluster, page)
    _answers(cluster, page)
    _lists(cluster, page)
    _own(cluster, page)
    gates.render(cluster, page)
    flowcontrol.render(cluster, page)
    _store(cluster, page)
    _services(cluster, page)
    process.render(page, started)
    page.gauge(
        "kubernetes_build_info",
        "The version that this server is of; the value is always 1.",
        [({_snake(name): text for name, text in build.items() if name in _BUILD}, 1)],
    )
    return page.text()


def _of(sort: Sort) -> dict[str, object]:
    return dict(zip(_SORT, sort, strict=True))


def _by_sort(values: Mapping[Sort, _V]) -> Iterator[tuple[dict[str, object], _V]]:
    for sort, value in sorted(values.items(), key=itemgetter(0)):
        yield {"component": "apiserver", **_of(sort)}, value


def _requests(cluster: ClusterContext, page: Page) -> None:
    counters = cluster.counters
    page.counter(
        "apiserver_request_total",
        "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
        "resource, scope, component, and HTTP response code.",
        (
            (
                {
                    "code": code,
                    "component": "apiserver",
                    "dry_run": "All" if dry else "",
                    **_of(sort),
                },
                count,
            )
            for (sort, dry, code), count in sorted(counters.requests.items())
        ),
    )
    page.histogram(
        "apiserver_request_duration_seconds",
        "Response latency distribution in seconds for each verb, dry run value, group, version, "
        "resource, subresource, scope and component.",
        (
            ({"component": "apiserver", "dry_run": "", **_of(sort)}, histogram)
            for sort, histogram in sorted(counters.durations.items())
        ),
    )
    page.gauge(
        "apiserver_longrunning_requests",
        "Gauge of all active long-running apiserver requests broken out by verb, group, version, "
        "resource, scope and component. Not all requests are tracked this way.",
        _by_sort(_watches(cluster)),
    )
    page.gauge(
        "apiserver_current_inflight_requests",
        "Maximal number of currently used inflight request limit of this apiserver per request "
        "kind in last second.",
        (
            ({"request_kind": "mutating" if changes else "readOnly"}, count)
            for changes, count in counters.in_flight.items()
        ),
    )


def _answers(cluster: ClusterContext, page: Page) -> None:
    """How long answers took but for what others took, how large they were, and which surprise."""
    counters = cluster.counters
    page.histogram(
        "apiserver_request_sli_duration_seconds",
        "Response latency distribution (not counting webhook duration and priority & fairness "
        "queue wait times) in seconds for each verb, group, version, resource, subresource, scope "
        "and component.",
        _by_sort(
            {
                sort: undelayed(histogram, counters.delayed.get(sort))
                for sort, histogram in counters.durations.items()
            }
        ),
    )
    page.histogram(
        "apiserver_response_sizes",
        "Response size distribution in bytes for each group, version, verb, resource, subresource, "
        "scope and component.",
        _by_sort(counters.sizes),
    )
    names = ("group", "version", "resource", "subresource")
    page.gauge(
        "apiserver_requested_deprecated_apis",
        "Gauge of deprecated APIs that have been requested, broken out by API group, version, "
        "resource, subresource, and removed_release.",
        (
            ({**dict(zip(names, use, strict=True)), "removed_release": ""}, 1)
            for use in sorted(counters.deprecated)
        ),
    )


def undelayed(whole: Histogram, delayed: tuple[Histogram, Histogram] | None) -> Histogram:
    """Without what was waited for; it has no bounds below 50 ms."""
    coarse = Histogram(BUCKETS[_FINE:])
    buckets, total = list(whole.buckets), whole.total
    if delayed is not None:
        with_waits, rest = delayed
        total += rest.total - with_waits.total
        for index, count in enumerate(rest.buckets):
            buckets[index] += count - with_waits.buckets[index]
    coarse.buckets = [sum(buckets[: _FINE + 1]), *buckets[_FINE + 1 :]]
    coarse.total = total
    return coarse


def _lists(cluster: ClusterContext, page: Page) -> None:
    counted = sorted(cluster.counters.lists.items())
    stored = [({"resource": key}, row) for (etcd, key), row in counted if etcd]
    cached = [
        ({"resource_prefix": f"/{cluster.resources.by_key[key].storage}"}, row)
        for (etcd, key), row in counted
        if not etcd and key in cluster.resources.by_key
    ]
    indexed = [({**labels, "index": ""}, row) for labels, row in cached]
    for name, text, rows, field in (
        ("cache_list_total", "LIST requests served from watch cache", indexed, 0),
        ("cache_list_fetched_objects_total", "objects read from watch cache", indexed, 1),
        ("cache_list_returned_objects_total", "objects returned from watch cache", cached, 2),
        ("storage_list_total", "LIST requests served from storage", stored, 0),
        ("storage_list_fetched_objects_total", "objects read from storage", stored, 1),
        ("storage_list_evaluated_objects_total", "objects tested from storage", stored, 1),
        ("storage_list_returned_objects_total", "objects returned from storage", stored, 2),
    ):
        counts = ((labels, row[field]) for labels, row in rows)
        page.counter(f"apiserver_{name}", f"Number of {text}", counts)


def _own(cluster: ClusterContext, page: Page) -> None:
    """What the API server asked itself, as client-go counts it and as the server does."""
    requests: dict[tuple[str, int], int] = {}
    asked: dict[tuple[str, str, str], int] = {}
    for ((verb, _, _, resource, subresource, _), code), count in cluster.counters.own.items():
        method = _METHODS.get(verb, verb)
        requests[method, code] = requests.get((method, code), 0) + count
        sort = (resource, subresource, verb)
        asked[sort] = asked.get(sort, 0) + count
    page.counter(
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method, and host.",
        (
            ({"code": code, "host": _LOOPBACK, "method": method}, count)
            for (method, code), count in sorted(requests.items())
        ),
    )
    page.counter(
        "apiserver_selfrequest_total",
        "Counter of apiserver self-requests broken out for each verb, API resource and "
        "subresource.",
        (
            ({"resource": resource, "subresource": subresource, "verb": verb}, count)
            for (resource, subresource, verb), count in sorted(asked.items())
        ),
    )


_FINE = 2  # bounds below those of upstream's service level indicator
_LOOPBACK = "[::1]:6443"
_METHODS = {"LIST": "GET", "WATCH": "GET", "DELETECOLLECTION": "DELETE"}


def _watches(cluster: ClusterContext) -> dict[Sort, int]:
    """Open watches, of clients inside and outside."""
    infos: dict[str, ResourceInfo] = {}
    for info in cluster.resources.all:
        infos.setdefault(info.storage, info)
    counts: dict[Sort, int] = {}
    for (storage, scope), count in cluster.cache.open_watches().items():
        served = infos.get(storage)
        if served is not None:
            counts["WATCH", *served.gvr, "", scope] = count
    return counts


_BUILD = tuple(
    """
    major minor gitVersion gitCommit gitTreeState buildDate goVersion compiler platform
    """.split()
)


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _allocators(cluster: ClusterContext, page: Page) -> None:
    """What services hold of the ranges."""
    ranges = cluster.addresses.ranges
    held = ranges.held(cluster.cache.list("services"))
    for name, what, labels in (
        ("clusterip_allocator_{}_ips", ADDRESSES, {"cidr": str(cluster.addresses.net.cidr)}),
        ("nodeport_allocator_{}_ports", PORTS, {}),
    ):
        taken, free = held[what]
        for word, count in (("allocated", taken), ("available", free)):
            family = f"kube_apiserver_{name.format(word)}"
            page.gauge(family, f"How many of the range are {word}.", [(labels, count)])


def _services(cluster: ClusterContext, page: Page) -> None:
    available: dict[str, bool] = {}
    for service in cluster.cache.list(apiservices.KEY):
        conditions = (service.get("status") or {}).get("conditions") or ()
        is_available = any(
            condition["type"] == "Available" and condition["status"] == "True"
            for condition in conditions
        )
        available[meta.name_of(service)] = is_available
    page.gauge(
        "aggregator_unavailable_apiservice",
        "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
        (({"name": name}, int(not good)) for name, good in sorted(available.items())),
    )


def _store(cluster: ClusterContext, page: Page) -> None:
    counts = []
    seen: set[str] = set()
    for info in cluster.resources.all:
        if info.storage and info.storage not in seen:
            seen.add(info.storage)
            counts.append(({"resource": info.key}, cluster.store.count(info.etcd_prefix())))
    page.gauge(
        "apiserver_storage_objects",
        "Number of stored objects at the time of last check split by kind.",
        counts,
    )
    page.gauge(
        "apiserver_storage_size_bytes",
        "Size of what is stored, as it is now.",
        [({"storage_cluster_id": "etcd-0"}, cluster.store.bytes)],
    )
    _allocators(cluster, page)
    kernel = cluster.kernel
    page.gauge(
        "apiserver_storage_revision",
        "Current revision of the store.",
        [({}, cluster.store.revision)],
    )
    page.counter("kernel_steps_total", "Steps the cluster's kernel took.", [({}, kernel.steps)])
    page.counter(
        "kernel_virtual_seconds", "Virtual time, seconds since 1970.", [({}, kernel.now / 1e6)]
    )
    page.gauge("kernel_tasks", "Tasks that live in the kernel.", [({}, len(kernel.tasks))])
