"""The host of a cluster: its four scheduling rules, commits before answers, stepping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from apiserver_app.etcd.backend import ClusterState, InputRow, LogRow, MemoryBackend, Segment
from apiserver_app.http.exchange import Request
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting import scripted
from lifecycle.hosting.port.links import LARGE_BYTES
from lifecycle.hosting.scripted import Answer, identity
from lifecycle.hosting.worker import clusterhost
from lifecycle.hosting.worker.clock import MAX, RUN
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.inbox import Inbox
from lifecycle.trace.recorder import Breakpoint
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap
from tests.sim.test_story import DEPLOYMENTS, deployment


class Wall:
    """A clock that moves a fixed bit at each look, so that durations are exact."""

    def __init__(self, tick: float = 0.0001) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


class Watched(MemoryBackend):
    """A backend that counts its commits and can refuse them."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.broken = False

    def commit(
        self,
        state: ClusterState,
        rows: list[LogRow],
        segments: Sequence[Segment],
        inputs: list[InputRow],
    ) -> None:
        if self.broken:
            raise OSError("disk full")
        self.commits += 1
        super().commit(state, rows, segments, inputs)


class _Answer(Answer):
    """An answer that tells the host, as the driver's does."""

    def __init__(self, host: ClusterHost) -> None:
        super().__init__()
        self._host = host

    def head(self, *args: Any, **options: Any) -> None:
        super().head(*args, **options)
        self._host.outside_done()


class Rig:
    """A booted cluster on its host, and a way to send it requests."""

    def __init__(self, mode: str = MAX) -> None:
        self.wall = Wall()
        self.backend = Watched()
        cluster = Cluster(scripted.default_inputs(), self.backend)
        self.host = ClusterHost(cluster, self.wall, mode=mode, speed=1.0)
        cluster.start()
        self.settle()

    def settle(self) -> list[tuple[Any, ...]]:
        sent = []
        for _ in range(10_000):
            self.host.run_slice(1.0)
            sent += self.host.commit()
            if self.host.idle_seconds() != 0.0:
                return sent
        raise AssertionError("does not settle")

    def offer(self, method: str, path: str, body: bytes = b"") -> Answer:
        answer = _Answer(self.host)
        request = Request(method, path, "", [("user-agent", "t")], body, identity("teacher"))
        cluster = self.host.cluster

        def start() -> None:
            cluster.kernel.spawn("request", cluster.server.serve(request, answer), lane=0, span=0)

        self.host.offer("request", [method, path], start)
        return answer

    async def take_seconds(self, seconds: float) -> None:
        self.wall.now += seconds

    def busy(self, tasks: int = 500) -> list[int]:
        """Inside work that goes on for long; the list grows by one at each step it takes."""
        steps: list[int] = []
        kernel = self.host.kernel

        async def work() -> None:
            for _ in range(20):
                steps.append(1)
                await kernel.pause()

        for number in range(tasks):
            kernel.spawn(f"busy {number}", work(), span=0)
        return steps


def test_what_others_put_into_its_inbox_is_taken_in() -> None:
    inbox = Inbox()
    cluster = Cluster(scripted.default_inputs(), Watched())
    host = ClusterHost(cluster, Wall(), mode=MAX, speed=1.0, inbox=inbox)
    taken: list[str] = []

    inbox.offer("call", [1], lambda: taken.append("an answer"))
    host.run_slice(1.0)

    assert taken == ["an answer"]


def test_a_request_that_comes_during_a_slice_is_admitted_in_it() -> None:
    rig = Rig()
    rig.busy()
    answers: list[Answer] = []
    polls = 0

    def poll() -> None:
        nonlocal polls
        polls += 1
        if polls == 3:
            answers.append(rig.offer("GET", "/version"))

    rig.host.run_slice(10.0, poll)
    assert polls >= 3 and answers[0].status == 200
    rig.settle()


def test_an_outside_request_is_answered_before_the_work_that_waits() -> None:
    rig = Rig()
    steps = rig.busy()
    answer = rig.offer("GET", "/version")
    rig.host.run_slice(10.0)
    assert answer.status == 200 and len(steps) < 500
    rig.settle()


