"""Rights to one object by its name reach that object only, on every route there is.

Of each kind there are two objects, `mine` and `other`; the user has every verb on every resource
and subresource, but for the name `mine` alone. The objects have only metadata, so that there may be
some of every kind; a request that stumbles over that counts as one that gives nothing away. Some
resources are asked for each day, and those that matter most always; all of them in the long suite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_app.etcd.entries import Entry
from apiserver_app.machinery.meta import ResourceInfo
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import told
from tests.suite import seeds

MINE, OTHER = "mine", "other"
USER = "student"
GRANT = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "by-name"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "resourceNames": [MINE]}],
}
BOUND = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "by-name"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "by-name"},
    "subjects": [{"kind": "User", "name": USER}],
}
# kinds that the API server itself reads
SPECS: dict[str, Any] = {
    "apiservices.apiregistration.k8s.io": {"group": "planted.io", "version": "v1"},
    "customresourcedefinitions.apiextensions.k8s.io": {
        "group": "planted.io",
        "versions": [],
        "scope": "Cluster",
        "names": {"plural": "plants", "kind": "Plant"},
    },
}
SELECTED = "fieldSelector=metadata.name"
QUERIES = (
    "", "watch=1", f"{SELECTED}={MINE}", f"{SELECTED}={OTHER}", f"{SELECTED}={MINE}&watch=1",
    f"{SELECTED}={OTHER}&watch=1", f"{SELECTED}%21={MINE}", f"{SELECTED}={MINE},metadata.name!=x",
    f"{SELECTED}={OTHER},metadata.name={MINE}", f"{SELECTED}={MINE}&{SELECTED}={OTHER}",
    f"{SELECTED}={MINE}%5C,", f"{SELECTED}=={MINE}&watch=1", "labelSelector=planted", "limit=1",
    f"{SELECTED}={MINE}&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    f"{SELECTED}={MINE}&watch=1&resourceVersion=1",
)  # fmt: skip
WRITES = ("POST", "PUT", "PATCH", "DELETE")
ALWAYS = ("configmaps", "nodes", "pods", "secrets", "serviceaccounts", "services")
DRAWN = 20


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session(default_inputs(nodes=0), report=lambda kind, what: None)
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    assert session.request("POST", f"{rbac}/clusterroles", GRANT).status == 201
    assert session.request("POST", f"{rbac}/clusterrolebindings", BOUND).status == 201
    for role in session.cluster.roles:
        session.cluster.role(role, "stop")
    session.settle()
    for info in session.cluster.resources.built_in:
        if info.storage and info == session.cluster.resources.by_storage(info.storage):
            for name in (MINE, OTHER):
                session.cluster.context.storage.create(info, planted(info, name))
    session.settle()  # what the objects set off is over: a slice has a request to itself
    return session


def planted(info: ResourceInfo, name: str, mark: str = "") -> dict[str, Any]:
    """An object with nothing but metadata. Who reads its label has read the object."""
    labels = {"planted": mark or name}
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{info.key}-{name}", "labels": labels}
    if info.namespaced:
        metadata["namespace"] = "default"
    obj = {"apiVersion": info.api_version, "kind": info.kind, "metadata": metadata}
    return {**obj, "spec": SPECS[info.key]} if info.key in SPECS else obj


def routes(info: ResourceInfo, queries: tuple[str, ...] = QUERIES) -> Iterator[str]:
    """Every form of path on which a resource may be asked for."""
    for before in ("", "watch/"):
        for place in ("", "namespaces/default/"):
            whole = f"{info.root}/{before}{place}{info.plural}"
            yield from (f"{whole}?{query}" for query in queries)
            for name in (MINE, OTHER):
                yield f"{whole}/{name}"
                yield from (f"{whole}/{name}?{query}" for query in queries if SELECTED in query)
                yield from (f"{whole}/{name}/{part}" for part in ("status", "proxy/x"))
                yield from (f"{whole}/{name}/{part}" for part in info.subresources)


def asked_for(session: Session) -> list[ResourceInfo]:
    built_in = session.cluster.resources.built_in
    drawn = seeds.draw("rights by name", [one for one in built_in if one.key not in ALWAYS], DRAWN)
    return [one for one in built_in if one.key in ALWAYS or one in drawn]


def others(session: Session) -> dict[str, Entry]:
    entries = session.cluster.store.range("/registry/").entries
    return {entry.key: entry for entry in entries if entry.key.endswith(f"/{OTHER}")}


def read(answer: Answer) -> bool:
    return b'"planted":"other"' in answer.text


def test_reads_with_rights_by_name_tell_of_that_object_only(session: Session) -> None:
    leaks, seen = [], set()
    for info in asked_for(session):
        for path in routes(info):
            answer = session.request("GET", path, user=USER, settle=False)
            if read(answer):
                leaks.append((path, answer.status))
            if b'"planted":"mine"' in answer.text:
                seen.add(info.key)
            answer.cancel()
    stored = {info.key for info in asked_for(session) if info.storage}
    assert not leaks and seen == stored


def test_writes_with_rights_by_name_change_that_object_only(session: Session) -> None:
    before = others(session)
    for info in asked_for(session):
        body = planted(info, OTHER, "sent")
        for path in routes(info, QUERIES[2:3]):
            for method in WRITES:
                answer = session.request(
                    method,
                    path,
                    body,
                    user=USER,
                    settle=False,
                    headers={"content-type": "application/merge-patch+json"}
                    if method == "PATCH"
                    else None,
                )
                assert not read(answer), (method, path)
                answer.cancel()
    session.settle()
    assert others(session) == before


def test_the_old_watch_path_of_one_object_gives_that_object_only(session: Session) -> None:
    path = "/api/v1/watch/namespaces/default/secrets"
    answer = session.request("GET", f"{path}/{MINE}", user=USER)
    assert (answer.status, told(answer)) == (200, [("ADDED", MINE)])
    answer.cancel()
    assert session.request("GET", f"{path}/{OTHER}", user=USER).status == 403
    assert session.request("GET", f"/api/v1/watch/secrets/{MINE}", user=USER).status == 404
    refused = session.request("GET", f"{path}/{MINE}?{SELECTED}={OTHER}")
    assert refused.status == 400
    assert refused.json()["message"] == "fieldSelector metadata.name doesn't match requested name"
