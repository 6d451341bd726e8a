"""Garbage in etcd: that object cannot be read, its list says so, the cluster starts and goes on
without it, and who may can delete it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from apiserver_app import flags
from apiserver_app.etcd import put
from apiserver_app.etcd.backend import Backend, MemoryBackend
from apiserver_app.etcd.log import DatabaseBackend
from apiserver_app.machinery.kinds import features
from apiserver_app.machinery.releases import Release
from lifecycle import catalog
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import configmap
from tests.suite import seeds

KEYS = (
    "clusterroles/cluster-admin", "clusterrolebindings/cluster-admin", "namespaces/default",
    "namespaces/kube-system", "priorityclasses/system-node-critical", "minions/node-1",
    "services/specs/default/kubernetes", "services/endpoints/default/kubernetes",
    "roles/kube-system/extension-apiserver-authentication-reader", "flowschemas/catch-all",
    "prioritylevelconfigurations/catch-all", "serviceaccounts/default/default",
    "leases/kube-system/kube-scheduler", "ranges/servicenodeports", "masterleases/192.168.0.11",
)  # fmt: skip


@pytest.mark.parametrize("key", seeds.draw("garbage", KEYS, 5))
def test_a_cluster_starts_again_with_garbage_at_a_key_of_its_own(key: str) -> None:
    bugs: list[Any] = []
    inputs = default_inputs(nodes=1, options={"kubelet": {"images": catalog.images()}})
    session = Session(
        inputs, MemoryBackend(), lambda kind, what: bugs.append(what) if kind == "bug" else None
    )
    etcd = session.cluster.etcd
    with etcd.work("put") as work:
        put.put(etcd, put.Request(f"/registry/{key}", b"garbage"), work.span)
    session.wait(15)
    session.restart()
    session.wait(15)
    assert bugs == []
    assert session.cluster.ready
    path = "/api/v1/namespaces/kube-public/configmaps"
    assert session.request("POST", path, configmap("new")).status == 201


MAPS, SEEN = "/api/v1/namespaces/default/configmaps", "/registry/configmaps/default/broken"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def with_garbage(*gates: str, backend: Backend | None = None) -> Session:
    given = flags.parse(gates, lambda name: "", Release.parse("1.33"))
    session = Session(default_inputs(nodes=0, flags=given), backend or MemoryBackend())
    assert session.request("POST", MAPS, configmap("whole")).status == 201
    assert session.request("POST", MAPS, configmap("broken")).status == 201
    etcd = session.cluster.etcd
    with etcd.work("put") as work:
        put.put(etcd, put.Request(SEEN, b"garbage"), work.span)
    session.settle()
    return session


@pytest.fixture(scope="module")
def gated() -> Session:
    return with_garbage(f"feature-gates={features.UNSAFE_DELETION}=true")


def delete(session: Session, name: str, *, as_: str = "", **options: Any) -> Answer:
    body = {"kind": "DeleteOptions", "apiVersion": "v1", OPTION: True, **options}
    headers = {"Impersonate-User": as_} if as_ else None
    return session.request("DELETE", f"{MAPS}/{name}", body, headers=headers)


def test_without_the_gate_the_option_is_ignored() -> None:
    session = with_garbage()
    assert delete(session, "broken").status == 500
    assert delete(session, "whole").status == 200


def test_reads_and_lists_say_which_object_cannot_be_read(gated: Session) -> None:
    answer = gated.request("GET", f"{MAPS}/broken")
    message = answer.json()["message"]
    assert answer.status == 500 and message.startswith(
        "Internal error occurred: StorageError: corrupt object, Code: 7, "
        "Key: /configmaps/default/broken, ResourceVersion: 0, AdditionalErrorMsg: "
        "object not decodable revision="
    )
    status = gated.request("GET", MAPS).json()
    assert (status["code"], status["reason"]) == (500, "StorageReadError")
    assert status["message"] == "failed to read one or more configmaps from the storage"
    assert (status["details"]["name"], status["details"]["kind"]) == ("list", "configmaps")
    assert [cause["field"] for cause in status["details"]["causes"]] == [SEEN]
    assert gated.request("GET", f"{MAPS}/whole").status == 200
    assert gated.request("DELETE", f"{MAPS}/broken").status == 500


def test_what_can_be_read_is_not_deleted_so(gated: Session) -> None:
    for name in ("whole", "none"):
        answer = delete(gated, name)
        assert answer.status == 422 and answer.json()["message"] == (
            f'configmaps "{name}" is invalid: {OPTION}: Invalid value: true: is exclusively used '
            "to delete corrupt object(s), try again by removing this option"
        )
    answer = gated.request(
        "DELETE", MAPS, {"kind": "DeleteOptions", "apiVersion": "v1", OPTION: True}
    )
    assert answer.status == 422 and "not allowed with DELETECOLLECTION" in answer.json()["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dryRun", ["All"]),
        ("propagationPolicy", "Orphan"),
        ("orphanDependents", False),
        ("gracePeriodSeconds", 0),
        ("preconditions", {"uid": "a"}),
    ],
)
def test_the_option_stands_alone(gated: Session, name: str, value: Any) -> None:
    answer = delete(gated, "broken", **{name: value})
    assert answer.status == 422
    assert f"Invalid value: true: cannot be set together with .{name}" in answer.json()["message"]


def test_who_may_only_delete_may_not_delete_so(gated: Session) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
    role = {"metadata": {"name": "d"}, "rules": [{**rule, "verbs": ["get", "delete"]}]}
    assert gated.request("POST", f"{RBAC}/clusterroles", role).status == 201
    binding = {
        "metadata": {"name": "d"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "d"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dora"}],
    }
    assert gated.request("POST", f"{RBAC}/clusterrolebindings", binding).status == 201
    answer = delete(gated, "broken", as_="dora")
    assert answer.status == 403 and answer.json()["message"].startswith(
        'configmaps "broken" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors"'
    )


def test_a_byte_that_flips_on_the_disk_makes_one_object_unreadable(transactional_db: None) -> None:
    session = with_garbage(backend=DatabaseBackend("demo"))
    key = "/registry/configmaps/default/whole"
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, value FROM apiserver_app_logentry WHERE key=%s", (key,))
        ((row, value),) = cursor.fetchall()
        flipped = bytes(value).replace(b'"name":"whole"', b'"name":"whple"')
        assert flipped != bytes(value)
        cursor.execute("UPDATE apiserver_app_logentry SET value=%s WHERE id=%s", (flipped, row))
    session.restart()
    assert session.request("GET", f"{MAPS}/whole").status == 500
    assert session.request("POST", MAPS, configmap("other")).status == 201
    assert session.request("GET", f"{MAPS}/other").status == 200


def test_what_cannot_be_read_is_deleted_and_its_list_is_whole_again() -> None:
    session = with_garbage(f"feature-gates={features.UNSAFE_DELETION}=true")
    watch = session.request("GET", f"{MAPS}?watch=1&resourceVersion=0", settle=True)
    answer = delete(session, "broken")
    assert answer.status == 200
    assert answer.json()["details"] == {"name": "broken", "kind": "ConfigMap"}
    names = [one["metadata"]["name"] for one in session.request("GET", MAPS).json()["items"]]
    assert "whole" in names and "broken" not in names
    assert session.request("POST", MAPS, configmap("broken")).status == 201
    session.restart()
    assert session.request("GET", f"{MAPS}/broken").status == 200
    assert not watch.done
