"""Questions that are answered and never stored: who may what, who is this, who am I."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import server_session

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
LIST_PODS = {"verb": "list", "resource": "pods", "namespace": "default"}


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def access(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


@pytest.mark.parametrize(
    ("user", "groups", "allowed"),
    [
        ("nobody", [], False),
        ("anyone", ["system:masters"], True),
        ("system:kube-scheduler", [], True),
    ],
)
def test_what_somebody_may_is_answered_by_the_authorizers(
    session: Session, user: str, groups: list[str], allowed: bool
) -> None:
    body = access("SubjectAccessReview", user=user, groups=groups, resourceAttributes=LIST_PODS)
    revision = session.cluster.store.revision
    answer = session.request("POST", f"{AUTHORIZATION}/subjectaccessreviews", body)
    assert (answer.status, answer.json()["status"]["allowed"]) == (201, allowed)
    assert session.cluster.store.revision == revision


def test_what_i_may_is_asked_for_myself_whoever_i_name(session: Session) -> None:
    body = access("SelfSubjectAccessReview", resourceAttributes=LIST_PODS)
    path = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    mine = session.request("POST", path, body).json()
    assert mine["status"]["allowed"] is True
    student = session.request("POST", path, body, user="student").json()
    assert student["status"]["allowed"] is False


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"resourceAttributes": LIST_PODS}, "at least one of user or group must be specified"),
        (
            {"user": "a"},
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            {"user": "a", "resourceAttributes": LIST_PODS, "nonResourceAttributes": {"path": "/"}},
            "cannot be specified in combination with resourceAttributes",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_invalid(
    session: Session, spec: dict[str, Any], message: str
) -> None:
    body = access("SubjectAccessReview", **spec)
    answer = session.request("POST", f"{AUTHORIZATION}/subjectaccessreviews", body)
    assert answer.status == 422 and message in answer.json()["message"]


def test_a_local_question_is_about_its_own_namespace(session: Session) -> None:
    path = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
    there = access("LocalSubjectAccessReview", user="a", resourceAttributes=LIST_PODS)
    there["metadata"] = {"namespace": "default"}
    assert session.request("POST", path, there).status == 201
    elsewhere = {**LIST_PODS, "namespace": "kube-system"}
    body = access("LocalSubjectAccessReview", user="a", resourceAttributes=elsewhere)
    answer = session.request("POST", path, body)
    assert answer.status == 422
    assert 'Invalid value: "kube-system": must match metadata.namespace' in answer.json()["message"]


def test_my_rules_in_a_namespace_are_listed(session: Session) -> None:
    body = access("SelfSubjectRulesReview", namespace="default")
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    status = session.request("POST", path, body).json()["status"]
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert everything in status["resourceRules"]
    missing = session.request("POST", path, access("SelfSubjectRulesReview"))
    assert (missing.status, missing.json()["message"]) == (400, "no namespace on request")


def test_who_i_am(session: Session) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = f"{AUTHENTICATION}/selfsubjectreviews"
    info = session.request("POST", path, body).json()["status"]["userInfo"]
    assert info["username"] == "kubernetes-admin"
    assert info["groups"] == ["system:masters", "system:authenticated"]


def test_a_token_nobody_knows_is_not_authenticated(session: Session) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}
    status = session.request("POST", f"{AUTHENTICATION}/tokenreviews", body).json()["status"]
    assert not status.get("authenticated") and "invalid bearer token" in status["error"]


def test_a_revision_that_is_no_number_harms_nobody(session: Session) -> None:
    body = access("SubjectAccessReview", user="a", resourceAttributes=LIST_PODS)
    body["metadata"] = {"resourceVersion": "abc"}
    answer = session.request("POST", f"{AUTHORIZATION}/subjectaccessreviews", body)
    assert answer.status == 422
    assert 'ResourceVersion:"abc", Generation:0' in answer.json()["message"]
    rules = {**access("SelfSubjectRulesReview", namespace="default"), "metadata": body["metadata"]}
    answer = session.request("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", rules)
    assert answer.status == 201


def test_reviews_can_only_be_created(session: Session) -> None:
    assert session.request("GET", f"{AUTHORIZATION}/subjectaccessreviews").status == 405
