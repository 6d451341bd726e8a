"""Filters and scores by upstream's formulas, on a cache filled by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import labels
from controllers_app.scheduler import framework, preemption, scoring
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import Plugin
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.nominator import Nominator
from controllers_app.scheduler.plugins import PLUGINS
from controllers_app.scheduler.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from controllers_app.scheduler.plugins.image_locality import ImageLocality
from controllers_app.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from controllers_app.scheduler.plugins.node_affinity import NodeAffinity
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers_app.scheduler.plugins.resources_fit import NodeResourcesFit
from controllers_app.scheduler.plugins.taint_toleration import TaintToleration

MIB = 1024 * 1024
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", zone: str = "", **more: Any) -> Any:
    marks = {HOST: name, **({ZONE: zone} if zone else {}), **more.pop("labels", {})}
    allocatable = {"cpu": cpu, "memory": memory, "pods": more.pop("pods", "110")}
    status = {"allocatable": allocatable, "images": more.pop("images", [])}
    return {"metadata": {"name": name, "labels": marks}, "spec": more, "status": status}


def pod(name: str, cpu: str = "", memory: str = "", **spec: Any) -> PodInfo:
    asked = {key: text for key, text in (("cpu", cpu), ("memory", memory)) if text}
    container: dict[str, Any] = {"name": "c", "image": spec.pop("image", "x")}
    if asked:
        container["resources"] = {"requests": asked}
    if "port" in spec:
        container["ports"] = [{"hostPort": spec.pop("port"), "protocol": "TCP"}]
    metadata = {"name": name, "namespace": "d", "uid": name, "labels": spec.pop("labels", {})}
    return PodInfo({"metadata": metadata, "spec": {"containers": [container], **spec}})


def cache(*nodes: Any, **placed: list[PodInfo]) -> Cache:
    out = Cache()
    for one in nodes:
        out.put_node(one)
    for name, pods in placed.items():
        for info in pods:
            out.place(info, name)
    return out


def filtered(
    which: Cache, info: PodInfo, start: int = 0, version: Release = releases.DEFAULT
) -> framework.Filtered:
    plugins = [kind() for kind in PLUGINS]
    for plugin in plugins:
        plugin.version = version
    filters = [one for one in plugins if one.filters]
    return framework.run_filters(filters, info, which, Nominator(), start)


def said(which: Cache, info: PodInfo, version: Release = releases.DEFAULT) -> str:
    out = filtered(which, info, version=version)
    if not out.total:
        return framework.fit_error(out)
    return framework.fit_error(out, preemption.preempt(info, out, preemption.World(which)).message)


def scores(plugin: Plugin, which: Cache, info: PodInfo) -> list[int] | None:
    nodes = which.order()
    state = plugin.prepare_score(info, nodes, which)
    if state is None:
        return None
    return plugin.normalize(state, plugin.score_all(state, info, nodes), nodes)


# -- filters --------------------------------------------------------------------------------------


def test_no_nodes_has_a_sentence_of_its_own() -> None:
    assert said(cache(), pod("p")) == "no nodes available to schedule pods"


def test_reasons_are_counted_and_sorted_as_upstream_does() -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    which = cache(
        node("a", cpu="1"),
        node("b", taints=[taint]),
        node("c", unschedulable=True),
        node("d", cpu="1"),
    )
    which.place(pod("x", cpu="1"), "a")
    assert said(which, pod("p", cpu="1500m")) == (
        "0/4 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were "
        "unschedulable, 2 Insufficient cpu. preemption: 0/4 nodes are available: "
        "2 No preemption victims found for incoming pod, 2 Preemption is not helpful for "
        "scheduling."
    )


def test_what_a_node_lacks_counts_as_beyond_preemption_from_1_34_on() -> None:
    which = cache(node("a", cpu="2"), node("b", cpu="1"), a=[pod("x", cpu="1500m")])
    assert said(which, pod("p", cpu="2")).endswith(
        "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )
    assert said(which, pod("p", cpu="2"), Release(34)).endswith(
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    shy = pod("p", cpu="2", preemptionPolicy="Never")
    assert said(which, shy).endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_everything_that_is_short_is_listed_in_order() -> None:
    which = cache(node("a", cpu="1", memory="1Gi", pods="1"), a=[pod("x")])
    assert said(which, pod("p", cpu="2", memory="2Gi")).startswith(
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."
    )


def test_a_host_port_is_taken_once_on_each_node() -> None:
    which = cache(node("a"), node("b"), a=[pod("x", port=80)])
    out = filtered(which, pod("p", port=80))
    assert [one.name for one in out.feasible] == ["b"]
    assert out.failed["a"][1].reasons == (
        "node(s) didn't have free ports for the requested pod ports",
    )
    which.forget("d/x")
    assert len(filtered(which, pod("p", port=80)).feasible) == 2


def test_ports_of_sidecars_count_from_1_34_on() -> None:
    def sidecar(name: str, port: int, version: Release) -> PodInfo:
        ports = [{"hostPort": port, "protocol": "TCP"}]
        beside = {"name": "s", "image": "x", "restartPolicy": "Always", "ports": ports}
        return PodInfo(pod(name, initContainers=[beside]).pod, version)

    for release, free in ((33, 2), (34, 1)):
        version = Release(release)
        which = cache(node("a"), node("b"), a=[sidecar("x", 8111, version)])
        for info in (pod("p", port=8111), sidecar("q", 8111, version)):
            assert len(filtered(which, info, version=version).feasible) == free


def test_numbers_are_compared_as_go_reads_them() -> None:
    ranks = ("1_0", "9223372036854775808", "010", "+11", " 12", "x")
    which = cache(*(node(f"n{i}", labels={"rank": rank}) for i, rank in enumerate(ranks)))

    def passed(operator: str, value: str) -> list[str]:
        rank = {"key": "rank", "operator": operator, "values": [value]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [rank]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        info = pod("p", affinity={"nodeAffinity": required})
        return [one.name for one in filtered(which, info).feasible]

    assert passed("Gt", "9") == ["n2", "n3"]
    assert passed("Gt", "1_0") == passed("Lt", "99999999999999999999") == []
    assert passed("Lt", "9223372036854775807") == ["n2", "n3"]


def test_terms_that_name_different_nodes_conflict() -> None:
    names = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    terms = {"nodeSelectorTerms": [{"matchFields": names}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    which = cache(node("a"), node("b"), node("c"))
    assert said(which, pod("p", affinity={"nodeAffinity": required})) == (
        "0/3 nodes are available: pod affinity terms conflict. preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_names_its_node_by_affinity_looks_at_that_one_only() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["b"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    which = cache(node("a"), node("b", cpu="1"), node("c"))
    small = pod("p", affinity={"nodeAffinity": required})
    assert [one.name for one in filtered(which, small).looked_at] == ["b"]
    big = pod("p", cpu="2", affinity={"nodeAffinity": required})
    assert said(which, big).startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) "
        "[NodeAffinity]."
    )


def test_a_spread_constraint_turns_down_the_crowded_zone() -> None:
    app = {"app": "w"}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": app},
    }
    which = cache(node("a", zone="z1"), node("b", zone="z2"), node("c"), a=[pod("x", labels=app)])
    out = filtered(which, pod("p", labels=app, topologySpreadConstraints=[constraint]))
    assert [one.name for one in out.feasible] == ["b"]
    words = "node(s) didn't match pod topology spread constraints"
    assert out.failed["a"][1].reasons == (words,)
    assert out.failed["c"][1].reasons == (f"{words} (missing required label)",)


def affinity(kind: str, app: str, key: str = HOST, weight: int = 0) -> dict[str, Any]:
    term: dict[str, Any] = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    if weight:
        weighted = [{"weight": weight, "podAffinityTerm": term}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_required_pod_affinity_goes_where_the_others_are() -> None:
    near = affinity("podAffinity", "db", ZONE)
    which = cache(
        node("a", zone="z1"),
        node("b", zone="z1"),
        node("c", zone="z2"),
        a=[pod("x", labels={"app": "db"})],
    )
    out = filtered(which, pod("p", affinity=near))
    assert {one.name for one in out.feasible} == {"a", "b"}
    assert out.failed["c"][1].reasons == ("node(s) didn't match pod affinity rules",)


def test_the_first_of_pods_that_want_to_be_together_may_go_anywhere() -> None:
    which = cache(node("a"), node("b"))
    near = affinity("podAffinity", "db")
    assert len(filtered(which, pod("p", labels={"app": "db"}, affinity=near)).feasible) == 2
    assert not filtered(which, pod("p", labels={"app": "web"}, affinity=near)).feasible


def test_anti_affinity_holds_in_both_directions() -> None:
    far = affinity("podAntiAffinity", "web")
    mine = {"app": "web"}
    which = cache(node("a"), node("b"), a=[pod("x", labels=mine, affinity=far)])
    own = filtered(which, pod("p", labels=mine, affinity=far))
    assert own.failed["a"][1].reasons == ("node(s) didn't match pod anti-affinity rules",)
    others = filtered(which, pod("p", labels=mine))
    assert others.failed["a"][1].reasons == (
        "node(s) didn't satisfy existing pods anti-affinity rules",
    )
    assert [one.name for one in others.feasible] == ["b"]
    which.forget("d/x")
    assert len(filtered(which, pod("p", labels=mine)).feasible) == 2


def test_what_a_resized_pod_has_counts_until_it_has_what_it_asks_for() -> None:
    def resized(reason: str = "") -> PodInfo:
        body = pod("x", cpu="1").pod
        held = {"requests": {"cpu": "2"}}
        said = {"name": "c", "allocatedResources": {"cpu": "3500m"}, "resources": held}
        body["status"] = {"containerStatuses": [said]}
        if reason:
            pending = {"type": "PodResizePending", "status": "True", "reason": reason}
            body["status"]["conditions"] = [pending]
        return PodInfo(body)

    assert resized().requests == {"cpu": 3500}
    assert not filtered(cache(node("a"), a=[resized()]), pod("p", cpu="1")).feasible
    held = pod("x", cpu="4").pod
    held["status"] = resized("Infeasible").pod["status"]
    assert PodInfo(held).requests == {"cpu": 3500}  # what it asks for will not come
    held["status"] = resized("Deferred").pod["status"]
    assert PodInfo(held).requests == {"cpu": 4000}
    assert PodInfo(resized().pod, Release(32)).requests == {"cpu": 1000}


# -- scores ---------------------------------------------------------------------------------------


def test_least_allocated_is_the_mean_of_what_stays_free() -> None:
    which = cache(node("a", cpu="4", memory="8Gi"), a=[pod("x", cpu="1", memory="2Gi")])
    # (4000 - 2000) / 4000 and (8 - 4) / 8 GiB
    assert scores(NodeResourcesFit(), which, pod("p", cpu="1", memory="2Gi")) == [50]


def test_a_pod_that_asks_for_nothing_counts_as_100m_and_200_mib() -> None:
    which = cache(node("a", cpu="1", memory="1000Mi"))
    assert scores(NodeResourcesFit(), which, pod("p")) == [(90 + 80) // 2]


def test_balanced_allocation_prefers_equal_shares_and_skips_best_effort() -> None:
    which = cache(node("a", cpu="4", memory="8Gi"))
    assert scores(NodeResourcesBalancedAllocation(), which, pod("p", "2", "2Gi")) == [87]
    assert scores(NodeResourcesBalancedAllocation(), which, pod("p", "1", "2Gi")) == [100]
    assert scores(NodeResourcesBalancedAllocation(), which, pod("p")) is None


def test_a_preferred_taint_costs_points() -> None:
    taint = {"key": "old", "effect": "PreferNoSchedule"}
    which = cache(node("a", taints=[taint]), node("b"))
    assert scores(TaintToleration(), which, pod("p")) == [0, 100]
    tolerant = pod("p", tolerations=[{"key": "old", "operator": "Exists"}])
    assert scores(TaintToleration(), which, tolerant) == [100, 100]


def test_preferred_node_affinity_adds_weights_and_scales_to_100() -> None:
    def prefer(key: str, weight: int) -> dict[str, Any]:
        expression = {"key": key, "operator": "Exists"}
        return {"weight": weight, "preference": {"matchExpressions": [expression]}}

    terms = [prefer("ssd", 30), prefer("gpu", 10)]
    wanted = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    which = cache(
        node("a", labels={"ssd": ""}), node("b", labels={"ssd": "", "gpu": ""}), node("c")
    )
    assert scores(NodeAffinity(), which, pod("p", affinity=wanted)) == [75, 100, 0]
    assert scores(NodeAffinity(), which, pod("p")) is None


def test_a_preference_for_what_is_no_number_is_an_error() -> None:
    rank = {"key": "rank", "operator": "Gt", "values": ["x"]}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [rank]}}]
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    which = cache(node("a"), node("b"))
    info = pod("p", affinity={"nodeAffinity": terms})
    with pytest.raises(framework.PreScoreFailed) as failed:
        scoring.run_scores([NodeAffinity()], info, which.order(), which)
    assert str(failed.value) == (
        'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid '
        "value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"
    )


def test_an_image_counts_by_its_size_and_by_how_many_nodes_have_it() -> None:
    image = {"names": ["reg.io/big:1"], "sizeBytes": 600 * MIB}
    which = cache(node("a", images=[image]), node("b"))
    wanted = 100 * (300 * MIB - 23 * MIB) // (1000 * MIB - 23 * MIB)
    assert scores(ImageLocality(), which, pod("p", image="reg.io/big:1")) == [wanted, 0]
    which.remove_node("a")
    assert scores(ImageLocality(), which, pod("p", image="reg.io/big:1")) == [0]


def test_default_spreading_counts_the_owners_pods_on_nodes_and_in_zones() -> None:
    app = {"app": "w"}
    plugin = PodTopologySpread()
    plugin.owner_selector = lambda pod: labels.from_set(app)
    which = cache(
        node("a", zone="z1"), node("b", zone="z2"), a=[pod("x", labels=app), pod("y", labels=app)]
    )
    host, zone = math.log(2 + 2), math.log(2 + 2)
    crowded = math.floor(2 * host + 2 + 2 * zone + 4 + 0.5)
    free = 6
    info = pod("p", labels=app)
    nodes = which.order()
    raw = plugin.score_all(plugin.prepare_score(info, nodes, which), info, nodes)
    assert raw == [crowded, free]
    assert scores(plugin, which, info) == [100 * (crowded + free - crowded) // crowded, 100]


def test_pods_on_their_way_out_do_not_count_for_spreading() -> None:
    app = {"app": "w"}
    plugin = PodTopologySpread()
    plugin.owner_selector = lambda pod: labels.from_set(app)
    leaving = pod("x", labels=app).pod
    leaving["metadata"]["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    which = cache(node("a"), node("b"), a=[PodInfo(leaving)])
    assert scores(plugin, which, pod("p", labels=app)) == [100, 100]


@pytest.mark.parametrize(
    ("kind", "wanted"), [("podAffinity", [100, 0]), ("podAntiAffinity", [0, 100])]
)
def test_preferred_pod_affinity_is_scaled_between_its_extremes(
    kind: str, wanted: list[int]
) -> None:
    which = cache(node("a"), node("b"), a=[pod("x", labels={"app": "db"})])
    info = pod("p", affinity=affinity(kind, "db", weight=10))
    assert scores(InterPodAffinity(), which, info) == wanted
    assert scores(InterPodAffinity(), which, pod("p")) is None


# -- sampling and order ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "enough"), [(3, 3), (99, 99), (100, 100), (250, 120), (1000, 420), (5000, 500)]
)
def test_fewer_of_more_nodes_are_looked_at(nodes: int, enough: int) -> None:
    assert framework.feasible_to_find(nodes) == enough


def test_the_next_attempt_begins_where_the_last_one_stopped() -> None:
    which = cache(*(node(f"n{number:03}") for number in range(250)))
    first = filtered(which, pod("p"))
    assert len(first.feasible) == 120 and first.feasible[0].name == "n000"
    second = filtered(which, pod("p"), start=len(first.looked_at))
    assert second.feasible[0].name == "n120" and second.detail()["count"]["passed"] == 120


def test_nodes_are_taken_zone_by_zone_in_turn() -> None:
    which = cache(node("a", zone="1"), node("b", zone="1"), node("c", zone="2"))
    assert [one.name for one in which.order()] == ["a", "c", "b"]


def test_pods_of_a_node_that_comes_later_are_counted_then() -> None:
    which = cache(a=[pod("x", cpu="1")])
    which.put_node(node("a"))
    assert which.nodes["a"].requested["cpu"] == 1000
    which.remove_node("a")
    which.put_node(node("a"))
    assert which.nodes["a"].requested["cpu"] == 1000
    which.forget("d/x")
    assert which.nodes["a"].requested["cpu"] == 0
