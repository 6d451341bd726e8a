"""Recorded worlds: what kube-scheduler 1.33.4 decided in them, with its sentences and scores.

Which of the best nodes is taken is chance there, so that one of them is asked for; of more than a
hundred nodes it looks at some only, so that there the verdict alone is compared. Each day a third
of the worlds is drawn; the long suite has all.
"""

from __future__ import annotations

import functools
import json
import lzma
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.likeness.scheduler.world import World
from tests.suite import seeds

WORLDS_MIN = 300
MANY_NODES = 100
GROUPS = 20
DRAWN = 110  # worlds a day
_RECORDED = pathlib.Path(__file__).parent / "scheduler" / "v1.33.4.jsonl.xz"

Facts = dict[str, Any]


@functools.cache
def worlds() -> list[Facts]:
    with lzma.open(_RECORDED, "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.mark.parametrize("group", range(GROUPS))
def test_each_pod_is_decided_as_the_real_scheduler_decided(world: World, group: int) -> None:
    found = [
        difference
        for recorded in seeds.draw("worlds", worlds(), DRAWN)[group::GROUPS]
        for difference in differences(world, recorded)
    ]
    assert found == []


def test_enough_worlds_are_recorded_and_of_every_kind() -> None:
    assert len(worlds()) >= WORLDS_MIN
    outcomes = [tried["real"]["outcome"] for one in worlds() for tried in one["tried"]]
    assert {"bound", "unschedulable", "gated"} <= set(outcomes)
    assert sum("victims" in tried["real"] for one in worlds() for tried in one["tried"]) >= 10
    assert sum("woken" in tried["real"] for one in worlds() for tried in one["tried"]) >= 40


def differences(world: World, recorded: Facts) -> Iterator[str]:
    world.build(recorded)
    for tried in recorded["tried"]:
        ours = world.schedule(tried["pod"], recorded.get("then", []))
        where = f"{recorded['world']} {tried['pod']['metadata']['name']}"
        for what, real, here in compared(tried["real"], ours):
            if real != here:
                yield f"{where}, {what}: {here!r}, the real one {real!r}"
    world.clear()


def compared(real: Facts, ours: Facts) -> Iterator[tuple[str, Any, Any]]:
    """(what, the real one's, ours), where it applies."""
    outcome = {"provisioning": "bound"}.get(real["outcome"], real["outcome"])
    yield "outcome", outcome, ours["outcome"]
    for what in ("condition", "event", "nominated", "victims", "woken"):
        yield what, real.get(what) or None, ours.get(what) or None
    if outcome == "unschedulable":
        yield "blockers", real.get("blockers", []), ours.get("blockers", [])
    scores, totals = real.get("scores", {}), real.get("totals", {})
    if len(next(iter(scores.values()), {})) < MANY_NODES:
        yield "scores", scores, ours.get("scores", {})
        yield "totals", totals, ours.get("totals", {})
        if outcome == "bound" and ours.get("node") and not scores:
            yield "node", real.get("node"), ours["node"]
    if scores and len(totals) < MANY_NODES and ours.get("node"):
        best = {node for node, total in totals.items() if total == max(totals.values())}
        yield "the best", True, ours["node"] in best
    if real.get("node") == ours.get("node"):
        yield "volumes", volumes(real), volumes(ours)


def volumes(side: Facts) -> Facts:
    """Those that were there already: beside the real scheduler nobody makes one."""
    found = side.get("volumes", {}).items()
    return {name: volume for name, volume in found if volume and not volume.startswith("pvc-")}
