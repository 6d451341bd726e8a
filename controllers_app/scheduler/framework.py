"""What a plugin is, and how plugins together decide on a node.

Filters are asked one after another for each node; the first that says no decides for that node.
Scores go from 0 to 100, are normalized by their plugin and multiplied by its weight.

Models kubernetes pkg/scheduler/framework/interface.go, runtime/framework.go and schedule_one.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

SCORE_MAX = 100

# why a node was turned down, and whether evicting pods could help
UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"

# what may make a pod schedulable that a plugin turned down
NODE, POD_GONE, POD_BOUND = "node", "pod gone", "pod bound"


@dataclass(frozen=True, slots=True)
class No:
    """A filter's refusal, in upstream's words."""

    reasons: tuple[str, ...]
    code: str = UNSCHEDULABLE


class Plugin:
    """One plugin. `state` is what its `prepare` computed for this pod; None means it has nothing
    to do for the pod in that phase and is skipped."""

    name = ""
    weight = 0
    filters = False
    scores = False
    source = ""
    wakes_on: tuple[str, ...] = (NODE,)

    def prepare_filter(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        """PreFilter: None to skip. Default: always run."""
        return ()

    def filter(self, state: Any, pod: PodInfo, node: NodeInfo) -> No | None:
        return None

    def prepare_score(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> Any:
        """PreScore: None to skip. Default: always run."""
        return ()

    def score(self, state: Any, pod: PodInfo, node: NodeInfo) -> int:
        return 0

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        return scores


def normalize_to_max(scores: dict[str, int], *, reverse: bool = False) -> dict[str, int]:
    """DefaultNormalizeScore: the highest becomes 100; `reverse` turns the scale round."""
    top = max(scores.values(), default=0)
    if top == 0:
        return dict.fromkeys(scores, SCORE_MAX) if reverse else scores
    scaled = {node: score * SCORE_MAX // top for node, score in scores.items()}
    if reverse:
        return {node: SCORE_MAX - score for node, score in scaled.items()}
    return scaled


@dataclass(slots=True)
class Filtered:
    """The filter phase: who passed, and why the others did not."""

    feasible: list[NodeInfo]
    failed: dict[str, tuple[str, No]]  # node -> (plugin, refusal)
    ran: list[str]
    skipped: list[str]

    def detail(self, nodes: Sequence[NodeInfo]) -> dict[str, Any]:
        return {
            "nodes": [node.name for node in nodes],
            "plugins": [{"name": name, "ran": True} for name in self.ran],
            "failed": {
                node: [plugin, ", ".join(no.reasons)] for node, (plugin, no) in self.failed.items()
            },
            "skipped": self.skipped,
        }


@dataclass(slots=True)
class Scored:
    """The score phase: each plugin's raw and normalized scores, and the weighted totals."""

    total: dict[str, int] = field(default_factory=dict)
    plugins: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def detail(self) -> dict[str, Any]:
        return {"plugins": self.plugins, "skipped": self.skipped, "total": self.total}


def run_filters(
    plugins: Sequence[Plugin], pod: PodInfo, nodes: Sequence[NodeInfo]
) -> Filtered:
    active: list[tuple[Plugin, Any]] = []
    skipped = []
    for plugin in plugins:
        if not plugin.filters:
            continue
        state = plugin.prepare_filter(pod, nodes)
        if state is None:
            skipped.append(plugin.name)
        else:
            active.append((plugin, state))
    feasible, failed = [], {}
    for node in nodes:
        for plugin, state in active:
            no = plugin.filter(state, pod, node)
            if no is not None:
                failed[node.name] = (plugin.name, no)
                break
        else:
            feasible.append(node)
    return Filtered(feasible, failed, [plugin.name for plugin, _ in active], skipped)


def run_scores(plugins: Sequence[Plugin], pod: PodInfo, nodes: Sequence[NodeInfo]) -> Scored:
    out = Scored(total=dict.fromkeys((node.name for node in nodes), 0))
    for plugin in plugins:
        if not plugin.scores:
            continue
        state = plugin.prepare_score(pod, nodes)
        if state is None:
            out.skipped.append(plugin.name)
            continue
        raw = {node.name: plugin.score(state, pod, node) for node in nodes}
        normalized = plugin.normalize(state, raw)
        for name, score in normalized.items():
            out.total[name] += score * plugin.weight
        out.plugins.append(
            {"name": plugin.name, "weight": plugin.weight, "raw": raw, "normalized": normalized}
        )
    return out


def fit_error(nodes: Sequence[NodeInfo], filtered: Filtered) -> str:
    """The sentence of a FailedScheduling event."""
    if not nodes:
        return "no nodes available to schedule pods"
    counts: dict[str, int] = {}
    for _, no in filtered.failed.values():
        for reason in no.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    head = f"0/{len(nodes)} nodes are available: {reasons}."
    return f"{head} preemption: {preemption_sentence(nodes, filtered)}"


def preemption_sentence(nodes: Sequence[NodeInfo], filtered: Filtered) -> str:
    """Why evicting others did not help either."""
    hopeless = sum(no.code == UNRESOLVABLE for _, no in filtered.failed.values())
    rest = len(filtered.failed) - hopeless
    parts = []
    if hopeless:
        parts.append(f"{hopeless} Preemption is not helpful for scheduling")
    if rest:
        parts.append(f"{rest} No preemption victims found for incoming pod")
    return f"0/{len(nodes)} nodes are available: {', '.join(sorted(parts))}."
