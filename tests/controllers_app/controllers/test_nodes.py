"""Nodes: silent kubelets are noticed, taints follow conditions, pods that do not bear them go."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, pod, replica_set

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
SETTLED = 11  # seconds after the first node was ready; until then none is emptied
LOOK = 5  # seconds until the health of nodes is looked at again


def taints(lab: Lab, name: str = "node-1") -> set[tuple[str, str]]:
    node = lab.get("nodes", name, "")
    return {(item["key"], item["effect"]) for item in node["spec"].get("taints") or ()}


def ready(lab: Lab, name: str = "node-1") -> dict[str, Any]:
    conditions = lab.get("nodes", name, "")["status"]["conditions"]
    found: dict[str, Any] = next(item for item in conditions if item["type"] == "Ready")
    return found


def live(lab: Lab, seconds: int, *names: str) -> None:
    """Let time pass while the kubelets of these nodes live."""
    for _ in range(seconds // 10):
        lab.run(9)
        for name in names:
            lab.beat(name)


def test_a_new_node_is_registered_and_loses_its_taint_when_ready(lab: Lab) -> None:
    lab.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-9"}}, "")
    assert (NOT_READY, "NoSchedule") in taints(lab, "node-9")
    lab.patch("nodes", "node-9", {"status": {"conditions": [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": "2025-01-01T00:00:01Z",
         "lastTransitionTime": "2025-01-01T00:00:01Z"},
    ]}}, "", subresource="status")  # fmt: skip
    assert taints(lab, "node-9") == set()
    lab.assert_no_slips()


def test_who_came_and_went_is_told_with_the_next_look_at_all_nodes(lab: Lab) -> None:
    came = ("RegisteredNode", "Node node-1 event: Registered Node node-1 in Controller", 1)
    went = ("RemovingNode", "Node node-1 event: Removing Node node-1 from Controller", 1)
    lab.run(LOOK)
    lab.add_node("node-1")
    assert came not in lab.events("Node")
    lab.run(LOOK)
    assert came in lab.events("Node")
    lab.delete("nodes", "node-1", "")
    assert went not in lab.events("Node")
    lab.run(LOOK)
    assert went in lab.events("Node")


def test_a_node_that_says_it_is_not_ready_is_tainted(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.run(SETTLED)
    lab.beat("node-1", ready=False)
    assert taints(lab) == {(NOT_READY, "NoSchedule")}
    lab.run(LOOK)
    assert taints(lab) == {(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")}
    lab.beat("node-1")
    assert taints(lab) == {(NOT_READY, "NoExecute")}
    lab.run(LOOK)
    assert taints(lab) == set()


def test_cordon_is_a_taint_of_its_own(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.patch("nodes", "node-1", {"spec": {"unschedulable": True}}, "")
    assert taints(lab) == {("node.kubernetes.io/unschedulable", "NoSchedule")}
    lab.patch("nodes", "node-1", {"spec": {"unschedulable": None}}, "")
    assert taints(lab) == set()


def test_a_foreign_taint_is_left_alone(lab: Lab) -> None:
    lab.add_node("node-1")
    mine = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    lab.patch("nodes", "node-1", {"spec": {"taints": mine}}, "")
    lab.beat("node-1", ready=False)
    lab.beat("node-1")
    assert taints(lab) == {("gpu", "NoSchedule")}


def test_a_kubelet_that_lives_stays_ready(lab: Lab) -> None:
    lab.add_node("node-1")
    live(lab, 120, "node-1")
    assert ready(lab)["status"] == "True"
    assert taints(lab) == set()


def test_a_silent_kubelet_makes_its_node_unknown_after_the_grace_period(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    lab.run(45)
    assert ready(lab)["status"] == "True"
    lab.beat("node-2")
    lab.run(15)
    found = ready(lab)
    assert (found["status"], found["reason"], found["message"]) == (
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    assert taints(lab) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert ("NodeNotReady", "Node node-1 status is now: NodeNotReady", 1) in lab.events("Node")
    conditions = lab.get("pods", "a")["status"]["conditions"]
    assert next(item for item in conditions if item["type"] == "Ready")["status"] == "False"
    lab.assert_no_slips()


def test_a_jump_of_the_clock_gives_kubelets_their_turn_first(lab: Lab) -> None:
    lab.add_node("node-1")
    for _ in range(5):
        lab.kernel.advance(lab.kernel.now + 300_000_000)
        while lab.kernel.fire_timer(lab.kernel.now, jump=False):
            lab.settle()
        lab.beat("node-1")
    assert ready(lab)["status"] == "True"


def test_pods_leave_an_unreachable_node_after_their_toleration(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("replicasets.apps", replica_set(replicas=1))
    lab.start_pods()
    [name] = lab.names("pods")
    live(lab, 60, "node-2")
    lab.run(1)
    assert not meta.is_deleting(lab.get("pods", name))
    live(lab, 310, "node-2")
    old = lab.get("pods", name)
    assert meta.is_deleting(old)
    target = next(
        item for item in old["status"]["conditions"] if item["type"] == "DisruptionTarget"
    )
    assert (target["reason"], target["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert ("TaintManagerEviction", f"Marking for deletion Pod default/{name}", 1) in (
        lab.events("Pod")
    )
    assert len(lab.all("pods")) == 2


def test_a_pod_tolerates_a_taint_from_when_it_was_seen_for_as_long_as_it_says(lab: Lab) -> None:
    lab.add_node("node-1")
    body = pod("a", app="x")
    limit = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    body["spec"]["tolerations"] = [limit]
    lab.create("pods", body)
    lab.start_pods()
    taint = {"key": "x", "value": "y", "effect": "NoExecute"}
    lab.patch("nodes", "node-1", {"spec": {"taints": [taint]}}, "")
    lab.run(4)
    assert not meta.is_deleting(lab.get("pods", "a"))
    lab.run(1)
    assert meta.is_deleting(lab.get("pods", "a"))


def test_a_node_that_comes_back_in_time_keeps_its_pods(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    live(lab, 100, "node-2")
    assert ready(lab)["status"] == "Unknown"
    live(lab, 400, "node-1", "node-2")
    assert taints(lab) == set()
    assert not meta.is_deleting(lab.get("pods", "a"))
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/a", 1) in lab.events("Pod")


def test_a_pod_that_goes_before_its_eviction_cancels_it(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    live(lab, 100, "node-2")  # node-1 is tainted, which the pod tolerates for a while
    lab.delete("pods", "a")
    lab.finish_deletes()
    lab.run(2)
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/a", 1) in lab.events("Pod")


def emptied(lab: Lab, *names: str) -> list[str]:
    """Those of the nodes that have a taint which empties them."""
    return [name for name in names if any(effect == "NoExecute" for _, effect in taints(lab, name))]


def test_when_no_node_is_ready_none_is_emptied(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.run(SETTLED)
    lab.beat("node-1", ready=False)
    lab.run(LOOK)
    assert emptied(lab, "node-1", "node-2") == ["node-1"]
    lab.beat("node-2", ready=False)
    lab.run(LOOK)
    assert emptied(lab, "node-1", "node-2") == []
    assert (NOT_READY, "NoSchedule") in taints(lab, "node-1")
    lab.beat("node-2")
    lab.run(LOOK + 11)
    assert emptied(lab, "node-1", "node-2") == ["node-1"]


def test_nodes_are_emptied_one_every_ten_seconds(lab: Lab) -> None:
    names = [f"node-{number}" for number in range(1, 6)]
    for name in names:
        lab.add_node(name)
    lab.run(SETTLED)
    for name in names[:2]:
        lab.beat(name, ready=False)
    lab.run(LOOK)
    assert len(emptied(lab, *names)) == 1
    lab.run(4)
    assert len(emptied(lab, *names)) == 1
    lab.run(7)
    assert emptied(lab, *names) == names[:2]


def test_a_small_zone_that_is_mostly_unhealthy_is_left_as_it_is(lab: Lab) -> None:
    names = [f"node-{number}" for number in range(1, 6)]
    for name in names:
        lab.add_node(name)
    for name in names[:3]:
        lab.beat(name, ready=False)
    before = emptied(lab, *names)
    lab.run(30)
    assert emptied(lab, *names) == before
    assert len(before) < 3


def test_zones_are_judged_one_by_one(lab: Lab) -> None:
    for name, zone in (("node-1", "a"), ("node-2", "a"), ("node-3", "b"), ("node-4", "b")):
        lab.add_node(name, labels={"topology.kubernetes.io/zone": zone})
    lab.run(SETTLED)
    for name in ("node-1", "node-3"):
        lab.beat(name, ready=False)
    lab.run(LOOK)
    assert emptied(lab, "node-1", "node-2", "node-3", "node-4") == ["node-1", "node-3"]


def test_a_pod_that_tolerates_nothing_goes_at_once(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    drain = [{"key": "drain", "effect": "NoExecute"}]
    lab.patch("nodes", "node-1", {"spec": {"taints": drain}}, "")
    assert meta.is_deleting(lab.get("pods", "a"))


def test_pods_of_a_node_that_is_gone_are_removed(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    lab.delete("nodes", "node-1", "")
    lab.run(90)
    assert lab.find("pods", "a") is None


def test_pods_of_a_node_that_says_itself_that_it_is_not_ready_are_not_marked(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("pods", pod("a", app="x"))
    lab.start_pods()
    lab.beat("node-1", ready=False)
    lab.run(LOOK)
    found = lab.get("pods", "a")["status"]["conditions"]
    assert next(item for item in found if item["type"] == "Ready")["status"] == "True"
    assert "NodeNotReady" not in [event[0] for event in lab.events("Pod")]


def test_labels_of_old_follow_those_that_replaced_them(lab: Lab) -> None:
    lab.add_node("node-1", labels={"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"})
    labels = lab.get("nodes", "node-1", "")["metadata"]["labels"]
    assert labels["beta.kubernetes.io/os"] == "linux"
    assert labels["beta.kubernetes.io/arch"] == "arm64"
