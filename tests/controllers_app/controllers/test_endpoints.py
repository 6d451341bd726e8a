"""Endpoints and endpoint slices: the ready pods behind each service."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from tests.controllers_app.controllers.lab import Lab, replica_set

SLICES = "endpointslices.discovery.k8s.io"


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}], **spec},
    }


def slices(lab: Lab) -> list[dict[str, Any]]:
    return [slice_ for slice_ in lab.all(SLICES) if meta.name_of(slice_) != "kubernetes"]


def endpoints(lab: Lab) -> list[tuple[str, bool]]:
    """(pod, ready) of every endpoint in every slice."""
    return sorted(
        (endpoint["targetRef"]["name"], endpoint["conditions"]["ready"])
        for item in slices(lab)
        for endpoint in item.get("endpoints") or ()
    )


def test_a_service_without_pods_has_an_empty_slice_and_empty_endpoints(lab: Lab) -> None:
    lab.create("services", service())
    [item] = slices(lab)
    assert meta.name_of(item).startswith("web-")
    assert not item.get("endpoints")
    labels = item["metadata"]["labels"]
    assert labels["kubernetes.io/service-name"] == "web"
    assert labels["endpointslice.kubernetes.io/managed-by"] == "endpointslice-controller.k8s.io"
    assert item["metadata"]["ownerReferences"][0]["kind"] == "Service"
    assert "subsets" not in lab.get("endpoints", "web")
    lab.assert_no_slips()


def test_pods_become_endpoints_and_ready_ones_serve(lab: Lab) -> None:
    lab.add_node("node-1", labels={"topology.kubernetes.io/zone": "north"})
    lab.create("services", service())
    lab.create("replicasets.apps", replica_set(replicas=2))
    first, second = lab.names("pods")
    lab.start_pods(first)
    lab.bind(second, "node-1")
    lab.set_pod(second, "Running", ready=False)
    lab.run(2)
    assert endpoints(lab) == [(first, True), (second, False)]
    [item] = slices(lab)
    assert item["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    assert item["endpoints"][0]["nodeName"] == "node-1"
    assert item["endpoints"][0]["zone"] == "north"
    [subset] = lab.get("endpoints", "web")["subsets"]
    assert [address["targetRef"]["name"] for address in subset["addresses"]] == [first]
    assert [address["targetRef"]["name"] for address in subset["notReadyAddresses"]] == [second]
    assert subset["ports"] == [{"port": 8080, "protocol": "TCP"}]


def test_a_pod_that_is_being_deleted_still_serves_but_is_not_ready(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("services", service())
    lab.create("replicasets.apps", replica_set(replicas=1))
    lab.start_pods()
    [name] = lab.names("pods")
    lab.delete("pods", name)
    lab.run(1)
    [item] = slices(lab)
    assert item["endpoints"][0]["conditions"] == {
        "ready": False,
        "serving": True,
        "terminating": True,
    }
    assert "subsets" not in lab.get("endpoints", "web")


def test_a_named_target_port_is_found_in_the_pod(lab: Lab) -> None:
    lab.add_node("node-1")
    body = replica_set(replicas=1)
    ports = [{"name": "http", "containerPort": 9090}]
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = ports
    lab.create("services", service(ports=[{"name": "web", "port": 80, "targetPort": "http"}]))
    lab.create("replicasets.apps", body)
    lab.start_pods()
    lab.run(1)
    [item] = slices(lab)
    assert item["ports"] == [{"name": "web", "port": 9090, "protocol": "TCP"}]


def test_more_than_a_hundred_endpoints_take_another_slice(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("services", service())
    lab.create("replicasets.apps", replica_set(replicas=101))
    lab.run(10)  # twenty a second
    lab.start_pods()
    lab.run(5)
    assert sorted(len(item["endpoints"]) for item in slices(lab)) == [1, 100]
    assert len(endpoints(lab)) == 101


def test_a_change_of_nothing_that_shows_writes_nothing(lab: Lab) -> None:
    lab.add_node("node-1")
    lab.create("services", service())
    lab.create("replicasets.apps", replica_set(replicas=1))
    lab.start_pods()
    lab.run(5)
    before = slices(lab)[0]["metadata"]["resourceVersion"]
    [name] = lab.names("pods")
    lab.patch("pods", name, {"metadata": {"labels": {"more": "labels"}}})
    assert slices(lab)[0]["metadata"]["resourceVersion"] == before


def test_a_service_without_selector_is_left_to_its_user(lab: Lab) -> None:
    body = service()
    del body["spec"]["selector"]
    lab.create("services", body)
    assert slices(lab) == []
    assert lab.find("endpoints", "web") is None


def test_with_the_service_its_endpoints_and_slices_go(lab: Lab) -> None:
    lab.create("services", service())
    lab.delete("services", "web")
    lab.run(1)
    assert slices(lab) == []
    assert lab.find("endpoints", "web") is None


def test_a_headless_service_is_marked(lab: Lab) -> None:
    lab.create("services", service(clusterIP="None"))
    assert slices(lab)[0]["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    labels = lab.get("endpoints", "web")["metadata"]["labels"]
    assert labels["service.kubernetes.io/headless"] == ""
    assert labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
