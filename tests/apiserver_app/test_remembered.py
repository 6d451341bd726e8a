"""What gates remember of a client is forgotten when what it rests on changes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.localclient import LocalClient
from apiserver_app.machinery import errors
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def answer(session: Session, ask: Callable[[], Coroutine[Any, Any, Any]]) -> int:
    """The status of what a component inside the cluster asks for."""
    codes: list[int] = []

    async def run() -> None:
        try:
            await ask()
            codes.append(200)
        except errors.ApiError as error:
            codes.append(error.code)

    session.cluster.kernel.spawn("asks", run())
    session.settle()
    return codes[0]


def reads(session: Session, client: LocalClient, name: str = "a") -> int:
    return answer(session, lambda: client.get("configmaps", "default", name))


def account(session: Session, name: str) -> LocalClient:
    """A component that presents a token of its own service account."""
    session.request("POST", ACCOUNTS, {"metadata": {"name": name}})
    session.request("POST", CONFIGMAPS, configmap("a"))
    made = session.request("POST", f"{ACCOUNTS}/{name}/token", {"spec": {}})
    client = session.cluster.clients.account(name, name)
    client.present(made.json()["status"]["token"])
    return client


def test_a_component_is_asked_again_once_its_token_may_have_become_invalid() -> None:
    session = bare_session()
    client = account(session, "robot")
    assert [reads(session, client) for _ in range(3)] == [403] * 3
    session.request("DELETE", f"{ACCOUNTS}/robot")
    assert reads(session, client) == 403, "a verified token is good for ten seconds"
    session.wait(11)
    assert reads(session, client) == 401