def test_a_slice_ends_once_an_outside_request_is_done() -> None:
    rig = Rig()
    rig.busy()
    answer = rig.offer("GET", "/version")
    before = rig.wall.now
    rig.host.run_slice(10.0)
    assert answer.done
    assert rig.wall.now - before < 0.01 and rig.host.kernel.has_ready()
    rig.settle()


def test_after_a_burst_the_clusters_own_work_gets_at_least_as_long() -> None:
    rig = Rig()
    steps = rig.busy()
    rig.offer("GET", "/version")
    rig.host.run_slice(0.0)
    owed = rig.host.inside_owed_seconds
    assert owed > 0
    second = rig.offer("GET", "/version")
    rig.host.run_slice(0.0)
    assert not second.done, "the next request waits while the cluster's work is owed time"
    taken = len(steps)
    while not second.done:
        rig.host.run_slice(0.0)
    assert len(steps) > taken
    rig.settle()


def test_after_a_long_step_of_a_request_its_work_gets_no_more_than_a_slice() -> None:
    rig = Rig()
    rig.busy()
    rig.host.kernel.spawn("long", rig.take_seconds(3.0), lane=0, span=0)
    rig.host.run_slice(0.0)
    assert 0 < rig.host.inside_owed_seconds <= 0.02
    rig.settle()


def test_of_the_first_in_each_line_the_small_ones_are_taken_in_before_the_large() -> None:
    inbox = Inbox()
    for line, size in (("a", 3_000_000), ("a", 1), ("b", 500), ("c", 0), ("", 9)):
        inbox.offer(f"{line}{size}", [], lambda: None, line, size)
    assert [message[0] for message in inbox.take()] == ["9", "c0", "b500", "a3000000"]
    assert [message[0] for message in inbox.take()] == ["a1"] and not inbox.waits()


def test_inside_work_never_keeps_a_request_waiting_when_nothing_is_ready() -> None:
    rig = Rig()
    for _ in range(20):
        answer = rig.offer("GET", "/version")
        rig.host.run_slice(0.0)
        assert answer.done


def test_nothing_leaves_before_the_commit_that_makes_it_true() -> None:
    rig = Rig()
    rig.backend.broken = True
    rig.offer("POST", DEPLOYMENTS, b"{}")
    rig.host.staged.append(("head", 1, 201, [], False, b""))
    rig.host.run_slice(1.0)
    with pytest.raises(OSError, match="disk full"):
        rig.host.commit()
    assert ("head", 1, 201, [], False, b"") in rig.host.staged


def test_a_slice_that_changed_nothing_is_not_committed() -> None:
    rig = Rig()
    before = rig.backend.commits
    rig.host.run_slice(1.0)
    assert rig.host.commit() == [] and rig.backend.commits == before


def test_each_admission_is_logged_with_its_step_and_time() -> None:
    rig = Rig()
    rig.offer("GET", "/version")
    rig.settle()
    row = list(rig.backend.inputs())[-1]
    assert 0 < row.step < rig.host.kernel.steps
    assert rig.host.cluster.state.epoch < row.t <= rig.host.kernel.now


def test_a_paused_cluster_admits_nothing_and_its_time_stands_still() -> None:
    rig = Rig(mode=RUN)
    rig.host.pause()
    now = rig.host.kernel.now
    answer = rig.offer("GET", "/version")
    rig.wall.now += 100
    rig.settle()
    assert not answer.done and rig.host.kernel.now == now and rig.host.idle_seconds() is None
    rig.host.resume()
    rig.settle()
    assert answer.done and rig.host.kernel.now - now < 1_000_000


def test_a_paused_cluster_tells_how_many_requests_wait() -> None:
    rig = Rig(mode=RUN)
    rig.host.pause()

    rig.offer("GET", "/version")
    rig.offer("GET", "/api")
    rig.settle()
    assert rig.host.state()["waiting"] == 2

    rig.host.resume()
    rig.settle()
    assert rig.host.state()["waiting"] == 0


