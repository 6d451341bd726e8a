"""Authorization on the real pipeline: modes in their order, and what the trace shows of them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import flags
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import PODS, server_session

POLICY = (
    '{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy",'
    '"spec":{"user":"pat","namespace":"default","resource":"pods","apiGroup":""}}\n'
)


def session(*arguments: str) -> Session:
    files = {"policy.jsonl": POLICY}
    given = flags.parse(arguments, files.__getitem__)
    return server_session(flags=given)


def tries(session: Session) -> list[tuple[str, str]]:
    """Who was asked about the last request, and what each said."""
    gates = [record for record in session.records() if record.get("gate") == "authorization"]
    return [(attempt["name"], attempt["verdict"]) for attempt in gates[-1]["detail"]["tries"]]


@pytest.fixture(scope="module")
def both() -> Session:
    return session("authorization-mode=ABAC,RBAC", "authorization-policy-file=policy.jsonl")


def test_the_first_that_allows_ends_the_walk(both: Session) -> None:
    assert both.request("GET", PODS, user="pat").status == 200
    assert tries(both) == [("PrivilegedGroup", "noop"), ("ABAC", "allow")]


def test_what_abac_has_no_policy_for_rbac_is_asked(both: Session) -> None:
    assert both.request("GET", PODS, user="viewer").status == 200
    assert tries(both) == [("PrivilegedGroup", "noop"), ("ABAC", "noop"), ("RBAC", "allow")]


def test_what_nobody_allows_is_forbidden_with_every_reason(both: Session) -> None:
    answer = both.request("DELETE", PODS + "/x", user="nobody")
    assert answer.status == 403
    assert answer.json()["message"] == (
        'pods "x" is forbidden: User "nobody" cannot delete resource "pods" in API group "" in '
        'the namespace "default": No policy matched.'
    )


def test_the_order_of_the_flag_is_the_order_of_the_tries() -> None:
    turned = session("authorization-mode=RBAC,ABAC", "authorization-policy-file=policy.jsonl")
    assert turned.request("GET", PODS, user="pat").status == 200
    assert [name for name, _ in tries(turned)] == ["PrivilegedGroup", "RBAC", "ABAC"]


def test_rbac_says_that_it_read_the_cache_and_not_etcd(both: Session) -> None:
    both.request("GET", PODS, user="viewer")
    gates = [record for record in both.records() if record.get("gate") == "authorization"]
    detail: dict[str, Any] = gates[-1]["detail"]["tries"][-1]["detail"]
    assert detail["read"] == {"from": "cache", "etcd": 0}


def test_a_refusal_names_the_least_role_made_for_people_that_would_do(both: Session) -> None:
    def role(method: str, path: str) -> Any:
        both.request(method, path, user="nobody")
        gates = [record for record in both.records() if record.get("gate") == "authorization"]
        return gates[-1]["detail"]["tries"][-1]["detail"].get("role_that_would_do")

    assert role("GET", PODS) == "view"
    assert role("DELETE", PODS + "/x") == "edit"
    assert role("GET", "/api/v1/nodes") is None


def test_a_service_that_cannot_be_asked_is_an_internal_error_in_plain_text() -> None:
    kubeconfig = (
        "kind: Config\napiVersion: v1\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: r}}]\n"
        "clusters: [{name: r, cluster: {server: 'https://127.0.0.1:1/'}}]\n"
    )
    given = flags.parse(
        ["authorization-mode=Node,RBAC,Webhook", "authorization-webhook-config-file=hook"],
        {"hook": kubeconfig}.__getitem__,
    )
    answer = server_session(flags=given).request("GET", PODS, user="pat")
    assert answer.status == 500
    assert answer.text.decode().startswith(f'Internal Server Error: "{PODS}": ')


# -- reviews -------------------------------------------------------------------------------------

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def review(session: Session, user: str, **asked: Any) -> Any:
    spec = {"user": user, "groups": ["system:nodes"], "resourceAttributes": asked}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return session.request("POST", REVIEWS, body).json()


def test_a_review_asks_with_its_selectors() -> None:
    nodes = session("authorization-mode=Node,RBAC")
    listing = {"verb": "list", "resource": "pods"}
    mine = {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]}
    assert not review(nodes, "system:node:n1", **listing)["status"]["allowed"]
    allowed = review(nodes, "system:node:n1", **listing, fieldSelector=mine)
    assert allowed["status"]["allowed"]
    raw = {"rawSelector": "spec.nodeName=n1"}
    assert review(nodes, "system:node:n1", **listing, fieldSelector=raw)["status"]["allowed"]
    assert not review(nodes, "system:node:n2", **listing, fieldSelector=raw)["status"]["allowed"]


def test_a_selector_that_says_nothing_or_all_twice_is_invalid(both: Session) -> None:
    empty = review(both, "x", verb="list", resource="pods", fieldSelector={})
    assert empty["details"]["causes"] == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value: when spec.resourceAttributes.fieldSelector is specified, "
            "requirements or rawSelector is required",
            "field": "spec.resourceAttributes.fieldSelector.requirements",
        }
    ]
