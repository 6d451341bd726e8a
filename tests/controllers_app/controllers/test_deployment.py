"""Deployments: revisions, rollouts, scaling, pausing, history, and what they say of it."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, deployment, template

REVISION = "deployment.kubernetes.io/revision"


def sets(lab: Lab) -> dict[str, int]:
    """Image of each replica set -> the size it wants, in the order of their revisions."""
    found = sorted(
        lab.all("replicasets.apps"), key=lambda item: int(meta.annotations_of(item)[REVISION])
    )
    return {
        item["spec"]["template"]["spec"]["containers"][0]["image"]: item["spec"]["replicas"]
        for item in found
    }


def condition(lab: Lab, kind: str, name: str = "web") -> dict[str, Any]:
    status = lab.get("deployments.apps", name)["status"]
    found: dict[str, Any] = next(item for item in status["conditions"] if item["type"] == kind)
    return found


def roll_out(lab: Lab) -> None:
    """Start what is created and end what is deleted until nothing moves any more."""
    for _ in range(40):
        waiting = [
            pod
            for pod in lab.all("pods")
            if meta.is_deleting(pod) or pod["status"].get("phase") == "Pending"
        ]
        if not waiting:
            return
        lab.start_pods()
        lab.finish_deletes()
        lab.run(1)
    raise AssertionError("the rollout does not end")


def set_image(lab: Lab, image: str) -> None:
    container = {"name": "web", "image": image}
    lab.patch(
        "deployments.apps", "web", {"spec": {"template": {"spec": {"containers": [container]}}}}
    )


def test_it_creates_a_replica_set_named_and_labelled_by_the_template_hash(lab: Lab) -> None:
    created = lab.create("deployments.apps", deployment("nginx-deployment", 1))
    [item] = lab.all("replicasets.apps")
    hash_ = item["metadata"]["labels"]["pod-template-hash"]
    assert meta.name_of(item) == f"nginx-deployment-{hash_}"
    assert item["metadata"]["labels"] == {"app": "nginx-deployment", "pod-template-hash": hash_}
    assert item["spec"]["selector"] == {"matchLabels": item["metadata"]["labels"]}
    assert item["spec"]["template"]["metadata"]["labels"] == item["metadata"]["labels"]
    assert item["metadata"]["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "1",
        "deployment.kubernetes.io/max-replicas": "2",
        REVISION: "1",
    }
    [owner] = item["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Deployment", meta.uid_of(created))
    assert lab.get("deployments.apps", "nginx-deployment")["metadata"]["annotations"] == {
        REVISION: "1"
    }
    lab.assert_no_slips()


def test_the_real_hash_of_nginx_on_1_33(lab: Lab) -> None:
    body = deployment("web", 1)
    body["spec"]["selector"]["matchLabels"] = {"app": "nginx"}
    body["spec"]["template"] = {
        "metadata": {"labels": {"app": "nginx"}},
        "spec": {"containers": [{"name": "nginx", "image": "nginx"}]},
    }
    lab.create("deployments.apps", body)
    assert lab.names("replicasets.apps") == ["web-5869d7778c"]


def test_its_creation_is_told_in_the_words_of_1_33(lab: Lab) -> None:
    lab.create("deployments.apps", deployment())
    [name] = lab.names("replicasets.apps")
    assert lab.events("Deployment") == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3", 1)
    ]


def test_its_status_follows_the_pods_until_it_is_complete(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment())
    status = lab.get("deployments.apps", "web")["status"]
    assert {
        name: status[name] for name in ("replicas", "updatedReplicas", "unavailableReplicas")
    } == {"replicas": 3, "updatedReplicas": 3, "unavailableReplicas": 3}
    assert condition(lab, "Available")["reason"] == "MinimumReplicasUnavailable"
    progressing = condition(lab, "Progressing")
    [name] = lab.names("replicasets.apps")
    assert (progressing["status"], progressing["reason"], progressing["message"]) == (
        "True",
        "ReplicaSetUpdated",
        f'ReplicaSet "{name}" is progressing.',
    )
    lab.start_pods()
    status = lab.get("deployments.apps", "web")["status"]
    assert (status["readyReplicas"], status["availableReplicas"]) == (3, 3)
    assert "unavailableReplicas" not in status
    assert condition(lab, "Available")["message"] == "Deployment has minimum availability."
    progressing = condition(lab, "Progressing")
    assert (progressing["reason"], progressing["message"]) == (
        "NewReplicaSetAvailable",
        f'ReplicaSet "{name}" has successfully progressed.',
    )


def test_reconciling_it_again_changes_nothing(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment())
    lab.start_pods()
    lab.run(5)
    before = lab.cluster.store.revision
    lab.cluster.roles["controllers"].components["deployment"].fail()
    lab.cluster.roles["controllers"].components["deployment"].start()
    lab.settle()
    assert lab.done("deployment")[-1] == ("ok", "wants 3, has 3 (3 available): nothing to do")
    assert lab.cluster.store.revision == before


def test_a_rolling_update_keeps_within_its_fenceposts(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=4))
    lab.start_pods()
    set_image(lab, "nginx:2")
    # 25% of 4: one more than wanted, one less available
    assert sets(lab) == {"nginx": 3, "nginx:2": 2}
    lab.start_pods()
    assert sets(lab) == {"nginx": 1, "nginx:2": 4}
    roll_out(lab)
    assert sets(lab) == {"nginx": 0, "nginx:2": 4}
    messages = [message.split(" ", 4)[-1] for _, message, _ in lab.events("Deployment")]
    assert messages == [
        f"{lab_name} from {sizes}" for lab_name, sizes in zip(
            [message.split()[0] for message in messages],
            ["0 to 4", "0 to 1", "4 to 3", "1 to 2", "3 to 2", "2 to 3", "2 to 1", "3 to 4",
             "1 to 0"], strict=True,
        )
    ]  # fmt: skip
    assert lab.get("deployments.apps", "web")["metadata"]["annotations"][REVISION] == "2"
    lab.assert_no_slips()


def test_what_is_unhealthy_goes_first(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=4))
    lab.start_pods(*lab.names("pods")[:3])
    set_image(lab, "nginx:2")
    ready = [pod for pod in lab.all("pods") if pod["status"]["phase"] == "Running"]
    assert len(ready) == 3


def test_recreate_starts_the_new_only_after_the_last_old_pod_is_gone(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=2, strategy={"type": "Recreate"}))
    lab.start_pods()
    set_image(lab, "nginx:2")
    assert sets(lab) == {"nginx": 0}
    assert all(meta.is_deleting(pod) for pod in lab.all("pods"))
    lab.finish_deletes()
    assert sets(lab) == {"nginx": 0, "nginx:2": 2}
    roll_out(lab)
    assert condition(lab, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_an_undo_takes_the_old_replica_set_again_with_a_new_revision(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=2))
    roll_out(lab)
    set_image(lab, "nginx:2")
    roll_out(lab)
    set_image(lab, "nginx")
    roll_out(lab)
    assert sets(lab) == {"nginx:2": 0, "nginx": 2}
    again = next(item for item in lab.all("replicasets.apps") if item["spec"]["replicas"] == 2)
    assert meta.annotations_of(again)[REVISION] == "3"
    assert meta.annotations_of(again)["deployment.kubernetes.io/revision-history"] == "1"
    assert lab.get("deployments.apps", "web")["metadata"]["annotations"][REVISION] == "3"


def test_scaling_a_settled_deployment_scales_its_one_replica_set(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=2))
    lab.start_pods()
    lab.patch("deployments.apps", "web", {"spec": {"replicas": 5}})
    [item] = lab.all("replicasets.apps")
    assert item["spec"]["replicas"] == 5
    assert meta.annotations_of(item)["deployment.kubernetes.io/desired-replicas"] == "5"
    assert meta.annotations_of(item)["deployment.kubernetes.io/max-replicas"] == "7"
    assert lab.events("Deployment")[-1][1] == (
        f"Scaled up replica set {meta.name_of(item)} from 2 to 5"
    )


def test_scaling_to_nothing_in_the_middle_of_a_rollout_leaves_nothing_at_once(lab: Lab) -> None:
    lab.create("deployments.apps", deployment("web", 5))
    lab.start_pods()
    set_image(lab, "nginx:2")
    assert sum(sets(lab).values()) == 7 and 0 not in sets(lab).values()

    told = len(lab.events("Deployment"))
    lab.patch("deployments.apps", "web", {"spec": {"replicas": 0}})

    assert set(sets(lab).values()) == {0}
    words = [text.rpartition(" to ")[2] for _, text, *_ in lab.events("Deployment")[told:]]
    assert words == ["0", "0"]


def test_scaling_in_the_middle_of_a_rollout_is_shared_in_proportion(lab: Lab) -> None:
    lab.add_node("node-1")
    rolling = {"maxSurge": 3, "maxUnavailable": 2}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    lab.create("deployments.apps", deployment(replicas=10, strategy=strategy))
    lab.start_pods()
    set_image(lab, "broken")
    assert sets(lab) == {"nginx": 8, "broken": 5}
    lab.patch("deployments.apps", "web", {"spec": {"replicas": 15}})
    # the example of upstream's documentation: three more for the old set, two for the new
    assert sets(lab) == {"nginx": 11, "broken": 7}


def test_while_paused_a_new_template_is_not_rolled_out_but_scaling_is(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=2))
    lab.start_pods()
    lab.patch("deployments.apps", "web", {"spec": {"paused": True}})
    found = condition(lab, "Progressing")
    assert (found["status"], found["reason"], found["message"]) == (
        "Unknown",
        "DeploymentPaused",
        "Deployment is paused",
    )
    set_image(lab, "nginx:2")
    lab.patch("deployments.apps", "web", {"spec": {"replicas": 3}})
    assert sets(lab) == {"nginx": 3}
    lab.patch("deployments.apps", "web", {"spec": {"paused": None}})
    assert sets(lab)["nginx:2"] >= 1
    roll_out(lab)
    assert sets(lab) == {"nginx": 0, "nginx:2": 3}


def test_without_progress_the_deadline_passes_and_the_cluster_keeps_trying(lab: Lab) -> None:
    lab.create("deployments.apps", deployment(replicas=1, progressDeadlineSeconds=60))
    lab.run(59)
    assert condition(lab, "Progressing")["status"] == "True"
    lab.run(5)
    found = condition(lab, "Progressing")
    [name] = lab.names("replicasets.apps")
    assert (found["status"], found["reason"], found["message"]) == (
        "False",
        "ProgressDeadlineExceeded",
        f'ReplicaSet "{name}" has timed out progressing.',
    )
    lab.add_node("node-1")
    lab.start_pods()
    assert condition(lab, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_a_complete_deployment_leaves_no_timer_that_drags_a_fast_clock(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=1))
    lab.start_pods()
    before = lab.kernel.now
    assert not lab.kernel.fire_timer(before, jump=True)
    assert lab.kernel.now == before


def test_old_replica_sets_beyond_the_history_limit_are_deleted(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("deployments.apps", deployment(replicas=1, revisionHistoryLimit=1))
    roll_out(lab)
    for number in (2, 3, 4):
        set_image(lab, f"nginx:{number}")
        roll_out(lab)
    assert sets(lab) == {"nginx:3": 0, "nginx:4": 1}


def test_a_name_that_a_stranger_has_is_a_collision_and_gives_another_hash(lab: Lab) -> None:
    body = deployment("web", 1)
    first = lab.create("deployments.apps", body)
    [taken] = lab.all("replicasets.apps")
    lab.delete("deployments.apps", "web", propagationPolicy="Orphan")
    lab.run(1)
    assert meta.is_deleting(first) is False
    lab.patch("replicasets.apps", meta.name_of(taken), {"metadata": {"labels": {"app": "other"}}})
    lab.create("deployments.apps", body)
    lab.run(1)
    assert len(lab.all("replicasets.apps")) == 2
    assert lab.get("deployments.apps", "web")["status"]["collisionCount"] == 1


def test_annotations_go_along_but_for_the_bookkeeping(lab: Lab) -> None:
    body = deployment("web", 1)
    body["metadata"]["annotations"] = {
        "team": "blue",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    lab.create("deployments.apps", body)
    [item] = lab.all("replicasets.apps")
    assert meta.annotations_of(item)["team"] == "blue"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in meta.annotations_of(item)


def test_an_orphaned_replica_set_with_the_same_template_is_adopted(lab: Lab) -> None:
    body = deployment("web", 2)
    lab.create("deployments.apps", body)
    lab.delete("deployments.apps", "web", propagationPolicy="Orphan")
    lab.run(1)
    [orphan] = lab.all("replicasets.apps")
    assert "ownerReferences" not in orphan["metadata"]
    again = lab.create("deployments.apps", body)
    lab.run(1)
    [item] = lab.all("replicasets.apps")
    assert item["metadata"]["ownerReferences"][0]["uid"] == meta.uid_of(again)
    assert len(lab.all("pods")) == 2


def test_a_refused_replica_set_is_said_in_condition_and_event(lab: Lab) -> None:
    lab.create(
        "resourcequotas",
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none"},
            "spec": {"hard": {"count/replicasets.apps": "0"}},
        },
    )
    status = {"hard": {"count/replicasets.apps": "0"}, "used": {"count/replicasets.apps": "0"}}
    lab.patch("resourcequotas", "none", {"status": status}, subresource="status")
    lab.create("deployments.apps", deployment("web", 1))
    found = condition(lab, "Progressing")
    assert (found["status"], found["reason"]) == ("False", "ReplicaSetCreateError")
    assert found["message"].startswith('Failed to create new replica set "web-')
    assert lab.events("Deployment")[0][0] == "ReplicaSetCreateError"


def test_a_pod_template_in_another_order_is_the_same_template(lab: Lab) -> None:
    body = deployment("web", 1)
    body["spec"]["template"] = dict(reversed(template(app="web").items()))
    lab.create("deployments.apps", body)
    lab.patch("deployments.apps", "web", {"metadata": {"labels": {"a": "b"}}})
    assert len(lab.all("replicasets.apps")) == 1
