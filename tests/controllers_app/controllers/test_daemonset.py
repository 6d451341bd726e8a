"""Daemon sets: one pod on every node that may have it."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, template


def daemon_set(image: str = "nginx", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": template(image, app="agent"),
            **spec,
        },
    }


def nodes_of(lab: Lab) -> list[str]:
    """The node each pod asks for."""
    out = []
    for pod in lab.all("pods"):
        terms = pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
        out.append(terms[0]["matchFields"][0]["values"][0])
    return sorted(out)


def start(lab: Lab) -> None:
    """Each pod where it wants to be."""
    for name in lab.names("pods"):
        pod = lab.get("pods", name)
        terms = pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
        lab.start_pods(name, node=terms[0]["matchFields"][0]["values"][0])


def test_every_node_gets_one_pod_and_a_new_node_too(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("daemonsets.apps", daemon_set())
    assert nodes_of(lab) == ["node-1", "node-2"]
    lab.add_node("node-3")
    assert nodes_of(lab) == ["node-1", "node-2", "node-3"]
    labels = lab.all("pods")[0]["metadata"]["labels"]
    [revision] = lab.all("controllerrevisions.apps")
    assert meta.name_of(revision) == f"agent-{labels['controller-revision-hash']}"
    lab.assert_no_slips()


def test_a_node_it_does_not_select_or_tolerate_gets_none(lab: Lab) -> None:
    lab.add_node("node-1", labels={"disk": "ssd"})
    lab.add_node("node-2")
    lab.add_node("node-3", labels={"disk": "ssd"})
    taint = [{"key": "gpu", "effect": "NoSchedule"}]
    lab.patch("nodes", "node-3", {"spec": {"taints": taint}}, "")
    body = daemon_set()
    body["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    lab.create("daemonsets.apps", body)
    assert nodes_of(lab) == ["node-1"]


def test_its_pods_bear_a_cordon_and_a_node_that_is_not_ready(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.patch("nodes", "node-1", {"spec": {"unschedulable": True}}, "")
    lab.create("daemonsets.apps", daemon_set())
    assert nodes_of(lab) == ["node-1"]


def test_its_status_counts_nodes(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("daemonsets.apps", daemon_set())
    start(lab)
    status = lab.get("daemonsets.apps", "agent")["status"]
    assert status == {
        "currentNumberScheduled": 2,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 2,
        "numberReady": 2,
        "observedGeneration": 1,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
    }


def test_an_update_replaces_one_pod_at_a_time(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    lab.create("daemonsets.apps", daemon_set())
    start(lab)
    containers = [{"name": "web", "image": "nginx:2"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    lab.patch("daemonsets.apps", "agent", patch)
    assert sum(meta.is_deleting(pod) for pod in lab.all("pods")) == 1
    for _ in range(10):
        lab.finish_deletes()
        start(lab)
    images = [pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")]
    assert images == ["nginx:2", "nginx:2"]
    assert [item["revision"] for item in lab.all("controllerrevisions.apps")].count(2) == 1


def test_a_pod_that_failed_is_killed_and_replaced(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("daemonsets.apps", daemon_set())
    [name] = lab.names("pods")
    lab.bind(name, "node-1")
    lab.set_pod(name, "Failed")
    assert lab.names("pods") != [name]
    assert len(lab.all("pods")) == 1
    assert any(reason == "FailedDaemonPod" for reason, _, _ in lab.events("DaemonSet"))


def test_with_a_surge_the_new_pod_of_a_node_is_there_before_the_old_one_goes(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.add_node("node-2")
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    lab.create("daemonsets.apps", daemon_set(updateStrategy={"rollingUpdate": rolling}))
    start(lab)
    containers = [{"name": "web", "image": "nginx:2"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    lab.patch("daemonsets.apps", "agent", patch)
    assert not [pod for pod in lab.all("pods") if meta.is_deleting(pod)]
    assert len(lab.all("pods")) == 3
    for _ in range(4):
        start(lab)
        assert sum(not meta.is_deleting(pod) for pod in lab.all("pods")) >= 2
        lab.finish_deletes()
    images = [pod["spec"]["containers"][0]["image"] for pod in lab.all("pods")]
    assert images == ["nginx:2", "nginx:2"]


def test_a_pod_that_succeeded_is_replaced_too(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("daemonsets.apps", daemon_set())
    [name] = lab.names("pods")
    lab.bind(name, "node-1")
    lab.set_pod(name, "Succeeded")
    assert lab.names("pods") != [name]
    assert any(reason == "SucceededDaemonPod" for reason, _, _ in lab.events("DaemonSet"))
