"""The scheduler in a whole cluster: what it does with pods, and what brings it back to them."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver_app import flags
from lifecycle.hosting.scripted import Session, default_inputs
from tests.controllers_app.podlab import PODS, cluster, condition, create, get, items, patch, pod


def attempts(session: Session, name: str = "web") -> int:
    return sum(
        record["kind"] == "work"
        and record["component"] == "scheduler"
        and record["key"].endswith(name)
        for record in session.records()
    )


def big(name: str = "web", cpu: str = "3", **spec: Any) -> dict[str, Any]:
    return pod(name, container={"resources": {"requests": {"cpu": cpu}}}, **spec)


def test_a_pod_of_another_scheduler_is_left_alone() -> None:
    session = cluster(nodes=1)
    create(session, pod(schedulerName="mine"))
    assert "nodeName" not in get(session)["spec"] and attempts(session) == 0


def test_a_gated_pod_is_scheduled_when_its_gate_goes() -> None:
    session = cluster(nodes=1)
    create(session, pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert attempts(session) == 0
    answer = session.request(
        "PATCH",
        f"{PODS}/web",
        [{"op": "remove", "path": "/spec/schedulingGates"}],
        headers={"content-type": "application/json-patch+json"},
    )
    assert answer.status == 200 and get(session)["spec"]["nodeName"] == "node-1"


def test_a_pod_waits_for_room_and_takes_it_when_another_leaves() -> None:
    session = cluster(nodes=1)
    create(session, big("a"))
    create(session, big("b"))
    said = condition(session, "PodScheduled", "b")
    assert (said["status"], said["reason"]) == ("False", "Unschedulable")
    assert said["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )
    session.request("DELETE", f"{PODS}/a")
    assert get(session, "b")["status"]["phase"] == "Running"
    assert condition(session, "PodScheduled", "b")["status"] == "True"
    assert "message" not in condition(session, "PodScheduled", "b")


def test_a_finished_pod_gives_its_room_back() -> None:
    session = cluster(nodes=1)
    create(session, big("a", notes={"run-seconds": "5"}, restartPolicy="Never"))
    create(session, big("b"))
    assert get(session, "b")["status"]["phase"] == "Running"


def test_what_cannot_help_causes_no_attempt() -> None:
    session = cluster(nodes=2)
    create(session, pod(nodeSelector={"disk": "ssd"}))
    before = attempts(session)
    create(session, pod("other"))
    patch(session, "/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "hdd"}}})
    assert attempts(session) == before
    patch(session, "/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    assert get(session)["spec"]["nodeName"] == "node-1"


def test_a_preference_that_cannot_be_read_is_the_schedulers_error() -> None:
    session = cluster(nodes=2)
    rank = {"key": "rank", "operator": "Lt", "values": ["1_0"]}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [rank]}}]
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    create(session, pod(affinity={"nodeAffinity": terms}), settle=False)
    session.wait(1)
    said = condition(session, "PodScheduled")
    assert said["reason"] == "SchedulerError"
    assert said["message"].startswith('running PreScore plugin "NodeAffinity": [0].match')


def test_a_cordoned_cluster_is_waited_for() -> None:
    session = cluster(nodes=1)
    patch(session, "/api/v1/nodes/node-1", {"spec": {"unschedulable": True}})
    create(session, pod())
    assert "node(s) were unschedulable" in condition(session, "PodScheduled")["message"]
    patch(session, "/api/v1/nodes/node-1", {"spec": {"unschedulable": None}})
    assert get(session)["status"]["phase"] == "Running"


def test_a_pod_that_is_bound_already_is_not_taken() -> None:
    session = cluster(nodes=2)
    create(session, pod(nodeName="node-2"))
    assert attempts(session) == 0 and get(session)["status"]["phase"] == "Running"


def test_a_pod_bound_by_somebody_else_meanwhile_is_no_error() -> None:
    session = cluster(nodes=2)
    create(session, pod(), settle=False)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web"},
        "target": {"kind": "Node", "name": "node-2"},
    }
    session.request("POST", f"{PODS}/web/binding", binding)
    assert get(session)["status"]["phase"] == "Running"
    assert len(items(session)) == 1


def test_a_deleted_pod_leaves_the_queue() -> None:
    session = cluster(nodes=1)
    create(session, pod(nodeSelector={"disk": "ssd"}))
    session.request("DELETE", f"{PODS}/web")
    assert items(session) == []
    before = attempts(session)
    patch(session, "/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    assert attempts(session) == before


def test_each_attempt_tells_one_record_a_phase() -> None:
    session = cluster(nodes=3)
    create(session, pod())
    told = [record for record in session.records() if record["kind"] == "schedule"]
    assert [one["phase"] for one in told] == ["filter", "score", "select", "bind"]
    score = told[1]["detail"]
    assert set(score) == {"plugins", "skipped", "total"}
    for name in score["total"]:
        assert score["total"][name] == sum(
            plugin["normalized"][name] * plugin["weight"] for plugin in score["plugins"]
        )
    assert set(score["skipped"]) == {
        "NodeAffinity",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
    }
    assert {"node", "why", "total", "margin"} <= set(told[2]["detail"])


def test_a_binding_names_the_pod_by_its_uid_and_the_node_and_is_posted() -> None:
    """Its body is seen in the audit log, and what matters of it in the trace."""
    policy = (
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
        "rules:\n- {level: Request, resources: [{resources: [pods/binding]}]}\n- level: None\n"
    )
    given = flags.parse(["audit-policy-file=p", "audit-log-path=-"], {"p": policy}.__getitem__)
    lines: list[bytes] = []
    session = Session(default_inputs(nodes=3, flags=given), on_audit=lines.extend)
    create(session, pod())
    bound = get(session)

    [event] = [orjson.loads(line) for line in lines]
    body = event["requestObject"]
    assert (event["verb"], event["requestURI"]) == ("create", f"{PODS}/web/binding")
    assert event["user"]["username"] == "system:kube-scheduler"
    assert (body["kind"], body["metadata"]["name"]) == ("Binding", "web")
    assert body["metadata"]["uid"] == bound["metadata"]["uid"]
    assert body["target"] == {"kind": "Node", "name": bound["spec"]["nodeName"]}
    [told] = [record for record in session.records() if record.get("phase") == "bind"]
    assert told["detail"]["node"] == body["target"]["name"]
    assert told["detail"]["uid"] == body["metadata"]["uid"]


def test_a_scheduler_that_was_killed_goes_on_with_what_waits() -> None:
    session = cluster(nodes=1)
    session.cluster.role("scheduler", "fail")
    create(session, pod())
    assert "nodeName" not in get(session)["spec"]
    session.cluster.role("scheduler", "start")
    session.wait(20)
    assert get(session)["status"]["phase"] == "Running"
