"""Bodies that are small for what they ask: refused in bounded time, in answers of bounded size."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import orjson
import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import typedvalues
from apiserver_app.machinery.serializer import bodies, protobuf, yamlbody
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import CONFIGMAPS, JSON_PATCH, PODS, bare_session, configmap, pod
from tests.suite import seeds

MANY = 100_000
OWNED = typedvalues.ITEMS_MAX - 10  # items of lists whose items have owners; more are refused
CALLS_FOR_EACH = 40
ANSWER_BYTES_MAX = 1 << 20
YAML = {"content-type": "application/yaml"}
PROTOBUF = {"content-type": "application/vnd.kubernetes.protobuf"}


@pytest.fixture(scope="module")
def session() -> Session:
    session = bare_session()
    assert session.request("POST", CONFIGMAPS, configmap("here", a="b")).status == 201
    return session


@contextlib.contextmanager
def at_most(limit: int) -> Iterator[None]:
    """So many calls of Python functions, and no more."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
    assert calls < limit


def with_metadata(**metadata: Any) -> dict[str, Any]:
    return {**configmap("bomb"), "metadata": {"name": "bomb", **metadata}}


def with_container(**fields: Any) -> dict[str, Any]:
    return pod("bomb", containers=[{"name": "main", "image": "nginx", **fields}])


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "controller": True}
MANY_ERRORS: dict[str, tuple[str, Any]] = {
    "labels": (CONFIGMAPS, with_metadata(labels={f"a {n}": "v v" for n in range(MANY)})),
    "annotations": (CONFIGMAPS, with_metadata(annotations={f"a {n}": "" for n in range(MANY)})),
    "finalizers": (CONFIGMAPS, with_metadata(finalizers=[f"a {n}" for n in range(OWNED)])),
    "keys": (CONFIGMAPS, configmap("bomb", **{f"a {n}": "" for n in range(MANY)})),
    "limits": (PODS, with_container(resources={"limits": {f"a {n}": "1" for n in range(MANY)}})),
    "constraints": (PODS, pod("bomb", topologySpreadConstraints=[{}] * OWNED)),
}


@pytest.mark.parametrize("what", seeds.draw("errors", list(MANY_ERRORS), 3))
def test_the_first_thousand_errors_are_reported(session: Session, what: str) -> None:
    path, body = MANY_ERRORS[what]
    with at_most(CALLS_FOR_EACH * MANY):
        answer = session.request("POST", path, body)
    assert answer.status == 422
    assert len(answer.text) < ANSWER_BYTES_MAX
    status = answer.json()
    assert len(status["details"]["causes"]) == errors.FIELD_ERRORS_MAX
    assert status["message"].endswith(f", {errors.AND_MORE}]")


LISTS: dict[str, tuple[str, Any]] = {
    "finalizers": (CONFIGMAPS, with_metadata(finalizers=[f"a {n}" for n in range(MANY)])),
    "constraints": (PODS, pod("bomb", topologySpreadConstraints=[{}] * 9000)),
    "owners": (CONFIGMAPS, with_metadata(ownerReferences=[OWNER] * 9000)),
    "ports": (PODS, with_container(ports=[{"containerPort": 1, "protocol": "TCP"}] * 20_000)),
}


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_more_items_than_can_have_owners_are_refused_at_once(
    session: Session, what: str
) -> None:
    path, body = LISTS[what]
    with at_most(MANY):
        assert session.request("POST", path, body).status == 413


def test_errors_that_show_all_owners_are_few(session: Session) -> None:
    owners = [{**OWNER, "uid": str(n)} for n in range(OWNED)]
    answer = session.request("POST", CONFIGMAPS, with_metadata(ownerReferences=owners))
    assert answer.status == 422
    assert len(answer.text) < 8 * ANSWER_BYTES_MAX
    assert answer.json()["message"].endswith(f", {errors.AND_MORE}]")


def test_fewer_errors_are_all_reported(session: Session) -> None:
    labels = {f"a {n}": "v" for n in range(errors.FIELD_ERRORS_MAX)}
    status = session.request("POST", CONFIGMAPS, with_metadata(labels=labels)).json()
    assert len(status["details"]["causes"]) == errors.FIELD_ERRORS_MAX
    assert status["message"].endswith("is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]")


