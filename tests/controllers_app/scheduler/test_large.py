"""What a decision costs as nodes grow, and that nodes are judged by kind as one by one."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery.syntax import labels
from controllers_app.scheduler import framework, scoring
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import Plugin
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.nominator import Nominator
from controllers_app.scheduler.plugins import PLUGINS
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from tests.controllers_app.scheduler.test_plugins import ZONE, node, pod
from tests.fuzz.samples import examples

APP = labels.from_set({"app": "a"})
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
SLOW = {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"}
IMAGE = {"names": ["nginx:1.27"], "sizeBytes": 300 << 20}
ON_SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
IN_ZONE_1 = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["1"]}]}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ON_SSD]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": IN_ZONE_1}],
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    for when in ("DoNotSchedule", "ScheduleAnyway")
]
PODS: dict[str, dict[str, Any]] = {
    "plain": {},
    "with a Service": {},
    "with node affinity": {"affinity": AFFINITY},
    "that tolerates": {"tolerations": [{"key": "slow", "operator": "Exists"}]},
    "that spreads": {"topologySpreadConstraints": SPREAD},
}


def plugins(which: str) -> list[Plugin]:
    made = [kind() for kind in PLUGINS]
    for plugin in made:
        if isinstance(plugin, PodTopologySpread) and which == "with a Service":
            plugin.owner_selector = lambda pod: APP
    return made


def asked_for(which: str, name: str = "p") -> PodInfo:
    return pod(name, cpu="500m", image="nginx:1.27", labels={"app": "a"}, **PODS[which])


NODES = st.lists(
    st.tuples(
        st.sampled_from(["1", "2"]),
        st.sampled_from(["", "1", "2"]),
        st.lists(st.sampled_from([0, 1]), max_size=2),
        st.booleans(),
        st.sampled_from(["ssd", "hdd"]),
        st.booleans(),
        st.integers(0, 2),
    ),
    max_size=12,
)


def world(drawn: list[tuple[str, str, list[int], bool, str, bool, int]]) -> Cache:
    cache = Cache()
    for number, (cpu, zone, taints, closed, disk, has_image, pods) in enumerate(drawn):
        more: dict[str, Any] = {"taints": [(NOT_READY, SLOW)[taint] for taint in taints]}
        if closed:
            more["unschedulable"] = True
        images = [IMAGE] if has_image else []
        cache.put_node(
            node(f"n{number}", cpu=cpu, zone=zone, images=images, labels={"disk": disk}, **more)
        )
        for other in range(pods):
            placed = pod(f"x{number}-{other}", cpu="500m", labels={"app": "a"})
            cache.place(placed, f"n{number}")
    return cache


@settings(max_examples=examples(60), deadline=None)
@given(drawn=NODES, which=st.sampled_from(sorted(PODS)), start=st.integers(0, 20))
def test_nodes_are_judged_by_kind_as_they_are_one_by_one(
    drawn: list[tuple[str, str, list[int], bool, str, bool, int]], which: str, start: int
) -> None:
    cache, info, made = world(drawn), asked_for(which), plugins(which)
    filters = [one for one in made if one.filters]
    found = framework.run_filters(filters, info, cache, Nominator(), start)
    nodes = cache.order()
    turned = [*nodes[start % len(nodes) :], *nodes[: start % len(nodes)]] if nodes else []
    if found.refused is None and found.filters is not None:
        verdicts = [(one, found.filters.refusal(one)) for one in turned]
        assert found.feasible == [one for one, no in verdicts if no is None]
        assert list(found.failed.items()) == [(one.name, no) for one, no in verdicts if no]
        assert found.looked_at == turned
    scorers = [one for one in made if one.scores]
    if found.feasible:
        _scores_are_those_of_each(scorers, info, found.feasible, cache)


def _scores_are_those_of_each(
    scorers: list[Plugin], info: PodInfo, nodes: list[NodeInfo], cache: Cache
) -> None:
    told = scoring.run_scores(scorers, info, nodes, cache).detail()
    total = dict.fromkeys((one.name for one in nodes), 0)
    for plugin in scorers:
        state = plugin.prepare_score(info, nodes, cache)
        if state is None:
            continue
        raw = plugin.score_all(state, info, nodes)
        normalized = plugin.normalize(state, raw, nodes)
        (row,) = (one for one in told["plugins"] if one["name"] == plugin.name)
        assert [*row["raw"].values()] == raw
        assert [*row["normalized"].values()] == normalized
        for name, score in zip(total, normalized, strict=True):
            total[name] += score * plugin.weight
    assert told["total"] == total


class _Counted:
    """Counts how often plugins judge a node."""

    def __init__(self, made: list[Plugin]) -> None:
        self.judged = 0
        for plugin in made:
            for name in ("filter", "score"):
                setattr(plugin, name, self._counting(getattr(plugin, name)))

    def _counting(self, call: Any) -> Any:
        def counted(*given: Any) -> Any:
            self.judged += 1
            return call(*given)

        return counted


def judged(which: str, count: int, *, tainted: bool = False) -> tuple[int, int]:
    """How often plugins judge a node for a pod, and how many nodes are looked at, when others like
    it are there already."""
    cache, made = Cache(), plugins(which)
    for number in range(count):
        more: dict[str, Any] = (
            {"taints": [{**NOT_READY, "timeAdded": str(number)}]} if tainted else {}
        )
        cache.put_node(node(f"n{number}", zone=str(number % 3), labels={"disk": "ssd"}, **more))
    if tainted:
        cache.put_node(node(f"n{count - 1}", zone="1", labels={"disk": "ssd"}))
        cache.put_node(node(f"n{count - 2}", zone="1", labels={"disk": "ssd"}))
    for number in range(30):
        cache.place(asked_for(which, f"x{number}"), f"n{number % 10}")
    filters, scorers = (
        [one for one in made if getattr(one, what)] for what in ("filters", "scores")
    )
    counted, info = _Counted(made), asked_for(which)
    found = framework.run_filters(filters, info, cache, Nominator())
    scoring.run_scores(scorers, info, found.feasible, cache)
    return counted.judged, len(found.looked_at)


@pytest.mark.parametrize("which", sorted(PODS))
def test_plugins_judge_as_many_nodes_of_5000_as_of_100(which: str) -> None:
    small, large = judged(which, 100), judged(which, 5000)
    assert large[0] <= small[0] < 60
    assert (small[1], large[1]) == (100, 750 if which == "that spreads" else 500)


def test_thousands_of_nodes_with_one_taint_are_turned_down_by_one_look() -> None:
    few, looked_at = judged("plain", 5000, tainted=True)
    assert looked_at == 5000
    assert few <= judged("plain", 100)[0] + 2


def calls_of_an_attempt(count: int) -> int:
    """Of Python functions, while nine nodes of ten are tainted, with what is told of it."""
    cache, made = Cache(), plugins("plain")
    for number in range(count):
        more: dict[str, Any] = {"taints": [NOT_READY]} if number % 10 else {}
        cache.put_node(node(f"n{number}", **more))
    info, calls = asked_for("plain"), 0
    filters, scorers = (
        [one for one in made if getattr(one, what)] for what in ("filters", "scores")
    )
    cache.order()

    def called(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(called)
    try:
        found = framework.run_filters(filters, info, cache, Nominator())
        found.detail()
        scoring.run_scores(scorers, info, found.feasible, cache).detail()
    finally:
        sys.setprofile(None)
    assert len(found.failed) == found.failed_count > count * 8 // 10
    return calls


def test_an_attempt_lists_no_more_of_thousands_of_refusals_than_it_tells() -> None:
    few, many = calls_of_an_attempt(100), calls_of_an_attempt(5000)
    assert many <= few + 60
