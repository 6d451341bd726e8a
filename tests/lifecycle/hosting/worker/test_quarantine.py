"""What stopped the cluster twice is not run again; everything else is."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from apiserver_app.machinery.kernel import QUARANTINED
from controllers_app.containerruntime import instances
from lifecycle.hosting.scripted import Answer, Session
from tests import builders

PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/namespaces/default/events"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TWICE = {"times": 2}
SCRIPT = ["sh", "-c", "echo here; sleep 1000"]


def pod(name: str, command: list[str] | None = None) -> dict[str, Any]:
    body = builders.pod(name, "busybox", labels={"app": name})
    body["spec"]["containers"][0]["command"] = command or SCRIPT
    return body


def deployment(name: str) -> dict[str, Any]:
    body = builders.deployment(name)
    body["spec"]["template"]["spec"] = pod(name)["spec"]
    return body


def kept_from(*labels: str) -> Session:
    """A cluster in which these have stopped workers twice, and another one once."""
    session = Session()
    session.host.quarantine({"deployment default/once": {"times": 1}})
    session.host.quarantine(dict.fromkeys(labels, TWICE))
    return session


def told_of(session: Session, name: str) -> list[str]:
    items = session.request("GET", EVENTS).json()["items"]
    return [item["message"] for item in items if item["involvedObject"]["name"] == name]


@pytest.mark.parametrize("label", ["scheduler default/a", "kubelet/node-1 default/a"])
def test_a_component_leaves_the_pod_alone(label: str) -> None:
    session = kept_from(label)
    bound = {"nodeName": "node-1"} if label.startswith("kubelet") else {}
    for name in ("a", "b"):
        body = pod(name)
        body["spec"].update(bound)
        assert session.request("POST", PODS, body).status == 201
    phases = {
        one["metadata"]["name"]: one["status"]["phase"]
        for one in session.request("GET", PODS).json()["items"]
    }
    assert phases == {"a": "Pending", "b": "Running"}
    assert told_of(session, "a") == [QUARANTINED]
    assert not any(QUARANTINED in one for one in told_of(session, "b"))


def test_a_controller_leaves_the_key_alone() -> None:
    session = kept_from("deployment default/a")
    for name in ("a", "once"):
        assert session.request("POST", DEPLOYMENTS, deployment(name)).status == 201
    there = {
        one["metadata"]["labels"]["app"] for one in session.request("GET", PODS).json()["items"]
    }
    assert there == {"once"}
    assert told_of(session, "a") == [QUARANTINED]


def test_a_command_is_not_run_in_any_pod_of_the_namespace() -> None:
    found = pod("a")
    found["metadata"]["namespace"] = "default"
    label = instances.label(found, "c", SCRIPT).decode()
    session = kept_from(label.partition(" in ")[0])
    for name, command in (("a", SCRIPT), ("b", [*SCRIPT[:2], "echo there; sleep 1000"])):
        assert session.request("POST", PODS, pod(name, command)).status == 201
    session.wait(5)
    a, b = (session.request("GET", f"{PODS}/{name}").json()["status"] for name in "ab")
    assert b["phase"] == "Running" and "running" in b["containerStatuses"][0]["state"]
    (container,) = a["containerStatuses"]
    last = container["lastState"].get("terminated") or container["state"]["terminated"]
    assert last["reason"] == "StartError" and last["message"] == QUARANTINED
    assert f"Error: {QUARANTINED}" in told_of(session, "a")
    assert session.request("GET", f"{PODS}/b/log").text == b"there\n"


def test_a_request_is_refused() -> None:
    path = "/api/v1/namespaces/default/configmaps"
    body = b'{"metadata":{"name":"a"}}'
    session = kept_from(f"request POST {path} {zlib.crc32(body):08x}")
    kind = {"content-type": "application/json"}
    answer: Answer = session.request("POST", path, body, headers=kind)
    assert answer.status == 500
    assert answer.json()["message"] == f"Internal error occurred: {QUARANTINED}"
    assert session.request("POST", path, body + b" ", headers=kind).status == 201


def test_it_is_told_in_the_trace() -> None:
    session = kept_from("deployment default/a")
    session.settle()
    told = [record["detail"] for record in session.records() if record["kind"] == "control"]
    assert told == [
        {"what": "deployment default/once", "times": 1, "quarantined": False},
        {"what": "deployment default/a", "times": 2, "quarantined": True},
    ]
