"""Replica sets: pods in the wanted number, owned, adopted, released, and refused with patience."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from apiserver_app.machinery import errors, meta
from lifecycle.hosting import scripted
from lifecycle.hosting.scripted import Session
from tests.controllers_app.controllers.lab import Lab, pod, replica_set


def status_of(lab: Lab, name: str = "web") -> dict[str, Any]:
    return dict(lab.get("replicasets.apps", name)["status"])


def test_it_creates_the_pods_of_its_template_in_slow_start_batches(lab: Lab) -> None:
    owner = lab.create("replicasets.apps", replica_set(replicas=10))
    pods = lab.all("pods")
    assert len(pods) == 10
    assert pods[0]["metadata"]["generateName"] == "web-"
    assert pods[0]["metadata"]["labels"] == {"app": "web"}
    assert pods[0]["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": meta.uid_of(owner),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    said = lab.done("replicaset")[0]
    assert said == ("ok", "wants 10, has 0: creates 10 (slow start 1, 2, 4, 3); writes its status")
    lab.assert_no_slips()


def test_each_pod_it_creates_is_an_event(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=2))
    told = lab.events("ReplicaSet")
    assert sorted(told) == sorted(
        ("SuccessfulCreate", f"Created pod: {name}", 1) for name in lab.names("pods")
    )


def test_its_status_counts_what_it_has(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("replicasets.apps", replica_set(replicas=3))
    assert status_of(lab) == {"replicas": 3, "fullyLabeledReplicas": 3, "observedGeneration": 1}
    lab.start_pods(*lab.names("pods")[:2])
    assert status_of(lab) == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }


def test_a_pod_counts_as_available_after_min_ready_seconds(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("replicasets.apps", replica_set(replicas=1, minReadySeconds=10))
    lab.start_pods()
    assert "availableReplicas" not in status_of(lab)
    assert status_of(lab)["readyReplicas"] == 1
    lab.run(11)
    assert status_of(lab)["availableReplicas"] == 1


def test_a_deleted_pod_is_replaced_at_once_and_not_counted(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("replicasets.apps", replica_set(replicas=2))
    lab.start_pods()
    first = lab.names("pods")[0]
    lab.delete("pods", first)
    assert len(lab.all("pods")) == 3
    assert status_of(lab)["replicas"] == 2
    lab.finish_deletes()
    assert len(lab.all("pods")) == 2
    assert first not in lab.names("pods")


def test_a_pod_that_ended_is_replaced_and_stays(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=1))
    [name] = lab.names("pods")
    lab.set_pod(name, "Failed")
    assert len(lab.all("pods")) == 2
    assert status_of(lab)["replicas"] == 1


def test_scaling_down_deletes_the_pod_that_is_not_ready_first(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("replicasets.apps", replica_set(replicas=3))
    ready = lab.names("pods")[:2]
    lab.start_pods(*ready)
    lab.patch("replicasets.apps", "web", {"spec": {"replicas": 2}})
    assert lab.names("pods") == ready
    assert lab.events("ReplicaSet")[-1][0] == "SuccessfulDelete"


def test_an_orphan_that_matches_is_adopted_and_counts(lab: Lab) -> None:
    lab.create("pods", pod("stray", app="web"))
    owner = lab.create("replicasets.apps", replica_set(replicas=2))
    assert len(lab.all("pods")) == 2
    [reference] = lab.get("pods", "stray")["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["controller"]) == (meta.uid_of(owner), True)
    assert lab.events("ReplicaSet")[0][0] == "SuccessfulCreate"


def test_a_pod_whose_labels_do_not_match_any_more_is_released_and_replaced(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=1))
    [name] = lab.names("pods")
    lab.patch("pods", name, {"metadata": {"labels": {"app": "debug"}}})
    assert "ownerReferences" not in lab.get("pods", name)["metadata"]
    assert len(lab.all("pods")) == 2


def test_pods_of_another_owner_with_the_same_selector_are_left_alone(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set("one", 2, selector={"matchLabels": {"app": "one"}}))
    before = lab.names("pods")
    other = replica_set("two", 1)
    other["spec"]["selector"] = {"matchLabels": {"app": "one"}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "one"}
    lab.create("replicasets.apps", other)
    assert len(lab.all("pods")) == 3
    owners = {
        meta.name_of(one): one["metadata"]["ownerReferences"][0]["name"] for one in lab.all("pods")
    }
    assert {name: owners[name] for name in before} == dict.fromkeys(before, "one")


def test_the_trace_tells_that_pods_of_another_owner_are_skipped() -> None:
    session = Session(scripted.default_inputs(nodes=1))
    for name, count in (("one", 2), ("two", 1)):
        item = replica_set(name, count)
        item["spec"]["selector"] = {"matchLabels": {"app": "x"}}
        item["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
        path = "/apis/apps/v1/namespaces/default/replicasets"
        assert session.request("POST", path, item).status == 201
    works = {
        record["seq"]: record["key"]
        for record in session.records()
        if record["kind"] == "work" and record["component"] == "replicaset"
    }
    said = [
        (works[record["span"]], record["said"])
        for record in session.records()
        if record["kind"] == "done" and record["span"] in works
    ]
    skips = [(key, text.partition("; ")[2]) for key, text in said if "skipped" in text]
    assert skips[0][0] == "default/two"
    assert skips[0][1].endswith("2 skipped: owned by ReplicaSet one")


def test_only_one_of_two_owners_adopts_the_same_orphan(lab: Lab) -> None:
    for name in ("one", "two"):
        item = replica_set(name, 1)
        item["spec"]["selector"] = {"matchLabels": {"app": "x"}}
        item["spec"]["template"]["metadata"]["labels"] = {"app": "x"}
        lab.create("replicasets.apps", item)
    lab.create("pods", pod("stray", app="x"))
    lab.run(60)
    stray = lab.find("pods", "stray")
    if stray is not None:  # it was adopted, and may have been the one too many
        owners = [item for item in stray["metadata"]["ownerReferences"] if item["controller"]]
        assert len(owners) == 1
    assert len([one for one in lab.all("pods") if not meta.is_deleting(one)]) == 2


def test_a_quota_that_refuses_costs_one_request_a_try_and_is_said(lab: Lab) -> None:
    lab.create(
        "resourcequotas",
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none"},
            "spec": {"hard": {"pods": "0"}},
        },
    )
    lab.forget_records()
    lab.create("replicasets.apps", replica_set(replicas=10))
    tries = [said for said in lab.done("replicaset") if said[0] == "retry"]
    assert len(lab.requests("replicaset", "create", "pods")) == len(tries) >= 3
    assert "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0" in tries[0][1]
    [condition] = status_of(lab)["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "ReplicaFailure",
        "True",
        "FailedCreate",
    )
    assert any(
        reason == "FailedCreate" and "Error creating: pods" in message
        for reason, message, _ in lab.events("ReplicaSet")
    )
    lab.delete("resourcequotas", "none")
    lab.run(30)
    assert len(lab.all("pods")) == 10
    assert "conditions" not in status_of(lab)


def test_after_a_kill_in_the_middle_it_goes_on_without_duplicates(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=4))
    replicaset = lab.cluster.roles["controllers"].components["replicaset"]
    replicaset.fail()
    lab.delete("pods", lab.names("pods")[0])
    lab.patch("replicasets.apps", "web", {"spec": {"replicas": 6}})
    assert len(lab.all("pods")) == 3
    replicaset.start()
    lab.run(1)
    assert len(lab.all("pods")) == 6
    lab.assert_no_slips()


def test_killing_the_whole_manager_changes_nothing_in_the_end(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=4))
    manager = lab.cluster.roles["controllers"].components["controllermanager"]
    manager.fail()
    assert set(lab.cluster.roles["controllers"].states().values()) == {"failed"}
    lab.patch("replicasets.apps", "web", {"spec": {"replicas": 5}})
    assert len(lab.all("pods")) == 4
    manager.start()
    lab.run(5)
    assert len(lab.all("pods")) == 5
    assert set(lab.cluster.roles["controllers"].states().values()) == {"running"}


def test_it_writes_under_its_own_service_account(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=1))
    records = lab.cluster.recorder.records
    spans = {
        record.seq
        for record in records
        if record.kind == "request" and record.client == "replicaset"
    }
    users = {
        msgspec.json.decode(record.detail)["user"]["name"]
        for record in records
        if record.kind == "gate" and record.gate == "authentication" and record.span in spans
    }
    assert users == {"system:serviceaccount:kube-system:replicaset-controller"}


def test_what_it_did_leads_back_to_the_request_that_caused_it(lab: Lab) -> None:
    owner = lab.create("replicasets.apps", replica_set(replicas=1))
    records = lab.cluster.recorder.records
    first = next(
        record.rev
        for record in records
        if record.kind == "write" and record.resource == "replicasets.apps"
    )
    work = next(
        record.seq
        for record in records
        if record.kind == "work" and record.component == "replicaset" and first in record.revs
    )
    [create] = [
        record
        for record in records
        if record.kind == "request" and record.verb == "create" and record.resource == "pods"
    ]
    assert create.parent == work
    assert meta.name_of(owner) == "web"


def test_a_second_controller_reference_is_refused(lab: Lab) -> None:
    lab.create("replicasets.apps", replica_set(replicas=1))
    [name] = lab.names("pods")
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "b",
        "uid": "b",
        "controller": True,
    }
    with pytest.raises(errors.ApiError) as refused:
        lab.patch("pods", name, {"metadata": {"ownerReferences": [reference]}})
    assert refused.value.code == 422
