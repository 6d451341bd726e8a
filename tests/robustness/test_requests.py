"""One request does not hold all others: what it may cost is judged before, or paid in steps."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.machinery.serializer import bodies
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, JSON_PATCH, MERGE, bare_session, configmap

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
NUMBERS = "[" + ",".join("1" for _ in range(40)) + "]"
COSTLY = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, a * b * c == 1)))"
MANY = bodies.VALUES_MAX + 1


def policy(expressions: list[str]) -> dict[str, Any]:
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["configmaps"],
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "costly"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": one} for one in expressions],
        },
    }  # fmt: skip


BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "costly"},
    "spec": {"policyName": "costly", "validationActions": ["Deny"]},
}  # fmt: skip


def test_costly_expressions_are_evaluated_in_steps_between_which_others_have_their_turn() -> None:
    session = bare_session()
    path = f"{ADMISSION}/validatingadmissionpolicies"
    assert session.request("POST", path, policy([COSTLY] * 10)).status == 201
    path = f"{ADMISSION}/validatingadmissionpolicybindings"
    assert session.request("POST", path, BINDING).status == 201
    before = session.cluster.kernel.steps
    costly = session.request("POST", CONFIGMAPS, configmap("a"), settle=False)
    assert not costly.done  # the slice is over, and others are let in
    session.settle()
    assert costly.status == 201 and session.cluster.kernel.steps - before > 10


@pytest.fixture(scope="module")
def session() -> Session:
    session = bare_session()
    assert session.request("POST", CONFIGMAPS, configmap("here", a="b")).status == 201
    return session


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", CONFIGMAPS, {**configmap("a"), "data": {f"k{n}": "" for n in range(MANY)}}, None),
        ("POST", CONFIGMAPS, {**configmap("a"), "x": [1] * MANY}, None),
        ("PATCH", f"{CONFIGMAPS}/here", {"data": {f"k{n}": "" for n in range(MANY)}}, MERGE),
        ("PATCH", f"{CONFIGMAPS}/here",
         [{"op": "add", "path": "/data", "value": {f"k{n}": "" for n in range(MANY)}}], JSON_PATCH),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"x": [1] * MANY}, None),
    ],
)  # fmt: skip
def test_a_body_of_too_many_values_is_refused_before_it_costs(
    session: Session, method: str, path: str, body: Any, headers: dict[str, str] | None
) -> None:
    answer = session.request(method, path, body, headers=headers)
    assert answer.status == (400 if method == "PATCH" else 413)
    assert answer.json()["message"].endswith(
        f"Request entity too large: limit is {bodies.VALUES_MAX} fields and items"
    )


def test_a_body_within_the_bounds_is_taken(session: Session) -> None:
    data = {f"k{n}": "v" for n in range(30_000)}
    body = orjson.dumps({**configmap("large"), "data": data})
    assert session.request("POST", CONFIGMAPS, body).status == 201
