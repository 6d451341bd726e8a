"""Tokens that a service outside is asked about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver_app.auth.authn.webhook import Webhook
from apiserver_app.auth.reviewing import Transport
from apiserver_app.authprotocols import Try
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.egress.outbound import Answer, Call, CallFailed
from tests.apiserver_app.auth.conftest import NOW, result_of

OWN = ("https://kubernetes.default.svc.cluster.local",)
ANN = {
    "authenticated": True,
    "user": {"username": "ann", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}},
}


class Service:
    """Answers with what it was told to, in turn."""

    def __init__(self, *answers: dict[str, Any] | int | str) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []
        self.slept: list[float] = []

    async def call(self, call: Call) -> Answer:
        self.calls.append(call)
        said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(said, str):
            raise CallFailed(said)
        if isinstance(said, int):
            return Answer(said, {}, b"no")
        return Answer(200, {}, json.dumps({"status": said}).encode(), "127.0.0.1:9443")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def webhook(service: Service, version: str = "v1") -> Webhook:
    world = Transport(service.call, lambda: NOW, service.sleep)
    return Webhook(Target("https://127.0.0.1:9443/authn"), world, OWN, version)


def ask(one: Webhook, token: str = "t", now: int = NOW, audiences: tuple[str, ...] = OWN) -> Try:
    answer = one.authenticate_token(token, now, audiences)
    return answer if isinstance(answer, Try) else result_of(answer)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_it_is_sent_a_token_review_and_its_answer_is_the_user(version: str) -> None:
    service = Service(ANN)

    answer = ask(webhook(service, version), "the-token")

    sent = json.loads(service.calls[0].body)
    assert sent["apiVersion"] == f"authentication.k8s.io/{version}"
    assert sent["spec"] == {"token": "the-token", "audiences": list(OWN)}
    assert answer.user is not None
    assert (answer.user.name, answer.user.uid, answer.user.groups) == ("ann", "7", ("g",))
    assert answer.user.extra == {"k": ("v",)}
    assert answer.audiences == OWN
    assert "the-token" not in repr(answer)


def test_answers_are_remembered_for_two_minutes_good_or_not() -> None:
    for said, verdict in ((ANN, "allow"), ({"authenticated": False}, "skip")):
        service = Service(said)
        one = webhook(service)

        first = ask(one)
        again = ask(one, now=NOW + 119_000_000)
        assert len(service.calls) == 1
        ask(one, now=NOW + 121_000_000)

        assert (first.name, first.verdict) == ("Webhook", verdict)
        assert (again.name, again.verdict) == ("TokenCache", verdict)
        assert len(service.calls) == 2


def test_its_own_error_is_why_the_token_is_refused() -> None:
    answer = ask(webhook(Service({"authenticated": False, "error": "locked out"})))

    assert (answer.verdict, answer.why) == ("deny", "locked out")


def test_a_failure_is_tried_again_five_times_and_not_remembered() -> None:
    service = Service(500)
    one = webhook(service)

    answer = ask(one)
    ask(one)

    assert answer.verdict == "deny"
    assert "an error on the server" in answer.why
    assert len(service.calls) == 10
    assert service.slept[:4] == [0.5, 0.75, 1.125, 1.6875]


def test_a_service_that_is_not_there_refuses_the_token() -> None:
    refused = 'Post "https://127.0.0.1:9443/authn": dial tcp 127.0.0.1:9443: connection refused'

    answer = ask(webhook(Service(refused)))

    assert (answer.verdict, answer.why) == ("deny", refused)


def test_audiences_that_it_does_not_know_the_token_for_do_not_count() -> None:
    one = webhook(Service({**ANN, "audiences": ["vault"]}))

    assert ask(one).verdict == "skip"
    assert ask(one, audiences=("vault", "other")).audiences == ("vault",)
