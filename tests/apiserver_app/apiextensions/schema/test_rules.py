"""Rules of a schema in CEL: what they are asked of, what they say, what they may cost."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.apiextensions.schema import rules, structural
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import CRONTABS, DEFINITION, crontab, define
from tests.apiserver_app.cluster import MERGE, header, server_session

RULES: list[dict[str, Any]] = [
    {"rule": "!has(self.replicas) || self.replicas != 7", "message": "seven is taken"},
    {"rule": "self.image == oldSelf.image", "message": "image is immutable",
     "fieldPath": ".image", "reason": "FieldValueForbidden"},
    {"rule": "!has(self.labels) || size(self.labels) < 2",
     "messageExpression": "'too many labels: %d'.format([size(self.labels)])"},
    {"rule": "oldSelf.hasValue() || self.cronSpec != '1 1 1 1 1'", "optionalOldSelf": True,
     "message": "not at first"},
]  # fmt: skip


def definition() -> dict[str, Any]:
    body = copy.deepcopy(DEFINITION)
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["x-kubernetes-validations"] = RULES
    schema["x-kubernetes-validations"] = [{"rule": "self.metadata.name != 'forbidden'"}]
    tags = schema["properties"]["spec"]["properties"]["tags"]
    tags["items"]["x-kubernetes-validations"] = [{"rule": "self.startsWith('a')"}]
    return body


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    answer = define(session, definition())
    assert answer.status == 201, answer.text
    return session


def refusal(session: Session, name: str, **spec: Any) -> str:
    answer = session.request("POST", CRONTABS, crontab(name, **spec))
    assert answer.status == 422, answer.text
    return str(answer.json()["message"]).partition("is invalid: ")[2]


def test_a_rule_that_does_not_hold_says_its_message(session: Session) -> None:
    assert refusal(session, "x", replicas=7) == ('spec: Invalid value: "object": seven is taken')
    assert refusal(session, "forbidden") == (
        "<nil>: Invalid value: \"object\": failed rule: self.metadata.name != 'forbidden'"
    )
    assert refusal(session, "x", tags=["b"]) == (
        "spec.tags[0]: Invalid value: \"string\": failed rule: self.startsWith('a')"
    )


def test_a_message_expression_is_evaluated(session: Session) -> None:
    assert refusal(session, "x", labels={"a": "1", "b": "2"}) == (
        'spec: Invalid value: "object": too many labels: 2'
    )


def test_a_transition_rule_is_asked_of_updates_with_its_reason_and_path(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("moved"))
    path = f"{CRONTABS}/moved"
    answer = session.request("PATCH", path, {"spec": {"image": "other"}}, headers=MERGE)
    cause = answer.json()["details"]["causes"][0]
    assert (cause["reason"], cause["field"], cause["message"]) == (
        "FieldValueForbidden",
        "spec.image",
        "Forbidden: image is immutable",
    )


def test_an_optional_old_self_is_asked_of_creates_too(session: Session) -> None:
    assert "not at first" in refusal(session, "x", cronSpec="1 1 1 1 1")
    session.request("POST", CRONTABS, crontab("later"))
    patch = {"spec": {"cronSpec": "1 1 1 1 1"}}
    assert session.request("PATCH", f"{CRONTABS}/later", patch, headers=MERGE).status == 200


def test_rules_are_not_asked_of_what_does_not_fit_the_schema(session: Session) -> None:
    said = refusal(session, "forbidden", image=5)
    assert said.endswith(
        '<nil>: Invalid value: "null": some validation rules were not checked because the object '
        "was invalid; correct the existing errors to complete validation]"
    )


def test_what_did_not_change_is_only_warned_of() -> None:
    session = server_session()
    body = definition()
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    tags = schema["properties"]["spec"]["properties"]["tags"]["items"]
    rules = tags.pop("x-kubernetes-validations")
    define(session, body)
    session.request("POST", CRONTABS, crontab("old", tags=["b"]))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.example.com"
    tags["x-kubernetes-validations"] = rules
    session.request("PATCH", path, {"spec": {"versions": body["spec"]["versions"]}}, headers=MERGE)
    answer = session.request("PATCH", f"{CRONTABS}/old", {"spec": {"replicas": 2}}, headers=MERGE)
    assert answer.status == 200
    assert "failed rule: self.startsWith('a')" in header(answer, "warning")[-1]


def test_a_field_or_a_text_that_is_called_old_self_is_no_old_value() -> None:
    schema = {
        "type": "object",
        "properties": {"oldSelf": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "self.oldSelf != 'oldSelf'"}],
    }
    asked = rules.Rules(structural.build(schema), Release(33))
    assert asked.check({"oldSelf": "other"}, None).errs == []
    assert len(asked.check({"oldSelf": "oldSelf"}, None).errs) == 1
