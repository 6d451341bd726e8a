"""Which flow schema a request falls under; what is written badly harms nobody."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.trace.scripted import Session
from tests.apiserver_app.cluster import PODS, bare_session

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


def flow(session: Session, **more: Any) -> str:
    session.request("GET", PODS, **more)
    gates = [one for one in session.records() if one.get("gate") == "flowcontrol"]
    return str(gates[-1]["detail"].get("flowSchema", ""))


@pytest.fixture(scope="module")
def session() -> Session:
    return bare_session()


def test_the_admin_is_exempt_and_everyone_else_is_not(session: Session) -> None:
    assert flow(session) == "exempt"
    assert flow(session, user="student") == "global-default"
    assert flow(session, user="") == "global-default"


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [{}],
        [{"subjects": [{"kind": "User"}], "resourceRules": [{}]}],
        [{"subjects": [{"kind": "Group"}, {"kind": "ServiceAccount"}]}],
        [{"subjects": [{"kind": "Group", "group": {"name": "*"}}],
          "resourceRules": [{"verbs": ["*"]}], "nonResourceRules": [{"verbs": ["*"]}]}],
    ],
)  # fmt: skip
def test_a_schema_with_holes_in_it_is_passed_over(rules: Any) -> None:
    session = bare_session()
    body: dict[str, Any] = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": {"name": "holes"}, "spec": {"matchingPrecedence": 2},
    }  # fmt: skip
    if rules is not None:
        body["spec"]["rules"] = rules
    session.request("POST", SCHEMAS, body)
    assert session.request("GET", PODS, user="student").status == 403
    assert session.request("GET", PODS).status == 200
    assert session.request("GET", "/version", user="student").status == 200


def test_a_schema_that_comes_first_takes_what_it_names(session: Session) -> None:
    body = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": {"name": "mine"},
        "spec": {
            "matchingPrecedence": 3, "priorityLevelConfiguration": {"name": "workload-low"},
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "pat"}}],
                "resourceRules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"],
                                   "namespaces": ["default"]}],
            }],
        },
    }  # fmt: skip
    assert flow(session, user="pat") == "global-default"
    assert session.request("POST", SCHEMAS, body).status == 201
    assert flow(session, user="pat") == "mine"
    assert flow(session, user="student") == "global-default"
