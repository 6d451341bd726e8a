"""What a plugin is, and how plugins together decide on a node.

Filters are asked one after another for each node; the first that says no decides for that node.
Scores go from 0 to 100, are normalized by their plugin and multiplied by its weight.

Models kubernetes pkg/scheduler/framework/interface.go, runtime/framework.go and schedule_one.go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from apiserver_app.machinery import releases
from apiserver_app.machinery.meta import Object
from controllers_app.scheduler import alike
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo
from controllers_app.scheduler.nominator import Nominator, nominated_node

SCORE_MAX = 100

# why a node was turned down, and whether evicting pods could help
UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"

# upstream looks at fewer nodes the more there are, down to 5 %, but at 100 at least
FEASIBLE_MIN = 100
FEASIBLE_PERCENT_MIN = 5
# what a record of the trace lists at most
DETAIL_NODES_MAX = 100

# what may happen in the cluster that a pod which was turned down waits for
NODE_ADDED, NODE_UPDATED, NODE_DELETED = "node added", "node updated", "node deleted"
POD_ADDED, POD_UPDATED, POD_DELETED = "pod added", "pod updated", "pod deleted"
CLAIM_ADDED, CLAIM_UPDATED = "claim added", "claim updated"
VOLUME_ADDED, VOLUME_UPDATED = "volume added", "volume updated"
CLASS_ADDED, CLASS_UPDATED = "storage class added", "storage class updated"
NODE_EVENTS = (NODE_ADDED, NODE_UPDATED)


class ClusterEvent(msgspec.Struct, frozen=True):
    """Something happened to a node, to what volumes come from, or to a pod (`pod` then, and what
    it `was` before). A pod that is not `assigned` has no node: its own update, or the end of one
    that was nominated."""

    what: str
    revision: int
    old: Object | None = None
    new: Object | None = None
    pod: PodInfo | None = None
    was: PodInfo | None = None
    assigned: bool = True
    priority_max: int | None = None  # pods of a higher priority do not gain by it

    def shrunk(self) -> set[str]:
        """The resources of which the pod asks for less than before."""
        if self.pod is None or self.was is None:
            return set()
        asked = self.pod.requests
        return {name for name, amount in self.was.requests.items() if asked.get(name, 0) < amount}

    def tolerates_more(self, pod: PodInfo) -> bool:
        """Whether the pod itself got a toleration."""
        if self.pod is None or self.was is None or self.pod.key != pod.key:
            return False
        now, before = (pod.spec.get("tolerations") or () for pod in (self.pod, self.was))
        return len(now) != len(before)


class No(msgspec.Struct, frozen=True):
    """A filter's refusal, in upstream's words."""

    reasons: tuple[str, ...]
    code: str = UNSCHEDULABLE


class PreBindFailed(Exception):
    """What a pod needs on its node could not be had after all."""


class PreScoreFailed(Exception):
    """Preferences of the pod cannot be read."""


class Plugin:
    """One plugin. `state` is what its `prepare` computed for this pod; None means it has nothing
    to do for the pod in that phase and is skipped."""

    name = ""
    weight = 0
    filters = False
    scores = False
    reserves = False
    post_filters = False
    counts_pods = False  # what it prepared for the filter depends on other pods
    source = ""
    version = releases.DEFAULT
    remedy = ""  # a command, or a part of a manifest, that helps a pod the plugin keeps from {node}
    wakes_on: tuple[str, ...] = NODE_EVENTS

    def prepare_filter(self, pod: PodInfo, cache: Cache) -> Any:
        """PreFilter: None to skip, a No to turn the pod down before any node is asked. Default:
        always run."""
        return ()

    def narrow(self, state: Any, pod: PodInfo) -> Iterable[str] | None:
        """The only nodes that can be meant, when the pod says so by name."""
        return None

    def can_refuse(self, state: Any, pod: PodInfo, cache: Cache) -> bool:
        """False when every node of this cluster will pass, so that none needs to be asked."""
        return True

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return None

    def decides_by(self, state: Any) -> Iterable[str] | None:
        """The labels by which nodes that are `alike` may differ for the filter; None when there
        is more to it."""
        return None

    def count_pod(
        self, state: Any, pod: PodInfo, other: PodInfo, node: NodeInfo, sign: int
    ) -> None:
        """PreFilterExtensions: another pod comes to the node in thought, or leaves it (-1)."""

    def reserve(self, state: Any, pod: PodInfo, node: str) -> Any:
        """Reserve: promise what the pod needs on the node that was chosen. What is to be done
        before the pod can be bound; None for nothing."""
        return None

    def unreserve(self, todo: Any) -> None:
        """Take the promise back."""

    async def pre_bind(self, todo: Any, pod: PodInfo, node: str) -> None:
        """PreBind: do it. Raises PreBindFailed, or an ApiError."""

    def detail(self, todo: Any) -> Object:
        """What is to be done, for the trace."""
        return {}

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache) -> Any:
        """PreScore: None to skip. Default: always run. Raises PreScoreFailed."""
        return ()

    def scores_by(self, state: Any, nodes: Sequence[NodeInfo]) -> list[list[Any]] | None:
        """In columns, of each node, what decides about its score beside what nodes that are
        `alike` have in common; None when there is more to it."""
        return None

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return 0

    def score_all(self, state: Any, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[int]:
        return [self.score(state, pod, node) for node in nodes]

    def normalize(self, state: Any, scores: list[int], nodes: Sequence[NodeInfo]) -> list[int]:
        return scores

    def hint(self, event: ClusterEvent, pod: PodInfo) -> bool:
        """Whether the event may make a pod fit that this plugin turned down. Asked only about
        events it wakes on."""
        return True


def facts(plugin: Plugin) -> Object:
    """A plugin for the trace: its weight when it scores, upstream's file, its remedy."""
    described: Object = {"name": plugin.name, "source": plugin.source}
    if plugin.filters:
        described["filters"] = True
    if plugin.scores:
        described["weight"] = plugin.weight
    if plugin.post_filters:
        described["post_filters"] = True
    if plugin.remedy:
        described["remedy"] = plugin.remedy
    return described


