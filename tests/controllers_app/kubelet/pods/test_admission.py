"""Pods that were bound past the scheduler: a kubelet refuses what its node has no room for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers_app.podlab import PODS, cluster, create, events, get, patch, pod

NODES = "/api/v1/nodes"


def refused(*before: dict[str, Any], taint: str = "", **spec: Any) -> tuple[str, str]:
    """Reason and message with which a pod is refused that was put on a node by its name."""
    session = cluster(nodes=1)
    for each in before:
        create(session, each)
    if taint:
        taints = [{"key": "a", "effect": taint}]
        patch(session, f"{NODES}/node-1", {"spec": {"taints": taints}})
    create(session, pod(nodeName="node-1", **spec))
    warnings = [event[1:] for event in events(session) if event[0] == "Warning"]
    return warnings[0] if warnings else ("", "")


def asking(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_what_asks_for_more_than_is_left_is_refused() -> None:
    reason, message = refused(container=asking(cpu="100"))
    assert reason == "OutOfcpu"
    assert message.startswith("Node didn't have enough resource: cpu, requested: 100000, used: ")
    assert message.endswith(", capacity: 4000")
    other = pod("other", nodeName="node-1", container=asking(memory="4Gi"))
    assert refused(other, container=asking(memory="4Gi"))[0] == "OutOfmemory"
    assert refused(other, container=asking(memory="1Gi")) == ("", "")


def test_of_a_refused_pod_nothing_else_is_told_and_it_goes_at_once() -> None:
    session = cluster(nodes=1)
    create(session, pod(nodeName="node-1", container=asking(cpu="100")))
    status = get(session)["status"]
    assert status.keys() == {"phase", "reason", "message", "startTime", "qosClass"}
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu,")
    assert session.request("DELETE", f"{PODS}/web").status == 200
    assert session.request("GET", f"{PODS}/web").status == 404


def test_for_a_critical_pod_there_is_room() -> None:
    critical = {"priorityClassName": "system-node-critical"}
    assert refused(container=asking(cpu="100"), **critical) == ("", "")


@pytest.mark.parametrize(
    ("spec", "taint", "reason", "message"),
    [
        ({"nodeSelector": {"no": "such"}}, "", "NodeAffinity",
         "node(s) didn't match Pod's node affinity/selector"),
        ({}, "NoExecute", "TaintToleration", "node(s) had taints that the pod didn't tolerate"),
        ({"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}, "", "NodePorts",
         "node(s) didn't have free ports for the requested pod ports"),
    ],
)  # fmt: skip
def test_what_the_scheduler_would_not_have_bound_is_refused(
    spec: dict[str, Any], taint: str, reason: str, message: str
) -> None:
    port = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    found = refused(pod("other", nodeName="node-1", container=port), taint=taint, **spec)
    assert found == (reason, f"Predicate {reason} failed: {message}")


def test_other_taints_are_the_schedulers_matter() -> None:
    assert refused(taint="NoSchedule") == ("", "")
