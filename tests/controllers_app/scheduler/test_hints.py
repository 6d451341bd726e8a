"""What wakes a pod that was refused, and what does not: recorded of kube-scheduler 1.33.4."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import PODS, cluster, condition, create, get, patch, pod
from tests.controllers_app.scheduler.test_scheduling import attempts

HOST = "kubernetes.io/hostname"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
BIG = {"resources": {"requests": {"cpu": "9"}}}

Act = Callable[[Session], object]


def selecting(kind: str, *terms: dict[str, str]) -> dict[str, Any]:
    found = [{"topologyKey": HOST, "labelSelector": {"matchLabels": term}} for term in terms]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": found}}}


def spread(**more: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def label(name: str, **labels: str) -> Act:
    return lambda session: patch(session, f"{PODS}/{name}", {"metadata": {"labels": labels}})


def gone(name: str) -> Act:
    return lambda session: session.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def comes(name: str, **labels: str) -> Act:
    return lambda session: create(session, pod(name, labels=labels, nodeName="node-1"))


def tolerate(key: str) -> Act:
    def act(session: Session) -> None:
        tolerations = [*get(session)["spec"]["tolerations"], {"key": key, "operator": "Exists"}]
        patch(session, f"{PODS}/web", {"spec": {"tolerations": tolerations}})

    return act


APART_ONE = selecting("podAntiAffinity", {"app": "a"})
APART_TWO = selecting("podAntiAffinity", {"app": "a"}, {"tier": "a"})
NEAR_TWO = selecting("podAffinity", {"app": "a"}, {"tier": "a"})
A: dict[str, Any] = {"labels": {"app": "a"}}
NO: tuple[bool, bool] = (False, False)

# there before, on node-1; the refused pod; what happens; (tried again, bound) on the real one
CASES: dict[str, tuple[dict[str, Any] | None, dict[str, Any], Act, tuple[bool, bool]]] = {
    "own label, refused for a taint": (None, {}, label("web", x="y"), NO),
    "own label, refused for cpu": (None, {"container": BIG}, label("web", x="y"), NO),
    "own label that would help": (APART_ONE, A, label("web", app="b"), NO),
    "the pod with anti-affinity goes": (APART_ONE, A, gone("old"), NO),
    "a rival of one of two terms goes": (A, APART_TWO, gone("old"), NO),
    "a rival of the only term goes": (A, APART_ONE, gone("old"), (True, True)),
    "a friend of one of two terms comes": (None, NEAR_TWO, comes("new", app="a"), NO),
    "a friend of both terms comes": (None, NEAR_TWO, comes("new", app="a", tier="a"), (True, True)),
    "a rival's label that matters not": (A, APART_ONE, label("old", x="y"), NO),
    "a rival's label that matters": (A, APART_ONE, label("old", app="b"), (True, True)),
    "a counted pod's label that matters not": (A, {**A, **spread()}, label("old", x="y"), NO),
    "a counted pod's label that matters": (
        A,
        {**A, **spread()},
        label("old", app="b"),
        (True, True),
    ),
    "own toleration": (None, {}, tolerate("dedicated"), (True, True)),
    "own toleration of another taint": (None, {}, tolerate("other"), (True, False)),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_refused_pod_is_woken_by_what_upstreams_hints_let_through(name: str) -> None:
    before, refused, act, wanted = CASES[name]
    session = cluster(nodes=2)
    if before is not None:
        create(session, pod("old", nodeName="node-1", **copy.deepcopy(before)))
    second: dict[str, Any] = {"unschedulable": True}
    if not refused:
        patch(session, "/api/v1/nodes/node-1", {"spec": {"taints": [TAINT]}})
    if "topologySpreadConstraints" in refused:
        second = {"taints": [{**TAINT, "key": "second"}]}
    patch(session, "/api/v1/nodes/node-2", {"spec": second})
    create(session, pod(**copy.deepcopy(refused)))
    assert "nodeName" not in get(session)["spec"]
    tried = attempts(session)
    act(session)
    session.wait(3.5)
    assert (attempts(session) > tried, "nodeName" in get(session)["spec"]) == wanted


def test_a_pod_in_a_cluster_without_nodes_is_tried_after_each_back_off() -> None:
    session = cluster(nodes=0)
    create(session, pod())
    tried = attempts(session)
    assert condition(session, "PodScheduled")["message"] == "no nodes available to schedule pods"
    session.wait(30)
    assert attempts(session) > tried