# of the least that makes an object of each
TOO_MANY: dict[str, bytes] = {
    "objects": orjson.dumps(pod("bomb", containers=[{}] * MANY)),
    "nulls": orjson.dumps(pod("bomb", containers=[None] * MANY)),
    "lists": b'{"a":[' + b",".join([b"[]"] * MANY) + b"]}",
    "a megabyte": orjson.dumps(pod("bomb", containers=[{}] * 1_000_000)),
}


@pytest.mark.parametrize("what", TOO_MANY)
def test_a_body_of_too_many_objects_is_too_large(session: Session, what: str) -> None:
    with at_most(1000):
        answer = session.request("POST", PODS, TOO_MANY[what])
    too_large(answer)


def test_what_copies_make_of_an_object_is_bounded_too(session: Session) -> None:
    patch: list[dict[str, Any]] = [{"op": "add", "path": "/a", "value": [{}] * 1000}]
    patch += [{"op": "copy", "from": "/a", "path": f"/{n}"} for n in range(100)]
    too_large(session.request("PATCH", f"{CONFIGMAPS}/here", patch, headers=JSON_PATCH))


def too_large(answer: Answer) -> None:
    assert (answer.status, answer.json()["reason"]) == (413, "RequestEntityTooLarge")
    assert answer.json()["message"] == (
        f"Request entity too large: limit is {bodies.PARTS_MAX} objects and lists"
    )


def test_as_yaml_it_is_refused_in_the_parsers_words(session: Session) -> None:
    answer = session.request("POST", PODS, b"a:\n" + b"- {}\n" * MANY, headers=YAML)
    assert answer.status == 400
    words = f"yaml: document has more than {yamlbody.NODES_MAX} values"
    assert words in answer.json()["message"]


def test_tags_hide_no_values_of_yaml(session: Session) -> None:
    body = b"a:\n" + b"- !!str x\n" * yamlbody.NODES_MAX
    answer = session.request("POST", PODS, body, headers=YAML)
    assert answer.status == 400
    assert "yaml: document has more than" in answer.json()["message"]


def test_a_protobuf_message_of_too_many_fields_is_too_large(session: Session) -> None:
    raw = b"\n\x05\n\x03abc" + b"\x12\x00" * protobuf.FIELDS_MAX  # metadata, entries of data
    envelope = b"\n\x0f\n\x02v1\x12\tConfigMap"
    body = b"k8s\0" + envelope + b"\x12" + varint(len(raw)) + raw
    answer = session.request("POST", CONFIGMAPS, body, headers=PROTOBUF)
    assert (answer.status, answer.json()["message"]) == (
        413,
        f"Request entity too large: limit is {protobuf.FIELDS_MAX} fields",
    )


def varint(number: int) -> bytes:
    return bytes([number & 127 | 128, number >> 7 & 127 | 128, number >> 14])


# what the search for the words of a syntax error meets
BROKEN = {
    "white space": (b" " * 2_900_000 + b"x", "looking for beginning of value"),
    "escapes": (b'{"a":"' + b"\\u0041" * 480_000 + b'\\q"}', "'q' in string escape code"),
    "fields": (b"{" + b'"a":1,' * 50_000 + b"x", "looking for beginning of object key string"),
    "items": (b"[" + b'"a",' * 50_000 + b"x", "looking for beginning of value"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_error_of_a_long_body_is_found_in_few_steps(what: str) -> None:
    body, words = BROKEN[what]
    with at_most(1000), pytest.raises(errors.ApiError, match=words):
        bodies.decode(body)


def test_ports_that_all_collide_are_warned_of_in_bounded_memory(session: Session) -> None:
    ports = [{"containerPort": 1, "protocol": "TCP"}] * OWNED
    path = f"{PODS}?fieldValidation=Ignore"
    with at_most(CALLS_FOR_EACH * MANY):
        answer = session.request("POST", path, with_container(ports=ports))
    assert answer.status == 201
    warnings = [value for name, value in answer.headers if name.lower() == "warning"]
    assert 0 < sum(map(len, warnings)) < 10_000
