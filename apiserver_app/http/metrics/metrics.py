"""/metrics, in Prometheus' text format: requests, flow control, what is stored, the kernel.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/metrics, pkg/util/flowcontrol/metrics
and pkg/storage/etcd3/metrics.
"""

from __future__ import annotations

from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.server.counters import Sort
from apiserver_app.http.metrics import flowcontrol, gates
from apiserver_app.http.metrics.exposition import Page
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.core.service.ranges import ADDRESSES, PORTS

_SORT = ("verb", "group", "version", "resource", "subresource", "scope")


def render(cluster: ClusterContext, build: Object) -> bytes:
    """The page. `build` is what /version says."""
    page = Page()
    _requests(cluster, page)
    gates.render(cluster, page)
    flowcontrol.render(cluster, page)
    _store(cluster, page)
    page.gauge(
        "kubernetes_build_info", "The version that this server is of; the value is always 1.",
        [({_snake(name): said for name, said in build.items() if name in _BUILD}, 1)],
    )  # fmt: skip
    return page.text()


def _of(sort: Sort) -> dict[str, object]:
    return dict(zip(_SORT, sort, strict=True))


def _requests(cluster: ClusterContext, page: Page) -> None:
    counters = cluster.counters
    page.counter(
        "apiserver_request_total",
        "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
        "resource, scope, component, and HTTP response code.",
        (
            ({"code": code, "component": "apiserver", "dry_run": "All" if dry else "", **_of(sort)},
             count)
            for (sort, dry, code), count in sorted(counters.requests.items())
        ),
    )  # fmt: skip
    page.histogram(
        "apiserver_request_duration_seconds",
        "Response latency distribution in seconds for each verb, dry run value, group, version, "
        "resource, subresource, scope and component.",
        (
            ({"component": "apiserver", "dry_run": "", **_of(sort)}, one)
            for sort, one in sorted(counters.durations.items())
        ),
    )
    page.gauge(
        "apiserver_longrunning_requests",
        "Gauge of all active long-running apiserver requests broken out by verb, group, version, "
        "resource, scope and component. Not all requests are tracked this way.",
        (
            ({"component": "apiserver", **_of(sort)}, count)
            for sort, count in sorted(_watches(cluster).items())
        ),
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


def _watches(cluster: ClusterContext) -> dict[Sort, int]:
    """Open watches, of clients inside and outside."""
    infos: dict[str, ResourceInfo] = {}
    for info in cluster.resources.all:
        infos.setdefault(info.storage, info)
    found: dict[Sort, int] = {}
    for (storage, scope), count in cluster.cache.open_watches().items():
        one = infos.get(storage)
        if one is not None:
            found["WATCH", one.group, one.version, one.plural, "", scope] = count
    return found


_BUILD = (
    "major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion",
    "compiler", "platform",
)  # fmt: skip


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


def _store(cluster: ClusterContext, page: Page) -> None:
    counts = []
    seen: set[str] = set()
    for info in cluster.resources.all:
        if info.storage and info.storage not in seen:
            seen.add(info.storage)
            counts.append(({"resource": info.key}, cluster.store.count(info.etcd_prefix())))
    page.gauge(
        "apiserver_storage_objects",
        "Number of stored objects at the time of last check split by kind.", counts,
    )  # fmt: skip
    page.gauge(
        "apiserver_storage_size_bytes", "Size of what is stored, as it is now.",
        [({"storage_cluster_id": "etcd-0"}, cluster.store.bytes)],
    )  # fmt: skip
    _allocators(cluster, page)
    kernel = cluster.kernel
    page.gauge(
        "apiserver_storage_revision", "Current revision of the store.",
        [({}, cluster.store.revision)],
    )  # fmt: skip
    page.counter("kernel_steps_total", "Steps the cluster's kernel took.", [({}, kernel.steps)])
    page.counter(
        "kernel_virtual_seconds", "Virtual time, seconds since 1970.", [({}, kernel.now / 1e6)]
    )
    page.gauge("kernel_tasks", "Tasks that live in the kernel.", [({}, len(kernel.tasks))])
