"""Discovery documents: plain and aggregated say the same, in upstream's form."""

from typing import Any

import orjson
import pytest

from apiserver_app.http import discovery
from apiserver_app.machinery import errors
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList,application/json"


@pytest.fixture(scope="module")
def served() -> discovery.Discovery:
    return discovery.Discovery(kinds.Resources(Release(33)))


def get(served: discovery.Discovery, path: str, accept: str = "") -> Any:
    found = served.document(path, accept)
    assert found is not None
    return orjson.loads(found.body)


def test_core_group_is_listed_without_an_api_version_of_its_own(
    served: discovery.Discovery,
) -> None:
    assert get(served, "/api") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "10.96.0.1:443"}
        ],
    }
    core = get(served, "/api/v1")
    assert (core["kind"], core["groupVersion"], "apiVersion" in core) == (
        "APIResourceList",
        "v1",
        False,
    )


def test_resource_and_its_subresources_have_upstreams_fields(served: discovery.Discovery) -> None:
    core = {found["name"]: found for found in get(served, "/api/v1/")["resources"]}
    pods = dict(core["pods"])
    assert len(pods.pop("storageVersionHash")) == 12
    assert pods == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert core["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert "group" not in core["pods/status"]


def test_groups_are_listed_with_their_preferred_version_first(served: discovery.Discovery) -> None:
    groups = {found["name"]: found for found in get(served, "/apis")["groups"]}
    assert groups["autoscaling"]["preferredVersion"]["version"] == "v2"
    assert get(served, "/apis/apps") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }


def test_the_beta_of_aggregated_discovery_is_gone_with_1_33(served: discovery.Discovery) -> None:
    asked = AGGREGATED.format("v2beta1")
    document = served.document("/apis", asked)
    assert document is not None and document.content_type == "application/json"
    with pytest.raises(errors.ApiError) as caught:
        served.document("/apis", asked.partition(",")[0])
    assert caught.value.code == 406


@pytest.mark.parametrize(("form", "minor"), [("v2", 33), ("v2", 32), ("v2beta1", 32)])
def test_aggregated_discovery_lists_what_plain_discovery_lists(form: str, minor: int) -> None:
    served = discovery.Discovery(kinds.Resources(Release(minor)))
    for root in ("/api", "/apis"):
        document = served.document(root, AGGREGATED.format(form))
        assert document is not None
        assert document.content_type == (
            f"application/json;g=apidiscovery.k8s.io;v={form};as=APIGroupDiscoveryList"
        )
        body = orjson.loads(document.body)
        assert body["apiVersion"] == f"apidiscovery.k8s.io/{form}"
        for group in body["items"]:
            name = group["metadata"].get("name")
            for version in group["versions"]:
                root_path = f"/apis/{name}" if name else "/api"
                path = f"{root_path}/{version['version']}"
                plain = {found["name"] for found in get(served, path)["resources"]}
                assert plain == set(_names(version["resources"]))


def _names(resources: list[Any]) -> Any:
    for resource in resources:
        yield resource["resource"]
        for sub in resource.get("subresources", ()):
            yield f"{resource['resource']}/{sub['subresource']}"


def test_unknown_aggregated_version_gets_the_plain_document(served: discovery.Discovery) -> None:
    assert get(served, "/apis", AGGREGATED.format("v3"))["kind"] == "APIGroupList"


def test_client_that_has_the_document_gets_304(served: discovery.Discovery) -> None:
    document = served.document("/apis", AGGREGATED.format("v2"))
    assert document is not None
    code, headers, body = document.answer(document.etag)
    assert (code, body) == (304, b"")
    assert ("Vary", "Accept") in headers
    assert document.answer('"other"')[0] == 200


@pytest.mark.parametrize("path", ["/apis/none", "/apis/apps/v2", "/api/v2", "/apis/apps/v1/x"])
def test_unknown_path_has_no_document(served: discovery.Discovery, path: str) -> None:
    assert served.document(path) is None


def test_version_has_the_fields_of_a_real_server(served: discovery.Discovery) -> None:
    for path in ("/version", "/version/"):
        body = get(served, path)
        assert list(body) == [
            "major", "minor", "emulationMajor", "emulationMinor", "minCompatibilityMajor",
            "minCompatibilityMinor", "gitVersion", "gitCommit", "gitTreeState", "buildDate",
            "goVersion", "compiler", "platform",
        ]  # fmt: skip
        assert (body["major"], body["minor"], body["gitVersion"]) == ("1", "33", "v1.33.1")
    assert "emulationMajor" not in discovery.version_info(Release(27))
    assert discovery.version_info(Release(27))["gitVersion"] == "v1.27.1"


def test_root_lists_every_group_version(served: discovery.Discovery) -> None:
    paths = get(served, "/")["paths"]
    assert {"/api", "/api/v1", "/apis/apps/v1", "/openapi/v3", "/version"} <= set(paths)


def test_discovery_answers_yaml_to_clients_that_accept_it(served: discovery.Discovery) -> None:
    document = served.document("/apis/apps", "application/yaml")
    assert document is not None
    assert document.body.startswith(b"apiVersion: v1\nkind: APIGroup\n")


def test_the_kind_of_an_answer_leaves_out_the_group_and_version_of_its_resource(
    served: discovery.Discovery,
) -> None:
    """As a kube-apiserver 1.33.4 answered."""
    [core] = get(served, "/api", AGGREGATED.format("v2"))["items"]
    [pods] = [
        resource for resource in core["versions"][0]["resources"] if resource["resource"] == "pods"
    ]
    kinds = {sub["subresource"]: sub["responseKind"] for sub in pods["subresources"]}
    assert pods["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    assert kinds["binding"] == {"group": "", "version": "", "kind": "Binding"}
    assert kinds["eviction"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
