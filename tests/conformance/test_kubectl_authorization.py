"""Modes in their order, nobody granting more than they hold, seats, and the audit log: the real
kubectl against a server that was started with policy files and a webhook on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests import httpsserver
from tests.conformance import kubectl as kubectls
from tests.conformance.api import Api
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import REAL, Demo

ABAC = {
    "apiVersion": "abac.authorization.kubernetes.io/v1beta1",
    "kind": "Policy",
    "spec": {"user": "nobody", "namespace": "default", "resource": "pods", "readonly": True},
}
NODES = "/api/v1/nodes"
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  users: [kubernetes-admin]
  resources: [{group: "", resources: [configmaps]}]
- level: Metadata
  users: [nobody]
- level: None
"""


class Lab(NamedTuple):
    admin: Kubectl
    nobody: Kubectl
    api: Api
    asked: list[dict[str, Any]]  # reviews that the webhook got
    log: Path


def _decide(asked: list[dict[str, Any]], body: bytes) -> dict[str, Any]:
    review: dict[str, Any] = json.loads(body)
    asked.append(review)
    resource = review["spec"].get("resourceAttributes", {}).get("resource", "")
    status = {
        "configmaps": {"allowed": True, "reason": "the webhook likes config maps"},
        "secrets": {"allowed": False, "denied": True, "reason": "the webhook keeps secrets"},
    }.get(resource, {"allowed": False})
    return {**review, "status": status}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    where = tmp_path_factory.mktemp("authorization")
    asked: list[dict[str, Any]] = []

    def respond(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        return 200, json.dumps(_decide(asked, body)).encode()

    with httpsserver.Server(where, respond) as server:
        (where / "ca.pem").write_text(server.certificate.ca_pem)
        (where / "abac.jsonl").write_text(json.dumps(ABAC) + "\n")
        (where / "audit.yaml").write_text(AUDIT)
        (where / "hook.yaml").write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "remote"}}],
            "clusters": [{"name": "remote", "cluster": {
                "server": f"{server.url}/authorize", "certificate-authority": "ca.pem",
            }}],
        }))  # fmt: skip
        arguments = [
            "authorization-mode=Node,ABAC,RBAC,Webhook",
            f"authorization-policy-file={where / 'abac.jsonl'}",
            f"authorization-webhook-config-file={where / 'hook.yaml'}",
            "authorization-webhook-version=v1",
            f"audit-policy-file={where / 'audit.yaml'}",
            f"audit-log-path={where / 'audit.log'}",
        ]
        given = [part for argument in arguments for part in ("--apiserver-arg", argument)]
        with Demo(where / "data", "--speed", "max", *given, driver=REAL) as demo:
            admin = Kubectl(kubectls.newest(), demo.data_dir, where)
            api = Api(demo, where)
            yield Lab(admin, admin.by("nobody"), api, asked, where / "audit.log")


def test_a_policy_of_the_file_allows_what_no_role_does(lab: Lab) -> None:
    assert lab.nobody.run("get", "pods").err == "No resources found in default namespace.\n"
    assert "Forbidden" in lab.nobody.fails("delete", "pod", "x")


def test_the_webhook_is_asked_last_and_its_answers_count(lab: Lab) -> None:
    lab.nobody.until(lambda out: "kube-root-ca.crt" in out, "get", "configmaps")
    review = next(
        item
        for item in lab.asked
        if item["spec"].get("resourceAttributes", {}).get("resource") == "configmaps"
    )
    assert review["apiVersion"] == "authorization.k8s.io/v1"
    assert review["spec"]["user"] == "nobody"
    assert review["spec"]["resourceAttributes"] == {
        "namespace": "default",
        "verb": "list",
        "version": "v1",
        "resource": "configmaps",
    }
    assert lab.nobody.fails("get", "secrets") == (
        'Error from server (Forbidden): secrets is forbidden: User "nobody" cannot list resource '
        '"secrets" in API group "" in the namespace "default": the webhook keeps secrets'
    )
    count = len(lab.asked)
    lab.nobody("get", "configmaps")
    listed = [item for item in lab.asked[count:] if "resourceAttributes" in item["spec"]]
    assert listed == []  # remembered


