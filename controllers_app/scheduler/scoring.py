"""The score phase: what each plugin gives each node, normalized, weighted and added up.

Models kubernetes pkg/scheduler/framework/runtime/framework.go (RunScorePlugins) and
pkg/scheduler/framework/plugins/helper/normalize_score.go.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import msgspec

from controllers_app.scheduler import alike, framework
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.framework import SCORE_MAX, Plugin, PreScoreFailed
from controllers_app.scheduler.nodeinfo import NodeInfo, PodInfo

# of more nodes than a record of the trace lists it has the best, and how many there were
DETAIL_NODES_BEST = 20


def normalize_to_max(scores: list[int], *, reverse: bool = False) -> list[int]:
    """DefaultNormalizeScore: the highest becomes 100; `reverse` turns the scale round."""
    top = max(scores, default=0)
    if top == 0:
        return [SCORE_MAX] * len(scores) if reverse else scores
    scaled = {score: score * SCORE_MAX // top for score in {*scores}}
    if reverse:
        scaled = {score: SCORE_MAX - points for score, points in scaled.items()}
    return list(map(scaled.__getitem__, scores))


class Scored(msgspec.Struct):
    """The score phase, by kind of node: each plugin's raw and normalized scores, and the weighted
    totals."""

    nodes: Sequence[NodeInfo]
    kinds: Sequence[int]  # of each node
    totals: list[int]
    plugins: list[tuple[Plugin, list[int], list[int]]] = msgspec.field(default_factory=list)
    skipped: list[str] = msgspec.field(default_factory=list)
    total: list[int] = msgspec.field(default_factory=list)  # of each node

    def detail(self) -> dict[str, Any]:
        count, total = len(self.nodes), self.total
        chosen: Sequence[int] = range(count)
        if count > framework.DETAIL_NODES_MAX:
            best = sorted(chosen, key=total.__getitem__, reverse=True)
            chosen = best[:DETAIL_NODES_BEST]
        names = [self.nodes[i].name for i in chosen]
        kinds = [self.kinds[i] for i in chosen]

        def table(scores: list[int]) -> dict[str, int]:
            return dict(zip(names, map(scores.__getitem__, kinds), strict=True))

        out: dict[str, Any] = {
            "plugins": [
                {
                    "name": plugin.name,
                    "weight": plugin.weight,
                    "raw": table(raw),
                    "normalized": table(normalized),
                }
                for plugin, raw, normalized in self.plugins
            ],
            "skipped": self.skipped,
            "total": table(self.totals),
        }
        if count > len(names):
            out["left_off"] = count - len(names)
        return out


def run_scores(
    plugins: Sequence[Plugin], pod: PodInfo, nodes: Sequence[NodeInfo], cache: Cache
) -> Scored:
    """Ask the plugins about one node of each kind."""
    states: list[tuple[Plugin, Any]] = []
    skipped = []
    for plugin in plugins:
        try:
            state = plugin.prepare_score(pod, nodes, cache)
        except PreScoreFailed as error:
            raise PreScoreFailed(f'running PreScore plugin "{plugin.name}": {error}') from None
        if state is None:
            skipped.append(plugin.name)
        else:
            states.append((plugin, state))
    kinds, ones = _kinds(states, nodes)
    out = Scored(nodes, kinds, [0] * len(ones), skipped=skipped)
    for plugin, state in states:
        raw = plugin.score_all(state, pod, ones)
        normalized = plugin.normalize(state, raw, ones)
        out.plugins.append((plugin, raw, normalized))
        weighted = map(plugin.weight.__mul__, normalized)
        out.totals = [*map(operator.add, out.totals, weighted)]
    out.total = [*map(out.totals.__getitem__, kinds)]
    return out


def _kinds(
    states: Sequence[tuple[Plugin, Any]], nodes: Sequence[NodeInfo]
) -> tuple[Sequence[int], Sequence[NodeInfo]]:
    """Each node's kind, and one node of each."""
    columns: list[list[Any]] = []
    for plugin, state in states:
        more = plugin.scores_by(state, nodes)
        if more is None:
            return range(len(nodes)), nodes
        columns += more
    kinds = alike.kinds_of(nodes, columns)
    one_of = dict(zip(kinds, nodes, strict=True))
    numbers = dict(zip(one_of, itertools.count(), strict=False))
    return [*map(numbers.__getitem__, kinds)], [*one_of.values()]
