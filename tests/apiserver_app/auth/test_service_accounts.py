"""Claims of a service account token: a minute of grace, and what it is bound to must be there."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.auth import pki, tokens
from apiserver_app.auth.authn.service_account import ServiceAccounts
from apiserver_app.machinery import meta
from tests.apiserver_app.memory import MemoryReader

SECOND = 1_000_000
AT = 1_700_000_000  # seconds since 1970
ACCOUNT = {"namespace": "default", "name": "builder", "uid": "uid-1"}


@pytest.fixture
def accounts(keys: pki.Pki, reader: MemoryReader) -> ServiceAccounts:
    reader.put("serviceaccounts", {"metadata": dict(ACCOUNT)})
    return ServiceAccounts(tokens.Tokens(keys.service_account_key), reader)


def claims(**more: Any) -> dict[str, Any]:
    bound = {"namespace": "default", "serviceaccount": {"name": "builder", "uid": "uid-1"}}
    times: dict[str, Any] = {name: more.pop(name) for name in ("nbf", "exp", "iat") if name in more}
    return {"sub": "system:serviceaccount:default:builder", **times, "kubernetes.io": bound | more}


def said(accounts: ServiceAccounts, what: dict[str, Any]) -> str:
    """Nothing, or why not."""
    try:
        accounts.user_of(what, AT * SECOND)
    except tokens.TokenError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("claim", "good", "bad", "why"),
    [
        ("nbf", AT + 60, AT + 61, "service account token is not valid yet"),
        ("exp", AT - 60, AT - 61, "service account token has expired"),
        ("iat", AT + 60, AT + 61, "service account token is issued in the future"),
    ],
)
def test_clocks_may_differ_by_a_minute(
    accounts: ServiceAccounts, claim: str, good: int, bad: int, why: str
) -> None:
    assert said(accounts, claims(**{claim: good})) == ""
    assert said(accounts, claims(**{claim: bad})) == why


def deleted(seconds_ago: int) -> str:
    return meta.rfc3339((AT - seconds_ago) * SECOND)


def test_an_account_that_is_being_deleted_works_for_a_minute(
    accounts: ServiceAccounts, reader: MemoryReader
) -> None:
    for ago, why in ((60, ""), (61, "service account default/builder has been deleted")):
        reader.put("serviceaccounts", {"metadata": ACCOUNT | {"deletionTimestamp": deleted(ago)}})
        assert said(accounts, claims()) == why


@pytest.mark.parametrize(
    ("kind", "resource", "word"),
    [("pod", "pods", "pod"), ("secret", "secrets", "secret"), ("node", "nodes", "node")],
)
def test_what_a_token_is_bound_to_is_there_and_the_same(
    accounts: ServiceAccounts, reader: MemoryReader, kind: str, resource: str, word: str
) -> None:
    token = claims(**{kind: {"name": "x", "uid": "u"}})
    gone = "service account token has been invalidated"
    place = {} if kind == "node" else {"namespace": "default"}

    assert said(accounts, token) == gone
    reader.put(resource, {"metadata": {"name": "x", "uid": "u", **place}})
    assert said(accounts, token) == ""
    reader.put(resource, {"metadata": {"name": "x", "uid": "v", **place}})
    assert said(accounts, token) == (
        f"{word} UID (v) does not match service account {word} ref claim (u)"
    )
    stamp = {"deletionTimestamp": deleted(61)}
    reader.put(resource, {"metadata": {"name": "x", "uid": "u", **place, **stamp}})
    assert said(accounts, token) == gone


def test_the_node_of_a_pods_token_may_be_gone(
    accounts: ServiceAccounts, reader: MemoryReader
) -> None:
    reader.put("pods", {"metadata": {"name": "x", "uid": "u", "namespace": "default"}})
    token = claims(pod={"name": "x", "uid": "u"}, node={"name": "n", "uid": "w"})
    user = accounts.user_of(token, AT * SECOND)
    assert user.extra["authentication.kubernetes.io/node-name"] == ("n",)


def test_an_extended_token_is_reported_once_it_would_have_ended(
    accounts: ServiceAccounts, keys: pki.Pki
) -> None:
    signer = tokens.Tokens(keys.service_account_key)
    token = signer.issue(
        "default", "builder", "uid-1", now=AT * SECOND, jti="j", warn_after_seconds=10
    )
    early = accounts.authenticate_token(token, (AT + 10) * SECOND)
    late = accounts.authenticate_token(token, (AT + 13) * SECOND)
    assert (early.verdict, early.detail) == ("allow", {})
    assert late.detail == {
        "authentication.k8s.io/stale-token": "subject: system:serviceaccount:default:builder, "
        "seconds after warning threshold: 3"
    }
