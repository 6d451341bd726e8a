"""Preemption: who has to leave where, in what words, and that the pod takes the room."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from controllers_app.scheduler import framework, preemption
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.nominator import Nominator
from controllers_app.scheduler.plugins import PLUGINS
from lifecycle.hosting.scripted import Session
from tests.controllers_app import podlab
from tests.controllers_app.podlab import PODS, condition, create, get, items, whole_cluster
from tests.controllers_app.scheduler.test_plugins import HOST, ZONE, affinity, cache, node, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NOBODY = "No preemption victims found for incoming pod"


def tried(
    which: Cache, info: PodInfo, nominator: Nominator | None = None, **world: Any
) -> tuple[framework.Filtered, preemption.Outcome]:
    filters = [kind() for kind in PLUGINS if kind.filters]
    out = framework.run_filters(filters, info, which, nominator or Nominator())
    return out, preemption.preempt(info, out, preemption.World(which, **world))


def victims(which: Cache, info: PodInfo, **world: Any) -> tuple[str, list[str]]:
    """(node, names of the victims)"""
    chosen = tried(which, info, **world)[1].candidate
    if chosen is None:
        return "", []
    return chosen.node, [victim.key.removeprefix("d/") for victim in chosen.victims]


def budget(allowed: int, **match: str) -> Object:
    return {
        "metadata": {"name": "b", "namespace": "d"},
        "spec": {"selector": {"matchLabels": match}},
        "status": {"disruptionsAllowed": allowed},
    }


# -- who, on one node -----------------------------------------------------------------------------


def test_as_many_as_possible_stay_the_more_important_first() -> None:
    which = cache(
        node("a"),
        a=[
            pod("low", "1", priority=1),
            pod("lower", "1", priority=0),
            pod("high", "1", priority=9),
            pod("higher", "1", priority=10),
        ],
    )
    assert victims(which, pod("p", "1", priority=10)) == ("a", ["lower"])
    assert victims(which, pod("p", "2", priority=10)) == ("a", ["low", "lower"])
    out, outcome = tried(which, pod("p", "4", priority=10))
    assert (outcome.candidate, outcome.nominated) == (None, "")
    assert framework.fit_error(out, outcome.message) == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Insufficient cpu."
    )


def test_who_started_last_leaves_first_among_equals() -> None:
    which = cache(node("a"), a=[pod("old", "2"), pod("new", "2")])
    times = {"d/old": "2025-01-01T00:00:00Z", "d/new": "2025-01-02T00:00:00Z"}
    info = pod("p", "1", priority=1)
    assert victims(which, info, started=lambda one: times[one.key]) == ("a", ["new"])


def test_a_budget_that_allows_no_disruption_is_spared_if_others_do() -> None:
    which = cache(
        node("a"), a=[pod("kept", "2", labels={"app": "k"}), pod("other", "2", priority=1)]
    )
    info = pod("p", "2", priority=5)
    assert victims(which, info) == ("a", ["kept"])
    assert victims(which, info, budgets=[budget(0, app="k")]) == ("a", ["other"])
    assert victims(which, info, budgets=[budget(1, app="k")]) == ("a", ["kept"])
    done = {**budget(0, app="k")}
    done["status"] = {"disruptionsAllowed": 0, "disruptedPods": {"kept": "2025-01-01T00:00:00Z"}}
    assert victims(which, info, budgets=[done]) == ("a", ["kept"])
    candidate = tried(which, pod("p", "4", priority=5), budgets=[budget(0, app="k")])[1].candidate
    assert candidate is not None and candidate.violations == 1


def test_the_dry_run_leaves_no_trace_in_what_the_filters_counted() -> None:
    far = affinity("podAntiAffinity", "web")
    which = cache(
        node("a"),
        node("b"),
        a=[pod("x", labels={"app": "web"}), pod("y", "3")],
        b=[pod("z", labels={"app": "web"})],
    )
    before = {name: (dict(one.requested), list(one.pods)) for name, one in which.nodes.items()}
    info = pod("p", "2", priority=1, affinity=far)
    assert victims(which, info) == ("b", ["z"])
    assert before == {
        name: (dict(one.requested), list(one.pods)) for name, one in which.nodes.items()
    }
    assert victims(which, info) == ("b", ["z"])


def test_pods_that_anti_affinity_or_spread_or_ports_count_may_be_victims() -> None:
    web = {"app": "web"}
    which = cache(
        node("a", zone="1"),
        node("b", zone="2"),
        a=[pod("x", labels=web), pod("y", labels=web)],
        b=[pod("z", labels=web, priority=9)],
    )
    far = pod("p", priority=5, affinity=affinity("podAntiAffinity", "web", ZONE))
    assert victims(which, far) == ("a", ["x", "y"])
    theirs = cache(node("a"), a=[pod("x", affinity=affinity("podAntiAffinity", "web"))])
    assert victims(theirs, pod("p", labels=web, priority=5)) == ("a", ["x"])
    constraint = {
        "maxSkew": 1,
        "topologyKey": HOST,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": web},
    }
    full = cache(node("a"), node("b", cpu="0"), a=[pod("x", labels=web)])
    spread = pod("p", "1", priority=5, labels=web, topologySpreadConstraints=[constraint])
    assert victims(full, spread) == ("a", ["x"])
    ports = cache(node("a"), a=[pod("x", port=80), pod("y", port=81)])
    assert victims(ports, pod("p", priority=5, port=80)) == ("a", ["x"])


def test_what_no_victim_can_change_is_not_tried() -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    which = cache(node("a", taints=[taint]), node("b", cpu="1"), a=[pod("x", "1")])
    _, outcome = tried(which, pod("p", "2", priority=5))
    assert outcome.message == (
        f"0/2 nodes are available: 1 {NOBODY}, 1 Preemption is not helpful for scheduling."
    )
    assert outcome.detail == {"candidates": {}, "refused": {"b": NOBODY}}


def test_a_policy_of_never_preempts_nobody() -> None:
    which = cache(node("a"), a=[pod("x", "4")])
    never = pod("p", "1", priority=5, preemptionPolicy="Never")
    assert tried(which, never)[1].message == "not eligible due to preemptionPolicy=Never."


# -- which node -----------------------------------------------------------------------------------


def low(name: str, priority: int = 0, cpu: str = "4", **labels: str) -> PodInfo:
    return pod(name, cpu, priority=priority, labels=labels)


def halves(name: str, *priorities: int) -> list[PodInfo]:
    return [low(f"{name}{i}", one, "2") for i, one in enumerate(priorities)]


@pytest.mark.parametrize(
    ("placed", "wanted", "why"),
    [
        ({"a": [low("x", 1, app="k")], "b": [low("y", 5)]}, "b", "violations"),
        ({"a": [low("x", 5)], "b": [low("y", 1)]}, "b", "highest"),
        ({"a": halves("x", 5, 4), "b": halves("y", 5, 1)}, "b", "sum"),
        ({"a": halves("x", 5, 5), "b": [low("y", 5)]}, "b", "sum"),
        ({"a": [low("old", 5)], "b": [low("new", 5)]}, "b", "started"),
        ({"a": [low("x", 5)], "b": [low("y", 5)]}, "a", "first"),
        ({"a": [low("x", 5)], "b": [low("y", 100)]}, "a", "only"),
    ],
)
def test_the_node_that_costs_least_is_chosen(
    placed: dict[str, list[PodInfo]], wanted: str, why: str
) -> None:
    times = {"d/old": "2025-01-01T00:00:00Z", "d/new": "2025-01-02T00:00:00Z"}
    outcome = tried(
        cache(node("a"), node("b"), **placed),
        pod("p", "4", priority=10),
        budgets=[budget(0, app="k")],
        started=lambda one: times.get(one.key, "2025"),
    )[1]
    assert outcome.detail is not None
    assert (outcome.nominated, outcome.detail["by"]) == (wanted, why)


def test_of_many_nodes_a_tenth_but_a_hundred_at_least_are_tried_from_a_drawn_one_on() -> None:
    names = [f"n{number:04}" for number in range(1500)]
    which = cache(*(node(name) for name in names), **{name: [low(f"x{name}")] for name in names})
    outcome = tried(which, pod("p", "4", priority=10), draw=lambda limit: 1400)[1]
    assert outcome.detail is not None
    found = list(outcome.detail["candidates"])
    assert (len(found), found[0]) == (100, "n1400")


# -- nominated pods -------------------------------------------------------------------------------


def nominated(info: PodInfo, name: str) -> Nominator:
    out = Nominator()
    out.put(info.pod, name)
    return out


def test_nominated_pods_count_for_those_of_no_higher_priority() -> None:
    which = cache(node("a"), node("b"))
    guest = nominated(pod("guest", "3", priority=5), "a")

    def passed(info: PodInfo) -> list[str]:
        return [one.name for one in tried(which, info, guest)[0].feasible]

    assert passed(pod("p", "2", priority=5)) == ["b"]
    assert passed(pod("p", "2", priority=6)) == ["a", "b"]
    assert passed(pod("guest", "3", priority=5)) == ["a", "b"]  # itself


def test_who_wants_to_be_near_a_nominated_pod_has_to_wait_for_it() -> None:
    which = cache(node("a"))
    guest = nominated(pod("guest", priority=5, labels={"app": "db"}), "a")
    near = pod("p", affinity=affinity("podAffinity", "db"))
    assert not tried(which, near, guest)[0].feasible
    far = pod("p", affinity=affinity("podAntiAffinity", "db"))
    assert not tried(which, far, guest)[0].feasible


def test_the_nominated_node_is_asked_first_and_is_enough() -> None:
    which = cache(node("a"), node("b"))
    body = pod("p", "2").pod
    body["status"] = {"nominatedNodeName": "b"}
    out, _ = tried(which, PodInfo(body))
    assert ([one.name for one in out.feasible], out.nominated) == (["b"], "b")
    which.place(pod("x", "4"), "b")
    assert [one.name for one in tried(which, PodInfo(body))[0].feasible] == ["a"]


# -- in a whole cluster ---------------------------------------------------------------------------


def classes(session: Session) -> None:
    for name, value in (("low", -100), ("mid", 1000), ("high", 100000)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        body = {**kind, "metadata": {"name": name}, "value": value}
        assert session.request("POST", CLASSES, body).status == 201


def asking(name: str, cpu: str, klass: str = "", **more: Any) -> dict[str, Any]:
    resources = {"resources": {"requests": {"cpu": cpu}}}
    named = {"priorityClassName": klass} if klass else {}
    return podlab.pod(name, container=resources, **named, **more)


def on(number: int) -> dict[str, Any]:
    return {"nodeName": f"node-{number}"}


def test_the_victim_leaves_and_the_pod_takes_its_node() -> None:
    session = whole_cluster(nodes=3)
    classes(session)
    for number, klass in enumerate(("low", "mid", "high"), 1):
        create(session, asking(f"v{number}", "4", klass, **on(number)))
    create(session, asking("web", "1", "high"))
    web = get(session)
    assert (web["spec"]["nodeName"], web["status"]["phase"]) == ("node-1", "Running")
    assert web["status"]["nominatedNodeName"] == "node-1"
    assert [item["metadata"]["name"] for item in items(session)] == ["v2", "v3", "web"]
    said = podlab.events(session)
    assert said[0] == (
        "Warning",
        "FailedScheduling",
        "0/3 nodes are available: 3 Insufficient cpu.",
    )
    assert ("Normal", "Scheduled", "Successfully assigned default/web to node-1") in said
    gone = podlab.events(session, "v1")
    text = f"Preempted by pod {web['metadata']['uid']} on node node-1"
    assert ("Normal", "Preempted", text) in gone
    found = session.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events").json()
    event = next(one for one in found["items"] if one["reason"] == "Preempted")
    assert (event["action"], event["regarding"]["name"]) == ("Preempting", "v1")
    assert event["related"]["name"] == "web"


def test_the_trace_tells_who_left_and_why_there() -> None:
    session = whole_cluster(nodes=2)
    classes(session)
    create(session, asking("v1", "4", "mid", **on(1)))
    create(session, asking("v2", "4", "low", **on(2)))
    create(session, asking("web", "1", "high"))
    told = [record for record in session.records() if record["kind"] == "schedule"]
    mine = [one for one in told if one["pod"] == "default/web"]
    first, last = mine[:3], [one["phase"] for one in mine[3:]]
    assert [one["phase"] for one in first] == ["filter", "preempt", "fail"]
    assert first[1]["detail"] == {
        "candidates": {
            "node-1": {"victims": ["default/v1"], "violations": 0, "highest": 1000},
            "node-2": {"victims": ["default/v2"], "violations": 0, "highest": -100},
        },
        "refused": {},
        "node": "node-2",
        "victims": ["default/v2"],
        "by": "highest",
    }
    assert last == ["filter", "select", "bind"]
    second = next(one for one in mine[3:] if one["phase"] == "filter")
    assert (second["detail"]["nodes"], second["detail"]["nominated"]) == (["node-2"], "node-2")


def test_a_victim_is_told_why_before_it_is_deleted() -> None:
    session = whole_cluster(nodes=1)
    classes(session)
    create(session, asking("v1", "4", "low", **on(1)))
    patch = {"metadata": {"finalizers": ["example.com/kept"]}}
    podlab.patch(session, f"{PODS}/v1", patch)
    create(session, asking("web", "1", "high"))
    said = condition(session, "DisruptionTarget", "v1")
    assert (said["status"], said["reason"]) == ("True", "PreemptionByScheduler")
    assert said["message"] == ("default-scheduler: preempting to accommodate a higher priority pod")
    assert get(session, "v1")["metadata"]["deletionTimestamp"]


def test_while_a_victim_ends_nobody_else_is_preempted() -> None:
    session = whole_cluster(nodes=2)
    classes(session)
    for name in ("v1", "v2"):
        create(session, asking(name, "2", "low", **on(1)))
    create(session, asking("v3", "4", "mid", **on(2)))
    create(session, asking("web", "4", "high", terminationGracePeriodSeconds=0), settle=False)
    session.wait(60)
    assert get(session)["spec"]["nodeName"] == "node-1"
    assert get(session, "v3")["status"]["phase"] == "Running"
    assert condition(session, "PodScheduled")["status"] == "True"


def test_a_budget_decides_between_two_nodes() -> None:
    session = whole_cluster(nodes=2)
    classes(session)
    create(session, asking("v1", "4", "low", labels={"app": "k"}, **on(1)))
    create(session, asking("v2", "4", "mid", **on(2)))
    body = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "k"}}},
    }
    assert session.request("POST", BUDGETS, body).status == 201
    create(session, asking("web", "1", "high"))
    assert get(session)["spec"]["nodeName"] == "node-2"
    assert get(session, "v1")["status"]["phase"] == "Running"


def test_a_nomination_gives_way_to_a_pod_of_higher_priority() -> None:
    session = whole_cluster(nodes=1)
    classes(session)
    create(session, asking("v1", "4", "low", **on(1)))
    session.cluster.role("kubelet", "stop")  # so that nothing ends
    create(session, asking("first", "4", "mid"))
    assert get(session, "first")["status"]["nominatedNodeName"] == "node-1"
    create(session, asking("second", "4", "high"))
    assert get(session, "second")["status"]["nominatedNodeName"] == "node-1"
    assert "nominatedNodeName" not in get(session, "first")["status"]
    assert condition(session, "PodScheduled", "first")["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 Insufficient cpu."
    )
    session.request("DELETE", f"{PODS}/v1?gracePeriodSeconds=0")
    session.wait(5)
    assert get(session, "second")["spec"]["nodeName"] == "node-1"
    assert "nodeName" not in get(session, "first")["spec"]


def test_a_pod_that_may_never_preempt_waits() -> None:
    session = whole_cluster(nodes=1)
    classes(session)
    create(session, asking("v1", "4", "low", **on(1)))
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    shy = {**kind, "metadata": {"name": "shy"}, "value": 5000, "preemptionPolicy": "Never"}
    assert session.request("POST", CLASSES, shy).status == 201
    create(session, asking("web", "1", "shy"))
    assert condition(session, "PodScheduled")["message"] == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
        "preemptionPolicy=Never."
    )
    assert get(session, "v1")["status"]["phase"] == "Running"
    assert "nominatedNodeName" not in get(session)["status"]


@pytest.mark.parametrize("version", ["1.32", "1.34"])
def test_other_releases_preempt_as_well(version: str) -> None:
    session = whole_cluster(nodes=1, version=version)
    classes(session)
    create(session, asking("v1", "4", "low", **on(1)))
    create(session, asking("web", "1", "high"))
    assert get(session)["status"]["phase"] == "Running"
