"""What the scheduler's cache counts as pods and nodes come and go is what counting anew gives."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery.syntax import labels
from controllers_app.scheduler import framework
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from tests.controllers_app.scheduler.test_plugins import HOST, ZONE, filtered, node, pod
from tests.fuzz.samples import examples

SELECTORS = [labels.from_set({"app": "a"}), labels.from_set({"app": "b"}), labels.from_set({})]
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["place", "forget", "node", "gone", "ask"]),
        st.integers(0, 5),
        st.integers(0, 3),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "1", "2"]),
    ),
    max_size=60,
)


@settings(max_examples=examples(80), deadline=None)
@given(moves=MOVES)
def test_counts_by_node_and_domain_are_those_of_counting_anew(
    moves: list[tuple[str, int, int, str, str]],
) -> None:
    cache = Cache()
    for move, number, where, app, zone in moves:
        if move == "place":
            cache.place(pod(f"p{number}", labels={"app": app}), f"n{where}")
        elif move == "forget":
            cache.forget(f"d/p{number}")
        elif move == "node":
            cache.put_node(node(f"n{where}", zone=zone))
        elif move == "gone":
            cache.remove_node(f"n{where}")
        for selector in SELECTORS if move == "ask" else SELECTORS[:1]:
            _check(cache, selector)
    for selector in SELECTORS:
        _check(cache, selector)


def _check(cache: Cache, selector: labels.Selector) -> None:
    by_node = Counter[str]()
    for one in cache.nodes.values():
        by_node[one.name] += sum(selector.matches(info.labels) for info in one.pods.values())
    assert dict(cache.counts("d", selector)) == {k: n for k, n in by_node.items() if n}
    for key in (ZONE, HOST):
        by_domain = Counter[str]()
        for name, count in by_node.items():
            by_domain[cache.nodes[name].labels.get(key, "")] += count
        found = cache.domain_counts("d", selector, key)
        assert dict(found) == {k: n for k, n in by_domain.items() if n}
        have = {one.labels[key] for one in cache.nodes.values() if key in one.labels}
        assert set(cache.domains(key)) == have
        assert cache.all_have(key) == all(key in one.labels for one in cache.nodes.values())


def test_spreading_scores_are_the_same_whether_or_not_every_node_has_a_host_name() -> None:
    app = {"app": "a"}
    plugin = PodTopologySpread()
    plugin.owner_selector = lambda pod: labels.from_set(app)
    info = pod("p", labels=app)

    def scored(extra: bool) -> list[int]:
        cache = Cache()
        for number in range(6):
            cache.put_node(node(f"n{number}", zone=str(number % 3)))
            for other in range(number):
                cache.place(pod(f"x{number}{other}", labels=app), f"n{number}")
        nodes = cache.order()
        if extra:  # it is there, but no node to choose from
            bare = node("bare")
            del bare["metadata"]["labels"][HOST]
            cache.put_node(bare)
        return plugin.score_all(plugin.prepare_score(info, nodes, cache), info, nodes)

    assert scored(False) == scored(True)


def test_nodes_that_all_pass_at_once_are_those_that_pass_one_by_one() -> None:
    cache = Cache()
    for number in range(250):
        cache.put_node(node(f"n{number:03}", cpu="2"))
    info = pod("p", cpu="1")
    at_once = filtered(cache, info, start=200)
    assert len(at_once.feasible) == 120 == len(at_once.looked_at)
    asked = pod("p", cpu="1")
    asked.requests = {**asked.requests, "example.com/gpu": 0}  # in which alike ones may differ
    one_by_one = filtered(cache, asked, start=200)
    names = [[one.name for one in out.feasible] for out in (at_once, one_by_one)]
    assert names[0] == names[1] and names[0][:2] == ["n200", "n201"]
    cache.place(PodInfo(pod("x", cpu="2").pod), "n210")
    out = filtered(cache, info, start=200)
    assert (len(out.feasible), len(out.looked_at), list(out.failed)) == (120, 121, ["n210"])
    assert framework.feasible_to_find(250) == 120
