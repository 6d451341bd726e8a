"""Nobody grants more than they hold, unless they may escalate or bind."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import MERGE, server_session

API = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{API}/namespaces/team/roles"
BINDINGS = f"{API}/namespaces/team/rolebindings"
GROUP = "rbac.authorization.k8s.io"


def role(name: str, *rules: dict[str, Any], kind: str = "Role", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "rules": list(rules),
        **more,
    }


def rule(verbs: str, resources: str, group: str = "", *names: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return {**found, "resourceNames": list(names)} if names else found


def binding(name: str, kind: str, role_name: str, user: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role_name},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}],
    }


@pytest.fixture
def session() -> Session:
    """`pat` writes roles and bindings in the namespace team, and reads pods there."""
    session = server_session()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    assert session.request("POST", "/api/v1/namespaces", namespace).status == 201
    writer = role("writer", rule("*", "roles rolebindings", GROUP), rule("get list", "pods"))
    writer["rules"][0]["verbs"] = ["create", "update", "patch", "get"]
    assert session.request("POST", ROLES, writer).status == 201
    assert session.request("POST", BINDINGS, binding("pat", "Role", "writer", "pat")).status == 201
    return session


def post(session: Session, path: str, body: dict[str, Any]) -> Answer:
    return session.request("POST", path, body, user="pat")


def test_a_role_with_rules_one_holds_is_created(session: Session) -> None:
    assert post(session, ROLES, role("reader", rule("get", "pods"))).status == 201
    prepare = [record for record in session.records() if record.get("gate") == "prepare"][-1]
    assert prepare["detail"]["grants"] == "holds every rule of it"


def test_a_role_with_rules_one_does_not_hold_is_refused_in_upstreams_words(
    session: Session,
) -> None:
    wanted = role("x", rule("get delete watch", "pods"), rule("get", "secrets", "", "a"))
    answer = post(session, ROLES, wanted)
    assert answer.status == 403
    assert answer.json()["message"] == (
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "pat" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently '
        'held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}'
    )
    last = [record for record in session.records() if record["kind"] == "gate"][-1]
    assert (last["gate"], last["verdict"]) == ("authorization", "deny")


def test_an_update_is_checked_too(session: Session) -> None:
    post(session, ROLES, role("reader", rule("get", "pods")))
    more = {"rules": [rule("get", "secrets")]}
    answer = session.request("PATCH", f"{ROLES}/reader", more, user="pat", headers=MERGE)
    assert answer.status == 403
    collected = {"metadata": {"finalizers": ["a/b"]}}
    session.request("PATCH", f"{ROLES}/writer", more, headers=MERGE)  # by the admin
    answer = session.request("PATCH", f"{ROLES}/reader", collected, user="pat", headers=MERGE)
    assert answer.status == 403  # pat lost the right to write roles altogether


def test_who_may_escalate_writes_any_role(session: Session) -> None:
    may = role("may", rule("escalate", "roles", GROUP))
    session.request("POST", ROLES, may)
    session.request("POST", BINDINGS, binding("may", "Role", "may", "pat"))
    assert post(session, ROLES, role("x", rule("delete", "secrets"))).status == 201


def test_a_binding_to_a_role_one_does_not_hold_is_refused(session: Session) -> None:
    answer = post(session, BINDINGS, binding("x", "ClusterRole", "view", "pat"))
    assert answer.status == 403
    assert (
        'rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "pat"'
        in (answer.json()["message"])
    )


def test_a_binding_to_a_role_that_is_not_there_is_not_found(session: Session) -> None:
    answer = post(session, BINDINGS, binding("x", "Role", "gone", "pat"))
    assert (answer.status, answer.json()["message"]) == (
        404,
        'roles.rbac.authorization.k8s.io "gone" not found',
    )


def test_who_may_bind_a_role_binds_it_and_no_other(session: Session) -> None:
    session.request("POST", ROLES, role("may", rule("bind", "clusterroles", GROUP, "view")))
    session.request("POST", BINDINGS, binding("may", "Role", "may", "pat"))
    assert post(session, BINDINGS, binding("a", "ClusterRole", "view", "kim")).status == 201
    assert post(session, BINDINGS, binding("b", "ClusterRole", "edit", "kim")).status == 403


def test_gathering_roles_takes_a_cluster_admin(session: Session) -> None:
    path = f"{API}/clusterroles"
    may = role("may", rule("create", "clusterroles", GROUP), kind="ClusterRole")
    session.request("POST", path, may)
    bound = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "may"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "may"},
        "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "pat"}],
    }
    session.request("POST", f"{API}/clusterrolebindings", bound)
    gathering = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    answer = post(session, path, role("all", kind="ClusterRole", aggregationRule=gathering))
    assert answer.json()["message"] == (
        'clusterroles.rbac.authorization.k8s.io "all" is forbidden: must have cluster-admin '
        "privileges to use the aggregationRule"
    )
    wide = role("wide", rule("*", "*", "*"), kind="ClusterRole")
    assert post(session, path, wide).status == 403
    assert post(session, path, role("narrow", kind="ClusterRole")).status == 201
