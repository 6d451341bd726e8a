"""Answers in protobuf: objects, lists, watches, refusals and discovery."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.machinery.serializer import protobuf, protoencode
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PODS,
    configmap,
    header,
    pod,
    server_session,
)
from tests.apiserver_app.machinery.serializer.test_protoencode import bare

PROTOBUF = "application/vnd.kubernetes.protobuf"
ASKED = {"accept": PROTOBUF}
PARTIAL = {"accept": f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
PARTIAL_LIST = {"accept": f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
WIDGETS = "/apis/example.com/v1/widgets"
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "additionalProperties": {"type": "string"}}},
}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Cluster",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
        ],
    },
}


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v", labels={"app": "x"}))
    for name in ("p", "q"):
        session.request("POST", PODS, pod(name))
    session.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    session.settle()
    session.wait(10)
    return session


def read(answer: Answer) -> Any:
    assert header(answer, "Content-Type") == [PROTOBUF]
    return protobuf.decode(answer.text)


def frames(answer: Answer) -> list[tuple[str, Any]]:
    """The frames of a watch as (type, object)."""
    found, data = [], answer.text
    while data:
        size, data = int.from_bytes(data[:4], "big"), data[4:]
        event, data = data[:size], data[size:]
        kind_size = event[1]
        kind, rest = event[2 : 2 + kind_size].decode(), event[2 + kind_size :]
        assert (event[0], rest[0]) == (0x0A, 0x12)
        found.append((kind, protobuf.decode(rest[rest.index(b"k8s\0") :])))
    return found


def test_an_object_is_the_same_in_protobuf(session: Session) -> None:
    for path in (
        f"{CONFIGMAPS}/a",
        f"{PODS}/p",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin",
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD['metadata']['name']}",
        "/apis/apiregistration.k8s.io/v1/apiservices/v1.",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/exempt",
    ):
        answer = session.request("GET", path, headers=ASKED)
        assert answer.status == 200, path
        assert bare(read(answer)) == bare(session.request("GET", path).json()), path


def test_a_list_of_pods_can_be_decoded(session: Session) -> None:
    found = read(session.request("GET", f"{PODS}?limit=1", headers=ASKED))
    plain = session.request("GET", f"{PODS}?limit=1").json()
    assert found["kind"] == "PodList" and [item["metadata"]["name"] for item in found["items"]] == [
        "p"
    ]
    assert found["metadata"].pop("continue") and plain["metadata"].pop("continue")
    assert bare(found) == bare(plain)


def test_every_list_of_a_built_in_kind_is_the_same_in_protobuf(session: Session) -> None:
    count = 0
    for info in session.cluster.resources.built_in:
        if "list" not in info.verbs:
            continue
        path = f"{info.root}/{info.plural}"
        answer = session.request("GET", path, headers=ASKED)
        assert bare(read(answer)) == bare(session.request("GET", path).json()), path
        count += 1
    assert count > 50


def test_what_is_written_is_answered_in_protobuf(session: Session) -> None:
    body = protoencode.encode(configmap("sent", k="v"))
    headers = {**ASKED, "content-type": PROTOBUF}
    answer = session.request("POST", CONFIGMAPS, body, headers=headers)
    assert (answer.status, read(answer)["data"]) == (201, {"k": "v"})
    options = protoencode.encode({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
    gone = session.request("DELETE", f"{CONFIGMAPS}/sent", options, headers=headers)
    assert (read(gone)["kind"], read(gone)["status"]) == ("Status", "Success")
    assert session.request("GET", f"{CONFIGMAPS}/sent").status == 200


def test_subresources_are_answered_in_protobuf(session: Session) -> None:
    deployment = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
        },
    }
    assert session.request("POST", DEPLOYMENTS, deployment).status == 201
    scale = read(session.request("GET", f"{DEPLOYMENTS}/web/scale", headers=ASKED))
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 2})


def test_metadata_alone_is_sent_in_protobuf(session: Session) -> None:
    one = read(session.request("GET", f"{CONFIGMAPS}/a", headers=PARTIAL))
    assert (one["kind"], one["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert one["metadata"]["labels"] == {"app": "x"} and "data" not in one
    for version in ("v1", "v1beta1"):
        accept = {"accept": PARTIAL_LIST["accept"].replace("v=v1", f"v={version}")}
        listed = read(session.request("GET", PODS, headers=accept))
        assert listed["apiVersion"] == f"meta.k8s.io/{version}"
        names = [item["metadata"]["name"] for item in listed["items"]]
        assert names[:2] == ["p", "q"]


def test_a_watch_is_framed_events_of_whole_objects(session: Session) -> None:
    headers = {"accept": f"{PROTOBUF};stream=watch"}
    query = "watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name=w"
    answer = session.request("GET", f"{CONFIGMAPS}?{query}", headers=headers)
    assert header(answer, "Content-Type") == [f"{PROTOBUF};stream=watch"]
    session.request("POST", CONFIGMAPS, configmap("w", k="v"))
    session.request("DELETE", f"{CONFIGMAPS}/w")
    session.wait(61)
    found = frames(answer)
    assert [kind for kind, _ in found] == ["ADDED", "DELETED", "BOOKMARK"]
    assert all((obj["kind"], obj["apiVersion"]) == ("ConfigMap", "v1") for _, obj in found)
    assert found[0][1]["data"] == {"k": "v"}


def test_a_watch_of_metadata_is_protobuf_of_custom_resources_too(session: Session) -> None:
    answer = session.request("GET", f"{WIDGETS}?watch=1", headers=PARTIAL)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    assert session.request("POST", WIDGETS, widget).status == 201
    ((kind, obj),) = frames(answer)
    assert (kind, obj["kind"], obj["metadata"]["name"]) == ("ADDED", "PartialObjectMetadata", "w")


def test_a_watch_ends_with_its_error_in_protobuf(session: Session) -> None:
    session.request("POST", CONFIGMAPS, configmap("old"))
    session.restart()
    session.cluster.store.compact(session.cluster.store.revision)
    answer = session.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion=1", headers=ASKED)
    ((kind, status),) = frames(answer)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")


def test_a_refusal_is_a_status_in_protobuf(session: Session) -> None:
    answer = session.request("GET", f"{PODS}/none", headers=ASKED)
    status = read(answer)
    assert (answer.status, status["code"], status["reason"]) == (404, 404, "NotFound")
    assert status["details"] == {"name": "none", "kind": "pods"}


def test_custom_resources_have_no_protobuf(session: Session) -> None:
    refused = session.request("GET", WIDGETS, headers=ASKED)
    assert refused.status == 406 and read(refused)["message"] == (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )
    answer = session.request("GET", WIDGETS, headers={"accept": f"{PROTOBUF},application/json"})
    assert answer.json()["kind"] == "WidgetList"


def test_a_table_is_never_protobuf(session: Session) -> None:
    table = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    answer = session.request("GET", PODS, headers={"accept": table})
    assert (answer.status, answer.json()["reason"]) == (406, "NotAcceptable")
    assert answer.text.startswith(b'{\n  "kind"')
    fallback = session.request("GET", PODS, headers={"accept": f"{table},application/json"})
    assert fallback.json()["kind"] == "PodList"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/api/v1", "APIResourceList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ],
)
def test_discovery_is_the_same_in_protobuf(session: Session, path: str, kind: str) -> None:
    found = read(session.request("GET", path, headers=ASKED))
    plain = session.request("GET", path).json()
    assert found["kind"] == kind
    assert orjson.loads(orjson.dumps(bare(found))) == bare({"apiVersion": "", **plain})


def test_aggregated_discovery_is_the_same_in_protobuf(session: Session) -> None:
    form = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = session.request("GET", "/apis", headers={"accept": f"{PROTOBUF};{form}"})
    plain = session.request("GET", "/apis", headers={"accept": f"application/json;{form}"})
    assert header(answer, "Content-Type") == [f"{PROTOBUF};{form}"]
    assert header(answer, "Etag") == header(plain, "Etag")
    assert bare(protobuf.decode(answer.text)) == bare(plain.json())
