"""One whole run on the real pipeline: from the request to running containers, and its trace."""

from __future__ import annotations

import ipaddress
import itertools
from typing import Any

import orjson
import pytest

from lifecycle.hosting.scripted import Session
from tests import builders
from tests.apiserver_app.cluster import started_session

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def deployment(name: str = "nginx", replicas: int = 3) -> dict[str, Any]:
    return builders.deployment(name, container="nginx", labels={"app": name}, replicas=replicas)


@pytest.fixture(scope="module")
def run() -> Session:
    session = Session()
    session.begin = session.cluster.recorder.seq  # type: ignore[attr-defined]
    answer = session.request("POST", DEPLOYMENTS, deployment())
    assert answer.status == 201
    return session


@pytest.fixture(scope="module")
def records(run: Session) -> list[dict[str, Any]]:
    return run.records()


def pods(session: Session) -> list[dict[str, Any]]:
    answer = session.request("GET", "/api/v1/namespaces/default/pods")
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_a_deployment_of_three_brings_three_pods_to_running(run: Session) -> None:
    found = pods(run)
    assert [pod["status"]["phase"] for pod in found] == ["Running"] * 3
    conditions = {
        condition["type"]: condition["status"] for condition in found[0]["status"]["conditions"]
    }
    assert set(conditions.values()) == {"True"} and len(conditions) == 5


def test_the_replica_set_has_the_name_a_real_cluster_gives_it(run: Session) -> None:
    answer = run.request("GET", "/apis/apps/v1/namespaces/default/replicasets")
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["nginx-5869d7778c"]


def test_the_three_pods_are_spread_over_the_three_nodes(run: Session) -> None:
    assert {pod["spec"]["nodeName"] for pod in pods(run)} == {"node-1", "node-2", "node-3"}


def test_every_pod_has_an_address_of_its_nodes_range(run: Session) -> None:
    addresses = [pod["status"]["podIP"] for pod in pods(run)]
    assert len(set(addresses)) == 3
    nodes = run.request("GET", "/api/v1/nodes").json()["items"]
    ranges = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in nodes}
    assert sorted(ranges.values()) == [f"10.244.{place}.0/24" for place in range(3)]
    for pod in pods(run):
        range_of_node = ipaddress.ip_network(ranges[pod["spec"]["nodeName"]])
        assert ipaddress.ip_address(pod["status"]["podIP"]) in range_of_node


def test_the_deployment_reports_three_available(run: Session) -> None:
    status = run.request("GET", f"{DEPLOYMENTS}/nginx").json()["status"]
    assert status["readyReplicas"] == status["availableReplicas"] == status["replicas"] == 3


def test_every_write_request_passes_the_eleven_gates_in_order(
    run: Session, records: list[dict[str, Any]]
) -> None:
    request = next(
        record
        for record in records
        if record["kind"] == "request" and record["path"] == DEPLOYMENTS
    )
    gates = [
        record["gate"]
        for record in records
        if record["kind"] == "gate" and record["span"] == request["seq"]
    ]
    assert gates == [
        "authentication",
        "audit",
        "flowcontrol",
        "authorization",
        "routing",
        "decode",
        "mutating",
        "prepare",
        "validation",
        "validating",
        "etcd",
    ]


def test_the_service_account_plugin_is_told_with_the_patch_it_made(
    records: list[dict[str, Any]],
) -> None:
    created = next(
        record
        for record in records
        if record["kind"] == "request"
        and record["resource"] == "pods"
        and record["verb"] == "create"
        and not record["subresource"]
    )
    plugin = next(
        record
        for record in records
        if record["kind"] == "plugin"
        and record["span"] == created["seq"]
        and record["plugin"] == "ServiceAccount"
        and record["phase"] == "mutating"
    )
    assert plugin["verdict"] == "change"
    assert any(op["path"].startswith("/spec/volumes") for op in plugin["ops"])
    assert created["client"] == "replicaset"


def chain_back(records: list[dict[str, Any]], revision: int) -> list[str]:
    """From a revision back to what caused it, as `component or client` names."""
    by_seq = {record["seq"]: record for record in records}
    writes = {record["rev"]: record for record in records if record["kind"] == "write"}
    names: list[str] = []
    while revision:
        request = by_seq[writes[revision]["span"]]
        names.append(f"{request['client']} {request['verb']} {request['resource']}")
        parent = by_seq.get(request["parent"])
        if parent is None or parent["kind"] != "work":
            return names
        revision = next((rev for rev in parent["revs"] if rev in writes), 0)
    return names