def test_can_i_says_what_the_modes_say_and_that_the_list_is_not_whole(lab: Lab) -> None:
    assert lab.nobody("auth", "can-i", "list", "configmaps") == "yes\n"
    said = lab.nobody.run("auth", "can-i", "list", "secrets")
    assert (said.out.split()[0], said.code) == ("no", 1)
    said = lab.nobody.run("auth", "can-i", "--list")
    assert "webhook authorizer does not support user rule resolution" in said.err
    assert "pods" in said.out


def test_nobody_grants_more_than_he_holds(lab: Lab) -> None:
    admin = lab.admin
    admin("create", "role", "writer", "--verb=create,update,get", "--resource=roles,rolebindings")
    admin("create", "rolebinding", "pat", "--role=writer", "--user=pat")
    said = admin.fails("create", "role", "x", "--verb=get,list", "--resource=secrets", "--as=pat")
    assert said == (
        'Error from server (Forbidden): roles.rbac.authorization.k8s.io "x" is forbidden: user '
        '"pat" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not '
        'currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )
    said = admin.fails("create", "rolebinding", "y", "--clusterrole=view", "--user=pat", "--as=pat")
    assert "is attempting to grant RBAC permissions not currently held" in said


def test_reconcile_adds_what_is_missing_to_a_role(lab: Lab) -> None:
    role: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "mended", "namespace": "default"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    lab.admin("auth", "reconcile", "-f", "-", given=yaml.safe_dump(role))
    role["rules"][0]["verbs"] = ["list"]
    lab.admin("auth", "reconcile", "-f", "-", given=yaml.safe_dump(role))
    rules = lab.admin.object("role", "mended")["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}


def test_a_level_without_seats_refuses_with_429_after_a_wait(lab: Lab) -> None:
    queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": 1}
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "closed"},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 0,
                "borrowingLimitPercent": 0,
                "limitResponse": {"type": "Queue", "queuing": queuing},
            },
        },
    }
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "closed"},
        "spec": {
            "matchingPrecedence": 3,
            "priorityLevelConfiguration": {"name": "closed"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": "kim"}}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                }
            ],
        },
    }
    lab.admin("create", "-f", "-", given=yaml.safe_dump_all([level, schema]))
    answer = lab.api.get("/version", Impersonate_User="kim")
    assert (answer.code, answer.header("Retry-After")) == (429, "1")
    assert answer.body == b"Too many requests, please try again later.\n"
    table = lab.admin("get", "--raw", "/debug/api_priority_and_fairness/dump_priority_levels")
    row = next(line.split() for line in table.splitlines() if line.startswith("closed,"))
    assert row[7] == "1,"


def test_the_audit_log_has_a_line_for_each_request_that_its_policy_wants(lab: Lab) -> None:
    lab.admin("create", "configmap", "seen", "--from-literal=a=1")
    lab.nobody.fails("get", "nodes")
    events = [json.loads(line) for line in lab.log.read_text().splitlines()]
    made = next(
        event
        for event in events
        if event["verb"] == "create" and event["objectRef"].get("name") == "seen"
    )
    assert (made["kind"], made["apiVersion"], made["stage"]) == (
        "Event",
        "audit.k8s.io/v1",
        "ResponseComplete",
    )
    assert made["userAgent"].startswith("kubectl")
    assert made["sourceIPs"] == ["127.0.0.1"]
    assert made["requestObject"]["data"] == made["responseObject"]["data"] == {"a": "1"}
    assert made["responseStatus"]["code"] == 201
    refused = next(
        event
        for event in events
        if event["user"].get("username") == "nobody" and event["requestURI"].startswith(NODES)
    )
    assert refused["level"] == "Metadata"
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert {event["user"]["username"] for event in events} <= {"kubernetes-admin", "nobody"}
