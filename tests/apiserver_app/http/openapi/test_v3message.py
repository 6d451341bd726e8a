"""A document of version 3 as gnostic's message."""

import struct
from typing import Any

import orjson
import pytest

from apiserver_app.http.openapi import documents, v3message
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.http.openapi.messages import fields, names_of, value_of

PATH = "/openapi/v3/apis/apps/v1"
SPEC = "io.k8s.api.apps.v1.DeploymentSpec"
ITEM = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
TYPE = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
OLD_TYPE = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"


@pytest.fixture(scope="module")
def served() -> documents.OpenApi:
    return documents.OpenApi(kinds.Resources(Release(33)))


def ask(served: documents.OpenApi, accept: str) -> documents.Answer:
    answer = served.answer(PATH, {}, {"accept": accept})
    assert answer is not None
    return answer


@pytest.mark.parametrize("accept", [TYPE, OLD_TYPE, f"{OLD_TYPE}, application/json;q=0.5"])
def test_who_accepts_the_message_gets_it_under_the_hash_of_the_json(
    served: documents.OpenApi, accept: str
) -> None:
    code, headers, body = ask(served, accept)
    plain = ask(served, "application/json")
    assert code == 200
    assert dict(headers)["Content-Type"] == TYPE
    assert dict(headers)["Etag"] == dict(plain[1])["Etag"]
    assert body == v3message.encode(plain[2])


def test_who_accepts_anything_gets_json(served: documents.OpenApi) -> None:
    for accept in ("", "*/*", f"application/json, {TYPE}"):
        assert orjson.loads(ask(served, accept)[2])["openapi"] == "3.0.0"


def test_the_message_says_what_the_json_says(served: documents.OpenApi) -> None:
    said = orjson.loads(ask(served, "application/json")[2])
    document = dict(fields(ask(served, TYPE)[2]))
    assert document[1] == b"3.0.0"
    assert dict(fields(document[2])) == {1: b"Kubernetes", 6: b"1.33"}
    assert names_of(document[4], 1) == list(said["paths"])
    schemas = dict(fields(document[5]))[1]
    assert names_of(schemas, 1) == list(said["components"]["schemas"])
    spec = dict(fields(dict(fields(value_of(schemas, 1, SPEC)))[1]))
    assert spec[34].decode() == said["components"]["schemas"][SPEC]["description"]
    replicas = dict(fields(dict(fields(value_of(spec[31], 1, "replicas")))[1]))
    assert (replicas[25], replicas[35]) == (b"integer", b"int32")
    patch = dict(fields(dict(fields(document[4]))[1]))
    assert patch[1].decode() in said["paths"]
    operation = dict(fields(value_of(document[4], 1, ITEM)))[10]
    assert orjson.loads(
        dict(fields(value_of(operation, 13, "x-kubernetes-group-version-kind")))[2]
    ) == {"group": "apps", "version": "v1", "kind": "Deployment"}


def schema(value: Any) -> dict[int, Any]:
    """The fields of one schema's message."""
    document = {"components": {"schemas": {"s": value}}}
    message = dict(fields(v3message.encode(orjson.dumps(document))))
    held = value_of(dict(fields(message[5]))[1], 1, "s")
    return dict(fields(dict(fields(held))[1]))


def test_a_default_is_a_number_the_truth_or_text_and_else_nothing() -> None:
    assert dict(fields(schema({"default": 3})[33])) == {1: struct.pack("<d", 3)}
    assert dict(fields(schema({"default": False})[33])) == {2: 0}
    assert dict(fields(schema({"default": ""})[33])) == {3: b""}
    assert schema({"default": {}})[33] == schema({"default": None})[33] == b""


def test_bounds_and_what_else_a_definition_may_say_is_there() -> None:
    found = schema(
        {
            "maximum": 1.5,
            "minLength": 2,
            "maxItems": 300,
            "nullable": True,
            "enum": ["a", 1],
            "additionalProperties": False,
            "items": {"$ref": "#/components/schemas/s"},
            "x-kubernetes-preserve-unknown-fields": True,
        }
    )
    assert (found[11], found[16], found[18], found[1]) == (struct.pack("<d", 1.5), 2, 300, 1)
    assert dict(fields(found[24])) == {2: b"1\n"}  # the last of them
    assert dict(fields(found[32])) == {2: 0}
    items = dict(fields(dict(fields(found[30]))[1]))
    assert dict(fields(items[2])) == {1: b"#/components/schemas/s"}
    extension = dict(fields(found[36]))
    assert extension[1] == b"x-kubernetes-preserve-unknown-fields"