def test_the_running_container_leads_back_to_the_command(
    run: Session, records: list[dict[str, Any]]
) -> None:
    running = next(
        record["rev"]
        for record in records
        if record["kind"] == "write"
        and record["resource"] == "pods"
        and record["object"]["status"]["phase"] == "Running"
    )
    chain = chain_back(records, running)
    assert chain[0].startswith("kubelet/node-") and chain[0].endswith("patch pods")
    assert chain[1] == "scheduler create pods"
    assert chain[2] == "replicaset create pods"
    assert chain[3] == "deployment create replicasets.apps"
    assert chain[4] == "script/1 create deployments.apps"


def new_pods(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The writes that created the pods of the run, not those of the cluster."""
    return [
        record
        for record in records
        if record["kind"] == "write"
        and (record["resource"], record["op"]) == ("pods", "create")
        and record["namespace"] == "default"
    ]


def first_sync(records: list[dict[str, Any]], component: str, key: str) -> dict[str, Any]:
    """How the first sync of an object ended."""
    span = next(
        record["seq"]
        for record in records
        if record["kind"] == "work" and (record["component"], record["key"]) == (component, key)
    )
    return next(record for record in records if record["kind"] == "done" and record["span"] == span)


def test_a_new_deployment_looks_for_its_replica_sets_finds_none_and_creates_one(
    records: list[dict[str, Any]],
) -> None:
    done = first_sync(records, "deployment", "default/nginx")
    assert ["replicasets.apps", "controller", 2, 0] in done["looked"]
    made = [
        each for each in records if each["kind"] == "request" and each["parent"] == done["span"]
    ]
    assert [each["resource"] for each in made if each["verb"] == "create"] == [
        "replicasets.apps",
        "events",
    ]


def test_a_new_replica_set_looks_for_its_pods_finds_none_and_creates_three(
    records: list[dict[str, Any]],
) -> None:
    done = first_sync(records, "replicaset", "default/nginx-5869d7778c")
    found, *_ = [look[3] for look in done["looked"] if look[0] == "pods"]
    assert found == 0
    assert done["said"].startswith("wants 3, has 0: creates 3")


def test_a_pod_is_born_pending_and_on_no_node(records: list[dict[str, Any]]) -> None:
    born = [record["object"] for record in new_pods(records)]
    assert len(born) == 3
    assert [pod["status"]["phase"] for pod in born] == ["Pending"] * 3
    assert not any("nodeName" in pod["spec"] for pod in born)
    assert [
        record["type"]
        for record in records
        if record["kind"] == "watch"
        and record["rev"] in {each["rev"] for each in new_pods(records)}
    ] == ["ADDED"] * 3


def test_before_the_scheduler_etcd_holds_a_deployment_its_set_and_three_pending_pods() -> None:
    session = Session()
    session.cluster.role("scheduler", "stop")
    assert session.request("POST", DEPLOYMENTS, deployment()).status == 201
    session.wait(30)
    kept = {
        entry.key.removeprefix("/registry/"): entry.value
        for entry in session.cluster.store.range("/registry/").entries
        if "/default/nginx" in entry.key and "/events/" not in entry.key
    }
    places = sorted(key.split("/")[0] for key in kept)
    assert places == ["deployments", "pods", "pods", "pods", "replicasets"]
    waiting = [orjson.loads(kept[key]) for key in kept if key.startswith("pods/")]
    assert [pod["status"]["phase"] for pod in waiting] == ["Pending"] * 3
    assert not any("nodeName" in pod["spec"] for pod in waiting)


def test_no_kubelet_touches_a_pod_that_is_not_bound_to_its_node(
    run: Session, records: list[dict[str, Any]]
) -> None:
    node_of = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods(run)}
    bound = {
        record["name"]: record["seq"]
        for record in records
        if record["kind"] == "write" and record["subresource"] == "binding"
    }
    steps = [
        record
        for record in records
        if record["kind"] == "kubelet" and record["pod"].startswith("default/")
    ]
    assert {step["pod"].removeprefix("default/") for step in steps} == set(node_of)
    for step in steps:
        name = step["pod"].removeprefix("default/")
        assert step["node"] == node_of[name]
        assert step["seq"] > bound[name]


def test_controllers_look_into_their_caches_and_ask_the_server_for_nothing_they_watch(
    run: Session, records: list[dict[str, Any]]
) -> None:
    controllers = ("deployment", "replicaset", "endpointslice", "endpoints", "scheduler")
    since = run.begin  # type: ignore[attr-defined]
    reads = [
        record
        for record in records
        if record["kind"] == "request"
        and record["seq"] > since
        and record["client"] in controllers
        and record["verb"] in ("get", "list", "watch")
    ]
    looks = sum(
        look[2]
        for record in records
        if record["kind"] == "done" and record["seq"] > since
        for look in record.get("looked", ())
    )
    assert reads == []
    assert {"deployment", "replicaset", "scheduler"} <= {
        record["client"] for record in records if record["kind"] == "request"
    }
    assert looks > 20


def test_workers_begin_only_once_their_caches_are_synced(records: list[dict[str, Any]]) -> None:
    first: dict[tuple[str, str], int] = {}
    for record in records:
        if record["kind"] == "component":
            first.setdefault((record["name"], record["state"]), record["seq"])
        elif record["kind"] == "work":
            first.setdefault((record["component"], "work"), record["seq"])
    worked = {name for name, what in first if what == "work"}
    assert {"deployment", "replicaset", "endpoints", "scheduler", "kubelet/node-1"} <= worked
    for name in worked:
        assert first[name, "starting"] < first[name, "synced"] < first[name, "work"]


def test_the_scheduler_tells_filters_scores_and_its_choice(records: list[dict[str, Any]]) -> None:
    work = next(
        record
        for record in records
        if record["kind"] == "work" and record["component"] == "scheduler"
    )
    phases = [
        record["phase"]
        for record in records
        if record["kind"] == "schedule" and record["span"] == work["seq"]
    ]
    assert phases == ["filter", "score", "select", "bind"]


def test_the_kubelet_tells_its_steps_in_the_real_order(records: list[dict[str, Any]]) -> None:
    pod = next(record["pod"] for record in records if record["kind"] == "kubelet")
    ends = [
        record["step"]
        for record in records
        if record["kind"] == "kubelet" and record["pod"] == pod and record["state"] == "end"
    ]
    assert ends == ["volumes", "sandbox", "network", "image", "container", "ready"]


def test_records_are_numbered_without_gaps_and_time_never_goes_back(
    records: list[dict[str, Any]],
) -> None:
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert all(a["t"] <= b["t"] for a, b in itertools.pairwise(records))


def test_deleting_the_deployment_takes_everything_with_it() -> None:
    session = started_session()
    session.request("POST", DEPLOYMENTS, deployment())
    session.request("DELETE", f"{DEPLOYMENTS}/nginx", {"propagationPolicy": "Background"})
    assert pods(session) == []
    sets = session.request("GET", "/apis/apps/v1/namespaces/default/replicasets").json()
    assert sets["items"] == []


def test_a_student_is_refused_elsewhere_and_the_trace_shows_the_rules_looked_at() -> None:
    session = started_session()
    answer = session.request("POST", DEPLOYMENTS, deployment(), user="student")
    assert answer.status == 403
    assert answer.json()["message"] == (
        'deployments.apps is forbidden: User "student" cannot create resource "deployments" '
        'in API group "apps" in the namespace "default"'
    )
    gate = next(
        record
        for record in session.records()
        if record["kind"] == "gate"
        and record["gate"] == "authorization"
        and record["verdict"] == "deny"
        and "student" in record["detail"]["message"]
    )
    rbac = next(attempt for attempt in gate["detail"]["tries"] if attempt["name"] == "RBAC")
    assert rbac["detail"]["bindings"] and rbac["detail"]["smallest_rule"]


def test_a_refused_request_writes_nothing() -> None:
    session = started_session()
    before = session.cluster.store.revision
    session.request("POST", DEPLOYMENTS, deployment(), user="nobody")
    assert session.cluster.store.revision == before


def test_a_pod_no_node_can_take_stays_pending_until_a_node_can() -> None:
    session = started_session()
    body = deployment(replicas=1)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    session.request("POST", DEPLOYMENTS, body)
    pod = pods(session)[0]
    assert pod["status"]["phase"] == "Pending" and "nodeName" not in pod["spec"]
    condition = next(c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
    assert condition["message"] == (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    session.request(
        "PATCH",
        "/api/v1/nodes/node-2",
        {"metadata": {"labels": {"disk": "ssd"}}},
        headers={"content-type": "application/merge-patch+json"},
    )
    assert pods(session)[0]["spec"]["nodeName"] == "node-2"
    assert pods(session)[0]["status"]["phase"] == "Running"


def test_a_tainted_node_is_left_out_with_upstreams_words() -> None:
    session = started_session()
    taint = {"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}
    session.request(
        "PATCH",
        "/api/v1/nodes/node-3",
        taint,
        headers={"content-type": "application/merge-patch+json"},
    )
    session.request("POST", DEPLOYMENTS, deployment(replicas=2))
    assert {pod["spec"]["nodeName"] for pod in pods(session)} == {"node-1", "node-2"}
    failed = next(
        record["detail"]["failed"]
        for record in session.records()
        if record["kind"] == "schedule" and record["phase"] == "filter"
    )
    assert failed == {
        "node-3": ["TaintToleration", "node(s) had untolerated taint {dedicated: gpu}"]
    }
