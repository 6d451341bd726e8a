"""Garbage collection: background, foreground, orphans, and owners that never were."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, deployment, pod, replica_set


def config_map(name: str, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def reference(obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta.name_of(obj),
        "uid": meta.uid_of(obj),
        **more,
    }


def maps(lab: Lab) -> list[str]:
    return [name for name in lab.names("configmaps") if name != "kube-root-ca.crt"]


def test_deleting_a_deployment_takes_its_replica_sets_and_pods_with_their_reason(lab: Lab) -> None:
    lab.create("deployments.apps", deployment(replicas=2))
    lab.run(5)
    lab.delete("deployments.apps", "web", propagationPolicy="Background")
    assert lab.names("replicasets.apps") == []
    assert lab.names("pods") == []
    said = [text for _, text in lab.done("garbagecollector") if text.endswith("deletes it")]
    assert said[0] == "Deployment web is gone: deletes it"
    assert said[1].startswith("ReplicaSet web-")
    lab.assert_no_slips()


def test_orphaned_dependents_stay_without_the_reference(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=2))
    lab.delete("replicasets.apps", "web", propagationPolicy="Orphan")
    assert lab.names("replicasets.apps") == []
    pods = lab.all("pods")
    assert len(pods) == 2
    assert all("ownerReferences" not in one["metadata"] for one in pods)


def test_in_foreground_the_owner_waits_for_the_dependents_that_block_it(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("replicasets.apps", replica_set(replicas=2))
    lab.start_pods()
    lab.delete("replicasets.apps", "web", propagationPolicy="Foreground")
    owner = lab.get("replicasets.apps", "web")
    assert meta.is_deleting(owner)
    assert owner["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert all(meta.is_deleting(one) for one in lab.all("pods"))
    lab.finish_deletes()
    lab.run(1)
    assert lab.names("replicasets.apps") == []
    assert lab.names("pods") == []


def test_in_foreground_a_whole_tree_goes_leaves_first(lab: Lab) -> None:
    lab.create("deployments.apps", deployment(replicas=1))
    lab.run(5)
    lab.delete("deployments.apps", "web", propagationPolicy="Foreground")
    lab.run(2)
    assert lab.names("deployments.apps") == lab.names("replicasets.apps") == lab.names("pods") == []
    deleted = [
        fields[2]
        for fields in lab.records("write")
        if fields[1] == "delete" and fields[2] in ("pods", "replicasets.apps", "deployments.apps")
    ]
    assert deleted == ["pods", "replicasets.apps", "deployments.apps"]


def test_a_dependent_with_another_living_owner_only_loses_the_reference(lab: Lab) -> None:
    one = lab.create("configmaps", config_map("one"))
    two = lab.create("configmaps", config_map("two"))
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [reference(one), reference(two)]
    lab.create("configmaps", child)
    lab.delete("configmaps", "one")
    assert maps(lab) == ["child", "two"]
    owners = lab.get("configmaps", "child")["metadata"]["ownerReferences"]
    assert [item["name"] for item in owners] == ["two"]


def test_an_owner_that_never_existed_counts_as_gone(lab: Lab) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "0000"}
    lab.create("configmaps", config_map("child", ghost))
    assert maps(lab) == []


def test_an_owner_of_the_same_name_but_another_uid_counts_as_gone(lab: Lab) -> None:
    one = lab.create("configmaps", config_map("one"))
    lab.create("configmaps", config_map("child", {**reference(one), "uid": "0000"}))
    assert maps(lab) == ["one"]


def test_a_wrong_reference_takes_its_own_object_and_leaves_the_owners_other_dependents(
    lab: Lab,
) -> None:
    one = lab.create("configmaps", config_map("one"))
    lab.create("configmaps", config_map("right", reference(one)))
    lab.create("configmaps", config_map("wrong", {**reference(one), "name": "uno"}))
    lab.create(
        "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}, ""
    )
    lab.create("configmaps", config_map("far", reference(one)), "x")
    lab.run(2)
    assert maps(lab) == ["one", "right"]
    assert lab.get("configmaps", "right")["metadata"]["ownerReferences"]
    assert lab.find("configmaps", "far", "x") is None
    [(reason, message, _)] = lab.events("ConfigMap", "x")
    assert reason == "OwnerRefInvalidNamespace"
    wanted = f"[v1/ConfigMap, namespace: x, name: one, uid: {meta.uid_of(one)}]"
    assert message == f'ownerRef {wanted} does not exist in namespace "x"'


def test_what_was_owned_while_the_collector_was_down_is_collected_after(lab: Lab) -> None:
    owner = lab.create("configmaps", config_map("owner"))
    lab.create("configmaps", config_map("child", reference(owner)))
    collector = lab.cluster.roles["controllers"].components["garbagecollector"]
    collector.fail()
    lab.delete("configmaps", "owner")
    assert maps(lab) == ["child"]
    collector.start()
    lab.run(1)
    assert maps(lab) == []


def test_a_pod_without_owner_is_left_alone(lab: Lab) -> None:
    lab.create("pods", pod("lone", app="x"))
    lab.run(60)
    assert lab.names("pods") == ["lone"]
