"""What a kubelet may write: mirror pods, its own node without labels that mean trust, a claim's
capacity; everything else in upstream's sentences."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.admission.plugin import DELETE, UPDATE
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from tests.apiserver_app.admission.conftest import KUBELET, Cluster, pod

OWNER = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "u-1", "controller": True}


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster("1.33", "NodeRestriction")
    made.reader.put("nodes", {"metadata": {"name": "node-1", "uid": "u-1"}})
    return made


def said(cluster: Cluster, resource: str, obj: Object | None, **more: Any) -> str:
    """The refusal, without the sentence's beginning; empty when there is none."""
    try:
        cluster.send(resource, obj, user=KUBELET, **more)
    except errors.ApiError as error:
        return error.message.partition(" is forbidden: ")[2] or error.message
    return ""


def mirror(owners: list[Object] | None = None, **spec: Any) -> Object:
    made = pod("m", nodeName="node-1")
    made["spec"].pop("serviceAccountName", None)
    made["spec"].update(spec)
    made["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    made["metadata"]["ownerReferences"] = [OWNER] if owners is None else owners
    return made


def test_a_mirror_pod_of_its_own_node_is_its_own(cluster: Cluster) -> None:
    assert said(cluster, "pods", mirror()) == ""
    assert said(cluster, "pods", mirror(nodeName="node-2")) == (
        'node "node-1" can only create pods with spec.nodeName set to itself'
    )


@pytest.mark.parametrize(
    ("owners", "what"),
    [
        ([], "can only create pods with an owner reference set to itself"),
        ([OWNER, OWNER], "can only create pods with a single owner reference set to itself"),
        ([{**OWNER, "name": "node-2"}],
         "can only create pods with an owner reference set to itself"),
        ([{**OWNER, "kind": "Pod"}], "can only create pods with an owner reference set to itself"),
        ([{**OWNER, "controller": False}],
         "can only create pods with a controller owner reference set to itself"),
        ([{**OWNER, "blockOwnerDeletion": True}],
         "must not set blockOwnerDeletion on an owner reference"),
    ],
)  # fmt: skip
def test_a_mirror_pod_is_owned_by_its_node(
    cluster: Cluster, owners: list[Object], what: str
) -> None:
    assert said(cluster, "pods", mirror(owners)) == f'node "node-1" {what}'


def test_the_owner_of_a_mirror_pod_is_the_node_that_is_there(cluster: Cluster) -> None:
    other = mirror([{**OWNER, "uid": "u-2"}])
    assert said(cluster, "pods", other) == "node node-1 UID mismatch: expected u-2 got u-1"
    empty = Cluster("1.33", "NodeRestriction")
    assert said(empty, "pods", mirror()) == 'nodes "node-1" not found'


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"serviceAccountName": "default"}, "a service account"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "secrets"),
        ({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}, "configmaps"),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            "persistentvolumeclaims",
        ),
        ({"resourceClaims": [{"name": "r", "resourceClaimName": "c"}]}, "resourceclaims"),
    ],
)
def test_a_mirror_pod_reaches_nothing_of_the_api(cluster: Cluster, spec: Object, what: str) -> None:
    assert said(cluster, "pods", mirror(**spec)) == (
        f'node "node-1" can not create pods that reference {what}'
    )


def test_a_kubelet_deletes_and_evicts_pods_of_its_node(cluster: Cluster) -> None:
    for name, node in (("mine", "node-1"), ("theirs", "node-2")):
        cluster.reader.put("pods", pod(name, nodeName=node))
    mine, theirs = ({"old": pod(one), "operation": DELETE} for one in ("mine", "theirs"))
    assert said(cluster, "pods", None, **mine) == ""
    assert said(cluster, "pods", None, **theirs) == (
        'node "node-1" can only delete pods with spec.nodeName set to itself'
    )
    for name, answer in (
        ("mine", ""),
        ("theirs", "node node-1 can only evict pods with spec.nodeName set to itself"),
        ("none", 'pods "none" not found'),
    ):
        eviction = {"metadata": {"name": name, "namespace": "default"}}
        assert said(cluster, "pods", eviction, subresource="eviction") == answer


