"""Impersonation: each part is authorized, and the request goes on as the other user."""

from __future__ import annotations

import pytest

from apiserver_app.auth import impersonation
from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User
from tests.apiserver_app.memory import run

TEACHER = User("teacher", ("teachers",))


class Asked:
    """Allows all but the resources it is told, and remembers what it was asked."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.asked: list[tuple[str, str, str, str, str]] = []

    async def authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(
            (
                attributes.group,
                attributes.resource,
                attributes.subresource,
                attributes.namespace,
                attributes.name,
            )
        )
        assert attributes.verb == "impersonate"
        return Decision("noop" if attributes.resource in self.refused else "allow", "", ())


def test_every_part_is_authorized_and_authenticated_is_added() -> None:
    authorize = Asked()
    headers = {
        "impersonate-user": ("jane",),
        "impersonate-group": ("dev", "ops"),
        "impersonate-uid": ("u1",),
        "impersonate-extra-scopes%2fx": ("a", "b"),
    }
    user = run(impersonation.impersonate(TEACHER, headers, authorize))
    assert user == User(
        "jane", ("dev", "ops", "system:authenticated"), "u1", {"scopes/x": ("a", "b")}
    )
    assert authorize.asked == [
        ("", "users", "", "", "jane"),
        ("", "groups", "", "", "dev"),
        ("", "groups", "", "", "ops"),
        ("authentication.k8s.io", "userextras", "scopes/x", "", "a"),
        ("authentication.k8s.io", "userextras", "scopes/x", "", "b"),
        ("authentication.k8s.io", "uids", "", "", "u1"),
    ]


def test_a_service_account_brings_its_groups() -> None:
    authorize = Asked()
    headers = {"impersonate-user": ("system:serviceaccount:team:robot",)}
    user = run(impersonation.impersonate(TEACHER, headers, authorize))
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:team",
        "system:authenticated",
    )
    assert authorize.asked == [("", "serviceaccounts", "", "team", "robot")]


def test_anonymous_stays_unauthenticated() -> None:
    user = run(
        impersonation.impersonate(TEACHER, {"impersonate-user": ("system:anonymous",)}, Asked())
    )
    assert user.groups == ("system:unauthenticated",)


def test_refusal_has_upstreams_sentence() -> None:
    headers = {"impersonate-user": ("jane",), "impersonate-group": ("system:masters",)}
    with pytest.raises(errors.ApiError) as caught:
        run(impersonation.impersonate(TEACHER, headers, Asked("groups")))
    assert caught.value.code == 403
    assert caught.value.message == (
        'groups "system:masters" is forbidden: User "teacher" cannot impersonate resource '
        '"groups" in API group "" at the cluster scope'
    )


def test_groups_without_a_user_are_refused() -> None:
    with pytest.raises(errors.ApiError, match="without impersonating a user"):
        run(impersonation.impersonate(TEACHER, {"impersonate-group": ("dev",)}, Asked()))


def test_nobody_is_impersonated_unless_asked() -> None:
    assert not impersonation.is_requested({"x-remote-user": ("jane",)})
    assert run(impersonation.impersonate(TEACHER, {}, Asked("users"))) is TEACHER
