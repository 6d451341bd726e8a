"""/metrics, read by Prometheus' own parser: families, labels and buckets as upstream has them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.server.counters import BUCKETS, Counters
from apiserver_app.http.metrics import metrics
from apiserver_app.machinery.meta import Credential
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, PODS, configmap, server_session

SORT = {"verb", "group", "version", "resource", "subresource", "scope", "component"}
LEVEL = {"priority_level"}
SCHEMA = {"priority_level", "flow_schema"}
STEP = {"type", "operation", "rejected"}
# kind and labels, as upstream declares them
FAMILIES: dict[str, tuple[str, set[str]]] = {
    "apiserver_request": ("counter", {*SORT, "dry_run", "code"}),
    "apiserver_request_duration_seconds": ("histogram", {*SORT, "dry_run"}),
    "apiserver_longrunning_requests": ("gauge", SORT),
    "apiserver_current_inflight_requests": ("gauge", {"request_kind"}),
    "authentication_attempts": ("counter", {"result"}),
    "authentication_duration_seconds": ("histogram", {"result"}),
    "authenticated_user_requests": ("counter", {"username"}),
    "authorization_attempts": ("counter", {"result"}),
    "authorization_duration_seconds": ("histogram", {"result"}),
    "apiserver_admission_step_admission_duration_seconds": ("histogram", STEP),
    "apiserver_admission_controller_admission_duration_seconds": ("histogram", {"name", *STEP}),
    "etcd_request_duration_seconds": ("histogram", {"operation", "type"}),
    "etcd_requests": ("counter", {"operation", "type"}),
    "apiserver_storage_objects": ("gauge", {"resource"}),
    "apiserver_flowcontrol_nominal_limit_seats": ("gauge", LEVEL),
    "apiserver_flowcontrol_lower_limit_seats": ("gauge", LEVEL),
    "apiserver_flowcontrol_upper_limit_seats": ("gauge", LEVEL),
    "apiserver_flowcontrol_current_limit_seats": ("gauge", LEVEL),
    "apiserver_flowcontrol_current_executing_requests": ("gauge", SCHEMA),
    "apiserver_flowcontrol_current_executing_seats": ("gauge", SCHEMA),
    "apiserver_flowcontrol_current_inqueue_requests": ("gauge", SCHEMA),
    "apiserver_flowcontrol_dispatched_requests": ("counter", SCHEMA),
    "apiserver_flowcontrol_request_wait_duration_seconds": ("histogram", {*SCHEMA, "execute"}),
    "apiserver_flowcontrol_request_execution_seconds": ("histogram", {*SCHEMA, "type"}),
    "apiserver_flowcontrol_work_estimated_seats": ("histogram", SCHEMA),
    "apiserver_flowcontrol_watch_count_samples": ("histogram", SCHEMA),
    "apiserver_flowcontrol_seat_fair_frac": ("gauge", set()),
    "apiserver_request_sli_duration_seconds": ("histogram", SORT),
    "apiserver_response_sizes": ("histogram", SORT),
    "apiserver_requested_deprecated_apis":
        ("gauge", {"group", "version", "resource", "subresource", "removed_release"}),
    "apiserver_cache_list": ("counter", {"resource_prefix", "index"}),
    "apiserver_cache_list_fetched_objects": ("counter", {"resource_prefix", "index"}),
    "apiserver_cache_list_returned_objects": ("counter", {"resource_prefix"}),
    "apiserver_storage_list": ("counter", {"resource"}),
    "apiserver_storage_list_fetched_objects": ("counter", {"resource"}),
    "apiserver_storage_list_evaluated_objects": ("counter", {"resource"}),
    "apiserver_storage_list_returned_objects": ("counter", {"resource"}),
    "apiserver_storage_size_bytes": ("gauge", {"storage_cluster_id"}),
    "apiserver_selfrequest": ("counter", {"verb", "resource", "subresource"}),
    "rest_client_requests": ("counter", {"code", "host", "method"}),
    "aggregator_unavailable_apiservice": ("gauge", {"name"}),
    "kube_apiserver_clusterip_allocator_allocated_ips": ("gauge", {"cidr"}),
    "kube_apiserver_nodeport_allocator_available_ports": ("gauge", set()),
    "kubernetes_build_info":
        ("gauge", {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date",
                   "go_version", "compiler", "platform"}),
    "process_cpu_seconds": ("counter", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
}  # fmt: skip


@functools.cache
def session() -> Session:
    run = Session(default_inputs(nodes=0))  # whose first start is counted
    run.request("POST", CONFIGMAPS, configmap("a"))
    run.request("GET", f"{CONFIGMAPS}/a")
    run.request("DELETE", f"{CONFIGMAPS}/a")
    run.request("GET", PODS, user="nobody")
    run.request("GET", PODS, headers={"authorization": "Bearer wrong"}, user="")
    run.request("POST", "/api/v1/namespaces/absent/configmaps", configmap("b"))
    run.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion=0", settle=False)
    run.request("GET", f"{CONFIGMAPS}?limit=1&resourceVersion=0")
    run.request("GET", f"{PODS}?resourceVersion=1&resourceVersionMatch=Exact")
    run.request("GET", "/api/v1/componentstatuses")
    return run


@functools.cache
def families() -> Mapping[str, Any]:
    text = session().request("GET", "/metrics").text.decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def value(sample_name: str, /, **labels: str) -> float:
    """The one sample with these labels, whatever others it has."""
    named = [one for one in families().values() if sample_name.startswith(one.name)]
    family = max(named, key=lambda one: len(one.name))
    found = [
        sample.value
        for sample in family.samples
        if sample.name == sample_name and labels.items() <= sample.labels.items()
    ]
    assert len(found) == 1, (sample_name, labels, found)
    return float(found[0])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_upstreams_kind_and_labels(name: str) -> None:
    kind, labels = FAMILIES[name]
    family = families()[name]
    assert (family.type, bool(family.documentation)) == (kind, True)
    assert family.samples
    for sample in family.samples:
        assert set(sample.labels) - {"le"} == labels


def test_buckets_grow_and_end_in_the_count() -> None:
    for family in families().values():
        if family.type != "histogram":
            continue
        last: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for sample in family.samples:
            key = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            if sample.name.endswith("_bucket"):
                last.setdefault(key, []).append(sample.value)
            elif sample.name.endswith("_count"):
                assert last[key] == sorted(last[key]) and last[key][-1] == sample.value


def test_what_was_done_is_counted() -> None:
    assert value("authentication_attempts_total", result="error") == 1
    assert value("authorization_attempts_total", result="no-opinion") >= 1
    assert value("etcd_requests_total", operation="delete", type="configmaps") == 1
    assert (
        value(
            "apiserver_admission_controller_admission_duration_seconds_count",
            name="NamespaceLifecycle",
            type="admit",
            operation="CREATE",
            rejected="true",
        )
        == 1
    )
    step = "apiserver_admission_step_admission_duration_seconds_count"
    assert value(step, type="validate", operation="DELETE", rejected="false") >= 1
    watches = "apiserver_longrunning_requests"
    assert value(watches, resource="configmaps", scope="namespace", verb="WATCH") == 1
    prefix = "apiserver_flowcontrol_"
    assert value(f"{prefix}nominal_limit_seats", priority_level="workload-low") == 245
    name = f"{prefix}dispatched_requests_total"
    assert value(name, flow_schema="exempt", priority_level="exempt") >= 5


def test_answers_and_lists_are_counted_by_what_was_read_and_sent() -> None:
    about = {"resource": "configmaps", "verb": "LIST", "scope": "namespace"}
    assert value("apiserver_response_sizes_count", **about) == 1
    assert value("apiserver_response_sizes_bucket", le="1000", **about) == 1
    assert 100 < value("apiserver_response_sizes_sum", **about) < 1000
    assert value("apiserver_requested_deprecated_apis", resource="componentstatuses") == 1
    assert value("apiserver_storage_list_total", resource="pods") == 1
    returned = value("apiserver_cache_list_returned_objects_total", resource_prefix="/configmaps")
    assert (
        1
        <= returned
        <= value("apiserver_cache_list_fetched_objects_total", resource_prefix="/configmaps")
    )
    assert value("aggregator_unavailable_apiservice", name="v1.apps") == 0
    assert value("rest_client_requests_total", method="POST", code="201") >= 1
    assert value("process_resident_memory_bytes") > value("process_open_fds") > 0


def test_the_indicator_of_service_leaves_out_what_was_waited_for() -> None:
    counters, call = Counters(), Call("create", "/x", Credential(), "agent", params={})
    for waited in (0, 7_000_000, 7_000_000):
        sort = counters.answered(call, 201, 8_000_000, waited)
    assert counters.durations[sort].buckets[BUCKETS.index(8.0)] == 3
    shown = metrics.undelayed(counters.durations[sort], counters.delayed[sort])
    assert shown.bounds == BUCKETS[2:]
    assert [(at, n) for at, n in zip(shown.bounds, shown.buckets, strict=False) if n] == [
        (1.0, 2),
        (8.0, 1),
    ]
    assert shown.total == 10.0


def test_a_reset_forgets_what_was_counted_but_not_who_is_served() -> None:
    run = server_session()
    run.request("GET", PODS)
    assert run.request("DELETE", "/metrics").text == b"metrics reset\n"
    text = run.request("GET", "/metrics").text.decode()
    assert 'apiserver_current_inflight_requests{request_kind="readOnly"} 1' in text
    assert 'authentication_attempts{result="success"} 1' in text
