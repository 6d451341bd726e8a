"""The Swagger document: as JSON, and as the message older kubectl reads."""

import functools
from typing import Any

import orjson

from apiserver_app.http.openapi import documents, v2
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.http.openapi.messages import fields, names_of, value_of
from tests.apiserver_app.http.openapi.schemas import references

ITEM = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
SPEC = "io.k8s.api.apps.v1.DeploymentSpec"


@functools.cache
def swagger() -> Any:
    return orjson.loads(v2.as_json(Release(33)))


@functools.cache
def message() -> bytes:
    return v2.as_protobuf(Release(33))


def test_clients_that_accept_protobuf_get_the_message_and_others_json() -> None:
    served = documents.OpenApi(kinds.Resources(Release(33)))
    asked = {"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    proto = served.answer("/openapi/v2", {}, asked)
    plain = served.answer("/openapi/v2", {}, {})
    assert proto is not None and plain is not None
    assert proto[2] == message()
    assert orjson.loads(plain[2])["swagger"] == "2.0"
    etag = dict(proto[1])["Etag"]
    again = served.answer("/openapi/v2", {}, {**asked, "if-none-match": etag})
    assert again is not None
    assert again[0] == 304


def test_json_has_no_openapi_3_in_it() -> None:
    text = v2.as_json(Release(33))
    for word in (b"#/components", b'"requestBody"', b'"allOf":[', b'"oneOf":['):
        assert word not in text


def test_every_reference_leads_to_a_definition() -> None:
    definitions = swagger()["definitions"]
    for reference in references(swagger()):
        assert reference.removeprefix("#/definitions/") in definitions


def test_operations_say_what_they_take_and_how() -> None:
    found = swagger()
    discovery = found["paths"]["/apis/apps/"]["get"]
    assert discovery["consumes"] == discovery["produces"]
    assert found["paths"][ITEM]["get"]["consumes"] == ["*/*"]
    assert "consumes" not in found["paths"]["/openid/v1/jwks/"]["get"]
    assert discovery["schemes"] == ["https"]
    assert found["security"] == [{"BearerToken": []}]
    assert found["info"]["version"] == "1.33"
    deleted = found["paths"]["/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"]
    answer = deleted["delete"]["responses"]["200"]["schema"]["$ref"]
    assert answer == "#/definitions/io.k8s.api.core.v1.PersistentVolumeClaim"


def test_patch_takes_field_validation_and_names_its_kind() -> None:
    patch = swagger()["paths"][ITEM]["patch"]
    names = {parameter["name"] for parameter in patch["parameters"]}
    assert {"body", "dryRun", "fieldValidation"} <= names
    before = orjson.loads(v2.as_json(Release(22)))["paths"][ITEM]["patch"]
    assert {parameter["name"] for parameter in before["parameters"]} == names - {"fieldValidation"}
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"


def test_message_says_what_the_json_says() -> None:
    document = dict(fields(message()))
    assert document[1] == b"2.0"
    assert names_of(document[8], 2) == list(swagger()["paths"])
    assert names_of(document[9], 1) == list(swagger()["definitions"])
    spec = dict(fields(value_of(document[9], 1, SPEC)))
    assert spec[4].decode() == swagger()["definitions"][SPEC]["description"]
    replicas = dict(fields(value_of(spec[25], 1, "replicas")))
    assert (replicas[2], dict(fields(replicas[22]))[1]) == (b"int32", b"integer")
    assert dict(fields(value_of(spec[25], 1, "selector")))[1] == (
        b"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
    )


def test_message_carries_extensions_as_yaml() -> None:
    document = dict(fields(message()))
    patch = dict(fields(value_of(document[8], 2, ITEM)))[8]
    kinds_found = value_of(patch, 13, "x-kubernetes-group-version-kind")
    assert orjson.loads(dict(fields(kinds_found))[2]) == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
