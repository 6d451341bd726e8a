"""OpenAPI documents: what kubectl needs to validate, apply and explain."""

import functools
import gzip
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from apiserver_app.http.openapi import documents
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.http.openapi.schemas import references

JSON = {"accept": "application/json"}
PLURALS = "/apis/apps/v1/namespaces/{namespace}/deployments"


@pytest.fixture(scope="module")
def served() -> documents.OpenApi:
    return documents.OpenApi(kinds.Resources(Release(33)))


@functools.cache
def document(name: str) -> Any:
    return orjson.loads(documents.build(Release(33), name))


def test_index_names_a_document_with_its_hash_for_every_group_version(
    served: documents.OpenApi,
) -> None:
    answer = served.answer("/openapi/v3", {}, JSON)
    assert answer is not None
    paths = orjson.loads(answer[2])["paths"]
    wanted = {
        f"apis/{group}/{version}" if group else f"api/{version}"
        for group, version in kinds.Resources(Release(33)).group_versions
    }
    assert wanted <= set(paths)
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert re.fullmatch(r"/openapi/v3/apis/apps/v1\?hash=[0-9A-F]{128}", url)


def test_document_is_compressed_for_who_takes_it_and_known_by_its_hash(
    served: documents.OpenApi,
) -> None:
    path = "/openapi/v3/apis/apps/v1"
    plain = served.answer(path, {}, JSON)
    packed = served.answer(path, {}, {**JSON, "accept-encoding": "gzip"})
    assert plain is not None and packed is not None
    assert gzip.decompress(packed[2]) == plain[2]
    assert ("Content-Encoding", "gzip") in packed[1]
    etag = dict(plain[1])["Etag"]
    again = served.answer(path, {"hash": [etag.strip('"')]}, {**JSON, "if-none-match": etag})
    assert again is not None
    assert (again[0], again[2]) == (304, b"")
    assert dict(again[1])["Cache-Control"] == "public, immutable"


def test_outdated_hash_is_sent_on_to_the_current_one(served: documents.OpenApi) -> None:
    answer = served.answer("/openapi/v3/api/v1", {"hash": ["OLD"]}, JSON)
    assert answer is not None
    assert answer[0] == 301
    assert dict(answer[1])["Location"].startswith("/openapi/v3/api/v1?hash=")


def test_unknown_group_version_has_no_document(served: documents.OpenApi) -> None:
    assert served.answer("/openapi/v3/apis/none/v1", {}, JSON) == (404, [], b"")
    assert served.answer("/openapi/v4", {}, JSON) is None


def test_documents_are_answered_as_files_are(served: documents.OpenApi) -> None:
    answer = served.answer("/openapi/v2", {}, JSON)
    assert answer is not None
    headers = dict(answer[1])
    assert headers["Content-Length"] == str(len(answer[2]))
    assert headers["Accept-Ranges"] == "bytes"
    for path in ("/openapi/v2", "/openapi/v3/api/v1"):
        answer = served.answer(path, {}, {"accept": "application/yaml"})
        assert answer is not None
        assert (answer[0], answer[2]) == (406, b"")


def test_parameters_that_all_operations_share_stand_beside_them() -> None:
    paths = document("api/v1")["paths"]
    logs = paths["/api/v1/namespaces/{namespace}/pods/{name}/log"]
    names = [parameter["name"] for parameter in logs["parameters"]]
    assert names == sorted(names)
    assert "parameters" not in logs["get"]
    everywhere = paths["/api/v1/pods"]
    assert "parameters" not in everywhere["get"]
    assert {"limit", "watch", "pretty"} <= {item["name"] for item in everywhere["parameters"]}


def test_operations_are_described_as_upstream_describes_them() -> None:
    paths = document("api/v1")["paths"]
    found = {
        paths[f"/api/v1/{path}"][method]["description"]
        for path, method in (
            ("componentstatuses", "get"),
            ("namespaces/{namespace}/endpoints", "post"),
            ("namespaces/{namespace}/events", "post"),
            ("namespaces/{namespace}/pods/{name}/status", "put"),
            ("namespaces/{namespace}/pods/{name}/binding", "post"),
        )
    }
    assert found == {
        "list objects of kind ComponentStatus",
        "create Endpoints",
        "create an Event",
        "replace status of the specified Pod",
        "create binding of a Pod",
    }


@pytest.mark.parametrize("name", ["api/v1", "apis/apps/v1", "apis/batch/v1"])
def test_everything_that_is_referred_to_is_in_the_document(name: str) -> None:
    found = document(name)
    schemas = found["components"]["schemas"]
    for reference in references(found):
        assert reference.removeprefix("#/components/schemas/") in schemas


def test_no_schema_allows_null_or_keeps_what_only_the_validator_added() -> None:
    for name, schema in document("api/v1")["components"]["schemas"].items():
        for inside in _schemas({name: schema}):
            assert not isinstance(inside.get("type"), list)
        fields = schema.get("properties", {})
        assert "enum" not in fields.get("kind", {}) or name.endswith("AzureDiskVolumeSource")
        assert "enum" not in fields.get("apiVersion", {})