def test_a_breakpoint_holds_the_whole_cluster_inside_the_request() -> None:
    rig = Rig()
    recorder = rig.host.cluster.recorder
    wanted = {"plugin": "ServiceAccount", "resource": "pods"}
    recorder.arm(breakpoints=(Breakpoint("b1", "plugin", wanted),))
    rig.offer("POST", DEPLOYMENTS, orjson.dumps(deployment(replicas=1)))
    rig.settle()
    assert rig.host.kernel.frozen
    assert recorder.held is not None and recorder.held["breakpoint"] == "b1"
    state = rig.host.state()
    assert state["frozen"] and state["held"]["kind"] == "plugin"
    assert not rig.host.cluster.cache.list("pods"), "the pod is not stored yet"
    waiting = rig.offer("GET", "/version")
    rig.settle()
    assert not waiting.done, "other clients wait with the cluster"
    recorder.arm(breakpoints=())
    rig.host.resume()
    rig.settle()
    assert waiting.done
    pods = rig.host.cluster.cache.list("pods")
    assert [pod["status"]["phase"] for pod in pods] == ["Running"]


def test_a_step_goes_to_the_next_hop_and_a_request_step_to_the_next_request() -> None:
    rig = Rig()
    rig.host.pause()
    rig.offer("GET", "/version")
    rig.host.step("hop")
    rig.settle()
    held = rig.host.cluster.recorder.held
    assert held is not None and held["kind"] == "request"
    rig.host.step("hop")
    rig.settle()
    held = rig.host.cluster.recorder.held
    assert held is not None and held["kind"] == "gate"
    rig.host.step("request")
    rig.settle()
    held = rig.host.cluster.recorder.held
    assert held is not None and held["kind"] == "response"


def test_the_virtual_clock_keeps_to_real_time_times_its_speed() -> None:
    rig = Rig(mode=RUN)
    rig.wall.tick = 0.0
    rig.host.set_speed(RUN, 10.0)
    start = rig.host.kernel.now
    seen: list[int] = []
    rig.host.kernel.call_at(start + 5_000_000, seen.append, 1)
    rig.wall.now += 0.49
    rig.settle()
    assert seen == []
    rig.wall.now += 0.02
    rig.settle()
    assert seen == [1]


def test_records_of_a_commit_that_is_too_large_are_left_to_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    sizes = []
    for bound in (clusterhost.LIVE_BYTES_MAX, 20):
        monkeypatch.setattr(clusterhost, "LIVE_BYTES_MAX", bound)
        rig.offer("GET", "/version")
        sizes.append(sum(len(one[4]) for one in rig.settle() if one[0] == "trace"))
    assert sizes[0] > 0 and sizes[1] == 0


def test_a_line_that_is_held_waits_until_its_input_is_done() -> None:
    inbox = Inbox()
    for what in ("first", "second"):
        inbox.offer(what, [], lambda: None, "large")
    assert [message[0] for message in inbox.take()] == ["first"]
    inbox.hold("large")
    assert not inbox.waits() and not list(inbox.take())
    inbox.offer("other", [], lambda: None, "small")
    assert inbox.waits() and [message[0] for message in inbox.take()] == ["other"]
    inbox.done("large")
    assert inbox.waits() and [message[0] for message in inbox.take()] == ["second"]


def test_large_requests_of_one_client_are_served_one_after_the_other() -> None:
    session = bare_session()
    large = [
        session.send("POST", CONFIGMAPS, configmap(name, k="x" * LARGE_BYTES)) for name in "ab"
    ]
    small = [session.send("POST", CONFIGMAPS, configmap(name)) for name in "cd"]
    session.settle()
    assert {answer.status for answer in large + small} == {201}
    records = [record for record in session.records() if record["kind"] in ("request", "response")]
    names = {record["span"]: record["name"] for record in records if record["kind"] == "request"}
    seen = [
        (record["kind"], names[record["span"]])
        for record in records
        if names[record["span"]] in "abcd"
    ]
    assert seen.index(("request", "b")) > seen.index(("response", "a"))
    assert seen.index(("request", "d")) < seen.index(("response", "a"))
