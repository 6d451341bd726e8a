"""What 1.33 serves, against upstream's own lists: api/discovery, and the operations of
api/openapi-spec as the official clients are generated from them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from apiserver_app.http import discovery
from apiserver_app.http.openapi import documents
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds, runtimeconfig
from apiserver_app.machinery.releases import Release

GOLDEN = Path(__file__).parents[2] / "golden"
VERSION = Release.parse("v1.33.1")
VERBS = {
    "*": "create,delete,deletecollection,get,list,patch,update,watch",
    "rw": "get,patch,update",
}
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


@pytest.fixture(scope="module")
def served() -> discovery.Discovery:
    return discovery.Discovery(kinds.Resources(VERSION))


def listed(name: str = "discovery-1.33.txt") -> dict[str, list[dict[str, Any]]]:
    """By group version, the resources as discovery must tell of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    owner: dict[str, Any] = {}
    for line in (GOLDEN / name).read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if line.startswith("["):
            into = found.setdefault(line.strip("[]"), [])
        elif line.startswith(" "):
            into.append(_subresource(owner, *cells))
        else:
            owner = _resource(*cells)
            into.append(owner)
    return found


def _resource(
    name: str, singular: str, kind: str, scope: str, verbs: str, short: str, of: str, digest: str
) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": name,
        "singularName": singular,
        "kind": kind,
        "namespaced": scope == "namespaced",
        "verbs": VERBS.get(verbs, verbs).split(","),
    }
    for field, value in (("shortNames", short.split()), ("categories", of.split())):
        if value != ["-"]:
            out[field] = value
    if digest != "-":
        out["storageVersionHash"] = digest
    return out


def _subresource(owner: dict[str, Any], name: str, kind: str, verbs: str) -> dict[str, Any]:
    out = {
        "name": owner["name"] + name,
        "singularName": "",
        "namespaced": owner["namespaced"],
        "kind": kind.rpartition(" ")[2],
        "verbs": VERBS.get(verbs, verbs).split(","),
    }
    if " " in kind:
        out["group"], out["version"] = kind.split(" ")[0].split("/")
    return out


def test_discovery_is_upstreams_list(served: discovery.Discovery) -> None:
    wanted = listed()
    assert len(wanted) == 21
    _hold(served, wanted)


def test_versions_that_are_off_by_default_are_upstreams_when_they_are_on() -> None:
    """But for `resource.k8s.io/v1alpha3`, which has the rules about taints here and no more."""
    config = runtimeconfig.parse(["api/all=true"], Release(33))
    served = discovery.Discovery(kinds.Resources(VERSION, config))
    wanted = listed("discovery-off-1.33.txt")
    assert len(wanted) == 11
    _hold(served, wanted)


@pytest.mark.parametrize(
    ("key", "since_and_version"),
    [
        (
            "resourceclaims.resource.k8s.io",
            {32: "v1alpha3", 33: "v1beta1", 34: "v1beta1", 35: "v1"},
        ),
        ("ipaddresses.networking.k8s.io", {31: "v1beta1", 33: "v1beta1", 34: "v1"}),
        ("volumeattributesclasses.storage.k8s.io", {33: "v1beta1", 34: "v1beta1", 35: "v1"}),
        (
            "mutatingadmissionpolicies.admissionregistration.k8s.io",
            {33: "v1alpha1", 34: "v1alpha1", 35: "v1beta1", 36: "v1beta1", 37: "v1"},
        ),
    ],
)
def test_a_new_version_is_written_once_the_server_before_can_read_it(
    key: str, since_and_version: dict[int, str]
) -> None:
    for minor, version in since_and_version.items():
        config = runtimeconfig.parse(["api/all=true"], Release(minor))
        resources = kinds.Resources(Release(minor), config)
        info = resources.by_key[key]
        digest = hashlib.sha256(f"{info.group}/{version}/{info.kind}".encode()).digest()
        assert resources.storage_version_hash(info) == base64.b64encode(digest[:8]).decode(), minor


def _hold(served: discovery.Discovery, wanted: dict[str, list[dict[str, Any]]]) -> None:
    for group_version, resources in wanted.items():
        path = meta.api_root(group_version)
        document = served.document(path)
        assert document is not None, path
        told = orjson.loads(document.body)["resources"]
        assert told == sorted(resources, key=lambda one: str(one["name"])), path


def test_no_group_version_is_served_besides(served: discovery.Discovery) -> None:
    document = served.document("/apis")
    assert document is not None
    told = {
        version["groupVersion"]
        for group in orjson.loads(document.body)["groups"]
        for version in group["versions"]
    }
    assert told | {"v1"} == listed().keys()


def parameters() -> Iterator[tuple[str, str, set[str]]]:
    names: set[str] = set()
    for line in (GOLDEN / "openapi-parameters-1.33.txt").read_text().splitlines():
        if not line.startswith(" "):
            names = set(line.split()) - {"-"}
            continue
        method, path = line.split()
        yield method, path, names


def test_operations_take_upstreams_parameters() -> None:
    found: dict[tuple[str, str], set[str]] = {}
    for name in ("api/v1", "apis/apps/v1"):
        for path, item in orjson.loads(documents.build(VERSION, name))["paths"].items():
            for method in METHODS:
                if method in item:
                    given = [*item.get("parameters", ()), *item[method].get("parameters", ())]
                    found[method, path] = {one["name"] for one in given if one["in"] == "query"}
    count = 0
    for method, path, names in parameters():
        assert found[method, path] == names, (method, path)
        count += 1
    assert count > 100


def test_what_connects_says_so_and_has_each_method() -> None:
    paths = orjson.loads(documents.build(VERSION, "api/v1"))["paths"]
    proxy = paths["/api/v1/nodes/{name}/proxy/{path}"]
    assert set(METHODS) <= set(proxy)
    assert proxy["get"]["operationId"] == "connectCoreV1GetNodeProxyWithPath"
    assert proxy["get"]["x-kubernetes-action"] == "connect"
    exec_ = paths["/api/v1/namespaces/{namespace}/pods/{name}/exec"]["post"]
    assert exec_["operationId"] == "connectCoreV1PostNamespacedPodExec"
    assert exec_["x-kubernetes-group-version-kind"]["kind"] == "PodExecOptions"


def test_paths_that_are_no_resources_are_described_too() -> None:
    served = documents.OpenApi(kinds.Resources(VERSION))
    index = served.answer("/openapi/v3", {}, {})
    assert index is not None
    names = orjson.loads(index[2])["paths"]
    for name, operation in (
        ("version", "getCodeVersion"),
        (".well-known/openid-configuration", "getServiceAccountIssuerOpenIDConfiguration"),
        ("openid/v1/jwks", "getServiceAccountIssuerOpenIDKeyset"),
    ):
        assert name in names
        document = orjson.loads(documents.build(VERSION, name))
        assert document["paths"][f"/{name}/"]["get"]["operationId"] == operation
    assert (
        "io.k8s.apimachinery.pkg.version.Info"
        in orjson.loads(documents.build(VERSION, "version"))["components"]["schemas"]
    )
