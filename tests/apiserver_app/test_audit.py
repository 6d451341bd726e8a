"""The audit log: which rule, which stages, how much of a request, and who was behind it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app import flags
from apiserver_app.auditing.policy import Policy
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, configmap

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
POLICY = (
    HEAD
    + """
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:serviceaccounts", "system:nodes"]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"]
- level: RequestResponse
  omitManagedFields: true
  resources: [{group: "", resources: [configmaps]}]
- level: Request
  verbs: [create]
- level: Metadata
  omitStages: []
"""
)


class Log:
    """A cluster with a policy, and what it logs."""

    def __init__(self, policy: str = POLICY, *more: str) -> None:
        arguments = ["audit-policy-file=p", "audit-log-path=-", *more]
        given = flags.parse(arguments, {"p": policy}.__getitem__)
        self.lines: list[bytes] = []
        inputs = default_inputs(nodes=0, flags=given)
        self.session = Session(inputs, on_audit=self.lines.extend)
        self.lines.clear()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.lines]

    def of(self, method: str, path: str, *sent: Any, **more: Any) -> list[dict[str, Any]]:
        self.lines.clear()
        self.session.request(method, path, *sent, **more)
        return self.events


@pytest.fixture(scope="module")
def log() -> Log:
    return Log()


def test_a_write_is_logged_with_what_was_sent_and_what_was_answered(log: Log) -> None:
    [event] = log.of("POST", f"{CONFIGMAPS}?fieldManager=me", configmap("a", x="1"))
    assert event["kind"], event["apiVersion"] == ("Event", "audit.k8s.io/v1")
    assert (event["level"], event["stage"], event["verb"]) == (
        "RequestResponse",
        "ResponseComplete",
        "create",
    )
    assert event["requestURI"] == f"{CONFIGMAPS}?fieldManager=me"
    assert event["user"] == {
        "username": "kubernetes-admin",
        "groups": ["system:masters", "system:authenticated"],
    } | {key: event["user"][key] for key in ("uid", "extra") if key in event["user"]}
    assert event["userAgent"] == "script/1"
    assert event["objectRef"] == {
        "resource": "configmaps",
        "namespace": "default",
        "name": "a",
        "apiVersion": "v1",
    }
    assert event["responseStatus"] == {"metadata": {}, "code": 201}
    assert event["requestObject"]["data"] == {"x": "1"}
    assert "uid" not in event["requestObject"]["metadata"]
    assert event["responseObject"]["metadata"]["uid"]
    assert "managedFields" not in event["responseObject"]["metadata"]
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert event["requestReceivedTimestamp"] < event["stageTimestamp"]
    assert len(event["requestReceivedTimestamp"]) == len("2025-01-01T00:00:00.000000Z")


def test_the_trace_has_the_rule_and_the_event(log: Log) -> None:
    log.of("GET", CONFIGMAPS)
    gates = [record["detail"] for record in log.session.records() if record.get("gate") == "audit"]
    assert (gates[-2]["rule"], gates[-2]["level"]) == (3, "RequestResponse")
    assert (gates[-1]["rule"], gates[-1]["word"]) == (3, "logged")
    assert gates[-1]["event"]["responseStatus"]["code"] == 200
    assert "responseObject" not in gates[-1]["event"]


def test_a_patch_is_logged_as_it_was_sent(log: Log) -> None:
    log.of("POST", CONFIGMAPS, configmap("b"))
    [event] = log.of("PATCH", f"{CONFIGMAPS}/b", {"data": {"y": "2"}}, headers=MERGE)
    assert event["requestObject"] == {"data": {"y": "2"}}


def test_what_is_no_object_of_its_own_is_logged_as_it_was_sent(log: Log) -> None:
    everything = Log(HEAD + "omitStages: [RequestReceived]\nrules: [{level: RequestResponse}]")

    def sent(method: str, path: str, body: Any, **more: Any) -> Any:
        found = [
            one
            for one in everything.of(method, path, body, **more)
            if one["userAgent"] == "script/1"
        ]
        return found[0]

    pods, sets = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/replicasets"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    created = sent("POST", pods, pod)["responseObject"]["metadata"]
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    binding = {"metadata": {"name": "p", "uid": created["uid"]}, "target": target}
    event = sent("POST", f"{pods}/p/binding", binding)
    assert event["requestObject"]["target"] == target
    assert event["objectRef"]["uid"] == created["uid"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    event = sent("POST", f"{pods}/p/eviction", {**eviction, "deleteOptions": {"dryRun": ["All"]}})
    assert event["requestObject"]["deleteOptions"] == {"dryRun": ["All"]}
    event = sent("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    assert event["requestObject"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/__internal",
        "gracePeriodSeconds": 0,
    }
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    sent("POST", sets, {"metadata": {"name": "x"}, "spec": spec})
    event = sent("PATCH", f"{sets}/x/scale", {"spec": {"replicas": 1}}, headers=MERGE)
    assert event["requestObject"] == {"spec": {"replicas": 1}}


def test_a_refusal_is_logged_with_its_status(log: Log) -> None:
    [event] = log.of("DELETE", "/api/v1/nodes/x", user="nobody")
    assert event["level"] == "Metadata"
    assert event["responseStatus"]["reason"] == "Forbidden"
    assert event["responseStatus"]["code"] == 403
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert "requestObject" not in event and "responseObject" not in event


def test_a_watch_is_logged_when_it_begins_and_when_it_ends(log: Log) -> None:
    stages = [one["stage"] for one in log.of("GET", "/api/v1/secrets?watch=1&timeoutSeconds=5")]
    log.session.wait(6)
    assert [event["stage"] for event in log.events] == ["ResponseStarted", "ResponseComplete"]
    assert stages == ["ResponseStarted"]


def test_who_proves_nobody_is_one_event(log: Log) -> None:
    [event] = log.of("GET", "/api", headers={"authorization": "Bearer wrong"}, user="")
    assert (event["stage"], event["user"]) == ("ResponseStarted", {})
    assert event["responseStatus"] == {
        "metadata": {},
        "message": "Authentication failed, attempted: bearer",
        "code": 401,
    }


def test_who_acts_as_somebody_else_is_named_beside_him(log: Log) -> None:
    headers = {"impersonate-user": "viewer", "impersonate-group": "viewers"}
    [event] = log.of("GET", "/api/v1/pods", headers=headers)
    assert event["user"]["username"] == "kubernetes-admin"
    assert event["impersonatedUser"] == {
        "username": "viewer",
        "groups": ["viewers", "system:authenticated"],
    }


def test_what_no_rule_is_about_is_not_logged() -> None:
    quiet = Log(HEAD + "rules: [{level: Metadata, nonResourceURLs: ['/healthz*']}]")
    assert quiet.of("GET", CONFIGMAPS) == []
    stages = [one["stage"] for one in quiet.of("GET", "/healthz/ping")]
    assert stages == ["RequestReceived", "ResponseComplete"]


def test_without_a_policy_nothing_is_logged_but_every_request_has_its_id() -> None:
    session = Session(default_inputs(nodes=0))
    assert session.cluster.context.audit is None
    assert "Audit-Id" in dict(session.request("GET", "/version").headers)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "rules: []", "loaded illegal policy with 0 rules"),
        (HEAD + "rules: [{}]", "rules[0].level: Required value"),
        (
            HEAD + "rules: [{level: All}]",
            'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", '
            '"Request", "RequestResponse"',
        ),
        (
            HEAD + "rules: [{level: None, nonResourceURLs: [x]}]",
            'rules[0].nonResourceURLs[0]: Invalid value: "x": non-resource URL rules must begin '
            "with a '/' character",
        ),
        (
            HEAD + "omitStages: [Never]\nrules: [{level: None}]",
            'omitStages[0]: Invalid value: "Never": allowed stages are RequestReceived,'
            "ResponseStarted,ResponseComplete,Panic",
        ),
    ],
)
def test_a_bad_policy_is_a_start_up_error(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Policy(text, "/p.yaml")
    assert str(caught.value) == f"loading audit policy file: {problem}: from file /p.yaml"
