"""How a kubelet reports its node: the lease as a heartbeat, the status when it changed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from apiserver_app.machinery import meta
from controllers_app.containerruntime.addresses import Addresses
from controllers_app.kubelet.node.status import NodeStatus
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import create, events, get, new_cluster, patch, pod, whole_cluster


def requests_of_kubelet(session: Session, since: int) -> list[tuple[str, str, str]]:
    """(verb, resource, subresource) of what node-1's kubelet asked for after a record."""
    return [
        (record["verb"], record["resource"], record["subresource"])
        for record in session.records()
        if record["kind"] == "request"
        and record["client"] == "kubelet/node-1"
        and record["seq"] > since
    ]


def last(session: Session) -> int:
    records: list[Any] = list(session.records())
    seq: int = records[-1]["seq"]
    return seq


def test_a_node_that_does_not_change_renews_its_lease_and_nothing_else() -> None:
    session = whole_cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(120)
    asked = requests_of_kubelet(session, begin)
    assert set(asked) == {("update", "leases.coordination.k8s.io", "")}
    assert len(asked) == 12


def test_a_status_that_changed_is_patched_within_ten_seconds() -> None:
    session = whole_cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    create(session, pod(image="redis:7"))
    session.wait(11)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")]


def test_a_status_that_does_not_change_is_patched_every_five_minutes() -> None:
    session = whole_cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(605)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")] * 2


def test_a_node_tells_its_health_and_whether_pods_may_come() -> None:
    session = new_cluster(nodes=1)
    for wanted in (True, False):
        patch(session, "/api/v1/nodes/node-1", {"spec": {"unschedulable": wanted}})
        session.wait(11)
    found = session.request("GET", "/api/v1/namespaces/default/events").json()["items"]
    told = [event["reason"] for event in found if event["involvedObject"]["uid"] == "node-1"]
    # RegisteredNode and others are the node lifecycle controller's, with the node's real uid
    assert told == [
        "Starting",
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
        "NodeReady",
        "NodeNotSchedulable",
        "NodeSchedulable",
    ]


def test_a_status_that_cannot_have_changed_is_not_made_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = whole_cluster(nodes=1)
    session.wait(15)
    made: list[str] = []
    make = NodeStatus.status

    def counted(self: NodeStatus, old: Any) -> Any:
        made.append(meta.rfc3339(session.cluster.kernel.now))
        return make(self, old)

    monkeypatch.setattr(NodeStatus, "status", counted)
    session.wait(100)
    assert made == []
    create(session, pod(image="redis:7"))
    session.wait(11)
    assert len(made) == 1


NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)


def without_a_range() -> Session:
    """A cluster whose node came anew while nobody gives ranges to nodes."""
    session = whole_cluster(nodes=1)
    roles = session.cluster.roles
    roles["controllers"].components["nodeipam"].stop()
    (kubelet,) = roles["kubelet"].components.values()
    kubelet.stop()
    assert session.request("DELETE", "/api/v1/nodes/node-1").status == 200
    kubelet.start()
    session.settle()
    return session


def ready(session: Session) -> tuple[str, str, str]:
    conditions = session.request("GET", "/api/v1/nodes/node-1").json()["status"]["conditions"]
    (condition,) = [each for each in conditions if each["type"] == "Ready"]
    return condition["status"], condition["reason"], condition["message"]


def test_a_node_without_a_range_of_addresses_is_not_ready_and_says_why() -> None:
    session = without_a_range()
    messages = [
        record["object"]["status"]["conditions"][-1]["message"]
        for record in session.records()
        if (record["kind"], record.get("op"), record.get("resource"))
        == ("write", "create", "nodes")
    ]
    assert messages == [f"[{NO_NETWORK}, CSINode is not yet initialized]"] * 2
    session.wait(11)
    assert ready(session) == ("False", "KubeletNotReady", NO_NETWORK)


def test_a_node_is_ready_as_soon_as_it_has_its_range() -> None:
    session = without_a_range()
    session.cluster.roles["controllers"].components["nodeipam"].start()
    session.wait(0.1)
    assert ready(session) == ("True", "KubeletReady", "kubelet is posting ready status")


def test_a_pod_waits_for_the_network_of_its_node_but_not_for_the_nodes_own() -> None:
    session = without_a_range()
    for name, spec in (("web", {}), ("host", {"hostNetwork": True})):
        create(session, pod(name, image="redis:7", nodeName="node-1", **spec), settle=False)
    session.wait(3.5)
    assert get(session, "host")["status"]["phase"] == "Running"
    event = ("Warning", "NetworkNotReady", f"network is not ready: {NO_NETWORK}")
    assert set(events(session, "web")) == {event}
    failed = [
        record["t"]
        for record in session.records()
        if (record["kind"], record.get("step"), record.get("state"))
        == ("kubelet", "network", "fail")
    ]
    gaps = {round((after - before) / 1e6) for before, after in itertools.pairwise(failed)}
    assert len(failed) > 3 and gaps == {1}
    session.cluster.roles["controllers"].components["nodeipam"].start()
    session.wait(10)
    assert get(session, "web")["status"]["phase"] == "Running"


def test_a_pod_for_which_no_address_is_left_tries_every_ten_seconds() -> None:
    session = whole_cluster(nodes=1)
    (kubelet,) = session.cluster.nodes.kubelets.values()
    runtime: Any = kubelet.dependencies.runtime
    addresses = runtime.addresses
    take = addresses.take
    addresses.take = Addresses().take  # which has none
    create(session, pod(image="redis:7"))
    session.wait(5)
    addresses.take = take
    session.wait(15)
    failed = [
        record["t"]
        for record in session.records()
        if record["kind"] == "kubelet" and (record["step"], record["state"]) == ("network", "fail")
    ]
    gaps = {round((after - before) / 1e6) for before, after in itertools.pairwise(failed)}
    assert len(failed) > 4 and gaps == {10}
    found = session.request("GET", "/api/v1/namespaces/default/pods").json()["items"]
    assert [item["status"]["phase"] for item in found] == ["Running"]
