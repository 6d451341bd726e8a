"""Static pods from the folder of manifests on a node's disk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import PODS, cluster, create, get, pod

MIRROR = "kubernetes.io/config.mirror"
FILE = "/m/cache.yaml"


def manifest(image: str = "redis:7", name: str = "cache") -> str:
    spec = {"containers": [{"name": "c", "image": image}]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def write(session: Session, text: str, file: str = FILE) -> None:
    assert execute(session, "sh", "-c", f"cat > {file}", stdin=text.encode())[1] == 0
    session.settle()


def names(session: Session) -> list[str]:
    found = session.request("GET", PODS).json()["items"]
    return [each["metadata"]["name"] for each in found if each["metadata"]["name"] != "web"]


@pytest.fixture
def session() -> Session:
    """One node, and a pod `web` that has its folder of manifests at /m."""
    session = cluster(nodes=1)
    mount = {"volumeMounts": [{"name": "m", "mountPath": "/m"}]}
    volumes = [{"name": "m", "hostPath": {"path": "/etc/kubernetes/manifests"}}]
    create(session, pod(container=mount, volumes=volumes))
    return session


def test_a_file_in_the_manifest_folder_runs_a_static_pod_with_a_mirror(session: Session) -> None:
    write(session, manifest())
    found = get(session, "cache-node-1")
    assert found["spec"]["nodeName"] == "node-1"
    assert MIRROR in found["metadata"]["annotations"]
    assert found["metadata"]["annotations"]["kubernetes.io/config.source"] == "file"
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Node"
    session.settle()
    assert get(session, "cache-node-1")["status"]["phase"] == "Running"
    scheduled = [record for record in session.records() if record["kind"] == "schedule"]
    assert {one["pod"] for one in scheduled} == {"default/web"}  # no scheduler saw it


def test_a_mirror_that_is_deleted_comes_back_and_a_file_that_is_removed_ends_the_pod(
    session: Session,
) -> None:
    write(session, manifest())
    before = get(session, "cache-node-1")["metadata"]["uid"]
    session.request("DELETE", f"{PODS}/cache-node-1")
    session.wait(40)
    assert get(session, "cache-node-1")["metadata"]["uid"] != before
    execute(session, "rm", FILE)
    session.wait(40)
    assert names(session) == []


def test_a_file_that_is_changed_replaces_the_pod(session: Session) -> None:
    write(session, manifest())
    write(session, manifest("httpd:2.4"))
    session.wait(40)
    assert names(session) == ["cache-node-1"]
    assert get(session, "cache-node-1")["spec"]["containers"][0]["image"] == "httpd:2.4"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "kind: Pod",
        "- 1",
        manifest().replace("Pod", "Deployment"),
        manifest(name="No Name"),
    ],
)
def test_what_is_no_pod_is_left_alone_and_holds_nothing_up(session: Session, text: str) -> None:
    write(session, text, "/m/bad.yaml")
    write(session, manifest(), "/m/.hidden.yaml")
    write(session, manifest(name="good"), "/m/good.yaml")
    assert names(session) == ["good-node-1"]


def test_a_kubelet_that_comes_back_reads_its_folder(session: Session) -> None:
    session.cluster.role("kubelet", "fail", component="kubelet/node-1")
    session.settle()
    execute_while_away(session)
    session.cluster.role("kubelet", "start", component="kubelet/node-1")
    session.wait(5)
    assert names(session) == ["cache-node-1"]


def execute_while_away(session: Session) -> None:
    """A file is written on the node's disk without its kubelet."""
    disk: Any = session.cluster.hosts.nodes["node-1"].host.disk
    now = session.cluster.kernel.now
    disk.write("/etc/kubernetes/manifests/cache.yaml", manifest().encode(), now)
