"""Authentication: who is asked in which order, and what a bad credential leads to."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import pytest

from apiserver_app.auth import pki, tokens
from apiserver_app.auth.authn import bearer, token_file
from apiserver_app.auth.authn.anonymous import Anonymous
from apiserver_app.auth.authn.bearer import BearerTokens
from apiserver_app.auth.authn.request_header import RequestHeader
from apiserver_app.auth.authn.service_account import ServiceAccounts
from apiserver_app.auth.authn.token_file import TokenFile
from apiserver_app.auth.authn.union import Union
from apiserver_app.auth.authn.x509 import X509
from apiserver_app.machinery.meta import Credential, TlsPeer
from tests.apiserver_app.auth.authorities import authority
from tests.apiserver_app.auth.conftest import NOW, ask, result_of
from tests.apiserver_app.memory import MemoryReader

ADMIN = TlsPeer("kubernetes-admin", ("system:masters",), "kubernetes")
STATIC = 'secret-of-ann,ann,7,"students,readers"\n'


@pytest.fixture
def signer(keys: pki.Pki) -> tokens.Tokens:
    return tokens.Tokens(keys.service_account_key)


@pytest.fixture
def union(reader: MemoryReader, signer: tokens.Tokens) -> Union:
    reader.put("serviceaccounts", _account("uid-1"))
    known = BearerTokens(
        [TokenFile(STATIC), ServiceAccounts(signer, reader)], audiences=(tokens.ISSUER,)
    )
    proxy = RequestHeader(authority("front-proxy-ca").pem, ["proxy"])
    return Union([proxy, X509(authority("kubernetes").pem)], known, Anonymous())


def _account(uid: str) -> dict[str, object]:
    return {"metadata": {"namespace": "default", "name": "builder", "uid": uid}}


def _names(tries: Sequence[Any]) -> list[tuple[str, str]]:
    return [(attempt.name, attempt.verdict) for attempt in tries]


def test_authenticators_are_listed_in_upstreams_order(union: Union) -> None:
    assert union.names == ["RequestHeader", "X509", "TokenFile", "ServiceAccount", "Anonymous"]


def test_client_certificate_names_user_and_groups(union: Union) -> None:
    user, tries = ask(union, Credential(tls=ADMIN), NOW)

    assert user is not None
    assert user.name == "kubernetes-admin"
    assert user.groups == ("system:masters", "system:authenticated")
    assert _names(tries) == [("RequestHeader", "skip"), ("X509", "allow")]


def test_certificate_of_another_authority_is_401_and_not_anonymous(union: Union) -> None:
    peer = TlsPeer("kubernetes-admin", ("system:masters",), "other", "unable to verify")

    user, tries = ask(union, Credential(tls=peer), NOW)

    assert user is None
    assert tries[-1].why == "unable to verify"


def test_good_token_counts_beside_a_bad_certificate(union: Union) -> None:
    peer = TlsPeer("x", (), "other", "unable to verify")

    user, _ = ask(union, Credential(tls=peer, bearer="secret-of-ann"), NOW)

    assert user is not None and user.name == "ann"


def test_static_token_brings_its_uid_and_groups(union: Union) -> None:
    user, tries = ask(union, Credential(bearer="secret-of-ann"), NOW)

    assert user is not None
    assert (user.name, user.uid) == ("ann", "7")
    assert user.groups == ("students", "readers", "system:authenticated")
    assert _names(tries)[-1] == ("TokenFile", "allow")


def test_unknown_token_is_401_after_every_authenticator_was_asked(union: Union) -> None:
    user, tries = ask(union, Credential(bearer="guess"), NOW)

    assert user is None
    assert _names(tries) == [
        ("RequestHeader", "skip"),
        ("X509", "skip"),
        ("TokenFile", "skip"),
        ("ServiceAccount", "skip"),
        ("BearerToken", "deny"),
    ]


def test_token_appears_in_no_answer(union: Union) -> None:
    for token in ("secret-of-ann", "secret-of-ann", "guess-work"):
        _, tries = ask(union, Credential(bearer=token), NOW)
        assert token not in repr(tries)


def test_without_a_credential_the_user_is_anonymous(union: Union) -> None:
    user, tries = ask(union, Credential(), NOW)

    assert user is not None
    assert user.name == "system:anonymous"
    assert user.groups == ("system:unauthenticated",)
    assert tries[-1].name == "Anonymous"


def test_without_anonymous_no_credential_is_401() -> None:
    user, _ = ask(Union([X509()]), Credential(), NOW)

    assert user is None


def test_second_request_with_a_token_hits_the_cache_until_ten_seconds_passed(union: Union) -> None:
    credential = Credential(bearer="secret-of-ann")
    ask(union, credential, NOW)

    _, soon = ask(union, credential, NOW + 9_999_999)
    _, later = ask(union, credential, NOW + 10_000_000)

    assert soon[-1].name == "TokenCache"
    assert soon[-1].why.startswith("cache hit")
    assert later[-1].name == "TokenFile"


def test_token_cache_stays_bounded() -> None:
    lines = "".join(f"t{number},u{number},{number}\n" for number in range(5000))
    known = BearerTokens([TokenFile(lines)])

    for number in range(5000):
        result_of(known.authenticate_token(f"t{number}", NOW))

    assert len(known.cache) <= bearer.CACHE_LIMIT


def test_front_proxy_speaks_for_the_user_in_its_headers(union: Union) -> None:
    proxy = authority("front-proxy-ca").peer("proxy")
    headers = {
        "x-remote-user": ("ann",),
        "x-remote-group": ("students", "readers"),
        "x-remote-extra-acme.com%2fproject": ("one",),
    }

    user, _ = ask(union, Credential(tls=proxy, headers=headers), NOW)

    assert user is not None
    assert user.groups == ("students", "readers", "system:authenticated")
    assert user.extra == {"acme.com/project": ("one",)}


def test_remote_user_header_of_somebody_else_is_not_believed(union: Union) -> None:
    student = authority("kubernetes").peer("student", ("students",))

    user, tries = ask(union, Credential(tls=student, headers={"x-remote-user": ("teacher",)}), NOW)

    assert user is not None and user.name == "student"
    assert tries[0].verdict == "deny"


def test_service_account_token_names_account_pod_and_node(
    union: Union, reader: MemoryReader, signer: tokens.Tokens
) -> None:
    reader.put(
        "pods", {"metadata": {"namespace": "default", "name": "p", "uid": "u-p"}, "spec": {}}
    )
    token = signer.issue(
        "default", "builder", "uid-1", NOW, jti="j1", pod=("p", "u-p"), node=("node-1", "u-n")
    )

    user, _ = ask(union, Credential(bearer=token), NOW)

    assert user is not None
    assert user.name == "system:serviceaccount:default:builder"
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    )
    assert user.extra == {
        "authentication.kubernetes.io/credential-id": ("JTI=j1",),
        "authentication.kubernetes.io/node-name": ("node-1",),
        "authentication.kubernetes.io/node-uid": ("u-n",),
        "authentication.kubernetes.io/pod-name": ("p",),
        "authentication.kubernetes.io/pod-uid": ("u-p",),
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"uid": "uid-0"}, "service account UID (uid-1) does not match claim (uid-0)"),
        ({"name": "nobody"}, 'serviceaccount "nobody" not found'),
        ({"expires_seconds": -3600}, "service account token has expired"),
        ({"pod": ("gone", "u")}, "service account token has been invalidated"),
        (
            {"audiences": ["vault"]},
            'token audiences ["vault"] is invalid for the target audiences '
            '["https://kubernetes.default.svc.cluster.local"]',
        ),
    ],
)
def test_service_account_token_is_refused(
    union: Union, signer: tokens.Tokens, change: dict[str, object], said: str
) -> None:
    asked = {"namespace": "default", "name": "builder", "uid": "uid-1", "now": NOW, "jti": "j"}
    token = signer.issue(**{**asked, **change})  # type: ignore[arg-type]

    user, tries = ask(union, Credential(bearer=token), NOW)

    assert user is None
    assert tries[-2].why == said


def test_tampered_token_is_refused(union: Union, signer: tokens.Tokens) -> None:
    token = signer.issue("default", "builder", "uid-1", NOW, jti="j")
    other = signer.issue("default", "root", "uid-1", NOW, jti="j")
    forged = ".".join([other.rsplit(".", 1)[0], token.rsplit(".", 1)[1]])

    user, tries = ask(union, Credential(bearer=forged), NOW)

    assert user is None
    assert tries[-2].verdict == "deny"


def test_equal_claims_give_equal_tokens(signer: tokens.Tokens) -> None:
    first = signer.issue("default", "builder", "uid-1", NOW, jti="j")

    assert first == signer.issue("default", "builder", "uid-1", NOW, jti="j")


def test_published_key_is_the_one_that_signed(signer: tokens.Tokens) -> None:
    signer.issue("default", "builder", "uid-1", NOW, jti="j")

    (key,) = signer.jwks()["keys"]

    assert key["kid"] == signer.key_id and key["alg"] == "ES256"


def test_token_file_with_too_few_columns_says_so() -> None:
    with pytest.raises(ValueError, match="must have at least 3 columns"):
        token_file.parse("token,user\n", "tokens.csv")


def test_websocket_subprotocol_carries_a_token() -> None:
    encoded = base64.urlsafe_b64encode(b"secret").decode().rstrip("=")

    token, rest = bearer.websocket_token(
        [f"base64url.bearer.authorization.k8s.io.{encoded}", "v5.channel.k8s.io"]
    )

    assert (token, rest) == ("secret", ["v5.channel.k8s.io"])
