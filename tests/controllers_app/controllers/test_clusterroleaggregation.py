"""Roles that gather others have their rules, and lose them again."""

from __future__ import annotations

from typing import Any

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import bare_session

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
VIEW = "rbac.authorization.k8s.io/aggregate-to-view"
WIDGETS = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}


def rules(session: Session, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.request("GET", f"{ROLES}/{name}").json()["rules"] or []
    return found


def role(name: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        **more,
    }


def test_a_role_labelled_for_view_is_in_view_edit_and_admin_until_it_goes() -> None:
    session = bare_session()
    session.request("POST", ROLES, role("widgets", {VIEW: "true"}, rules=[WIDGETS]))
    assert all(WIDGETS in rules(session, name) for name in ("view", "edit", "admin"))
    session.request("DELETE", f"{ROLES}/widgets")
    assert not any(WIDGETS in rules(session, name) for name in ("view", "edit", "admin"))


def test_a_role_of_ones_own_gathers_by_its_selectors() -> None:
    session = bare_session()
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"team": "red"}}]}
    session.request("POST", ROLES, role("red", {}, aggregationRule=gathers))
    assert rules(session, "red") == []
    session.request("POST", ROLES, role("one", {"team": "red"}, rules=[WIDGETS]))
    session.request("POST", ROLES, role("two", {"team": "red"}, rules=[WIDGETS]))
    assert rules(session, "red") == [WIDGETS]


def test_the_roles_there_from_the_start_have_their_rules_already() -> None:
    session = bare_session()
    said = {record["said"] for record in session.records() if record["kind"] == "done"}
    assert "has the rules of all it gathers" in said
    assert not any(text.startswith("gathers") for text in said)
