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
        one["object"]["status"]
        for one in session.records()
        if one["kind"] == "write" and one["subresource"] == "status"
        and one["resource"] == "pods" and one["seq"] > began
    ]  # fmt: skip


def amounts(status: dict[str, Any]) -> tuple[str, str]:
    """The CPU that is allocated, and that the container has."""
    found = status["containerStatuses"][0]
    return found["allocatedResources"]["cpu"], found["resources"]["requests"]["cpu"]


def is_resizing(status: dict[str, Any]) -> bool:
    kinds = {one["type"]: one["status"] for one in status["conditions"]}
    return kinds.get("PodResizeInProgress") == "True"


def test_a_resize_is_in_progress_until_the_container_has_what_was_allocated() -> None:
    session = cluster(nodes=1)
    first, last = resized(session)
    assert (amounts(first), is_resizing(first)) == (("200m", "100m"), True)
    resizing = next(one for one in first["conditions"] if one["type"] == "PodResizeInProgress")
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
