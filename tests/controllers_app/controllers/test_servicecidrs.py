"""Ranges of service addresses: ready with a finalizer, and kept while addresses depend on them."""

from __future__ import annotations

from controllers_app.controllers.servicecidrs import ADDRESSES, CIDRS, FINALIZER
from tests.controllers_app.controllers.lab import Lab

LABELS = {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
}


def create(lab: Lab, name: str, cidr: str) -> None:
    lab.create(
        CIDRS,
        namespace="",
        obj={
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": name},
            "spec": {"cidrs": [cidr]},
        },
    )
    lab.run(1)


def create_address(lab: Lab, address: str) -> None:
    lab.create(
        ADDRESSES,
        namespace="",
        obj={
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {"name": address, "labels": LABELS},
            "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "web"}},
        },
    )


def test_a_range_is_ready_and_protected(lab: Lab) -> None:
    create(lab, "more", "10.200.0.0/24")
    found = lab.get(CIDRS, "more", "")
    assert found["metadata"]["finalizers"] == [FINALIZER]
    [condition] = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    owners = {entry["manager"]: entry["operation"] for entry in found["metadata"]["managedFields"]}
    assert owners["service-cidr-controller"] == "Apply"


def test_a_range_stays_while_it_alone_has_an_address(lab: Lab) -> None:
    create(lab, "more", "10.200.0.0/24")
    create_address(lab, "10.200.0.7")
    lab.delete(CIDRS, "more", "")
    lab.run(20)
    [condition] = lab.get(CIDRS, "more", "")["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Terminating")
    lab.delete(ADDRESSES, "10.200.0.7", "")
    lab.run(1)
    assert lab.find(CIDRS, "more", "") is None
    lab.assert_no_slips()


def test_a_range_within_another_goes_after_ten_seconds(lab: Lab) -> None:
    create(lab, "more", "10.200.0.0/16")
    create(lab, "less", "10.200.7.0/24")
    create_address(lab, "10.200.7.7")
    lab.delete(CIDRS, "less", "")
    lab.run(8)
    assert lab.find(CIDRS, "less", "") is not None
    lab.run(3)
    assert lab.find(CIDRS, "less", "") is None
