"""--authentication-config: several issuers, expressions about claims, who may be nobody."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from apiserver_app import authenticators, flags
from apiserver_app.auth import issuer
from apiserver_app.auth.authn import config
from apiserver_app.auth.data import cast
from apiserver_app.machinery import kernel
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.auth.conftest import NOW
from tests.apiserver_app.memory import MemoryReader

PERSON = cast.Person("ann", ("students", "readers"))
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
FILE = f"""
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: {issuer.URL}
    audiences: [kubernetes, other]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - expression: claims.exp - claims.iat <= 86400
    message: no token for more than a day
  claimMappings:
    username:
      expression: '"class:" + claims.preferred_username'
    groups:
      expression: 'claims.groups.map(g, "group:" + g)'
    uid:
      claim: sub
    extra:
    - key: school.example/mail
      valueExpression: claims.email
  userValidationRules:
  - expression: '!user.username.startsWith("class:system")'
    message: reserved
- issuer:
    url: https://elsewhere.example
    audiences: [kubernetes]
  claimMappings:
    username: {{claim: sub, prefix: "e:"}}
anonymous:
  enabled: true
  conditions: [{{path: /livez}}, {{path: /readyz}}]
"""


def parse(text: str, *more: str, version: str = "1.33") -> flags.Flags:
    return flags.parse(
        ["authentication-config=auth.yaml", *more], lambda _: text, Release.parse(version)
    )


@functools.cache
def session() -> Session:
    return Session(default_inputs(nodes=0, flags=parse(FILE)))


def ask(**claims: Any) -> Answer:
    run = session()
    now = run.cluster.kernel.now // kernel.SECOND
    key = issuer.Issuer(run.inputs.service_account_key)
    token = key.id_token(PERSON, now - 60, now + 3600, **claims)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    sent = {"authorization": f"Bearer {token}"}
    return run.request("POST", SELF, review, user="", headers=sent)


def why() -> str:
    """What the authenticator of the first issuer said last."""
    gate = [record for record in session().records() if record.get("gate") == "authentication"][-1]
    tries = [attempt for attempt in gate["detail"]["tries"] if attempt["name"] == "OIDC"]
    return str(tries[0]["why"])


def test_expressions_make_the_user() -> None:
    answer = ask()
    assert answer.status == 201, answer.text
    user = answer.json()["status"]["userInfo"]
    assert user["username"] == "class:ann"
    assert user["groups"] == ["group:students", "group:readers", "system:authenticated"]
    assert len(user["uid"]) == 32
    assert user["extra"] == {"school.example/mail": ["ann@classroom.example"]}


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"exp": 4_000_000_000},
         "oidc: error evaluating claim validation expression: validation expression "
         "'claims.exp - claims.iat <= 86400' failed: no token for more than a day"),
        ({"preferred_username": "system"},
         "oidc: error evaluating user info validation rule: validation expression "
         "'!user.username.startsWith(\"class:system\")' failed: reserved"),
        ({"preferred_username": 7},
         "oidc: error evaluating username claim expression: expression "
         "'\"class:\" + claims.preferred_username' resulted in error: no such overload"),
        ({"aud": "third"},
         'oidc: verify token: oidc: expected audience in ["kubernetes" "other"] got ["third"]'),
        ({"iss": "https://elsewhere.example"}, f"not a token of {issuer.URL}"),
    ],
)  # fmt: skip
def test_a_token_that_meets_a_rule_not_is_refused_in_upstreams_words(
    claims: dict[str, Any], said: str
) -> None:
    assert ask(**claims).status == 401
    assert why() == said


def test_an_issuer_that_nobody_reached_yet_knows_nobody() -> None:
    assert ask(iss="https://elsewhere.example").status == 401
    gate = [record for record in session().records() if record.get("gate") == "authentication"][-1]
    second = [attempt for attempt in gate["detail"]["tries"] if attempt["name"] == "OIDC"][1]
    assert second["why"] == "oidc: authenticator not initialized"
    assert second["detail"]["asked"]


def test_nobody_is_let_in_at_the_paths_that_the_file_names_only() -> None:
    run = session()
    assert run.request("GET", "/livez", user="").status == 200
    assert run.request("GET", "/version", user="").status == 401
    gate = [record for record in run.records() if record.get("gate") == "authentication"][-1]
    assert gate["detail"]["tries"][-1]["why"].endswith("for everybody: /livez, /readyz")


def test_the_start_tells_of_every_issuer() -> None:
    told = next(record for record in session().records() if record["kind"] == "component")
    text = json.dumps(told["detail"]["authentication"])
    assert issuer.URL in text and "https://elsewhere.example" in text and "/readyz" in text


# -- what cannot be ------------------------------------------------------------------------------


def start(text: str, *more: str, version: str = "1.33") -> None:
    given = parse(text, *more, version=version)
    around = authenticators.Dependencies(
        kernel.Kernel(NOW),
        MemoryReader(),
        authenticators.signer(given, b""),
        version=Release.parse(version),
    )
    authenticators.build(given, around)


HEAD = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n"
WRONG = "invalid authentication configuration: "


def one(issuer: str = "url: https://i, audiences: [a]", **more: str) -> str:
    parts = {"issuer": f"{{{issuer}}}", "claimMappings": "{username: {claim: sub, prefix: ''}}"}
    parts |= more
    inner = ", ".join(f"{name}: {value}" for name, value in parts.items())
    return f"{HEAD}jwt: [{{{inner}}}]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty config data"),
        (HEAD.replace("v1beta1", "v1"), 'no kind "AuthenticationConfiguration" is registered'),
        (f"{HEAD}jwts: []", 'strict decoding error: unknown field "jwts"'),
        (one("url: http://i, audiences: [a]"),
         f'{WRONG}jwt[0].issuer.url: Invalid value: "http://i": URL scheme must be https'),
        (one("url: https://kubernetes.default.svc.cluster.local, audiences: [a]"),
         "URL must not overlap with disallowed issuers"),
        (one("url: https://i"), "at least one jwt[0].issuer.audiences is required"),
        (one("url: https://i, audiences: [a, b]"),
         'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be '
         "MatchAny for multiple audiences"),
        (one(claimMappings="{username: {claim: sub}}"),
         "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is "
         "set. It can be set to an empty string to disable prefixing"),
        (one(claimMappings="{username: {expression: 'claims.'}}"),
         "jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation "
         "failed: ERROR: <input>:1:8: Syntax error"),
        (one(claimMappings="{username: {expression: 'claims.email'}}"),
         "claims.email_verified must be used in claimMappings.username.expression or"),
        (one(claimValidationRules="[{expression: '1'}]"), "must evaluate to bool"),
        (one(userValidationRules="[{expression: user.nam == ''}]"), "undefined field 'nam'"),
        (one(claimMappings="{username: {claim: a, prefix: ''},"
             " extra: [{key: x.k8s.io/a, valueExpression: claims.a}]}"),
         "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"),
        (f"{HEAD}anonymous: {{enabled: false, conditions: [{{path: /a}}]}}",
         "anonymous.conditions: Invalid value"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_ends_the_start_with_upstreams_sentence(text: str, said: str) -> None:
    with pytest.raises(flags.FlagError) as refused:
        start(text)
    assert said in str(refused.value)


def test_the_file_and_the_flags_exclude_each_other() -> None:
    with pytest.raises(flags.FlagError, match="and oidc-\\* flags are mutually exclusive"):
        start(one(), "oidc-username-claim=email")
    with pytest.raises(flags.FlagError, match="--anonymous-auth flag cannot be set when"):
        start(f"{one()}anonymous: {{enabled: true}}", "anonymous-auth=true")
    start(one(), "anonymous-auth=false")


def test_the_flag_is_of_its_time() -> None:
    with pytest.raises(flags.FlagError, match="unknown flag: --authentication-config"):
        start(one(), version="1.28")
    with pytest.raises(flags.FlagError, match="set --feature-gates="):
        start(one(), version="1.29")
    start(one().replace("v1beta1", "v1"), version="1.34")


def test_an_expression_that_looks_at_a_verified_mail_is_taken() -> None:
    mapping = "{username: {expression: 'claims.email_verified ? claims.email : claims.sub'}}"
    [found] = config.issuers(config.load(one(claimMappings=mapping), Release(33)), (), Release(33))
    assert found.claims.username is not None
