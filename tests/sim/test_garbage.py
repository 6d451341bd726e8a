"""Neither a request, however it is answered, nor the life of a workload leaves anything behind that
only a search for cycles frees.

What a refused request holds is as large as its body, and cycles are looked for when there are many
objects, however large they are. What a pod leaves would be found so late that memory grows
meanwhile.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lifecycle.hosting import scripted

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"content-type": "application/merge-patch+json"}
JSON = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    data = {"a": "b"} if data is None else data
    metadata = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


LARGE = {"data": {"a": "b" * (1 << 20), "c": "d" * (1 << 20)}}
TOO_LARGE = {"data": {f"k{number}": "" for number in range(115_000)}}  # for etcd
SCALE = "/apis/apps/v1/namespaces/default/replicasets/none/scale"
SORTS: dict[str, tuple[int, str, str, Any, dict[str, Any]]] = {
    "a create": (201, "POST", MAPS, config_map("new"), {}),
    "a read": (200, "GET", f"{MAPS}/there", None, {}),
    "a list": (200, "GET", MAPS, None, {}),
    "an apply": (201, "PATCH", f"{MAPS}/applied?fieldManager=x", config_map("applied"),
                 {"headers": APPLY}),
    "a delete": (200, "DELETE", f"{MAPS}/gone", None, {}),
    "what exists": (409, "POST", MAPS, config_map("there"), {}),
    "what changed": (409, "PUT", f"{MAPS}/there", config_map("there", resourceVersion="1"), {}),
    "an invalid name": (422, "POST", MAPS, config_map("B_d"), {}),
    "an invalid object": (422, "PATCH", f"{MAPS}/there", LARGE, {"headers": MERGE}),
    "what etcd refuses": (500, "PATCH", f"{MAPS}/there", TOO_LARGE, {"headers": MERGE}),
    "what is not there": (404, "GET", f"{MAPS}/none", None, {}),
    "what is forbidden": (403, "GET", "/api/v1/nodes", None, {"user": "student"}),
    "what is no JSON": (400, "POST", MAPS, b"{", {}),
    "what is no patch": (400, "PATCH", f"{MAPS}/there", b"[", {"headers": MERGE}),
    "no strict patch": (400, "PATCH", f"{MAPS}/there?fieldValidation=Strict", b"[",
                        {"headers": MERGE}),
    "a failing test": (422, "PATCH", f"{MAPS}/there",
                       [{"op": "test", "path": "/kind", "value": "x"}], {"headers": JSON}),
    "an unknown field": (400, "POST", f"{MAPS}?fieldValidation=Strict",
                         {**config_map("strict"), "x": 1}, {}),
    "another's field": (409, "PATCH", f"{MAPS}/there?fieldManager=y",
                        config_map("there", {"a": "c"}), {"headers": APPLY}),
    "another object": (409, "DELETE", f"{MAPS}/there", {"preconditions": {"uid": "x"}}, {}),
    "no scale": (404, "PUT", SCALE, {"spec": {"replicas": 1}}, {}),
    "no path": (404, "GET", "/nowhere", None, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> scripted.Session:
    gc.collect()
    gc.freeze()  # what other tests left is not looked through each time
    session = scripted.Session(scripted.default_inputs(nodes=0))
    for name in ("there", "gone"):
        assert session.request("POST", MAPS, config_map(name)).status == 201
    return session


@pytest.mark.parametrize("sort", SORTS)
def test_nothing_is_left_for_the_search_for_cycles(session: scripted.Session, sort: str) -> None:
    status, method, path, body, how = SORTS[sort]
    with garbage_kept() as left:
        assert session.request(method, path, body, **how).status == status
    assert not left


SHELL = ["sh", "-c"]
APPS = "/apis/apps/v1/namespaces/default"


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "c", "image": "busybox", **fields}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"containers": list(containers), "terminationGracePeriodSeconds": 1, **spec}


LABELS = {"app": "life"}
SLEEP = container(command=[*SHELL, "echo begun; sleep 3600"])
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
}
PROBED = {
    "name": "c",
    "image": "nginx",
    "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 1},
    "livenessProbe": {"exec": {"command": ["cat", "/etc/hostname"]}},
}
LIVES: dict[str, tuple[str, dict[str, Any]]] = {
    "a server": ("Deployment", pod(container(image="nginx"))),
    "commands": ("Deployment", pod(SLEEP)),
    "a trap": ("Deployment", pod(container(
        command=[*SHELL, "trap 'exit 3' TERM; sleep 20 & while true; do sleep 1; done"]))),
    "a crash loop": ("Deployment", pod(container(command=[*SHELL, "exit 1"]))),
    "no image": ("Deployment", pod(container(image="nowhere.example/none:1"))),
    "no room": ("Deployment", pod(container(resources={"requests": {"cpu": "999"}}))),
    "probes": ("Deployment", pod(PROBED)),
    "a sidecar": ("Deployment", pod(SLEEP, initContainers=[
        container(name="first", command=["true"]),
        container(name="side", command=["sleep", "3600"], restartPolicy="Always")])),
    "a volume": ("Deployment", pod(
        {**SLEEP, "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        volumes=[{"name": "v", "configMap": {"name": "there"}}])),
    "a claim": ("StatefulSet", pod(
        {**SLEEP, "volumeMounts": [{"name": "data", "mountPath": "/d"}]})),
    "a job": ("Job", pod(container(command=[*SHELL, "sleep 1"]), restartPolicy="Never")),
    "a failing job": ("Job", pod(container(command=["false"]), restartPolicy="Never")),
}  # fmt: skip


def workload(kind: str, template: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"template": {"metadata": {"labels": LABELS}, "spec": template}}
    if kind == "Job":
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "life"}, "spec": spec}
    spec |= {"replicas": 2, "selector": {"matchLabels": LABELS}}
    if kind == "StatefulSet":
        spec |= {"serviceName": "life", "volumeClaimTemplates": [CLAIM]}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "life"}, "spec": spec}


@pytest.fixture(scope="module")
def cluster() -> scripted.Session:
    session = scripted.Session(scripted.default_inputs(nodes=2))
    assert session.request("POST", MAPS, config_map("there")).status == 201
    return session


@pytest.mark.parametrize("life", LIVES)
def test_the_life_of_a_workload_leaves_nothing_for_it(cluster: scripted.Session, life: str) -> None:
    kind, template = LIVES[life]
    path = {"Job": "/apis/batch/v1/namespaces/default/jobs"}.get(kind, f"{APPS}/{kind.lower()}s")
    body = workload(kind, template)
    with garbage_kept() as left:
        assert cluster.request("POST", path, body).status == 201
        cluster.wait(60)
        assert pods(cluster)
        deleted = {"propagationPolicy": "Background"}
        assert cluster.request("DELETE", f"{path}/life", deleted).status == 200
        cluster.wait(60)
        assert not pods(cluster)
    assert not left


def pods(session: scripted.Session) -> list[Any]:
    items: list[Any] = session.request("GET", "/api/v1/namespaces/default/pods").json()["items"]
    return items


@contextmanager
def garbage_kept() -> Iterator[Counter[str]]:
    """What the search for cycles finds afterwards, by type."""
    left: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield left
        gc.collect()
        left.update(type(one).__name__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
