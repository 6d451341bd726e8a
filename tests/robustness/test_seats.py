"""One user's open watches and streams take no seat that another, or the cluster itself, needs."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from apiserver_app.http import seats
from apiserver_app.machinery.meta import User
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, header

MANY = 40
PEOPLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "people"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    "subjects": [{"kind": "User", "name": "pat"}, {"kind": "User", "name": "kim"}],
}


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setattr(seats, "SEATS_MAX", MANY)
    session = bare_session()
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert session.request("POST", bindings, PEOPLE).status == 201
    return session


def watch(session: Session, user: str, query: str = "watch=1") -> Answer:
    return session.request("GET", f"{CONFIGMAPS}?{query}", user=user, settle=False)


def test_the_watches_of_one_user_are_bounded_and_others_go_on(session: Session) -> None:
    held = [watch(session, "pat") for _ in range(MANY)]
    session.settle()
    assert {one.status for one in held} == {200}
    refused = watch(session, "pat")
    assert refused.status == 429 and int(header(refused, "Retry-After")[0]) > 0
    assert refused.json()["message"] == (
        f'user "pat" has {MANY} watches and streams open, as many as one user may have; end some, '
        "or try again later"
    )
    assert (
        session.request("GET", CONFIGMAPS, user="pat").status == 200
    )  # what ends soon is not meant
    assert {watch(session, "kim").status, watch(session, "kubernetes-admin").status} == {200}
    held[0].cancel()
    assert watch(session, "pat").status == 200


@pytest.mark.parametrize("query", ["watch=1&timeoutSeconds=1", "watch=1&resourceVersion=1"])
def test_a_watch_that_ends_gives_its_seat_back(session: Session, query: str) -> None:
    for _ in range(3 * MANY):
        answer = watch(session, "pat", query)
        assert answer.status == 200
        session.wait(1)
        answer.cancel()
        answer.cancel()


def test_a_watch_that_is_refused_takes_no_seat(session: Session) -> None:
    for _ in range(2 * MANY):
        assert watch(session, "pat", "watch=1&timeoutSeconds=x").status == 400
    assert watch(session, "pat").status == 200


def test_the_service_accounts_of_a_namespace_share_their_seats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who may make accounts and tokens in a namespace makes as many as wanted."""
    monkeypatch.setattr(seats, "SEATS_MAX", 2)
    taken = seats.Seats()
    account = functools.partial(User, groups=("system:serviceaccounts:demo",))
    give_back = [taken.take(account(f"system:serviceaccount:demo:{name}")) for name in "ab"]
    with pytest.raises(Exception, match="the service accounts of namespace demo have 2 watches"):
        taken.take(account("system:serviceaccount:demo:c"))
    give_back[0]()
    give_back[0]()
    taken.take(account("system:serviceaccount:demo:c"))


@pytest.mark.parametrize(
    "user",
    [
        User("kubernetes-admin", ("system:masters",)),
        User("system:node:node-1", ("system:nodes",)),
        User("system:kube-scheduler"),
        User("system:serviceaccount:kube-system:x", ("system:serviceaccounts:kube-system",)),
    ],
)
def test_what_the_cluster_itself_needs_has_no_bound(
    monkeypatch: pytest.MonkeyPatch, user: Any
) -> None:
    monkeypatch.setattr(seats, "SEATS_MAX", 0)
    seats.Seats().take(user)()
