"""Custom resources against their schema: upstream's sentences, and what an update may leave."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import (
    CRONTABS,
    DEFINITION,
    DEFINITIONS,
    NAME,
    crontab,
    define,
    session_with_crontabs,
)
from tests.apiserver_app.cluster import MERGE, header, server_session, told


@pytest.fixture(scope="module")
def session() -> Session:
    return session_with_crontabs()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"cronSpec": "x"}, "spec.cronSpec: Invalid value: \"x\": spec.cronSpec in body should match "
     r"'^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'"),
    ({"replicas": 11}, "spec.replicas: Invalid value: 11: spec.replicas in body should be less "
     "than or equal to 10"),
    ({"replicas": 0}, "spec.replicas: Invalid value: 0: spec.replicas in body should be greater "
     "than or equal to 1"),
    ({"image": 5}, 'spec.image: Invalid value: "integer": spec.image in body must be of type '
     'string: "integer"'),
    ({"policy": "Maybe"}, 'spec.policy: Unsupported value: "Maybe": supported values: "Allow", '
     '"Forbid"'),
    ({"port": 1.5}, 'spec.port: Invalid value: "number": spec.port in body must be of type '
     'integer,string: "number"'),
    ({"labels": {"a": 1}}, 'spec.labels.a: Invalid value: "integer": spec.labels.a in body must '
     'be of type string: "integer"'),
    ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
    ({"tags": ["a", "b", "c", "d"]}, "spec.tags: Too many: 4: must have at most 3 items"),
    ({"tags": ["123456789"]}, "spec.tags[0]: Too long: may not be more than 8 bytes"),
    ({"env": [{"name": "A"}, {"name": "A"}]},
     'spec.env[1]: Duplicate value: map[string]interface {}{"name":"A"}'),
    ({"env": [{"value": "x"}]}, "spec.env[0].name: Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "said"), REFUSED, ids=[case[1][:40] for case in REFUSED])
def test_a_value_that_does_not_fit_is_refused(
    session: Session, spec: dict[str, Any], said: str
) -> None:
    answer = session.request("POST", CRONTABS, crontab("wrong", **spec))
    assert answer.status == 422
    assert said in answer.json()["message"]


def test_metadata_of_another_type_is_no_object_of_the_kind(session: Session) -> None:
    body = crontab("wrong")
    body["metadata"]["labels"] = "x"
    answer = session.request("POST", CRONTABS, body)
    assert answer.status == 400
    assert answer.json()["message"].startswith(
        'CronTab in version "v1" cannot be handled as a CronTab: json: cannot unmarshal string'
    )


def change_schema(session: Session, change: Any) -> None:
    versions = session.request("GET", f"{DEFINITIONS}/{NAME}").json()["spec"]["versions"]
    change(versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
    answer = session.request(
        "PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}, headers=MERGE
    )
    assert answer.status == 200, answer.text


def test_what_was_legal_when_it_was_written_may_stay() -> None:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("old", replicas=9, tags=["a"]))
    change_schema(session, lambda spec: spec["replicas"].update(maximum=5))
    path = f"{CRONTABS}/old"
    assert session.request("PATCH", path, {"spec": {"image": "x"}}, headers=MERGE).status == 200
    refused = session.request("PATCH", path, {"spec": {"replicas": 8}}, headers=MERGE)
    assert refused.status == 422


def test_a_new_default_is_there_in_what_was_stored_before() -> None:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("old"))
    watch = session.request("GET", f"{CRONTABS}?watch=1")
    change_schema(session, lambda spec: spec.update(more={"type": "string", "default": "yes"}))
    assert session.request("GET", f"{CRONTABS}/old").json()["spec"]["more"] == "yes"
    listed = session.request("GET", CRONTABS).json()["items"]
    assert [item["spec"]["more"] for item in listed] == ["yes"]
    assert told(watch) == [("ADDED", "old")]  # it has ended: its schema is another one


def test_fields_that_the_definition_names_can_be_selected_by() -> None:
    session = server_session()
    body = copy.deepcopy(DEFINITION)
    body["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.image"}]
    define(session, body)
    session.request("POST", CRONTABS, crontab("one", image="a"))
    session.request("POST", CRONTABS, crontab("two", image="b"))
    items = session.request("GET", f"{CRONTABS}?fieldSelector=spec.image=b").json()["items"]
    assert [item["metadata"]["name"] for item in items] == ["two"]
    refused = session.request("GET", f"{CRONTABS}?fieldSelector=spec.cronSpec=b")
    assert refused.json()["message"] == "field label not supported: spec.cronSpec"


def two_versions() -> dict[str, Any]:
    body = copy.deepcopy(DEFINITION)
    old = copy.deepcopy(body["spec"]["versions"][0])
    old |= {"name": "v1beta1", "storage": False, "deprecated": True}
    del old["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["image"]
    body["spec"]["versions"].append(old)
    return body


def test_versions_are_views_of_what_is_stored_once() -> None:
    session = server_session()
    define(session, two_versions())
    beta = CRONTABS.replace("/v1/", "/v1beta1/")
    body = {**crontab("one"), "apiVersion": "stable.example.com/v1beta1"}
    answer = session.request("POST", beta, body)
    assert header(answer, "warning")[-1] == (
        '299 - "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 '
        'CronTab"'
    )
    assert answer.json()["apiVersion"] == "stable.example.com/v1beta1"
    assert "image" not in answer.json()["spec"]
    found = session.request("GET", f"{CRONTABS}/one").json()
    assert (found["apiVersion"], found["spec"]["image"]) == (
        "stable.example.com/v1",
        "my-cron-image",
    )
    groups = session.request("GET", "/apis/stable.example.com").json()
    assert groups["preferredVersion"]["version"] == "v1"
    answer = session.request("PATCH", f"{beta}/one", {"spec": {"replicas": 2}}, headers=MERGE)
    assert answer.json()["spec"]["replicas"] == 2
    watch = session.request("GET", f"{beta}?watch=1")
    assert b'"apiVersion":"stable.example.com/v1beta1"' in watch.text
