"""The log of inputs, run again, gives the same records, whatever the wall clock did meanwhile."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson
import pytest
from msgspec import structs

from apiserver_app.etcd.backend import ClusterState, InputRow, MemoryBackend
from apiserver_app.http.exchange import Request
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.kernel import SECOND
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting.scripted import Answer, default_inputs, identity
from lifecycle.hosting.worker.clock import MAX, RUN
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.control import Controls
from lifecycle.hosting.worker.rerun import Diverged, Rerun
from tests import builders
from tests.sim.test_story import DEPLOYMENTS, deployment
from tests.suite import seeds

PODS = "/api/v1/namespaces/default/pods"
HELD = {"id": "b", "kind": "gate", "gate": "authorization", "resource": "deployments.apps"}


_open: list[ClusterHost] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What never ran to its end is closed behind each test."""
    yield
    while _open:
        _open.pop().kernel.close()


class World:
    """A cluster that is driven as a worker does it, by a wall clock that runs unevenly."""

    def __init__(self, mode: str = RUN, speed: float = 1.0, seed: int = 1) -> None:
        self.inputs = default_inputs(nodes=3)
        self.backend = MemoryBackend()
        self.cluster = Cluster(self.inputs, self.backend)
        self._random, self._now = random.Random(seed), 0.0
        self.host = ClusterHost(self.cluster, self._wall, mode=mode, speed=speed)
        self.begun = self.host.begun
        _open.append(self.host)
        self.controls = Controls({"demo": self.host})
        self.answers: list[Answer] = []
        self.host.on_booted = self._stand
        self.host.quarantine({"request GET /": {"times": 1}, "container x": {"times": 2}})
        self.cluster.start(self._ask)
        self.run(until=lambda: self.cluster.ready)

    def _stand(self) -> None:
        """As it does when its worker was replaced."""
        self.controls.handle("demo", "breakpoints", {"set": [HELD]})
        self.controls.handle("demo", "pause", {})
        self.controls.handle("demo", "breakpoints", {"set": []})
        self.controls.handle("demo", "resume", {})

    def _wall(self) -> float:
        self._now += self._random.choice((0.00002, 0.0001, 0.0004, 0.003))
        return self._now

    def _ask(self, role: str) -> None:
        self.host.offer("role", [role, "start", {}], lambda: self.cluster.role(role, "start"))

    def run(self, seconds: float = 0.0, until: Any = lambda: True) -> None:
        end = self.cluster.kernel.now + int(seconds * SECOND)
        while self.cluster.kernel.now < end or not until():
            self.host.run_slice(self._random.choice((0.0, 0.002, 0.02)))
            self.host.commit()
            self._now += min(self.host.idle_seconds() or 0.0, 0.5)
            if self.cluster.kernel.frozen:
                return

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        answer = Answer(reads=False)
        sent = [("content-type", "application/json"), ("user-agent", "x"), *headers.items()]
        number = len(self.answers)
        data = b"" if body is None else orjson.dumps(body)
        request = Request(method, path, "", sent, data, identity("kubernetes-admin"), "10.0.0.9:1")
        self.host.request(number, request, answer, request.tls)
        self.answers.append(answer)
        return answer

    def act(self, action: str, **args: Any) -> None:
        self.controls.handle("demo", action, args)

    def again(self, seq: int = 0, begun: ClusterState | None = None) -> ClusterHost:
        """One that ran the log again, up to a record or to the end. Raises Diverged."""
        backend = MemoryBackend()
        backend.commit(structs.replace(begun or self.begun, name="again"), [], [], [])
        host = ClusterHost(Cluster(self.inputs, backend), lambda: 0.0, mode=RUN, speed=1.0)
        _open.append(host)
        rerun = Rerun(host, self.host)
        for part in rerun.until(seq or self.cluster.recorder.seq):
            assert 0 <= part <= 1
        rerun.hand_over(lambda role: None)
        return host

    def changed(self, number: int, **fields: Any) -> None:
        """Another input than the one that was logged."""
        row = self.backend.input_rows[number]
        self.backend.input_rows[number] = row._replace(**fields)

    def first(self, what: str) -> tuple[int, InputRow]:
        return next(
            (n, row)
            for n, row in enumerate(self.backend.input_rows)
            if msgspec.msgpack.decode(row.data)[0] == what
        )


