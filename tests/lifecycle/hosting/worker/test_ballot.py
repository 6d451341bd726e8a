"""What a class says of a scheduling cycle that is held: counted by page, bounded, and no input."""

from __future__ import annotations

import pytest

from apiserver_app.etcd.backend import MemoryBackend
from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker import ballot
from lifecycle.hosting.worker.ballot import Ballot
from lifecycle.hosting.worker.control import ControlError, Controls
from tests import builders

BEFORE_SCORES = {"id": "predict", "kind": "schedule", "phase": "filter"}


def test_of_each_page_the_last_answer_counts() -> None:
    asked = Ballot()
    assert asked.shown() is None
    for page, node in (("a", "node-1"), ("b", "node-1"), ("a", "node-2"), ("b", "node-1")):
        assert asked.cast(7, page, node)
    assert asked.shown() == {"span": 7, "counts": {"node-1": 1, "node-2": 1}}
    assert asked.cast(9, "a", "node-1")
    assert asked.shown() == {"span": 9, "counts": {"node-1": 1}}


def test_of_more_pages_than_are_remembered_those_that_answered_may_still_change_theirs() -> None:
    asked = Ballot()
    assert all(asked.cast(7, f"page {n}", "node-1") for n in range(ballot.PAGES_MAX))
    assert not asked.cast(7, "one more", "node-1")
    assert asked.cast(7, "page 0", "node-2")
    shown = asked.shown()
    assert shown and shown["counts"] == {"node-1": ballot.PAGES_MAX - 1, "node-2": 1}


def test_one_answers_only_while_the_scheduler_is_held_and_for_a_node_that_there_is() -> None:
    backend = MemoryBackend()
    session = Session(default_inputs(nodes=2), backend)
    host = session.host
    controls = Controls({"demo": host})

    def vote(**args: object) -> object:
        return controls.handle("demo", "vote", {"page": "a", "node": "node-1", **args})["votes"]

    with pytest.raises(ControlError, match="does not stand at that question"):
        vote(span=1)
    controls.handle("demo", "breakpoints", {"set": [BEFORE_SCORES]})
    session.send("POST", "/api/v1/namespaces/default/pods", builders.pod("asked"))
    session.settle()
    held = host.state()["held"]
    assert held["breakpoint"] == "predict"
    logged, told = len(backend.input_rows), host.cluster.recorder.seq
    for wrong in ({"span": held["span"] + 1}, {"node": "node-9"}, {"page": ""}, {"page": "x" * 65}):
        with pytest.raises(ControlError):
            vote(**{"span": held["span"], **wrong})
    assert host.state()["votes"] is None
    assert vote(span=held["span"]) == {"span": held["span"], "counts": {"node-1": 1}}
    host.commit()
    assert (len(backend.input_rows), host.cluster.recorder.seq) == (logged, told)
    controls.handle("demo", "resume", {})
    with pytest.raises(ControlError, match="or not any more"):
        vote(span=held["span"])
    assert host.state()["votes"] == {"span": held["span"], "counts": {"node-1": 1}}
