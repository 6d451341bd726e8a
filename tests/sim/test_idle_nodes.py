"""What a node that does nothing costs, in calls, which are the same on every machine."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from controllers_app.containerruntime import hostdisk
from lifecycle.hosting.scripted import Session, default_inputs

SECONDS = 10  # in which each renews its lease once and looks at its status once
CALLS, RECORDS = 669, 15
TOLERANCE = 0.05


def measure(nodes: int) -> tuple[float, float]:
    """Calls of Python functions, and records, that more nodes cost than half as many, a node."""
    found = []
    for count in (nodes // 2, nodes):
        session = Session(default_inputs(seed=7, nodes=count))
        session.wait(60)
        calls = 0

        def called(_frame: FrameType, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        before = session.cluster.recorder.seq
        sys.setprofile(called)
        try:
            session.wait(SECONDS)
        finally:
            sys.setprofile(None)
        found.append((calls, session.cluster.recorder.seq - before))
    (few, told_few), (many, told_many) = found
    return (many - few) / (nodes - nodes // 2), (told_many - told_few) / (nodes - nodes // 2)


@pytest.mark.parametrize("nodes", [20, 80])
def test_ten_seconds_of_one_more_idle_node_cost_no_more_than_recorded(nodes: int) -> None:
    calls, records = measure(nodes)
    assert calls <= CALLS * (1 + TOLERANCE), f"{calls} calls a node, {CALLS} recorded"
    assert records == RECORDS


def test_no_disk_of_a_node_is_laid_out_before_somebody_looks_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    lay_out = hostdisk.laid_out

    def counted(node: str, *more: Any) -> Any:
        made.append(node)
        return lay_out(node, *more)

    monkeypatch.setattr(hostdisk, "laid_out", counted)
    session = Session(default_inputs(nodes=3))
    assert made == []
    host = session.cluster.nodes.kubelets["node-2"].dependencies.runtime.host
    assert host.disk.find("/etc/hostname") is not None
    assert made == ["node-2"]