def same(world: World, host: ClusterHost) -> bool:
    """Whether it is at the same place, once it took the steps that came behind the last record."""
    ours, theirs = world.cluster, host.cluster
    kernel = theirs.kernel
    kernel.unbroken_max = 0
    while kernel.steps < ours.kernel.steps and not kernel.frozen:
        assert kernel.run_ready(1) or kernel.fire_timer(kernels.FOREVER, jump=False)
    return (ours.kernel.steps, ours.rand.state, ours.store.revision, ours.recorder.seq) == (
        kernel.steps,
        theirs.rand.state,
        theirs.store.revision,
        theirs.recorder.seq,
    )


@pytest.mark.parametrize(
    ("speed", "seed"),
    seeds.draw("runs", [(speed, seed) for speed in (0.1, 1.0, 20.0) for seed in (1, 2)], 2),
)
def test_a_run_beside_the_wall_clock_is_repeated_to_the_byte(speed: float, seed: int) -> None:
    """Requests come while others are under way and components work."""
    world = World(speed=speed, seed=seed)
    world.send("POST", DEPLOYMENTS, deployment(replicas=10))
    for burst in range(4):
        world.run(0.02)
        for number in range(5):
            world.send("POST", PODS, builders.pod(f"p-{burst}-{number}"))
            world.send("GET", PODS)
    world.run(3)
    assert {answer.status for answer in world.answers} == {200, 201}
    assert same(world, world.again())
    assert world.again().kernel.quarantined == {b"container x"}
    for seq in (2, 700, world.cluster.recorder.seq // 2):
        assert seq <= world.again(seq).cluster.recorder.seq < seq + 50


def test_a_clock_that_leaps_is_repeated() -> None:
    world = World(mode=MAX)
    sleeps = {"name": "c", "image": "busybox", "command": ["sleep", "75"]}
    job = {"containers": [sleeps], "restartPolicy": "Never"}
    world.send("POST", DEPLOYMENTS, deployment(replicas=10))
    world.send("POST", PODS, {"metadata": {"name": "sleeps"}, "spec": job})
    world.run(80)
    assert world.first("leap")
    assert same(world, world.again())


def test_what_was_held_stepped_and_changed_from_the_page_is_repeated() -> None:
    world = World()
    world.act("breakpoints", set=[HELD])
    world.send("POST", DEPLOYMENTS, deployment(replicas=3))
    world.run(5)
    assert world.cluster.kernel.frozen
    held = world.again()
    assert same(world, held) and held.kernel.frozen and held.state()["held"]
    for _ in range(30):
        world.act("step")
        world.run(0.001)
    world.act("breakpoints", set=[])
    world.act("fault", resource="pods", op="create", times=2)
    world.act("role", role="scheduler", do="stop")
    world.act("speed", speed="max")
    world.act("resume")
    world.run(20)
    world.act("console", command="etcdctl put a b", stdin="")
    world.act("role", role="scheduler", do="start")
    world.act("speed", speed=3)
    world.run(5)
    assert same(world, world.again())


def test_a_client_that_goes_away_is_gone_again() -> None:
    world = World()
    watch = world.send("GET", f"{PODS}?watch=1")
    world.send("POST", PODS, builders.pod("a"))
    world.run(1)
    world.host.input_now("cancel", [0])
    watch.cancel()
    world.send("POST", PODS, builders.pod("b"))
    world.run(2)
    assert same(world, world.again())


def test_a_run_that_is_not_the_same_is_told_from_one_that_is() -> None:
    world = World()
    world.send("POST", PODS, builders.pod("a"))
    world.run(2)
    number, row = world.first("request")
    what, data = msgspec.msgpack.decode(row.data)
    later = (
        row.step + 20
    )  # past the steps that leave no trace: a run that shows nothing is the same
    for change in ({"step": later}, {"t": row.t + 1}, {"seq": row.seq + 1}):
        world.changed(number, **change)
        with pytest.raises(Diverged, match="differs from record"):
            world.again()
        world.changed(number, **row._asdict())
    data[5] = data[5].replace(b"nginx", b"other")
    world.changed(number, data=msgspec.msgpack.encode((what, data)))
    with pytest.raises(Diverged, match=r"(what it wrote )?differs from (record|revision) \d+"):
        world.again()
    with pytest.raises(Diverged, match="differs from"):
        world.again(begun=structs.replace(world.begun, rand=5))


def test_what_is_not_kept_cannot_be_repeated() -> None:
    world = World()
    world.send("GET", PODS, authorization="Bearer abc")
    world.run(1)
    assert same(world, world.again())
    assert not any(b"abc" in row.data for row in world.backend.inputs())
    world.host.withheld.clear()
    with pytest.raises(Diverged, match="came with a credential that is no longer remembered"):
        world.again()
    world.backend.forget(5000)
    with pytest.raises(Diverged, match="not kept that far back"):
        world.again()
