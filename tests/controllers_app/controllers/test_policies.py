"""Quotas, disruption budgets, times to live, and replication controllers."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors, meta
from tests.controllers_app.controllers.lab import Lab, deployment, replica_set
from tests.controllers_app.controllers.test_job import finish, job

BUDGETS = "poddisruptionbudgets.policy"


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def evict(lab: Lab, name: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    lab.call(lab.admin.create("pods", "default", eviction, name=name, subresource="eviction"), 2)


def test_a_quota_says_what_is_used_of_it(lab: Lab) -> None:
    lab.create(
        "resourcequotas",
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "small"},
            "spec": {"hard": {"pods": "5", "count/configmaps": "3"}},
        },
    )
    status = lab.get("resourcequotas", "small")["status"]
    assert status == {
        "hard": {"pods": "5", "count/configmaps": "3"},
        "used": {"pods": "0", "count/configmaps": "1"},
    }
    lab.create("replicasets.apps", replica_set(replicas=2))
    assert lab.get("resourcequotas", "small")["status"]["used"]["pods"] == "2"
    lab.set_pod(lab.names("pods")[0], "Succeeded")
    assert lab.get("resourcequotas", "small")["status"]["used"]["pods"] == "2"
    lab.delete("replicasets.apps", "web", propagationPolicy="Background")
    lab.run(2)
    assert lab.get("resourcequotas", "small")["status"]["used"]["pods"] == "0"
    lab.assert_no_slips()


def test_a_budget_allows_as_many_evictions_as_it_can_spare(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=3))
    lab.start_pods()
    lab.create(BUDGETS, budget(minAvailable=2))
    status = lab.get(BUDGETS, "web")["status"]
    assert (status["currentHealthy"], status["desiredHealthy"], status["expectedPods"]) == (3, 2, 3)
    assert status["disruptionsAllowed"] == 1
    assert status["conditions"][0]["reason"] == "SufficientPods"
    first, second, _ = lab.names("pods")
    evict(lab, first)
    assert meta.is_deleting(lab.get("pods", first))
    assert lab.get(BUDGETS, "web")["status"]["disruptionsAllowed"] == 0
    with pytest.raises(errors.ApiError) as refused:
        evict(lab, second)
    assert refused.value.code == 429
    lab.finish_deletes()
    lab.start_pods()
    lab.run(2)
    assert lab.get(BUDGETS, "web")["status"]["disruptionsAllowed"] == 1
    lab.assert_no_slips()


def test_max_unavailable_counts_what_the_controller_wants(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=4))
    lab.start_pods(*lab.names("pods")[:3])
    lab.create(BUDGETS, budget(maxUnavailable="25%"))
    status = lab.get(BUDGETS, "web")["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["disruptionsAllowed"]) == (
        4,
        3,
        0,
    )


def test_a_finished_job_is_deleted_after_its_time_to_live(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("jobs.batch", job(ttlSecondsAfterFinished=20))
    finish(lab, "Succeeded")
    assert lab.names("jobs.batch") == ["pi"]
    lab.run(25)
    assert lab.names("jobs.batch") == []
    assert lab.names("pods") == []


def test_a_replication_controller_keeps_its_pods_too(lab: Lab) -> None:
    body = replica_set("old", 2)
    body |= {"apiVersion": "v1", "kind": "ReplicationController"}
    body["spec"]["selector"] = {"app": "old"}
    lab.create("replicationcontrollers", body)
    pods = lab.all("pods")
    assert len(pods) == 2
    assert pods[0]["metadata"]["ownerReferences"][0]["kind"] == "ReplicationController"
    assert lab.get("replicationcontrollers", "old")["status"]["replicas"] == 2
