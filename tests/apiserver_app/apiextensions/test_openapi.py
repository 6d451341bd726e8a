"""Custom resources in the OpenAPI documents, which kubectl explain reads."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.http.openapi import customresources, v3message
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import DEFINITIONS, NAME, session_with_crontabs
from tests.apiserver_app.cluster import MERGE

Json = dict[str, Any]
KEEP = "x-kubernetes-preserve-unknown-fields"


@pytest.fixture(scope="module")
def session() -> Session:
    return session_with_crontabs()


def test_the_group_version_has_a_document_with_the_definitions_schema(session: Session) -> None:
    index = session.request("GET", "/openapi/v3").json()["paths"]
    url = index["apis/stable.example.com/v1"]["serverRelativeURL"]
    document = session.request("GET", url).json()
    schema = document["components"]["schemas"]["com.example.stable.v1.CronTab"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "stable.example.com", "kind": "CronTab", "version": "v1"}
    ]
    assert schema["properties"]["spec"]["properties"]["replicas"]["maximum"] == 10
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in document["components"]["schemas"]
    path = "/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}"
    patch = document["paths"][path]["patch"]
    assert patch["operationId"] == "patchStableExampleComV1NamespacedCronTab"
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


def test_a_change_of_the_schema_changes_the_hash(session: Session) -> None:
    def url() -> str:
        paths = session.request("GET", "/openapi/v3").json()["paths"]
        return str(paths["apis/stable.example.com/v1"]["serverRelativeURL"])

    before = url()
    new = {
        "spec": {
            "versions": session.request("GET", f"{DEFINITIONS}/{NAME}").json()["spec"]["versions"]
        }
    }
    schema = new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["extra"] = {"type": "string"}
    assert session.request("PATCH", f"{DEFINITIONS}/{NAME}", new, headers=MERGE).status == 200
    assert url() != before


def test_version_2_has_custom_resources_too(session: Session) -> None:
    document = session.request("GET", "/openapi/v2").json()
    assert "/apis/stable.example.com/v1/crontabs" in document["paths"]
    schema = document["definitions"]["com.example.stable.v1.CronTab"]
    assert schema["properties"]["spec"]["properties"]["port"] == {
        "x-kubernetes-int-or-string": True
    }
    assert schema["properties"]["metadata"]["$ref"].startswith("#/definitions/")
    accept = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    protobuf = session.request("GET", "/openapi/v2", headers={"accept": accept})
    assert b"com.example.stable.v1.CronTab" in protobuf.text


def test_a_definitions_document_is_a_message_for_who_accepts_one(session: Session) -> None:
    path = "/openapi/v3/apis/stable.example.com/v1"
    accept = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
    plain = session.request("GET", path)
    message = session.request("GET", path, headers={"accept": accept})
    assert message.text == v3message.encode(plain.text)
    assert dict(message.headers)["Etag"] == dict(plain.headers)["Etag"]


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        # kubectl takes the properties it is told of for all there are
        ({"type": "object", KEEP: True, "properties": {"a": {"type": "string"}}}, {KEEP: True}),
        ({"type": "array", "nullable": True, "items": {"type": "string"}}, {}),
        (
            {
                "type": "object",
                "required": ["a", "b"],
                "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}},
            },
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}},
        ),
    ],
)
def test_version_2_forbids_nothing_that_the_definition_allows(schema: Json, wanted: Json) -> None:
    whole = {"type": "object", "properties": {"spec": schema}}
    assert customresources.in_v2(whole)["properties"]["spec"] == wanted


def test_version_2_names_no_field_of_a_kind_that_keeps_all() -> None:
    gvk = {"x-kubernetes-group-version-kind": [{"group": "g", "kind": "K", "version": "v1"}]}
    whole = {"type": "object", KEEP: True, "properties": {"a": {"type": "string"}}, **gvk}
    assert customresources.in_v2(whole) == {"type": "object", **gvk}
