"""Control actions of a real cluster: whatever they are given is used or refused."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

from apiserver_app.etcd.backend import MemoryBackend
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting import board, memory
from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker.clock import MAX
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.control import ControlError, Controls
from lifecycle.hosting.worker.driver import Driver
from tests import builders
from tests.apiserver_app.cluster import bare_session

ROOT = Path(__file__).resolve().parents[4]
GIVEN: dict[str, dict[str, Any]] = {
    "speed": {"speed": 1},
    "breakpoints": {"set": []},
    "apiserver": {"do": "start"},
    "etcd": {"do": "start"},
    "role": {"role": "scheduler", "do": "wake", "component": ""},
    "fault": {"resource": "pods", "op": "create", "message": "", "times": 1},
    "objects": {"prefix": "/registry/"},
    "object_at": {"key": "/registry/x", "revision": 1},
    "console": {"command": "etcdctl get x", "stdin": ""},
    "forms": {"seq": 1},
    "rules": {"namespace": "default", "name": "kubernetes"},
    "resolve": {"namespace": "default", "name": "kubernetes"},
}
ODD: tuple[Any, ...] = (
    "", None, -1, 0, 2**63 - 1, -(2**63), 1.5, float("nan"), float("inf"), True, "\x00", "9" * 5000,
    [], {}, [[]], {"a": 1}, [{"kind": "gate", "id": 5}], [{"kind": "gate", "seq": [1]}],
)  # fmt: skip
NUMBERS = (
    "get a --rev=99999999999999999999", "get a --rev=9223372036854775807", "get a --limit=-5",
    "compact 9223372036854775807", "get a --limit=9223372036854775808",
    "lease grant 9223372036854775807",
    "lease revoke " + "f" * 40, "put a b --lease=" + "f" * 40, "member remove " + "f" * 5000,
    "watch a --rev=99999999999999999999", "move-leader " + "f" * 40,
)  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    return bare_session()


@pytest.mark.parametrize("action", GIVEN)
def test_odd_arguments_are_refused_or_used(session: Session, action: str) -> None:
    controls = Controls({"demo": session.host})
    for name in GIVEN[action]:
        for value in ODD:
            try:
                controls.handle("demo", action, {**GIVEN[action], name: value})
            except ControlError as error:
                assert str(error)
            session.host.commit()


def test_what_was_held_against_a_real_cluster_is_told_as_the_docs_have_it(session: Session) -> None:
    controls = Controls({"demo": session.host})
    told = controls.handle("demo", "startup", {})["startup"]["likeness"]
    text = (ROOT / "docs" / "likeness.md").read_text()
    assert told["version"].removeprefix("v") in text and told["date"] in text
    for what, (number, equal) in told["compared"].items():
        assert re.search(rf"\| {number} \| {equal}\b", text), what
        assert 0 < equal <= number


def test_the_rules_of_a_service_come_with_the_nodes_that_have_them() -> None:
    """What is the same everywhere comes once; a policy by which nodes differ divides them."""
    session = Session(default_inputs(nodes=3))
    controls = Controls({"demo": session.host})
    told = controls.handle("demo", "rules", {"namespace": "default", "name": "kubernetes"})["rules"]
    assert (told["mode"], told["of"]) == ("iptables", 3)
    assert told["revision"] == session.cluster.store.revision
    [all_of_them] = told["texts"]
    assert all_of_them["on"] == ["node-1", "node-2", "node-3"]
    assert "default/kubernetes:https cluster IP" in all_of_them["text"]

    path = "/api/v1/namespaces/default"
    pod = builders.pod("one", labels={"app": "web"}, nodeName="node-2")
    session.request("POST", f"{path}/pods", pod)
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], "internalTrafficPolicy": "Local"}
    session.request("POST", f"{path}/services", {"metadata": {"name": "web"}, "spec": spec})
    session.wait(30)
    told = controls.handle("demo", "rules", {"namespace": "default", "name": "web"})["rules"]
    assert [entry["on"] for entry in told["texts"]] == [["node-1", "node-3"], ["node-2"]]
    assert "has no local endpoints" in told["texts"][0]["text"]
    with pytest.raises(ControlError, match='there is no service "default/nix"'):
        controls.handle("demo", "rules", {"namespace": "default", "name": "nix"})


def test_etcd_is_stopped_only_while_it_runs_and_started_only_while_it_does_not() -> None:
    session = bare_session()
    controls = Controls({"demo": session.host})
    with pytest.raises(ControlError, match="cannot start etcd: it is running"):
        controls.handle("demo", "etcd", {"do": "start"})
    assert controls.handle("demo", "etcd", {"do": "stop"})["etcd"] == "stopped"
    with pytest.raises(ControlError, match="cannot stop etcd: it is stopped"):
        controls.handle("demo", "etcd", {"do": "stop"})
    assert controls.handle("demo", "etcd", {"do": "start"})["etcd"] == "running"


def test_numbers_of_the_console_have_bounds(session: Session) -> None:
    controls = Controls({"demo": session.host})
    for line in NUMBERS:
        controls.handle("demo", "console", {"command": f"etcdctl {line}"})
        session.host.commit()


def test_an_action_that_fails_is_answered_and_so_are_those_behind_it(session: Session) -> None:
    sent: list[Any] = []
    loop = asyncio.new_event_loop()
    driver = Driver(loop, {"demo": session.host}, sent.extend)
    session.cluster.context.process.on_bug = lambda where, error: sent.append(("bug", where))
    driver.controls.actions["state"] = lambda host, args: 1 // 0
    driver.receive([("ctl", 1, "demo", "state", {}), ("ctl", 2, "demo", "startup", {})])
    loop.close()
    answers = {message[1]: message for message in sent if message[0] == "ctlr"}
    assert answers[1][2] is False and "ZeroDivisionError" in answers[1][3]["error"]
    assert answers[2][2] is True and ("bug", "state") in sent


def test_garbage_is_collected_while_the_board_says_that_it_may_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, phases = bytearray(board.STACKS), []

    class Looks(memory.Collector):
        def start(self) -> None:
            pass

        def tidy(self, *, idle: bool) -> None:
            phases.append(written[board.PHASE])

    monkeypatch.setattr(memory, "Collector", Looks)
    cluster = Cluster(default_inputs(nodes=0), MemoryBackend())
    host = ClusterHost(cluster, time.monotonic, mode=MAX, speed=1.0)
    loop = asyncio.new_event_loop()
    driver = Driver(loop, {"demo": host}, lambda messages: None)
    driver.start(lambda *role: None, written=written)
    driver.drive()
    loop.close()
    assert phases == [board.COMMIT] and written[board.PHASE] == board.IDLE
