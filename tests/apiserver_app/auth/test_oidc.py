"""ID tokens: whose they are, and with which of upstream's sentences they are refused."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from apiserver_app import authenticators, flags
from apiserver_app.auth import issuer, jws
from apiserver_app.auth.authn import oidc
from apiserver_app.auth.authn.claims import ClaimMappings
from apiserver_app.auth.data import cast
from apiserver_app.authprotocols import Try
from apiserver_app.egress.outbound import Answer, Call, CallFailed
from apiserver_app.machinery import kernel
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.auth.conftest import NOW, result_of
from tests.apiserver_app.memory import MemoryReader

SECOND = NOW // 1_000_000
PERSON = cast.Person("ann", ("students", "readers"))
MAPPINGS = ClaimMappings("preferred_username", "oidc:", groups_claim="groups")
SETTINGS = oidc.Settings(issuer.URL, ("kubernetes",), MAPPINGS, ("ES256",))


class World:
    """The simulated issuer, with a count of what it was asked."""

    def __init__(self) -> None:
        self.issuer = issuer.Issuer(b"a secret")
        self.asked: list[str] = []
        self.down = False

    async def ask(self, call: Call) -> Answer:
        self.asked.append(str(call.to))
        found = self.issuer.answer(call)
        if found is None or self.down:
            raise CallFailed(f'Get "{call.to}": dial tcp: lookup: no such host')
        return found

    def token(self, **change: Any) -> str:
        return self.issuer.id_token(PERSON, SECOND - 60, SECOND + 3600, **change)


@pytest.fixture
def world() -> World:
    return World()


def tried(world: World, token: str, now: int = NOW, **change: Any) -> Try:
    algorithms = change.pop("algorithms", SETTINGS.algorithms)
    mappings = msgspec.structs.replace(MAPPINGS, **change)
    settings = msgspec.structs.replace(SETTINGS, claims=mappings, algorithms=algorithms)
    return ask(ready(settings, world.ask), token, now)


def ready(settings: oidc.Settings, way: oidc.Ask) -> oidc.Oidc:
    """One that was initialized."""
    one = oidc.Oidc(settings, way)
    result_of(one.discover())
    return one


def ask(one: oidc.Oidc, token: str, now: int = NOW) -> Try:
    answer = one.authenticate_token(token, now, ())
    return answer if isinstance(answer, Try) else result_of(answer)  # type: ignore[arg-type]


def test_token_of_the_issuer_names_user_and_groups_with_their_prefixes(world: World) -> None:
    answer = tried(world, world.token(jti="j1"), groups_prefix="g:")

    assert answer.user is not None
    assert answer.user.name == "oidc:ann"
    assert answer.user.groups == ("g:students", "g:readers")
    assert answer.user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=j1",)}
    assert world.asked == [f"{issuer.URL}/.well-known/openid-configuration", f"{issuer.URL}/keys"]


def test_keys_are_asked_for_once(world: World) -> None:
    one = ready(SETTINGS, world.ask)

    for _ in range(3):
        assert ask(one, world.token()).verdict == "allow"

    assert len(world.asked) == 2


VERIFY = "oidc: verify token: oidc: "


@pytest.mark.parametrize(
    ("claims", "change", "said"),
    [
        (
            {"exp": 1_700_000_000},
            {},
            VERIFY + "token is expired (Token Expiry: 2023-11-14 22:13:20 +0000 UTC)",
        ),
        (
            {"nbf": SECOND + 301},
            {},
            VERIFY + "current time 2025-10-09 08:53:20 +0000 UTC before the nbf (not before) "
            "time: 2025-10-09 08:58:21 +0000 UTC",
        ),
        ({"exp": "soon"}, {}, VERIFY + "failed to unmarshal claims: times are no numbers"),
        ({"exp": 10**30}, {}, VERIFY + "failed to unmarshal claims: times are no numbers"),
        (
            {"aud": ["vault", "other"]},
            {},
            VERIFY + 'expected audience "kubernetes" got ["vault" "other"]',
        ),
        (
            {},
            {"algorithms": ("RS256",)},
            VERIFY + 'malformed jwt: go-jose/go-jose: unexpected signature algorithm "ES256"; '
            'expected ["RS256"]',
        ),
        ({}, {"username_claim": "name"}, 'oidc: parse username claims "name": claim not present'),
        (
            {"preferred_username": 7},
            {},
            'oidc: parse username claims "preferred_username": '
            "json: cannot unmarshal number into Go value of type string",
        ),
        ({"email_verified": False}, {"username_claim": "email"}, "oidc: email not verified"),
        (
            {"groups": {"a": 1}},
            {},
            'oidc: parse groups claim "groups": '
            "json: cannot unmarshal object into Go value of type string",
        ),
        ({}, {"required": {"hd": "school"}}, "oidc: required claim hd not present in ID token"),
        (
            {"hd": "other"},
            {"required": {"hd": "school"}},
            "oidc: required claim hd value does not match. Got = other, want = school",
        ),
    ],
)
def test_token_is_refused_in_upstreams_words(
    world: World, claims: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    answer = tried(world, world.token(**claims), **change)

    assert (answer.verdict, answer.why) == ("deny", said)


def test_token_that_another_key_signed_is_refused_after_the_keys_were_asked_for_again(
    world: World,
) -> None:
    forged = issuer.Issuer(b"another").id_token(PERSON, SECOND - 60, SECOND + 3600)

    answer = tried(world, forged)

    assert answer.why == (
        "oidc: verify token: failed to verify signature: failed to verify id token signature"
    )
    assert world.asked[-1] == f"{issuer.URL}/keys"


def test_unsigned_token_is_refused(world: World) -> None:
    _, payload, _ = world.token().split(".")
    header = jws.encode(b'{"alg":"none"}')

    answer = tried(world, f"{header}.{payload}.")

    assert answer.verdict == "deny"
    assert 'unexpected signature algorithm "none"' in answer.why


def test_token_of_another_issuer_is_none_of_its_business(world: World) -> None:
    answer = tried(world, world.token(iss="https://elsewhere.example"))

    assert answer.verdict == "skip" and f"{issuer.URL}/keys" not in world.asked


def test_issuer_that_does_not_answer_is_asked_again_after_ten_seconds(world: World) -> None:
    run, one = kernel.Kernel(NOW), oidc.Oidc(SETTINGS, world.ask)
    world.down = True
    run.spawn("oidc", one.initialize(run), background=True)
    run.run_ready(100)

    first = ask(one, world.token())
    world.down = False
    soon = ask(one, world.token())
    run.now += 10_000_000
    run.fire_timer(run.now, jump=False)
    run.run_ready(100)

    assert first.why == soon.why == "oidc: authenticator not initialized"
    assert "no such host" in first.detail["asked"][0]
    assert ask(one, world.token()).verdict == "allow"


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS256", "PS384"])
def test_rsa_signatures_are_verified(algorithm: str) -> None:
    key = rsa.generate_private_key(65537, 2048)
    digest: Any = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}[algorithm[2:]]
    how: Any = padding.PKCS1v15()
    if algorithm.startswith("PS"):
        how = padding.PSS(padding.MGF1(digest()), padding.PSS.DIGEST_LENGTH)
    numbers = key.public_key().public_numbers()
    jwk = {
        "kty": "RSA",
        "kid": "k",
        "e": jws.encode(numbers.e.to_bytes(3, "big")),
        "n": jws.encode(numbers.n.to_bytes(256, "big")),
    }
    claims = {"iss": "https://i", "aud": "c", "sub": "ann", "exp": SECOND + 60}
    header = jws.encode(json.dumps({"alg": algorithm, "kid": "k"}).encode())
    signed = f"{header}.{jws.encode(json.dumps(claims).encode())}"
    token = f"{signed}.{jws.encode(key.sign(signed.encode(), how, digest()))}"

    async def world(call: Call) -> Answer:
        document: dict[str, Any] = {"issuer": "https://i", "jwks_uri": "https://i/k"}
        if call.to == "https://i/k":
            document = {"keys": [{"kty": "odd"}, jwk]}
        return Answer(200, {}, json.dumps(document).encode())

    one = ready(oidc.Settings("https://i", ("c",), algorithms=(algorithm,)), world)

    assert ask(one, token).verdict == "allow"
    assert ask(one, f"{signed}.{jws.encode(b'x' * 256)}").verdict == "deny"


def build(*arguments: str, version: str = "1.33") -> list[str]:
    given = flags.parse(arguments, lambda name: "", Release.parse(version))
    around = authenticators.Dependencies(
        kernel.Kernel(NOW),
        MemoryReader(),
        authenticators.signer(given, b""),
        version=Release.parse(version),
        ask=World().ask,
    )
    return authenticators.build(given, around).names


def test_issuer_and_client_together_add_the_authenticator() -> None:
    assert "OIDC" in build(*issuer.FLAGS)


def test_without_a_client_id_it_is_not_in_the_list_and_since_1_30_the_server_does_not_start() -> (
    None
):
    assert "OIDC" not in build("oidc-issuer-url=https://i.example", version="1.25")
    with pytest.raises(flags.FlagError, match="must be specified together"):
        build("oidc-issuer-url=https://i.example")


def test_issuer_must_be_https() -> None:
    with pytest.raises(flags.FlagError, match="URL scheme must be https"):
        build("oidc-issuer-url=http://i.example", "oidc-client-id=c")


def test_unsupported_algorithm_is_refused_at_start() -> None:
    with pytest.raises(flags.FlagError, match='oidc: unsupported signing alg: "HS256"'):
        build(*issuer.FLAGS, "oidc-signing-algs=HS256")
