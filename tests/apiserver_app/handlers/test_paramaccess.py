"""Policies and their bindings are written by who may read what parametrises them."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import MERGE, server_session

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PAT = "&{pat  [system:authenticated] map[]}"
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap"}


def policy(name: str, **param_kind: str) -> dict[str, Any]:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
    }
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    if param_kind:
        spec["paramKind"] = param_kind
    return {"metadata": {"name": name}, "spec": spec}


def binding(called: str, of: str, **ref: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"policyName": of, "validationActions": ["Deny"]}
    if ref:
        spec["paramRef"] = {"parameterNotFoundAction": "Deny", **ref}
    return {"metadata": {"name": called}, "spec": spec}


@pytest.fixture
def session() -> Session:
    """`pat` writes policies and bindings."""
    session = server_session()
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    allow(session, "policies", rules)
    return session


def allow(session: Session, name: str, rules: list[dict[str, Any]]) -> None:
    role = {"metadata": {"name": name}, "rules": rules}
    assert session.request("POST", f"{RBAC}/clusterroles", role).status == 201
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "pat"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    bound = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
    assert session.request("POST", f"{RBAC}/clusterrolebindings", bound).status == 201


def post(session: Session, path: str, body: dict[str, Any]) -> Answer:
    return session.request("POST", path, body, user="pat")


def test_a_policy_is_written_by_who_may_get_all_of_its_parameters(session: Session) -> None:
    assert post(session, POLICIES, policy("plain")).status == 201
    refused = post(session, POLICIES, policy("a", **SETTINGS))
    assert refused.status == 422
    assert refused.json()["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "field": "spec.paramKind",
            "message": f'Forbidden: user {PAT} must have "get" permission on all objects of the '
            "referenced paramKind (kind=ConfigMap, apiVersion=v1)",
        }
    ]

    allow(session, "reader", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])

    assert post(session, POLICIES, policy("a", **SETTINGS)).status == 201


def test_a_kind_that_is_not_served_takes_everything_of_its_group(session: Session) -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
    assert post(session, POLICIES, policy("a", **kind)).status == 422

    allow(session, "reader", [{"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["get"]}])

    assert post(session, POLICIES, policy("a", **kind)).status == 201


def test_what_was_named_before_is_not_asked_for_again(session: Session) -> None:
    assert session.request("POST", POLICIES, policy("a", **SETTINGS)).status == 201
    assert session.request("POST", BINDINGS, binding("b", "a", name="x")).status == 201
    labels = {"metadata": {"labels": {"a": "b"}}}

    for path in (f"{POLICIES}/a", f"{BINDINGS}/b"):
        assert session.request("PATCH", path, labels, headers=MERGE, user="pat").status == 200
    other = {"spec": {"paramKind": {"kind": "Secret"}}}
    answer = session.request("PATCH", f"{POLICIES}/a", other, headers=MERGE, user="pat")
    assert "(kind=Secret, apiVersion=v1)" in answer.json()["message"]


def said(answer: Answer) -> str:
    assert answer.status == 422
    return str(answer.json()["details"]["causes"][0]["message"])


def test_a_binding_takes_get_of_the_one_it_names_or_list_of_those_it_selects(
    session: Session,
) -> None:
    assert session.request("POST", POLICIES, policy("a", **SETTINGS)).status == 201
    named = binding("b", "a", name="x", namespace="default")
    selecting = binding("c", "a", selector={})
    for verb, body in (("get", named), ("list", selecting)):
        assert said(post(session, BINDINGS, body)) == (
            f'Forbidden: user {PAT} does not have "{verb}" permission on the object referenced by '
            "paramRef"
        )
    assert post(session, BINDINGS, binding("d", "a")).status == 201

    allow(session, "reader", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])

    assert post(session, BINDINGS, named).status == 201
    assert post(session, BINDINGS, selecting).status == 422


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (None, "get policy a"),
        (
            {"apiVersion": "example.com/v1", "kind": "Limit"},
            "resolve paramKind &{example.com/v1 Limit}",
        ),
    ],
)
def test_a_binding_whose_parameters_are_not_known_takes_everything(
    session: Session, kind: dict[str, str] | None, what: str
) -> None:
    if kind is not None:
        assert session.request("POST", POLICIES, policy("a", **kind)).status == 201

    assert said(post(session, BINDINGS, binding("b", "a", name="x"))) == (
        f"Forbidden: unable to {what} to determine minimum required permissions and user {PAT} "
        'does not have "get" permission for all groups, versions and resources'
    )


def test_a_budget_without_a_revision_is_not_updated_and_a_service_is_made_by_a_put() -> None:
    session = server_session()
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    budget = {"metadata": {"name": "a"}, "spec": {"minAvailable": 1}}
    assert session.request("POST", budgets, budget).status == 201

    refused = session.request("PUT", f"{budgets}/a", budget)
    made = session.request(
        "PUT",
        "/api/v1/namespaces/default/services/web",
        {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
    )

    assert refused.json()["message"] == (
        'poddisruptionbudgets.policy "a" is invalid: metadata.resourceVersion: Invalid value: 0x0: '
        "must be specified for an update"
    )
    assert made.status == 201
    assert made.json()["spec"]["clusterIP"].startswith("10.")
