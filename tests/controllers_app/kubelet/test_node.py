"""How a kubelet reports its node: the lease as a heartbeat, the status when it changed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from apiserver_app.machinery import meta
from controllers_app.containerruntime.addresses import Addresses
from controllers_app.kubelet.node.status import NodeStatus
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import cluster, create, patch, pod


def requests_of_kubelet(session: Session, since: int) -> list[tuple[str, str, str]]:
    """(verb, resource, subresource) of what node-1's kubelet asked for after a record."""
    return [
        (one["verb"], one["resource"], one["subresource"])
        for one in session.records()
        if one["kind"] == "request" and one["client"] == "kubelet/node-1" and one["seq"] > since
    ]


def last(session: Session) -> int:
    records: list[Any] = list(session.records())
    seq: int = records[-1]["seq"]
    return seq


def test_a_node_that_does_not_change_renews_its_lease_and_nothing_else() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(120)
    asked = requests_of_kubelet(session, begin)
    assert set(asked) == {("update", "leases.coordination.k8s.io", "")}
    assert len(asked) == 12


def test_a_status_that_changed_is_patched_within_ten_seconds() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    create(session, pod(image="redis:7"))
    session.wait(11)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")]


def test_a_status_that_does_not_change_is_patched_every_five_minutes() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(605)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")] * 2


def test_a_node_tells_its_health_and_whether_pods_may_come() -> None:
    session = cluster(nodes=1)
    for wanted in (True, False):
        patch(session, "/api/v1/nodes/node-1", {"spec": {"unschedulable": wanted}})
        session.wait(11)
    found = session.request("GET", "/api/v1/namespaces/default/events").json()["items"]
    told = [one["reason"] for one in found if one["involvedObject"]["uid"] == "node-1"]
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
    session = cluster(nodes=1)
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


def test_a_pod_whose_node_has_no_range_of_addresses_yet_tries_every_ten_seconds() -> None:
    session = cluster(nodes=1)
    (kubelet,) = session.cluster.nodes.kubelets.values()
    runtime: Any = kubelet.dependencies.runtime
    addresses = runtime.addresses
    take = addresses.take
    addresses.take = Addresses().take  # of no range
    create(session, pod(image="redis:7"))
    session.wait(5)
    addresses.take = take
    session.wait(15)
    failed = [
        one["t"]
        for one in session.records()
        if one["kind"] == "kubelet" and (one["step"], one["state"]) == ("network", "fail")
    ]
    gaps = {round((after - before) / 1e6) for before, after in itertools.pairwise(failed)}
    assert len(failed) > 4 and gaps == {10}
    found = session.request("GET", "/api/v1/namespaces/default/pods").json()["items"]
    assert [one["status"]["phase"] for one in found] == ["Running"]
