"""An object of every kind, with all that the server takes of its schema: it reads back as the same
in every format, writing it back changes nothing, and a patch changes what it names.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import protobuf, yamlbody
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, bare_session
from tests.fuzz import whole

PROTOBUF, YAML = "application/vnd.kubernetes.protobuf", "application/yaml"
KINDS = [
    info
    for info in Resources(Release(33)).all
    if {"create", "get", "update", "patch"} <= {*info.verbs}
]
# a message leaves out what is empty; what is decoded of it has what Go always writes
NOTHING: tuple[Any, ...] = (None, "", 0, False, [], {})
CLAIM_TYPE = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}  # which no message has inside


@pytest.fixture(scope="module")
def session() -> Session:
    return bare_session()


def path_of(info: ResourceInfo) -> str:
    return f"{info.root}{'/namespaces/default' if info.namespaced else ''}/{info.plural}"


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        inside = {name: without_nothing(one) for name, one in value.items()}
        return {name: one for name, one in inside.items() if one not in NOTHING}
    if isinstance(value, list):
        return [without_nothing(one) for one in value]
    return value


@pytest.mark.parametrize("info", KINDS, ids=lambda info: f"{info.plural}.{info.api_version}")
def test_what_is_stored_is_read_written_and_patched_in_every_format(
    session: Session, info: ResourceInfo
) -> None:
    made = whole.largest(session, info, path_of(info), f"whole-{info.group}-{info.version}")
    session.wait(5)
    path = f"{path_of(info)}/{made['metadata']['name']}"
    there = session.request("GET", path).json()
    assert made["metadata"]["uid"] == there["metadata"]["uid"]

    as_yaml = session.request("GET", path, headers={"accept": YAML}).text
    as_message = session.request("GET", path, headers={"accept": PROTOBUF}).text
    assert yamlbody.load(as_yaml)[0] == there
    message = protobuf.decode(as_message)
    for claim in message["spec"].get("volumeClaimTemplates", ()) if "spec" in message else ():
        claim |= CLAIM_TYPE
    assert without_nothing(message) == without_nothing(there)

    for body, kind in ((there, "application/json"), (as_yaml, YAML), (as_message, PROTOBUF)):
        answer = session.request("PUT", path, body, headers={"content-type": kind})
        assert answer.status == 200, answer.text
        assert answer.json() == there, kind

    patch = {"metadata": {"annotations": {"example.com/more": "1"}}}
    patched = session.request("PATCH", path, patch, headers=MERGE).json()
    revision = patched["metadata"]["resourceVersion"]  # a controller may have written since
    name = f"fieldSelector=metadata.name={made['metadata']['name']}"
    exact = f"{path_of(info)}?{name}&resourceVersion={revision}&resourceVersionMatch=Exact"
    (stored,) = session.request("GET", exact).json()["items"]
    assert patched == {"kind": patched["kind"], "apiVersion": patched["apiVersion"], **stored}
    assert patched["metadata"]["annotations"].pop("example.com/more") == "1"
    for obj in (patched, there):
        for name in ("generation", "managedFields", "resourceVersion"):
            obj["metadata"].pop(name, None)
    assert patched == there
