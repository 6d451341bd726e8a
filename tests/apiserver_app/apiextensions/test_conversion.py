"""Versions that a webhook converts: it is asked for what is read and written in another version
than is stored, and its answer is checked."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from apiserver_app.egress import outbound
from apiserver_app.machinery.net.nodeapi import Connection
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import CRONTABS, DEFINITION, crontab, define
from tests.apiserver_app.cluster import MERGE, events, server_session

BETA = CRONTABS.replace("/v1/", "/v1beta1/")
V1, V1BETA1 = "stable.example.com/v1", "stable.example.com/v1beta1"


class Webhook:
    """Converts by renaming: v1beta1's spec.schedule is v1's spec.cronSpec."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {}

    async def call(self, call: outbound.Call) -> outbound.Answer:
        request = orjson.loads(call.body)["request"]
        self.asked.append(request["desiredAPIVersion"])
        made = [self._convert(item, request["desiredAPIVersion"]) for item in request["objects"]]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": made,
            **self.answers,
        }
        review = {"kind": "ConversionReview", "response": response}
        return outbound.Answer(200, {}, orjson.dumps(review))

    async def dial(self, call: outbound.Call) -> Connection:
        raise outbound.CallFailed("nothing is streamed")

    def _convert(self, obj: dict[str, Any], version: str) -> dict[str, Any]:
        spec = dict(obj["spec"])
        old, new = ("cronSpec", "schedule") if version == V1BETA1 else ("schedule", "cronSpec")
        if old in spec:
            spec[new] = spec.pop(old)
        return {**obj, "apiVersion": version, "spec": spec}


def definition() -> dict[str, Any]:
    body = copy.deepcopy(DEFINITION)
    beta = copy.deepcopy(body["spec"]["versions"][0])
    beta |= {"name": "v1beta1", "storage": False}
    spec = beta["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["schedule"] = spec["properties"].pop("cronSpec")
    spec["required"] = ["schedule"]
    body["spec"]["versions"].append(beta)
    service = {"namespace": "default", "name": "converter"}
    body["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
    }
    return body


def beta(name: str) -> dict[str, Any]:
    body = {**crontab(name), "apiVersion": V1BETA1}
    body["spec"] = {"schedule": "* * * * */5"}
    return body


@pytest.fixture
def webhook() -> Webhook:
    return Webhook()


@pytest.fixture
def session(webhook: Webhook) -> Session:
    session = server_session()
    answer = define(session, definition())
    assert answer.status == 201, answer.text
    session.cluster.context.egress.outbound = webhook
    return session


def test_what_is_written_in_another_version_is_converted(
    session: Session, webhook: Webhook
) -> None:
    answer = session.request("POST", BETA, beta("one"))
    assert (answer.status, answer.json()["spec"]["schedule"]) == (201, "* * * * */5")
    stored = session.request("GET", f"{CRONTABS}/one").json()
    assert (stored["apiVersion"], stored["spec"]["cronSpec"]) == (V1, "* * * * */5")
    assert webhook.asked == [V1]


def test_what_is_read_is_converted_once_a_revision(session: Session, webhook: Webhook) -> None:
    session.request("POST", CRONTABS, crontab("one"))
    session.request("POST", CRONTABS, crontab("two"))
    items = session.request("GET", BETA).json()["items"]
    assert [item["spec"]["schedule"] for item in items] == ["* * * * */5"] * 2
    assert session.request("GET", f"{BETA}/one").json()["apiVersion"] == V1BETA1
    assert webhook.asked == [V1BETA1]
    patch = {"spec": {"schedule": "1 1 1 1 1"}}
    assert session.request("PATCH", f"{BETA}/one", patch, headers=MERGE).status == 200
    assert session.request("GET", f"{CRONTABS}/one").json()["spec"]["cronSpec"] == "1 1 1 1 1"


def test_a_watch_sees_what_was_converted_in_order(session: Session, webhook: Webhook) -> None:
    session.request("POST", CRONTABS, crontab("one"))
    watch = session.request("GET", f"{BETA}?watch=1")
    session.request("POST", CRONTABS, crontab("two"))
    session.request("DELETE", f"{CRONTABS}/one")
    assert [
        (kind, obj["metadata"]["name"], obj["spec"]["schedule"]) for kind, obj in events(watch)
    ] == [
        ("ADDED", "one", "* * * * */5"),
        ("ADDED", "two", "* * * * */5"),
        ("DELETED", "one", "* * * * */5"),
    ]


def test_a_webhook_that_refuses_or_lies_is_reported(session: Session, webhook: Webhook) -> None:
    session.request("POST", CRONTABS, crontab("one"))
    webhook.answers = {"result": {"status": "Failure", "message": "no way"}}
    answer = session.request("GET", f"{BETA}/one")
    assert (answer.status, answer.json()["message"]) == (
        500,
        "conversion webhook for stable.example.com/v1, Kind=CronTab failed: no way",
    )
    webhook.answers = {"convertedObjects": []}
    assert session.request("GET", f"{BETA}/one").json()["message"] == (
        "conversion webhook for stable.example.com/v1, Kind=CronTab returned 0 objects, expected 1"
    )
