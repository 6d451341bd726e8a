"""Authentication in a whole cluster: what the start tells, what a request shows, what it loses."""

from __future__ import annotations

import base64
import json
from typing import Any

from apiserver_app import flags
from apiserver_app.auth import issuer
from apiserver_app.auth.data import cast
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import server_session

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"
STATIC = "secret-of-ann,ann,7,students\n"


def session(*arguments: str) -> Session:
    given = flags.parse(arguments, lambda name: STATIC)
    return server_session(flags=given)


def gates(run: Session) -> list[dict[str, Any]]:
    """Those of the last request from outside."""
    records = run.records()
    span = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ][-1]
    return [record for record in records if record["kind"] == "gate" and record["span"] == span]


def whoami(run: Session, token: str) -> Answer:
    return run.request("POST", SELF, review("SelfSubjectReview"), user="", headers=bearer(token))


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def review(kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": kind, "spec": spec}


def user_of(answer: Answer) -> dict[str, Any]:
    return dict(json.loads(answer.text)["status"]["userInfo"])


def test_the_start_tells_the_union_as_it_is_nested() -> None:
    run = session("token-auth-file=t", "enable-bootstrap-token-auth")

    *_, told = (
        record
        for record in run.records()
        if (record["kind"], record.get("state")) == ("component", "starting")
    )

    text = json.dumps(told["detail"]["authentication"])
    order = [
        "FailOnError", "AuthenticatedGroupAdder", "X509", "BearerToken", "TokenCache",
        "TokenUnion", "TokenFile", "LegacyServiceAccount", "ServiceAccount", "BootstrapToken",
        "WebSocket", "Anonymous",
    ]  # fmt: skip
    places = [text.index(f'"{name}"') for name in order]
    assert places == sorted(places)


def test_a_good_token_is_dropped_once_it_has_named_the_user() -> None:
    run = session("token-auth-file=t")

    answer = whoami(run, "secret-of-ann")

    assert user_of(answer) == {
        "username": "ann",
        "uid": "7",
        "groups": ["students", "system:authenticated"],
    }
    [first, *_] = gates(run)
    assert first["detail"]["dropped"] == ["authorization"]
    assert first["detail"]["user"]["name"] == "ann"
    assert "secret-of-ann" not in json.dumps(run.records())


def test_a_bad_token_ends_at_the_first_gate_with_all_who_were_asked() -> None:
    run = session("token-auth-file=t")

    answer = whoami(run, "a-guess")

    assert answer.status == 401
    [only] = gates(run)
    assert (only["gate"], only["verdict"]) == ("authentication", "deny")
    assert [attempt["name"] for attempt in only["detail"]["tries"]] == [
        "X509",
        "TokenFile",
        "LegacyServiceAccount",
        "ServiceAccount",
        "BearerToken",
    ]
    assert all(attempt["why"] for attempt in only["detail"]["tries"])
    assert "a-guess" not in json.dumps(run.records())


def test_a_websocket_protocol_names_the_user_too() -> None:
    run = session("token-auth-file=t")
    coded = base64.urlsafe_b64encode(b"secret-of-ann").decode().rstrip("=")
    protocols = f"base64url.bearer.authorization.k8s.io.{coded}, v5.channel.k8s.io"
    headers = {"upgrade": "websocket", "sec-websocket-protocol": protocols}

    answer = run.request("POST", SELF, review("SelfSubjectReview"), user="", headers=headers)

    assert user_of(answer)["username"] == "ann"


def test_id_tokens_are_verified_by_the_keys_of_the_simulated_issuer() -> None:
    run = session(*issuer.FLAGS)
    second = run.cluster.kernel.now // 1_000_000
    one = issuer.Issuer(run.inputs.service_account_key)

    answer = whoami(run, one.id_token(cast.Person("ann", ("students",)), second, second + 60))

    assert user_of(answer)["username"] == "oidc:ann"
    tried = gates(run)[0]["detail"]["tries"][-1]
    assert tried["name"] == "OIDC"
    assert tried["detail"]["asked"][0].endswith("200 by the simulated issuer")


def test_without_anonymous_nobody_is_401() -> None:
    run = session("anonymous-auth=false")

    assert run.request("GET", "/version", user="").status == 401


def test_a_token_review_says_for_which_audiences_and_why_not() -> None:
    run = session()
    asked = {"audiences": ["vault", "own"], "expirationSeconds": 600}
    made = run.request("POST", TOKENS, {**review("TokenRequest"), "spec": asked})
    token = json.loads(made.text)["status"]["token"]

    def reviewed(*audiences: str) -> dict[str, Any]:
        body = review("TokenReview", token=token, audiences=list(audiences))
        return dict(json.loads(run.request("POST", REVIEWS, body).text)["status"])

    good = reviewed("vault", "other")
    assert (good["authenticated"], good["audiences"]) == (True, ["vault"])
    assert reviewed() == {
        "user": {},
        "error": '[invalid bearer token, token audiences ["vault" "own"] is invalid for the target '
        'audiences ["https://kubernetes.default.svc.cluster.local"]]',
    }


def test_a_long_token_is_shortened_with_a_warning() -> None:
    run = session("service-account-max-token-expiration=1h")
    body = {**review("TokenRequest"), "spec": {"expirationSeconds": 7200}}

    answer = run.request("POST", TOKENS, body)

    assert json.loads(answer.text)["spec"]["expirationSeconds"] == 3600
    said = "requested expiration of 7200 seconds shortened to 3600 seconds"
    assert any(said in value for name, value in answer.headers if name == "Warning")


def test_a_token_bound_to_a_secret_ends_with_it() -> None:
    run = session()
    secrets = "/api/v1/namespaces/default/secrets"
    run.request("POST", secrets, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    ref = {"apiVersion": "v1", "kind": "Secret", "name": "s"}
    body = {**review("TokenRequest"), "spec": {"boundObjectRef": ref, "audiences": []}}
    token = json.loads(run.request("POST", TOKENS, body).text)["status"]["token"]

    assert user_of(whoami(run, token))["username"] == "system:serviceaccount:default:default"
    run.request("DELETE", f"{secrets}/s")
    run.wait(11)  # the token cache forgets

    assert whoami(run, token).status == 401
    assert any(
        attempt.get("why") == "service account token has been invalidated"
        for attempt in gates(run)[0]["detail"]["tries"]
    )
