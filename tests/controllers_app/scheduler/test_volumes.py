"""Where a pod can go by its claims and volumes, and what is done before it goes there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from lifecycle import catalog
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import (
    PODS,
    condition,
    create,
    events,
    get,
    patch,
    pod,
    whole_cluster,
)

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
DEFAULT_CLASS = Path(catalog.__file__).parent / "local-path-storage.yaml"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
HOPELESS = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


def post(session: Session, path: str, body: dict[str, Any]) -> None:
    answer = session.request("POST", path, body)
    assert answer.status == 201, answer.json()


def claim(name: str = "data", storage_class: str = "local", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": storage_class,
            **spec,
        },
    }


def storage_class(
    provisioner: str = "rancher.io/local-path", mode: str = "WaitForFirstConsumer", **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **more,
    }


def volume(name: str, node: str, size: str = "1Gi", **more: Any) -> dict[str, Any]:
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, **more},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


def user(name: str = "web", *names: str, **spec: Any) -> dict[str, Any]:
    volumes = [
        {"name": one, "persistentVolumeClaim": {"claimName": one}} for one in names or ("data",)
    ]
    return pod(name, volumes=volumes, **spec)


def said(session: Session, name: str = "web") -> tuple[str, str]:
    found = condition(session, "PodScheduled", name)
    assert found["status"] == "False"
    return found["reason"], found["message"]


def told(session: Session, phase: str) -> list[dict[str, Any]]:
    return [
        record["detail"]
        for record in session.records()
        if record["kind"] == "schedule" and record["phase"] == phase
    ]


def claim_of(session: Session, name: str = "data") -> dict[str, Any]:
    found: dict[str, Any] = session.request("GET", f"{CLAIMS}/{name}").json()
    return found


def test_a_pod_waits_for_its_claim_to_be_there_and_then_to_be_bound() -> None:
    session = whole_cluster(nodes=2)
    create(session, user())
    missing = f'0/2 nodes are available: persistentvolumeclaim "data" not found. {HOPELESS}'
    assert said(session) == ("Unschedulable", missing.format(2))
    assert ("Warning", "FailedScheduling", missing.format(2)) in events(session)
    post(session, CLAIMS, claim())  # its class is not there, so it is to be bound at once
    session.wait(2)
    unbound = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    assert said(session) == ("Unschedulable", f"{unbound} {HOPELESS}".format(2))
    assert told(session, "filter")[-1]["refused"] == [
        "VolumeBinding",
        "pod has unbound immediate PersistentVolumeClaims",
    ]
    assert told(session, "fail")[-1]["unschedulable"] == ["VolumeBinding"]
    post(session, CLASSES, storage_class(mode="Immediate"))
    session.wait(20)
    assert get(session)["status"]["phase"] == "Running"


def test_the_first_consumers_node_is_where_the_volume_is_made() -> None:
    session = whole_cluster(nodes=3)
    post(session, CLASSES, storage_class())
    post(session, CLAIMS, claim())
    create(session, user(nodeSelector={"kubernetes.io/hostname": "node-2"}))
    session.wait(10)
    assert get(session)["status"]["phase"] == "Running"
    found = claim_of(session)
    assert found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "node-2"
    assert found["status"]["phase"] == "Bound"
    assert told(session, "prebind") == [
        {"node": "node-2", "plugin": "VolumeBinding", "provision": ["default/data"]}
    ]
    create(session, user("second", nodeSelector={"kubernetes.io/hostname": "node-1"}))
    assert said(session, "second")[1].startswith(
        "0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "2 node(s) didn't match Pod's node affinity/selector. preemption:"
    )


def test_others_have_their_turn_while_a_volume_is_made() -> None:
    session = whole_cluster(nodes=1)
    post(session, CLASSES, storage_class())
    post(session, CLAIMS, claim())
    session.cluster.role("controllers", "stop")
    create(session, user())
    create(session, pod("quick"))
    session.cluster.role("controllers", "start")
    session.wait(30)
    binds = [record for record in session.records() if record["kind"] == "schedule"]
    order = [(bind["pod"], bind["phase"]) for bind in binds if bind["phase"] in ("bind", "prebind")]
    assert order == [("default/web", "prebind"), ("default/quick", "bind"), ("default/web", "bind")]
    spans = {bind["span"] for bind in binds if bind["pod"] == "default/web"}
    assert len(spans) == 1  # all of it is one attempt, which is closed once
    closed = [
        record
        for record in session.records()
        if record["kind"] == "done" and record["span"] in spans
    ]
    assert [one["said"] for one in closed] == ["bound to node-1"]


def test_a_free_volume_is_reserved_on_the_node_that_reaches_it_and_never_twice() -> None:
    session = whole_cluster(nodes=3)
    post(session, CLASSES, storage_class("kubernetes.io/no-provisioner"))
    post(session, VOLUMES, volume("large", "node-1", "9Gi"))
    post(session, VOLUMES, volume("right", "node-3", "2Gi"))
    for name in ("data", "more"):
        post(session, CLAIMS, claim(name))
    create(session, user("one", "data"), settle=False)
    create(session, user("two", "more"), settle=False)
    session.wait(10)
    found = {get(session, name)["spec"]["nodeName"] for name in ("one", "two")}
    assert found == {"node-1", "node-3"}
    assert {claim_of(session, name)["spec"]["volumeName"] for name in ("data", "more")} == {
        "large",
        "right",
    }
    post(session, CLAIMS, claim("third"))
    create(session, user("three", "third"))
    none = "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind."
    assert said(session, "three")[1] == f"{none} {HOPELESS}".format(3)
    post(session, VOLUMES, volume("late", "node-2"))
    session.wait(20)
    assert get(session, "three")["spec"]["nodeName"] == "node-2"


def test_a_class_may_say_where_its_volumes_can_be_made() -> None:
    session = whole_cluster(nodes=3)
    term = {"matchLabelExpressions": [{"key": "kubernetes.io/hostname", "values": ["node-3"]}]}
    post(session, CLASSES, storage_class(allowedTopologies=[term]))
    post(session, CLAIMS, claim())
    create(session, user())
    session.wait(10)
    assert get(session)["spec"]["nodeName"] == "node-3"


def test_a_volumes_zone_is_where_its_pods_go() -> None:
    session = whole_cluster(nodes=3)
    zone = "topology.kubernetes.io/zone"
    for name, where in (("node-1", "a"), ("node-2", "b"), ("node-3", "b")):
        patch(session, f"/api/v1/nodes/{name}", {"metadata": {"labels": {zone: where}}})
    disk = volume("disk", "node-1", labels={zone: "a__c"})
    del disk["spec"]["nodeAffinity"], disk["spec"]["local"]
    post(session, VOLUMES, {**disk, "spec": {**disk["spec"], "hostPath": {"path": "/tmp"}}})
    post(session, CLAIMS, claim())
    create(session, user("web"))
    assert get(session)["spec"]["nodeName"] == "node-1"
    create(session, user("far", nodeSelector={zone: "b"}))
    assert "2 node(s) had no available volume zone" in said(session, "far")[1]


def test_a_claim_for_one_pod_is_given_to_one_pod() -> None:
    session = whole_cluster(nodes=2)
    disk = volume("disk", "node-1")
    disk["spec"]["accessModes"] = ["ReadWriteOncePod"]
    post(session, VOLUMES, disk)
    post(session, CLAIMS, claim(accessModes=["ReadWriteOncePod"]))
    create(session, user("first"))
    create(session, user("second"))
    assert (
        "2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
        "access mode" in said(session, "second")[1]
    )
    session.request("DELETE", f"{PODS}/first")
    session.wait(20)
    assert get(session, "second")["status"]["phase"] == "Running"


def test_a_pod_deleted_while_its_volume_is_made_leaves_nothing_behind() -> None:
    session = whole_cluster(nodes=1)
    session.cluster.role("controllers", "stop")  # so that nobody makes the volume
    post(session, CLASSES, storage_class())
    post(session, CLAIMS, claim())
    create(session, user(container={"resources": {"requests": {"cpu": "3"}}}))
    session.request("DELETE", f"{PODS}/web")
    session.wait(20)
    assert told(session, "fail")[-1]["message"] == (
        'running PreBind plugin "VolumeBinding": binding volumes: pod does not exist any more: '
        'pod "web" not found'
    )
    create(session, pod("next", container={"resources": {"requests": {"cpu": "3"}}}))
    assert get(session, "next")["spec"]["nodeName"] == "node-1"


def test_a_node_that_a_provisioner_gives_back_is_chosen_anew() -> None:
    session = whole_cluster(nodes=1)
    session.cluster.role("controllers", "stop")
    post(session, CLASSES, storage_class())
    post(session, CLAIMS, claim())
    create(session, user())
    gone = {"volume.kubernetes.io/selected-node": None}
    patch(session, f"{CLAIMS}/data", {"metadata": {"annotations": gone}})
    session.wait(3)
    message = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for '
    assert (f'{message}PVC "data"') in [event["message"] for event in told(session, "fail")]
    session.cluster.role("controllers", "start")
    session.wait(60)
    assert get(session)["status"]["phase"] == "Running"


@pytest.mark.parametrize("version", ["1.32", "1.33"])
def test_the_words_of_a_volume_out_of_reach_are_the_versions(version: str) -> None:
    session = whole_cluster(nodes=1, version=version)
    post(session, VOLUMES, volume("disk", "node-9"))
    post(session, CLAIMS, claim())
    create(session, user())
    words = {
        "1.32": "1 node(s) had volume node affinity conflict",
        "1.33": "1 node(s) didn't match PersistentVolume's node affinity",
    }
    assert words[version] in said(session)[1]


def test_a_volume_of_a_pods_own_is_claimed_made_and_gone_with_it() -> None:
    session = whole_cluster(nodes=1)
    post(session, CLASSES, storage_class())
    template = {"spec": claim()["spec"], "metadata": {"labels": {"kept": "here"}}}
    own = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    create(session, pod(volumes=own))
    session.wait(15)
    assert get(session)["status"]["phase"] == "Running"
    made = claim_of(session, "web-scratch")
    assert made["metadata"]["labels"] == {"kept": "here"} and made["status"]["phase"] == "Bound"
    assert made["metadata"]["ownerReferences"][0]["name"] == "web"
    session.request("DELETE", f"{PODS}/web")
    session.wait(60)
    assert session.request("GET", f"{CLAIMS}/web-scratch").status == 404
    post(session, CLAIMS, claim("other-scratch"))
    create(session, pod("other", volumes=own))
    session.wait(3)
    why = "PVC default/other-scratch was not created for pod default/other (pod is not owner)"
    assert said(session, "other")[1].startswith(f"0/1 nodes are available: {why}.")
    told = [text for _, reason, text in events(session, "other") if reason == "FailedBinding"]
    assert told == [f"ephemeral volume scratch: {why}"]


def test_a_stateful_set_with_claims_comes_to_run() -> None:
    session = whole_cluster(nodes=3)
    post(session, CLASSES, yaml.safe_load(DEFAULT_CLASS.read_text()))
    template = claim()
    del template["spec"]["storageClassName"]
    labels = {"app": "db"}
    post(session, "/apis/apps/v1/namespaces/default/statefulsets", {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db", "replicas": 2, "selector": {"matchLabels": labels},
            "volumeClaimTemplates": [template],
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "db", "image": "nginx",
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }]},
            },
        },
    })  # fmt: skip
    session.wait(60)
    for name in ("db-0", "db-1"):
        node = get(session, name)["spec"]["nodeName"]
        assert get(session, name)["status"]["phase"] == "Running"
        annotations = claim_of(session, f"data-{name}")["metadata"]["annotations"]
        assert annotations["volume.kubernetes.io/selected-node"] == node
