"""Volumes and claims: who gets which, what is made, and what is kept while it is used."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, pod

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"


def claim(name: str = "data", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def volume(name: str, size: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp"},
            **spec,
        },
    }


def storage_class(name: str = "fast", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "example.com/disk",
        "reclaimPolicy": "Delete",
        **more,
    }


def phase(lab: Lab, resource: str, name: str) -> str:
    namespace = "default" if resource == CLAIMS else ""
    return str(lab.get(resource, name, namespace)["status"]["phase"])


def user(name: str = "user", of: str = "data") -> dict[str, Any]:
    body = pod(name, app="x")
    body["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": of}}]
    return body


def test_a_claim_takes_the_smallest_volume_that_suits_it(lab: Lab) -> None:
    for name, size in (("large", "10Gi"), ("small", "500Mi"), ("right", "2Gi")):
        lab.create(VOLUMES, volume(name, size), "")
    assert phase(lab, VOLUMES, "right") == "Available"
    lab.create(CLAIMS, claim(storageClassName=""))
    found = lab.get(CLAIMS, "data")
    assert found["spec"]["volumeName"] == "right"
    assert found["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
    }
    assert phase(lab, VOLUMES, "right") == "Bound"
    assert lab.get(VOLUMES, "right", "")["spec"]["claimRef"]["uid"] == meta.uid_of(found)
    assert phase(lab, VOLUMES, "large") == "Available"
    lab.assert_no_slips()


def test_a_claim_without_volume_or_class_waits_and_says_so(lab: Lab) -> None:
    lab.create(CLAIMS, claim())
    assert phase(lab, CLAIMS, "data") == "Pending"
    assert lab.events("PersistentVolumeClaim")[0][:2] == (
        "FailedBinding",
        "no persistent volumes available for this claim and no storage class is set",
    )
    [told] = lab.stored("events", "default")
    assert told["source"]["component"] == "persistentvolume-controller"
    lab.create(VOLUMES, volume("late", "1Gi"), "")
    assert phase(lab, CLAIMS, "data") == "Bound"


def test_a_class_with_a_provisioner_makes_a_volume_and_deletes_it_with_the_claim(lab: Lab) -> None:
    lab.create("storageclasses.storage.k8s.io", storage_class(), "")
    lab.create(CLAIMS, claim(storageClassName="fast"))
    lab.run(2)
    name = f"pvc-{meta.uid_of(lab.get(CLAIMS, 'data'))}"
    assert phase(lab, CLAIMS, "data") == "Bound"
    assert phase(lab, VOLUMES, name) == "Bound"
    reasons = [reason for reason, _, _ in lab.events("PersistentVolumeClaim")]
    assert reasons == ["ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"]
    lab.delete(CLAIMS, "data")
    lab.run(2)
    assert lab.find(CLAIMS, "data") is None
    assert lab.find(VOLUMES, name, "") is None
    lab.assert_no_slips()


def test_a_class_that_waits_for_its_first_consumer_waits_for_the_schedulers_choice(
    lab: Lab,
) -> None:
    lab.add_node("node-1")
    lab.create(
        "storageclasses.storage.k8s.io",
        storage_class(
            volumeBindingMode="WaitForFirstConsumer", provisioner="rancher.io/local-path"
        ),
        "",
    )
    lab.create(CLAIMS, claim(storageClassName="fast"))
    lab.create("pods", user())
    lab.run(20)
    assert phase(lab, CLAIMS, "data") == "Pending"
    assert [event[:2] for event in lab.events("PersistentVolumeClaim")] == [
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        ("WaitForPodScheduled", "waiting for pod user to be scheduled"),
    ]
    chosen = {"volume.kubernetes.io/selected-node": "node-1"}
    lab.patch(CLAIMS, "data", {"metadata": {"annotations": chosen}})
    lab.run(5)
    assert phase(lab, CLAIMS, "data") == "Bound"
    made = lab.get(VOLUMES, lab.get(CLAIMS, "data")["spec"]["volumeName"], "")["spec"]
    terms = made["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["node-1"]


def test_a_claim_without_a_class_gets_the_default_one_when_there_is_one(lab: Lab) -> None:
    lab.create(CLAIMS, claim())
    lab.create(CLAIMS, claim("none", storageClassName=""))
    lab.create(CLAIMS, claim("named", storageClassName="fast"))
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    made = storage_class()
    made["metadata"]["annotations"] = default
    lab.create("storageclasses.storage.k8s.io", made, "")
    lab.run(3)
    assert lab.get(CLAIMS, "data")["spec"]["storageClassName"] == "fast"
    assert [phase(lab, CLAIMS, name) for name in ("data", "none", "named")] == [
        "Bound",
        "Pending",
        "Bound",
    ]


def test_a_volume_reserved_by_name_goes_to_that_claim_alone(lab: Lab) -> None:
    reserved = {"namespace": "default", "name": "data"}
    lab.create(VOLUMES, volume("mine", "5Gi", claimRef=reserved), "")
    lab.create(CLAIMS, claim("other", storageClassName=""))
    lab.create(CLAIMS, claim(storageClassName=""))
    found = lab.get(VOLUMES, "mine", "")
    assert found["spec"]["claimRef"]["uid"] == meta.uid_of(lab.get(CLAIMS, "data"))
    assert "annotations" not in found["metadata"]  # it was not the controller that chose
    assert phase(lab, CLAIMS, "data") == "Bound" and phase(lab, CLAIMS, "other") == "Pending"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (volume("disk", "1Mi"),
         ("VolumeMismatch", 'Cannot bind to requested volume "disk": requested PV is too small')),
        (volume("disk", "1Gi", volumeMode="Block"),
         ("VolumeMismatch", 'Cannot bind to requested volume "disk": incompatible volumeMode')),
        (volume("disk", "1Gi", claimRef={"namespace": "default", "name": "else"}),
         ("FailedBinding", 'volume "disk" already bound to a different claim.')),
    ],
)  # fmt: skip
def test_a_claim_is_told_why_it_cannot_have_the_volume_it_names(
    lab: Lab, there: dict[str, Any], said: tuple[str, str]
) -> None:
    lab.create(VOLUMES, there, "")
    lab.create(CLAIMS, claim(storageClassName="", volumeName="disk"))
    assert said in [event[:2] for event in lab.events("PersistentVolumeClaim")]
    assert phase(lab, CLAIMS, "data") == "Pending"


def test_a_claim_in_use_is_kept_until_its_pod_is_gone(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create(VOLUMES, volume("disk", "1Gi"), "")
    lab.create(CLAIMS, claim())
    lab.create("pods", user())
    lab.start_pods()
    lab.delete(CLAIMS, "data")
    assert meta.is_deleting(lab.get(CLAIMS, "data"))
    lab.delete("pods", "user")
    lab.finish_deletes()
    assert lab.find(CLAIMS, "data") is None
    assert phase(lab, VOLUMES, "disk") == "Released"


def test_a_bound_volume_is_kept_until_its_claim_is_gone(lab: Lab) -> None:
    lab.create(VOLUMES, volume("disk", "1Gi"), "")
    lab.create(CLAIMS, claim())
    lab.delete(VOLUMES, "disk", "")
    assert lab.find(VOLUMES, "disk", "") is not None
    lab.delete(CLAIMS, "data")
    lab.run(1)
    assert lab.find(VOLUMES, "disk", "") is None