def feasible_to_find(count: int) -> int:
    """How many nodes that pass are enough (numFeasibleNodesToFind)."""
    if count < FEASIBLE_MIN:
        return count
    percent = max(50 - count // 125, FEASIBLE_PERCENT_MIN)
    return max(count * percent // 100, FEASIBLE_MIN)


class Filters:
    """The filters of one attempt, with what each prepared for the pod, to be asked of nodes.

    Pods of at least the pod's priority that are nominated for a node count there: it must fit with
    and without them.
    """

    __slots__ = ("_checks", "_counting", "_labels", "_nominator", "pod")

    def __init__(
        self, pod: PodInfo, active: Sequence[tuple[Plugin, Any]], cache: Cache, nominator: Nominator
    ) -> None:
        self.pod = pod
        self._nominator = nominator
        self._counting = [pair for pair in active if pair[0].counts_pods]
        asked = [pair for pair in active if pair[0].can_refuse(pair[1], pod, cache)]
        self._checks = [(plugin.filter, state, plugin.name) for plugin, state in asked]
        self._labels = _decisive([plugin.decides_by(state) for plugin, state in asked])

    def refusal(self, node: NodeInfo) -> tuple[str, No] | None:
        """Why the node cannot take the pod, and which plugin says so."""
        if self._nominator:
            refusal = self._refusal_with_nominated(node)
            if refusal is not None:
                return refusal
        pod = self.pod
        for check, state, name in self._checks:
            no = check(state, pod, node)
            if no is not None:
                return name, no
        return None

    def find(self, nodes: Sequence[NodeInfo], start: int, out: Filtered) -> None:
        """Ask the nodes from the `start`th on, until enough have passed."""
        count = len(nodes)
        if not count:
            return
        enough, start = feasible_to_find(count), start % count
        passed = out.feasible
        if self._labels is not None and not self._nominator:
            self._find_by_kind(_stretches(nodes, start, enough), enough, self._labels, out)
            return
        turned = [*nodes[start:], *nodes[:start]]
        refusal_of = self.refusal
        verdicts: list[Verdict] = []
        for node in turned:
            refusal = refusal_of(node)
            verdicts.append(refusal)
            if refusal is None:
                passed.append(node)
                if len(passed) >= enough:
                    break
        out.looked_at = turned[: len(verdicts)]
        out.judged = [(out.looked_at, range(len(verdicts)), verdicts.__getitem__)]

    def _find_by_kind(
        self,
        stretches: Iterable[Sequence[NodeInfo]],
        enough: int,
        labels: Sequence[str],
        out: Filtered,
    ) -> None:
        """The same when one of each kind says all: no work in Python for each node."""
        known: dict[Any, Verdict] = {}
        for some in stretches:
            kinds = alike.kinds_of(some, (alike.values_of(some, label) for label in labels))
            here = dict.fromkeys(kinds)
            for kind in here:
                if kind not in known:
                    known[kind] = self.refusal(some[kinds.index(kind)])
            passed = some
            good = {kind for kind in here if known[kind] is None}
            if len(good) < len(here):
                passed = [*itertools.compress(some, map(good.__contains__, kinds))] if good else []
            missing = enough - len(out.feasible)
            if len(passed) >= missing:  # the rest is not asked
                some = some[: some.index(passed[missing - 1]) + 1]
            if len(good) < len(here):
                out.judged.append((some, kinds, known.__getitem__))
            out.feasible += passed[:missing]
            out.looked_at += some
            if len(passed) >= missing:
                return

    def _refusal_with_nominated(self, node: NodeInfo) -> tuple[str, No] | None:
        pod = self.pod
        guests = [
            nominated
            for nominated in self._nominator.on(node.name)
            if nominated.priority >= pod.priority and nominated.key != pod.key
        ]
        if not guests:
            return None
        crowded = node.copy()
        for guest in guests:
            crowded.add(guest)
            self.count(guest, node, 1)
        refusals = (
            (name, no)
            for check, state, name in self._checks
            if (no := check(state, pod, crowded)) is not None
        )
        refusal = next(refusals, None)
        for guest in guests:
            self.count(guest, node, -1)
        return refusal

    def count(self, other: PodInfo, node: NodeInfo, sign: int) -> None:
        """Another pod comes to the node in thought, or leaves it (-1)."""
        for plugin, state in self._counting:
            plugin.count_pod(state, self.pod, other, node, sign)


def _stretches(nodes: Sequence[NodeInfo], start: int, size: int) -> Iterator[Sequence[NodeInfo]]:
    """All nodes from the `start`th on and round, some at a time."""
    count = len(nodes)
    for begin, end in ((start, count), (0, start)):
        for at in range(begin, end, size):
            yield nodes[at : min(at + size, end)]


def _decisive(labels: Iterable[Iterable[str] | None]) -> list[str] | None:
    """The labels by which nodes that are alike may differ for one of the filters; None when there
    is more to one of them."""
    names: dict[str, None] = {}
    for some in labels:
        if some is None:
            return None
        names.update(dict.fromkeys(some))
    return [*names]


Verdict = tuple[str, No] | None  # (plugin, refusal); None of a node that passed
# nodes some of which were refused, the kind of each, and what became of a kind
Judged = tuple[Sequence[NodeInfo], Sequence[Any], Callable[[Any], Verdict]]


@dataclass(slots=True)
class Filtered:
    """The filter phase: who passed, and why the others did not."""

    feasible: list[NodeInfo]
    judged: list[Judged]
    ran: list[str]
    skipped: list[str]
    total: int = 0  # nodes of the cluster
    looked_at: list[NodeInfo] = field(default_factory=list)
    absent: tuple[int, No] | None = None  # nodes that were left out by name
    narrowers: list[str] = field(default_factory=list)
    refused: tuple[str, No] | None = None  # (plugin, refusal) before any node was asked
    reservers: Sequence[tuple[Plugin, Any]] = ()  # with what each prepared
    nominated: str = ""  # the node it was nominated for, which can take it now
    filters: Filters | None = None

    @property
    def failed(self) -> dict[str, tuple[str, No]]:
        """Returns why each node was refused, by its name. Most attempts need not know."""
        return dict(self._refusals())

    @property
    def failed_count(self) -> int:
        return len(self.looked_at) - len(self.feasible)

    def _refusals(self) -> Iterator[tuple[str, tuple[str, No]]]:
        for nodes, kinds, verdict_of in self.judged:
            for node, verdict in zip(nodes, map(verdict_of, kinds), strict=False):
                if verdict is not None:
                    yield node.name, verdict

    def detail(self) -> dict[str, Any]:
        names = [node.name for node in self.looked_at[:DETAIL_NODES_MAX]]
        failed = itertools.islice(self._refusals(), DETAIL_NODES_MAX)
        out: dict[str, Any] = {
            "nodes": names,
            "plugins": [{"name": name, "ran": True} for name in self.ran],
            "failed": {node: [plugin, ", ".join(no.reasons)] for node, (plugin, no) in failed},
            "skipped": self.skipped,
        }
        if self.refused is not None:
            out["refused"] = [self.refused[0], ", ".join(self.refused[1].reasons)]
        if self.nominated:
            out["nominated"] = self.nominated
        if len(self.looked_at) != len(names) or self.total != len(names):
            out["count"] = {
                "total": self.total,
                "looked_at": len(self.looked_at),
                "passed": len(self.feasible),
                "failed": self.failed_count,
            }
        return out

    def blockers(self) -> tuple[str, ...]:
        """The plugins that turned the pod or nodes down."""
        if self.refused is not None:
            return (self.refused[0],)
        return tuple(sorted({plugin for plugin, _ in self.failed.values()} | {*self.narrowers}))


def run_filters(
    plugins: Sequence[Plugin], pod: PodInfo, cache: Cache, nominator: Nominator, start: int = 0
) -> Filtered:
    """Ask the filters node by node, from the `start`th on, until enough nodes have passed. The
    node for which the pod is nominated is asked first, and is enough."""
    active: list[tuple[Plugin, Any]] = []
    skipped, narrowers, reservers = [], [], []
    only: set[str] | None = None
    for plugin in plugins:
        state = plugin.prepare_filter(pod, cache)
        if state is None:
            skipped.append(plugin.name)
            continue
        if isinstance(state, No):
            return _refused(plugin.name, state, active, skipped, cache)
        active.append((plugin, state))
        if plugin.reserves:
            reservers.append((plugin, state))
        names = plugin.narrow(state, pod)
        if names is not None:
            only = set(names) if only is None else only.intersection(names)
            narrowers.append(plugin.name)
    out = Filtered([], [], [plugin.name for plugin, _ in active], skipped, len(cache.nodes))
    out.reservers = reservers
    out.filters = filters = Filters(pod, active, cache, nominator)
    nominated = cache.nodes.get(nominated_node(pod.pod))
    if nominated is not None and filters.refusal(nominated) is None:
        out.feasible, out.looked_at = [nominated], [nominated]
        out.nominated = nominated.name
        return out
    nodes: Sequence[NodeInfo] = cache.order()
    if only is not None:
        nodes = [cache.nodes[name] for name in sorted(only) if name in cache.nodes]
        out.narrowers = narrowers
        words = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowers))}]"
        if len(nodes) < out.total:
            out.absent = (out.total - len(nodes), No((words,), UNRESOLVABLE))
    filters.find(nodes, start, out)
    return out


