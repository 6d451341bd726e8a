"""Stateful sets: lasting names, one after another, updated from the highest down."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from controllers_app.controllers.statefulset import retention
from tests.controllers_app.controllers.lab import Lab, template

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful_set(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": template(app="db"),
            **spec,
        },
    }


def settle(lab: Lab) -> None:
    for _ in range(20):
        lab.finish_deletes()
        lab.start_pods()


def test_pods_are_created_in_order_each_when_the_one_before_is_ready(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set())
    assert lab.names("pods") == ["db-0"]
    lab.start_pods()
    assert lab.names("pods") == ["db-0", "db-1"]
    settle(lab)
    assert lab.names("pods") == ["db-0", "db-1", "db-2"]
    pod = lab.get("pods", "db-1")
    labels = pod["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert labels["apps.kubernetes.io/pod-index"] == "1"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
    status = lab.get("statefulsets.apps", "db")["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (3, 3, 3)
    assert status["currentRevision"] == status["updateRevision"]
    assert status["currentRevision"] == labels["controller-revision-hash"]
    lab.assert_no_slips()


def test_in_parallel_they_all_start_at_once(lab: Lab) -> None:
    lab.create("statefulsets.apps", stateful_set(podManagementPolicy="Parallel"))
    assert lab.names("pods") == ["db-0", "db-1", "db-2"]


def test_scaling_down_takes_the_highest_first_one_at_a_time(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set())
    settle(lab)
    lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 1}})
    assert [meta.is_deleting(pod) for pod in lab.all("pods")] == [False, False, True]
    settle(lab)
    assert lab.names("pods") == ["db-0"]


def test_a_deleted_pod_comes_back_under_its_name(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set(2))
    settle(lab)
    before = meta.uid_of(lab.get("pods", "db-0"))
    lab.delete("pods", "db-0")
    lab.finish_deletes()
    assert meta.uid_of(lab.get("pods", "db-0")) != before


def test_claims_are_made_and_outlive_their_pod(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set(1, volumeClaimTemplates=[CLAIM]))
    assert lab.names("persistentvolumeclaims") == ["data-db-0"]
    volumes = lab.get("pods", "db-0")["spec"]["volumes"]
    assert volumes[0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    settle(lab)
    lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 0}})
    settle(lab)
    assert lab.names("pods") == []
    assert lab.names("persistentvolumeclaims") == ["data-db-0"]


def retained(lab: Lab, **policy: str) -> None:
    lab.add_node("node-1")
    whole = {"whenDeleted": "Retain", "whenScaled": "Retain", **policy}
    spec = {"volumeClaimTemplates": [CLAIM], "persistentVolumeClaimRetentionPolicy": whole}
    lab.create("statefulsets.apps", stateful_set(2, **spec))
    settle(lab)
    assert lab.names("persistentvolumeclaims") == ["data-db-0", "data-db-1"]


def test_claims_go_with_the_set_when_its_policy_says_so(lab: Lab) -> None:
    retained(lab, whenDeleted="Delete")
    lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 1}})
    settle(lab)
    assert lab.names("persistentvolumeclaims") == ["data-db-0", "data-db-1"]
    owners = [owner["kind"] for owner in retention.owners_of(lab.all("persistentvolumeclaims")[0])]
    assert owners == ["StatefulSet"]
    lab.delete("statefulsets.apps", "db")
    settle(lab)
    lab.run(60)
    assert lab.names("persistentvolumeclaims") == []


def test_claims_go_with_pods_beyond_the_replicas_when_its_policy_says_so(lab: Lab) -> None:
    retained(lab, whenScaled="Delete")
    lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 1}})
    settle(lab)
    lab.run(5)
    assert lab.names("persistentvolumeclaims") == ["data-db-0"]
    assert retention.owners_of(lab.get("persistentvolumeclaims", "data-db-0")) == []
    lab.patch("statefulsets.apps", "db", {"spec": {"replicas": 2}})
    settle(lab)
    lab.run(5)
    settle(lab)
    assert lab.names("pods") == ["db-0", "db-1"]
    assert lab.names("persistentvolumeclaims") == ["data-db-0", "data-db-1"]


def test_claims_are_let_go_again_when_the_policy_changes(lab: Lab) -> None:
    retained(lab, whenDeleted="Delete")
    policy = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    change = {"spec": {"persistentVolumeClaimRetentionPolicy": policy}}
    lab.patch("statefulsets.apps", "db", change)
    assert [retention.owners_of(claim) for claim in lab.all("persistentvolumeclaims")] == [[], []]


def test_a_pod_comes_back_only_once_its_old_claim_is_gone(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set(1, volumeClaimTemplates=[CLAIM]))
    old = lab.get("persistentvolumeclaims", "data-db-0")
    held = [*(old["metadata"].get("finalizers") or ()), "example.com/held"]
    lab.patch("persistentvolumeclaims", "data-db-0", {"metadata": {"finalizers": held}})
    lab.delete("persistentvolumeclaims", "data-db-0")
    lab.delete("pods", "db-0", gracePeriodSeconds=0)
    lab.run(1)
    assert lab.names("pods") == []
    failed = "create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"
    assert ("FailedCreate", failed) in [event[:2] for event in lab.events("StatefulSet")]
    lab.patch("persistentvolumeclaims", "data-db-0", {"metadata": {"finalizers": None}})
    lab.run(60)
    assert lab.names("pods") == ["db-0"]
    claim = lab.get("persistentvolumeclaims", "data-db-0")
    assert meta.uid_of(claim) != meta.uid_of(old) and not meta.is_deleting(claim)


def test_a_pending_pod_whose_claim_went_gets_another(lab: Lab) -> None:
    lab.create("statefulsets.apps", stateful_set(1, volumeClaimTemplates=[CLAIM]))
    lab.delete("persistentvolumeclaims", "data-db-0")  # no scheduled pod uses it
    assert lab.find("persistentvolumeclaims", "data-db-0") is None
    lab.patch("pods", "db-0", {"metadata": {"labels": {"looked": "at"}}})
    assert lab.names("persistentvolumeclaims") == ["data-db-0"]


def test_an_update_goes_from_the_highest_down_to_the_partition(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("statefulsets.apps", stateful_set())
    settle(lab)
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    containers = [{"name": "web", "image": "nginx:2"}]
    lab.patch(
        "statefulsets.apps",
        "db",
        {"spec": {"updateStrategy": strategy, "template": {"spec": {"containers": containers}}}},
    )
    assert [meta.is_deleting(pod) for pod in lab.all("pods")] == [False, False, True]
    settle(lab)
    images = [pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")]
    assert images == ["nginx", "nginx:2", "nginx:2"]
    status = lab.get("statefulsets.apps", "db")["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
    lab.patch(
        "statefulsets.apps", "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
    )
    settle(lab)
    images = [pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")]
    assert images == ["nginx:2"] * 3
    status = lab.get("statefulsets.apps", "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