def test_a_pods_labels_are_not_part_of_its_status(cluster: Cluster) -> None:
    old = pod("a", nodeName="node-1")
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"other": "x"}
    how: dict[str, Any] = {"old": old, "operation": UPDATE, "subresource": "status"}
    assert said(cluster, "pods", old, **how) == ""
    assert said(cluster, "pods", new, **how) == (
        'node "node-1" cannot update labels through pod status'
    )


@pytest.mark.parametrize(
    ("label", "may"),
    [
        ("role", True), ("example.com/role", True), ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True), ("kubelet.kubernetes.io/any", True),
        ("any.kubelet.kubernetes.io/any", True), ("node.kubernetes.io/any", True),
        ("kubernetes.io/role", False), ("k8s.io/any", False), ("any.k8s.io/any", False),
        ("node-role.kubernetes.io/any", False), ("node-restriction.kubernetes.io/any", False),
        ("any.node-restriction.kubernetes.io/any", False), ("notkubernetes.io/any", True),
    ],
)  # fmt: skip
def test_a_kubelet_gives_its_node_no_label_that_means_trust(
    cluster: Cluster, label: str, may: bool
) -> None:
    plain: Object = {"metadata": {"name": "node-1", "labels": {"a": "b"}}}
    marked: Object = {"metadata": {"name": "node-1", "labels": {"a": "b", label: "x"}}}
    allowed = "" if may else label
    assert (
        said(cluster, "nodes", marked).removeprefix(
            'node "node-1" is not allowed to set the following labels: '
        )
        == allowed
    )
    for new, old in ((marked, plain), (plain, marked)):
        assert (
            said(cluster, "nodes", new, old=old, operation=UPDATE).removeprefix(
                "is not allowed to modify labels: "
            )
            == allowed
        )
    assert said(cluster, "nodes", marked, old=marked, operation=UPDATE) == ""


def test_a_kubelet_changes_neither_owners_nor_taints_of_its_node(cluster: Cluster) -> None:
    old: Object = {"metadata": {"name": "node-1"}, "spec": {"taints": [{"key": "a"}]}}
    owned = {**old, "metadata": {"name": "node-1", "ownerReferences": [OWNER]}}
    assert said(cluster, "nodes", owned, old=old, operation=UPDATE) == (
        'node "node-1" is not allowed to modify ownerReferences'
    )
    bare = {"metadata": {"name": "node-1"}, "spec": {}}
    assert said(cluster, "nodes", bare, old=old, operation=UPDATE) == (
        'node "node-1" is not allowed to modify taints'
    )
    assert said(cluster, "nodes", None, old=old, operation=DELETE) == ""


def test_of_a_claim_only_what_a_kubelet_reports_changes(cluster: Cluster) -> None:
    metadata = {"name": "c", "namespace": "default", "resourceVersion": "1"}
    old: Object = {"metadata": metadata, "status": {"phase": "Bound"}}
    new = copy.deepcopy(old)
    new["status"] |= {"capacity": {"storage": "1Gi"}, "conditions": [{"type": "Resizing"}]}
    new["metadata"]["resourceVersion"] = "2"
    lost = {**old, "status": {"phase": "Lost"}}
    named = {**old, "metadata": {**metadata, "labels": {"a": "b"}}}
    how: dict[str, Any] = {"old": old, "operation": UPDATE, "subresource": "status"}
    assert said(cluster, "persistentvolumeclaims", new, **how) == ""
    for changed in (lost, named):
        assert said(cluster, "persistentvolumeclaims", changed, **how) == (
            'node "node-1" is not allowed to update fields other than status.quantity and '
            "status.conditions"
        )
    assert said(cluster, "persistentvolumeclaims", old, old=old, operation=UPDATE) == (
        "may only update PVC status"
    )


@pytest.mark.parametrize(
    "ref",
    [{}, {"apiVersion": "v1", "kind": "Secret", "name": "a"}, {"apiVersion": "v1", "kind": "Pod"}],
)
def test_a_kubelets_token_is_bound_to_a_pod(cluster: Cluster, ref: Object) -> None:
    request: Object = {"metadata": {"namespace": "default"}, "spec": {"boundObjectRef": ref}}
    how = {"subresource": "token", "name": "default"}
    assert said(cluster, "serviceaccounts", request, **how) == (
        "node requested token not bound to a pod"
    )
