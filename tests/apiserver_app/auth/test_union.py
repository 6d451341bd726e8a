"""The union that the flags build: who is in it, in which order, how nested, and what it says."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from apiserver_app import authenticators, flags
from apiserver_app.auth import tokens
from apiserver_app.auth.authn.union import Union
from apiserver_app.auth.authn.x509 import X509
from apiserver_app.machinery import kernel
from apiserver_app.machinery.meta import Credential
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.auth.authorities import Authority, authority
from tests.apiserver_app.auth.conftest import NOW, ask
from tests.apiserver_app.memory import MemoryReader

FILES = {
    "proxy.pem": authority("front-proxy-ca").pem,
    "ca.pem": authority("kubernetes").pem,
    "passwords.csv": 'swordfish,ann,7,"students"\n',
    "tokens.csv": "secret-of-ann,ann,7\n",
}
ALL = ("requestheader-client-ca-file=proxy.pem", "token-auth-file=tokens.csv")


@pytest.fixture
def reader() -> MemoryReader:
    return MemoryReader()


def build(reader: MemoryReader, *arguments: str, version: str = "1.33", key: bytes = b"") -> Union:
    given = flags.parse(arguments, FILES.__getitem__, Release.parse(version))
    around = authenticators.Dependencies(
        kernel.Kernel(NOW),
        reader,
        authenticators.signer(given, key),
        authority("kubernetes").pem,
        Release.parse(version),
    )
    return authenticators.build(given, around)


def bootstrap_secret(**change: str) -> dict[str, Any]:
    data = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        **change,
    }
    return {
        "metadata": {"namespace": "kube-system", "name": "bootstrap-token-abcdef", "uid": "u"},
        "type": "bootstrap.kubernetes.io/token",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }


def test_default_flags_give_certificates_service_accounts_and_anonymous(
    reader: MemoryReader,
) -> None:
    assert build(reader).names == ["X509", "LegacyServiceAccount", "ServiceAccount", "Anonymous"]


def test_every_flag_adds_its_authenticator_in_upstreams_order(reader: MemoryReader) -> None:
    union = build(reader, *ALL, "enable-bootstrap-token-auth=true")

    assert union.names == [
        "RequestHeader",
        "X509",
        "TokenFile",
        "LegacyServiceAccount",
        "ServiceAccount",
        "BootstrapToken",
        "Anonymous",
    ]


@pytest.mark.parametrize(
    ("argument", "gone"),
    [
        ("client-ca-file=", "X509"),
        ("token-auth-file=", "TokenFile"),
        ("service-account-key-file=", "ServiceAccount"),
        ("anonymous-auth=false", "Anonymous"),
    ],
)
def test_a_flag_taken_back_takes_its_authenticator_out(
    reader: MemoryReader, argument: str, gone: str
) -> None:
    assert gone in build(reader, *ALL).names
    assert gone not in build(reader, *ALL, argument).names


def test_unknown_token_is_refused_after_all_were_asked_in_order(reader: MemoryReader) -> None:
    union = build(reader, *ALL, "enable-bootstrap-token-auth=true")

    user, tries = ask(union, Credential(bearer="nobody.knows.this"))

    assert user is None
    assert [attempt.name for attempt in tries] == [
        "RequestHeader",
        "X509",
        "TokenFile",
        "LegacyServiceAccount",
        "ServiceAccount",
        "BootstrapToken",
        "BearerToken",
    ]


def test_nested_structure_is_upstreams(reader: MemoryReader) -> None:
    (outer,) = authenticators.describe(build(reader, *ALL))

    assert outer["name"] == "FailOnError"
    adder, anonymous = outer["of"]
    assert (adder["name"], anonymous) == ("AuthenticatedGroupAdder", {"name": "Anonymous"})
    (inner,) = adder["of"]
    names = [one["name"] for one in inner["of"]]
    assert names == ["AudienceAgnostic", "X509", "BearerToken", "WebSocket"]
    (cache,) = inner["of"][2]["of"]
    assert (cache["name"], cache["success_seconds"], cache["failure_seconds"]) == (
        "TokenCache",
        10,
        0,
    )
    (union,) = cache["of"]
    assert union["of"] == [
        {"name": "AudienceAgnostic", "of": [{"name": "TokenFile"}]},
        {"name": "LegacyServiceAccount"},
        {"name": "ServiceAccount"},
    ]


NOTHING = ("client-ca-file=", "service-account-key-file=")


def test_nothing_but_anonymous_makes_everybody_anonymous(reader: MemoryReader) -> None:
    union = build(reader, *NOTHING)

    user, _ = ask(union, Credential())

    assert user is not None and user.name == "system:anonymous"
    assert authenticators.describe(union) == [{"name": "Anonymous"}]


def test_nothing_at_all_is_authentication_switched_off(reader: MemoryReader) -> None:
    union = build(reader, *NOTHING, "anonymous-auth=false")

    assert union.disabled and authenticators.describe(union) == []


def test_passwords_are_known_up_to_1_18(reader: MemoryReader) -> None:
    union = build(reader, "basic-auth-file=passwords.csv", version="1.18")
    right = base64.b64encode(b"ann:swordfish").decode()
    wrong = base64.b64encode(b"ann:marlin").decode()

    user, _ = ask(union, Credential(basic=right))
    refused, tries = ask(union, Credential(basic=wrong))

    assert union.names[:2] == ["BasicAuth", "X509"]
    assert user is not None and user.groups == ("students", "system:authenticated")
    assert refused is None and tries[0].why == "invalid username/password combination"


def test_passwords_are_an_unknown_flag_since_1_19(reader: MemoryReader) -> None:
    with pytest.raises(flags.FlagError, match="unknown flag: --basic-auth-file"):
        build(reader, "basic-auth-file=passwords.csv", version="1.19")


# -- certificates --------------------------------------------------------------------------------

EXPIRED = "x509: certificate has expired or is not yet valid: current time 2025-10-09T08:53:20Z is"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"days": -0.5}, f"{EXPIRED} after 2025-10-08T20:53:20Z"),
        ({"since": 0.5}, f"{EXPIRED} before 2025-10-09T20:53:20Z"),
        (
            {"usage": ExtendedKeyUsageOID.SERVER_AUTH},
            "x509: certificate specifies an incompatible key usage",
        ),
    ],
)
def test_bad_certificate_is_refused_in_gos_words(change: dict[str, Any], said: str) -> None:
    ours = authority("kubernetes")

    answer = X509(ours.pem).authenticate(Credential(tls=ours.peer("ann", **change)), NOW)

    assert answer.verdict == "deny"
    assert answer.why.startswith("verifying certificate SN=")
    assert answer.why.endswith(f" failed: {said}")


def test_certificate_of_a_foreign_authority_is_refused() -> None:
    stranger = authority("somebody").peer("ann")
    namesake = Authority("kubernetes").peer("ann")
    judge = X509(authority("kubernetes").pem)

    unknown = judge.authenticate(Credential(tls=stranger), NOW).why
    forged = judge.authenticate(Credential(tls=namesake), NOW).why

    assert unknown.endswith("failed: x509: certificate signed by unknown authority")
    assert forged.endswith(
        'unknown authority (possibly because of "x509: ECDSA verification failure" while trying '
        'to verify candidate authority certificate "kubernetes")'
    )


def test_certificate_of_an_intermediate_authority_is_believed_by_its_chain() -> None:
    root = authority("kubernetes")
    peer = Authority("staff", Authority("middle", root)).peer("ann", ("students",))
    judge = X509(root.pem)

    whole = judge.authenticate(Credential(tls=peer), NOW)
    broken = judge.authenticate(
        Credential(tls=msgspec.structs.replace(peer, chain=peer.chain[:2])), NOW
    )

    assert whole.user is not None and whole.user.groups == ("students",)
    assert broken.why.endswith("x509: certificate signed by unknown authority")


def test_a_believed_certificate_is_refused_once_it_has_expired() -> None:
    ours = authority("kubernetes")
    judge, credential = X509(ours.pem), Credential(tls=ours.peer("ann", days=0.01))

    assert judge.authenticate(credential, NOW).verdict == "allow"
    assert judge.authenticate(credential, NOW + 3_600_000_000).verdict == "deny"


def test_front_proxy_of_another_name_is_refused(reader: MemoryReader) -> None:
    union = build(reader, *ALL, "requestheader-allowed-names=proxy")
    peer = authority("front-proxy-ca").peer("mallory")

    user, tries = ask(union, Credential(tls=peer, headers={"x-remote-user": ("ann",)}))

    assert user is None
    assert tries[0].why == "x509: subject with cn=mallory is not in the allowed list"


# -- tokens --------------------------------------------------------------------------------------


def test_bootstrap_token_is_its_own_user_with_its_groups(reader: MemoryReader) -> None:
    reader.put("secrets", bootstrap_secret())
    credential = Credential(bearer="abcdef.0123456789abcdef")

    off, _ = ask(build(reader), credential)
    user, _ = ask(build(reader, "enable-bootstrap-token-auth"), credential)

    assert off is None
    assert user is not None
    assert user.name == "system:bootstrap:abcdef"
    assert user.groups == (
        "system:bootstrappers",
        "system:bootstrappers:kubeadm:default-node-token",
        "system:authenticated",
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"token-secret": "fedcba9876543210"}, "has invalid value for key token-secret."),
        ({"expiration": "2020-01-01T00:00:00Z"}, "has expired"),
        ({"expiration": "tomorrow"}, "has expired"),
        (
            {"usage-bootstrap-authentication": "false"},
            "not marked usage-bootstrap-authentication=true.",
        ),
        (
            {"auth-extra-groups": "system:masters"},
            'has invalid value for key auth-extra-groups: bootstrap group "system:masters" is '
            r"invalid (must match \Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z).",
        ),
    ],
)
def test_bootstrap_token_is_refused(
    reader: MemoryReader, change: dict[str, str], said: str
) -> None:
    reader.put("secrets", bootstrap_secret(**change))

    user, tries = ask(
        build(reader, "enable-bootstrap-token-auth"), Credential(bearer="abcdef.0123456789abcdef")
    )

    assert user is None
    matching = "Bootstrap secret kube-system/bootstrap-token-abcdef matching bearer token "
    assert tries[-2].why == matching + said
    assert "0123456789abcdef" not in repr(tries)


def test_websocket_protocol_carries_a_token_to_the_same_authenticators(
    reader: MemoryReader,
) -> None:
    union = build(reader, *ALL)
    coded = base64.urlsafe_b64encode(b"secret-of-ann").decode().rstrip("=")
    protocol = f"base64url.bearer.authorization.k8s.io.{coded}"

    user, _ = ask(union, Credential(protocols=(protocol, "v5.channel.k8s.io")))
    alone, tries = ask(union, Credential(protocols=(protocol,)))

    assert user is not None and user.name == "ann"
    assert alone is None and tries[-1].why == "missing additional subprotocol"


def _jwt(header: str, payload: str, signature: str = "c2ln") -> str:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return f"{part(header)}.{part(payload)}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        "a.b.c",
        "...",
        "\x00\x01.\x02.\x03",
        "x" * 200_000,
        _jwt('{"alg":"none"}', f'{{"iss":"{tokens.ISSUER}"}}', ""),
        _jwt('{"alg":"none"}', f'{{"iss":"{tokens.ISSUER}"}}'),
        _jwt('{"alg":"HS256"}', f'{{"iss":"{tokens.ISSUER}"}}'),
        _jwt('{"alg":"ES256","kid":"other"}', f'{{"iss":"{tokens.ISSUER}"}}'),
        _jwt('{"alg":["ES256"]}', f'{{"iss":"{tokens.ISSUER}"}}'),
        _jwt("[]", "[]"),
        _jwt("[" * 5000, "[" * 5000),
        _jwt('{"alg":"RS256"}', f'{{"iss":"{tokens.LEGACY_ISSUER}"}}'),
    ],
)
def test_garbage_is_refused_and_nothing_breaks(
    reader: MemoryReader, token: str, signing_key: bytes
) -> None:
    user, tries = ask(build(reader, *ALL, key=signing_key), Credential(bearer=token))

    assert user is None
    assert tries[-1].why == "invalid bearer token"
