"""Each node gets a range of the pods' addresses, by a patch of its own."""

from __future__ import annotations

import pytest

from controllers_app.controllers.nodeipam import Ranges
from tests.controllers_app import podlab
from tests.controllers_app.controllers.lab import Lab

NO_RANGE_LEFT = "Node node-3 status is now: CIDRNotAvailable"


def range_of(lab: Lab, name: str) -> str:
    spec = lab.get("nodes", name, "")["spec"]
    assert spec["podCIDRs"] == [spec["podCIDR"]]
    return str(spec["podCIDR"])


def test_nodes_get_ranges_in_order(lab: Lab) -> None:
    for number in (1, 2, 3):
        lab.add_node(f"node-{number}")
        lab.run(1)
    wanted = ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"]
    assert [range_of(lab, f"node-{number}") for number in (1, 2, 3)] == wanted
    lab.assert_no_slips()


def test_the_manager_owns_the_range_and_the_kubelet_does_not() -> None:
    session = podlab.whole_cluster(nodes=1)
    managed = session.request("GET", "/api/v1/nodes/node-1").json()["metadata"]["managedFields"]
    owners = [
        entry["manager"] for entry in managed if "f:podCIDR" in entry["fieldsV1"].get("f:spec", {})
    ]
    assert owners == ["kube-controller-manager"]


def test_a_range_that_a_node_came_with_is_no_other_ones(lab: Lab) -> None:
    lab.create(
        "nodes",
        namespace="",
        obj={
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "own"},
            "spec": {"podCIDR": "10.244.0.0/23"},
        },
    )
    lab.add_node("node-1")
    lab.run(1)
    assert range_of(lab, "own") == "10.244.0.0/23"
    assert range_of(lab, "node-1") == "10.244.2.0/24"


def test_the_range_of_a_node_that_went_is_not_the_next_ones(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.run(1)
    lab.delete("nodes", "node-1", "")
    lab.run(1)
    lab.add_node("node-2")
    lab.run(1)
    assert range_of(lab, "node-2") == "10.244.1.0/24"


def test_a_node_for_which_no_range_is_left_is_told_so(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ranges, "take", lambda self: None)
    lab.add_node("node-3")
    lab.run(1)
    assert "podCIDR" not in lab.get("nodes", "node-3", "")["spec"]
    events = lab.events("Node")
    assert [reason for reason, message, _ in events if message == NO_RANGE_LEFT] == [
        "CIDRNotAvailable"
    ]


def test_ranges_are_given_going_round_until_none_is_left() -> None:
    ranges = Ranges("10.244.0.0/22")
    given = [ranges.take() for _ in range(5)]
    assert given == [*(f"10.244.{n}.0/24" for n in range(4)), None]
    ranges.release("10.244.1.0/24")
    ranges.release("10.244.3.0/24")
    assert ranges.take() == "10.244.1.0/24"
    ranges.release("10.244.1.0/24")
    assert ranges.take() == "10.244.3.0/24"


def test_a_range_of_another_network_takes_none_of_the_clusters() -> None:
    ranges = Ranges("10.244.0.0/23")
    ranges.occupy("192.168.0.0/24")
    ranges.occupy("2001:db8::/64")
    ranges.occupy("10.0.0.0/8")
    assert ranges.take() is None
    ranges.release("10.244.1.128/25")
    assert ranges.take() == "10.244.1.0/24"
