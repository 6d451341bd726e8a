"""Namespaces: what each gets, and how one goes with all that is in it."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, deployment, pod

FINE = "All content successfully removed"


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def condition(lab: Lab, name: str, kind: str) -> dict[str, Any]:
    status = lab.get("namespaces", name, "")["status"]
    found: dict[str, Any] = next(item for item in status["conditions"] if item["type"] == kind)
    return found


def test_a_new_namespace_gets_its_default_service_account_and_root_ca(lab: Lab) -> None:
    lab.create("namespaces", namespace("team"), "")
    assert lab.names("serviceaccounts", "team") == ["default"]
    published = lab.get("configmaps", "kube-root-ca.crt", "team")
    assert published["data"] == {"ca.crt": lab.cluster.inputs.ca_pem}
    assert "kubernetes.io/description" in meta.annotations_of(published)
    lab.assert_no_slips()


def test_what_was_deleted_or_changed_is_put_right(lab: Lab) -> None:
    lab.delete("serviceaccounts", "default")
    lab.delete("configmaps", "kube-root-ca.crt")
    assert "default" in lab.names("serviceaccounts")
    lab.patch("configmaps", "kube-root-ca.crt", {"data": {"ca.crt": "forged"}})
    assert lab.get("configmaps", "kube-root-ca.crt")["data"] == {
        "ca.crt": lab.cluster.inputs.ca_pem
    }


def test_a_deleted_namespace_goes_with_all_that_is_in_it(lab: Lab) -> None:
    lab.create("namespaces", namespace("team"), "")
    lab.create("deployments.apps", deployment(replicas=2), "team")
    lab.delete("namespaces", "team", "")
    assert lab.get("namespaces", "team", "")["status"]["phase"] == "Terminating"
    lab.run(30)
    assert lab.find("namespaces", "team", "") is None
    for resource in ("pods", "deployments.apps", "replicasets.apps", "configmaps", "events"):
        assert lab.stored(resource, "team") == []
    lab.assert_no_slips()


def test_what_holds_it_up_is_said_in_its_conditions(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("namespaces", namespace("team"), "")
    lab.create("pods", pod("slow", app="x"), "team")
    lab.start_pods(namespace="team")
    lab.delete("namespaces", "team", "")
    lab.run(8)
    # with pods left, 1.33 looks no further and says what it has found wrong so far: nothing
    remaining = condition(lab, "team", "NamespaceContentRemaining")
    assert (remaining["status"], remaining["reason"], remaining["message"]) == (
        "False",
        "ContentRemoved",
        "All content successfully removed",
    )
    assert lab.find("configmaps", "kube-root-ca.crt", "team") is not None
    lab.finish_deletes("team")
    lab.run(60)
    assert lab.find("namespaces", "team", "") is None


def test_an_aggregated_server_that_does_not_answer_holds_it_up(lab: Lab) -> None:
    lab.create("namespaces", namespace("team"), "")
    away = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1.away.example.com"},
        "spec": {
            "group": "away.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "service": {"namespace": "default", "name": "nobody"},
        },
    }
    lab.create("apiservices.apiregistration.k8s.io", away, "")
    lab.delete("namespaces", "team", "")
    lab.run(30)
    assert lab.names("configmaps", "team") == []
    found = condition(lab, "team", "NamespaceDeletionDiscoveryFailure")
    assert (found["status"], found["reason"], found["message"]) == (
        "True",
        "DiscoveryFailed",
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of "
        "server APIs: away.example.com/v1: stale GroupVersion discovery: away.example.com/v1",
    )
    lab.delete("apiservices.apiregistration.k8s.io", "v1.away.example.com", "")
    lab.run(90)
    assert lab.find("namespaces", "team", "") is None


def test_a_finalizer_on_content_is_named(lab: Lab) -> None:
    lab.create("namespaces", namespace("team"), "")
    held = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]},
    }
    lab.create("configmaps", held, "team")
    lab.delete("namespaces", "team", "")
    lab.run(8)
    found = condition(lab, "team", "NamespaceFinalizersRemaining")
    assert found["message"] == (
        "Some content in the namespace has finalizers remaining: "
        "example.com/hold in 1 resource instances"
    )
    found = condition(lab, "team", "NamespaceContentRemaining")
    assert (found["status"], found["reason"], found["message"]) == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    lab.patch("configmaps", "held", {"metadata": {"finalizers": None}}, "team")
    lab.run(60)
    assert lab.find("namespaces", "team", "") is None