def _refused(
    name: str, no: No, active: Sequence[tuple[Plugin, Any]], skipped: list[str], cache: Cache
) -> Filtered:
    """Nothing is to be asked of the nodes: all are turned down by one plugin for one reason."""
    nodes = list(cache.order())
    judged: list[Judged] = [(nodes, range(len(nodes)), lambda _kind: (name, no))]
    ran = [*(plugin.name for plugin, _ in active), name]
    return Filtered([], judged, ran, skipped, len(nodes), nodes, refused=(name, no))


def run_reserve(
    reservers: Sequence[tuple[Plugin, Any]], pod: PodInfo, node: str
) -> list[tuple[Plugin, Any]]:
    """The plugins that have something to do before the pod is bound, and what."""
    asked = [(plugin, plugin.reserve(state, pod, node)) for plugin, state in reservers]
    return [(plugin, todo) for plugin, todo in asked if todo is not None]


def fit_error(filtered: Filtered, preemption: str = "") -> str:
    """The sentence of a FailedScheduling event. `preemption`: why nobody else has to leave."""
    if not filtered.total:
        return "no nodes available to schedule pods"
    counts: dict[str, int] = {}
    for count, no in _refusals(filtered):
        for reason in no.reasons:
            counts[reason] = counts.get(reason, 0) + count
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    if filtered.refused is not None:
        reasons = ", ".join(filtered.refused[1].reasons)
    head = f"0/{filtered.total} nodes are available: {reasons}."
    return f"{head} preemption: {preemption}" if preemption else head


def _refusals(filtered: Filtered) -> list[tuple[int, No]]:
    refusals = [(1, no) for _, no in filtered.failed.values()]
    return [*refusals, filtered.absent] if filtered.absent else refusals