def test_enums_and_defaults_are_those_of_1_33_4() -> None:
    """Of the document that a kube-apiserver 1.33.4 served."""
    schemas = document("api/v1")["components"]["schemas"]
    core, meta = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."

    def field(kind: str, name: str) -> Any:
        found = schemas[kind]["properties"][name]
        return {key: value for key, value in found.items() if key != "description"}

    assert field(f"{core}ContainerPort", "protocol") == {
        "type": "string",
        "default": "TCP",
        "enum": ["SCTP", "TCP", "UDP"],
    }
    assert field(f"{core}PodSpec", "restartPolicy") == {
        "type": "string",
        "enum": ["Always", "Never", "OnFailure"],
    }
    said = schemas[f"{core}PodSpec"]["properties"]["restartPolicy"]["description"]
    assert said.endswith('Possible enum values:\n - `"Always"`\n - `"Never"`\n - `"OnFailure"`')
    modes = field(f"{core}PersistentVolumeClaimSpec", "accessModes")["items"]
    assert "ReadWriteOnce" in modes["enum"] and modes["default"] == ""
    assert field(f"{core}ContainerPort", "containerPort")["default"] == 0
    assert "default" not in field(f"{core}ContainerPort", "hostPort")
    assert field(f"{core}Pod", "metadata") == {
        "default": {},
        "allOf": [{"$ref": f"#/components/schemas/{meta}ObjectMeta"}],
    }
    assert "default" not in field(f"{meta}ObjectMeta", "creationTimestamp")
    quantity = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}
    assert field(f"{core}ResourceRequirements", "limits")["additionalProperties"] == quantity
    assert field(f"{meta}ObjectMeta", "labels")["additionalProperties"] == {
        "type": "string",
        "default": "",
    }


def test_the_operation_on_a_collection_is_named_as_generated_clients_know_it() -> None:
    path = "/api/v1/namespaces/{namespace}/configmaps"
    found = document("api/v1")["paths"][path]["delete"]["operationId"]
    assert found == "deleteCoreV1CollectionNamespacedConfigMap"


def test_writes_name_their_kind_and_take_field_validation() -> None:
    paths = document("apis/apps/v1")["paths"]
    for path, method, action in (
        (PLURALS, "post", "post"),
        (f"{PLURALS}/{{name}}", "put", "put"),
        (f"{PLURALS}/{{name}}", "patch", "patch"),
    ):
        operation = paths[path][method]
        assert operation["x-kubernetes-action"] == action
        assert operation["x-kubernetes-group-version-kind"] == {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
        }
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert {"dryRun", "fieldManager", "fieldValidation"} <= names
    assert paths[PLURALS]["get"]["operationId"] == "listAppsV1NamespacedDeployment"
    assert set(paths[f"{PLURALS}/{{name}}"]["patch"]["requestBody"]["content"]) == {
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    }


def test_lists_name_every_media_type_watches_included(served: documents.OpenApi) -> None:
    found = orjson.loads(documents.build(Release(33), "api/v1"))["paths"]["/api/v1/pods"]["get"]
    assert set(found["responses"]["200"]["content"]) == {
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    }


def test_subresources_name_the_kind_of_their_body() -> None:
    scale = document("apis/apps/v1")["paths"][f"{PLURALS}/{{name}}/scale"]
    assert scale["patch"]["x-kubernetes-group-version-kind"]["kind"] == "Scale"
    pods = "/api/v1/namespaces/{namespace}/pods/{name}"
    paths = document("api/v1")["paths"]
    assert "get" in paths[f"{pods}/log"]
    assert paths[f"{pods}/eviction"]["post"]["x-kubernetes-group-version-kind"]["group"] == "policy"


def test_fields_keep_their_descriptions_merge_keys_and_types() -> None:
    schemas = document("apis/apps/v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]
    assert spec["replicas"]["type"] == "integer"
    assert spec["replicas"]["description"].startswith("Number of desired pods.")
    assert spec["template"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}
    ]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    kind = schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
    assert kind == [{"group": "apps", "kind": "Deployment", "version": "v1"}]


def _schemas(definitions: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for schema in definitions.values():
        yield schema
        yield from _schemas(schema.get("properties", {}))
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield from _schemas({key: schema[key]})


def test_the_old_paths_of_watches_are_documented_as_deprecated() -> None:
    paths = document("api/v1")["paths"]
    pods = paths["/api/v1/watch/namespaces/{namespace}/pods"]["get"]
    assert pods["operationId"] == "watchCoreV1NamespacedPodList"
    assert pods["x-kubernetes-action"] == "watchlist" and "deprecated: use" in pods["description"]
    one = paths["/api/v1/watch/namespaces/{namespace}/pods/{name}"]
    assert one["get"]["operationId"] == "watchCoreV1NamespacedPod"
    assert {"name", "namespace", "watch", "pretty"} <= {each["name"] for each in one["parameters"]}
    assert paths["/api/v1/watch/pods"]["get"]["operationId"] == "watchCoreV1PodListForAllNamespaces"
    assert "/api/v1/watch/bindings" not in paths
