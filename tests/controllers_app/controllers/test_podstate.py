"""Which pod goes first, and when a pod is available: upstream's order, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from controllers_app.controllers.workload import podstate

NOW = meta.parse_time("2025-01-01T12:00:00Z")


def pod(name: str, **of: Any) -> dict[str, Any]:
    ready = of.get("ready")
    conditions = []
    if ready is not None:
        since = meta.rfc3339(NOW - ready * SECOND)
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    created = meta.rfc3339(NOW - of.get("age", 3600) * SECOND)
    annotations = {podstate.DELETION_COST: str(of["cost"])} if "cost" in of else {}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": created,
            "annotations": annotations,
        },
        "spec": {"nodeName": of.get("node", "n1"), "containers": []},
        "status": {
            "phase": of.get("phase", "Running"),
            "conditions": conditions,
            "containerStatuses": [{"name": "c", "restartCount": of.get("restarts", 0)}],
        },
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("b", node=""), pod("a")),
        (pod("b", phase="Pending"), pod("a")),
        (pod("b"), pod("a", ready=60)),
        (pod("b", ready=60, cost=-5), pod("a", ready=60)),
        (pod("b", ready=10), pod("a", ready=1000)),
        (pod("b", ready=60, restarts=3), pod("a", ready=60)),
        (pod("b", ready=60, age=100), pod("a", ready=60, age=100_000)),
        # about the same age: drawn by uid
        (pod("a", ready=1000), pod("b", ready=1001)),
    ],
    ids=["unassigned", "pending", "not ready", "cheap", "younger ready", "restarts", "younger",
         "by uid"],
)  # fmt: skip
def test_of_two_pods_this_one_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    for order in ([first, second], [second, first]):
        assert podstate.first_to_delete(order, 1, [], NOW) == [first]


def test_the_node_with_more_pods_of_the_same_owner_gives_one_up_first() -> None:
    crowd = [pod(name, node="n1", ready=60) for name in ("c", "d")]
    lone = pod("a", node="n2", ready=60)
    [first] = podstate.first_to_delete([lone, *crowd], 1, [lone, *crowd], NOW)
    assert first in crowd


def test_a_pod_is_available_once_it_was_ready_long_enough() -> None:
    assert podstate.is_available(pod("a", ready=11), 10, NOW)
    assert not podstate.is_available(pod("a", ready=10), 10, NOW)
    assert not podstate.is_available(pod("a"), 0, NOW)
    assert podstate.is_available(pod("a", ready=0), 0, NOW)


def test_a_pod_that_ended_or_is_going_is_not_active() -> None:
    assert podstate.is_active(pod("a"))
    assert not podstate.is_active(pod("a", phase="Succeeded"))
    going = pod("a")
    going["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    assert not podstate.is_active(going)
