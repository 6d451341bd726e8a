"""Resizing a running pod in place: what is allocated first, then what its containers have."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import PODS, cluster, create, get, patch, pod


def resized(session: Session, **container: Any) -> list[dict[str, Any]]:
    """The statuses that follow when the CPU of a pod goes from 100m to 200m."""
    amounts = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}
    create(session, pod(container={"resources": amounts, **container}))
    began = next(reversed(list(session.records())))["seq"]
    more = {"name": "c", "resources": {"requests": {"cpu": "200m"}}}
    patch(session, f"{PODS}/web/resize", {"spec": {"containers": [more]}})
    return [
        record["object"]["status"]
        for record in session.records()
        if record["kind"] == "write"
        and record["subresource"] == "status"
        and record["resource"] == "pods"
        and record["seq"] > began
    ]


def amounts(status: dict[str, Any]) -> tuple[str, str]:
    """The CPU that is allocated, and that the container has."""
    found = status["containerStatuses"][0]
    return found["allocatedResources"]["cpu"], found["resources"]["requests"]["cpu"]


def is_resizing(status: dict[str, Any]) -> bool:
    kinds = {condition["type"]: condition["status"] for condition in status["conditions"]}
    return kinds.get("PodResizeInProgress") == "True"


def test_a_resize_is_in_progress_until_the_container_has_what_was_allocated() -> None:
    session = cluster(nodes=1)
    first, last = resized(session)
    assert (amounts(first), is_resizing(first)) == (("200m", "100m"), True)
    resizing = next(
        condition for condition in first["conditions"] if condition["type"] == "PodResizeInProgress"
    )
    assert resizing["lastProbeTime"] == resizing["lastTransitionTime"]  # only here it is said
    assert (amounts(last), is_resizing(last)) == (("200m", "200m"), False)
    assert get(session)["status"]["containerStatuses"][0]["restartCount"] == 0


@pytest.mark.parametrize(("policy", "restarts"), [("NotRequired", 0), ("RestartContainer", 1)])
def test_the_resize_policy_says_whether_the_container_is_restarted(
    policy: str, restarts: int
) -> None:
    session = cluster(nodes=1)
    resized(session, resizePolicy=[{"resourceName": "cpu", "restartPolicy": policy}])
    found = get(session)["status"]
    assert found["containerStatuses"][0]["restartCount"] == restarts
    assert not is_resizing(found)
    assert amounts(found) == ("200m", "200m")


def asks(session: Session, cpu: str, name: str = "web") -> None:
    """Resizes the pod's container."""
    more = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    patch(session, f"{PODS}/{name}/resize", {"spec": {"containers": [more]}})


def pending(session: Session) -> tuple[str, str] | None:
    """Reason and message of a resize that was not made."""
    found = get(session)["status"]["conditions"]
    reasons = [
        (event["reason"], event["message"])
        for event in found
        if event["type"] == "PodResizePending"
    ]
    return reasons[0] if reasons else None


def requesting(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


def test_more_than_the_node_has_is_infeasible_until_less_is_asked_for() -> None:
    session = cluster(nodes=1)
    create(session, pod(container=requesting("100m")))
    asks(session, "100")
    message = "Node didn't have enough capacity: cpu, requested: 100000, capacity: 4000"
    assert pending(session) == ("Infeasible", message)
    status = get(session)["status"]
    assert (amounts(status), is_resizing(status)) == (("100m", "100m"), False)
    asks(session, "200m")
    status = get(session)["status"]
    assert (pending(session), amounts(status)) == (None, ("200m", "200m"))


def test_what_others_hold_defers_a_resize_until_they_are_gone() -> None:
    session = cluster(nodes=1)
    create(session, pod("other", container=requesting("2")))
    create(session, pod(container=requesting("100m")))
    asks(session, "3")
    found = pending(session)
    assert found is not None and found[0] == "Deferred"
    assert found[1].startswith("Node didn't have enough resource: cpu, requested: 3000, used: ")
    session.request("DELETE", f"{PODS}/other")
    assert amounts(get(session)["status"]) == ("100m", "100m"), "not before its next sync"
    session.wait(90)
    status = get(session)["status"]
    assert (pending(session), amounts(status)) == (None, ("3", "3"))


def test_a_restarted_kubelet_knows_what_a_pod_was_given() -> None:
    session = cluster(nodes=1)
    create(session, pod(container=requesting("100m")))
    asks(session, "100")
    before = pending(session)
    session.restart()
    session.wait(5)
    assert pending(session) == before
    assert amounts(get(session)["status"]) == ("100m", "100m")
