"""The status of validating policies: what the type checker finds, once a generation."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, bare_session

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture(scope="module")
def session() -> Session:
    return bare_session()


def rule(group: str, *resources: str) -> dict[str, Any]:
    return {
        "operations": ["CREATE"],
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": list(resources),
    }


def checked(session: Session, name: str, rules: list[Any], **spec: Any) -> dict[str, Any]:
    """The status of a policy once the controllers are done with it."""
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": rules}, **spec},
    }
    answer = session.request("POST", POLICIES, body)
    assert answer.status == 201, answer.text
    session.settle()
    status: dict[str, Any] = session.request("GET", f"{POLICIES}/{name}").json()["status"]
    return status


def test_a_field_that_is_not_there_is_told_for_each_kind(session: Session) -> None:
    status = checked(
        session,
        "typo",
        [rule("apps", "deployments", "replicasets"), rule("", "pods")],
        validations=[
            {"expression": "object.metadata.name != 'x'"},
            {"expression": "object.spec.replicas1 > 1", "messageExpression": "string(object.nam)"},
        ],
    )
    assert status["observedGeneration"] == 1
    expression, message = status["typeChecking"]["expressionWarnings"]
    assert expression["fieldRef"] == "spec.validations[1].expression"
    where = " | object.spec.replicas1 > 1\n | ...........^\n"
    text = f"ERROR: <input>:1:12: undefined field 'replicas1'\n{where}"
    kinds = ("/v1, Kind=Pod", "apps/v1, Kind=Deployment", "apps/v1, Kind=ReplicaSet")
    assert expression["warning"] == "\n".join(f"{kind}: {text}" for kind in kinds)
    assert message["fieldRef"] == "spec.validations[1].messageExpression"


def test_types_that_do_not_fit_are_told(session: Session) -> None:
    status = checked(
        session,
        "types",
        [rule("apps", "deployments")],
        variables=[{"name": "many", "expression": "object.spec.replicas"}],
        validations=[{"expression": "variables.many == 'three'"}],
    )
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert "found no matching overload for '_==_' applied to '(int, string)'" in warning["warning"]


def test_what_is_named_by_a_wildcard_is_not_looked_at(session: Session) -> None:
    status = checked(
        session,
        "wild",
        [rule("*", "deployments"), rule("apps", "*")],
        validations=[{"expression": "object.nothing == 1"}],
    )
    assert status == {"observedGeneration": 1, "typeChecking": {}}


def test_parameters_have_the_type_of_their_kind(session: Session) -> None:
    status = checked(
        session,
        "params",
        [rule("apps", "deployments")],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        validations=[{"expression": "params.data.max == 1"}],
    )
    (warning,) = status["typeChecking"]["expressionWarnings"]
    assert "applied to '(string, int)'" in warning["warning"]


def test_a_changed_policy_is_checked_again(session: Session) -> None:
    checked(
        session,
        "changing",
        [rule("apps", "deployments")],
        validations=[{"expression": "object.nothing == 1"}],
    )
    patch = {"spec": {"validations": [{"expression": "object.spec.replicas > 0"}]}}
    session.request("PATCH", f"{POLICIES}/changing", patch, headers=MERGE)
    session.settle()
    status = session.request("GET", f"{POLICIES}/changing").json()["status"]
    # applied empty, it goes with the warnings that were in it
    assert status == {"observedGeneration": 2}
