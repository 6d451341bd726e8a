"""Kill -9 at any moment: what was acknowledged is there afterwards, and everything comes to run."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import builders
from tests.conformance.api import Api
from tests.lifecycle.hosting.running import REAL, Demo, wait_for_end
from tests.suite import seeds, sizes, waiting

PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NODES = 6
READY_SECONDS = 600  # of the reference machine, for hundreds of pods
POLL_SECONDS = 0.1  # between two looks, which cost the cluster as much as a pod does
SEED = 20
KILLS = 10 if sizes.is_long() else 4
EDGE_TOO = 3 if sizes.is_long() else 1


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Demo]]:
    """Start the demo, again and again, on the same data."""
    running: list[Demo] = []

    def start() -> Demo:
        demo = Demo(tmp_path / "data", "--speed", "max", "--nodes", str(NODES), driver=REAL)
        running.append(demo.__enter__())
        return demo

    yield start
    for demo in running:
        demo.__exit__()


class Client:
    """Creates objects and remembers each that was acknowledged."""

    def __init__(self, demo: Demo, where: Path) -> None:
        self.where = where
        self.acknowledged: dict[tuple[str, str], str] = {}  # (path, name) -> uid
        self.use(demo)

    def use(self, demo: Demo) -> None:
        self.demo, self.api = demo, Api(demo, self.where)

    def create(self, path: str, body: dict[str, Any]) -> bool:
        try:
            answer = self.api.post(path, body)
        except (OSError, http.client.HTTPException):
            return False
        if answer.code == 201:
            metadata = answer.json["metadata"]
            self.acknowledged[path, metadata["name"]] = metadata["uid"]
        return answer.code == 201

    def items(self, path: str) -> list[dict[str, Any]]:
        return list(self.api.get(path).json["items"])

    def has_all(self) -> bool:
        """Whether each acknowledged object is there, as the one it was."""
        for path in {path for path, _ in self.acknowledged}:
            there = {item["metadata"]["name"]: item["metadata"]["uid"] for item in self.items(path)}
            for (asked, name), uid in self.acknowledged.items():
                assert asked != path or there.get(name) == uid, f"{name} was lost"
        return True


def deployment(name: str, replicas: int, image: str = "nginx") -> dict[str, Any]:
    return builders.deployment(name, image, replicas=replicas)


def until(true: Callable[[], bool], what: str) -> None:
    waiting.until(true, READY_SECONDS, what=what, every=POLL_SECONDS)


def runs(client: Client, count: int) -> Callable[[], bool]:
    """Whether exactly that many pods are there and all of them run."""

    def true() -> bool:
        if client.items(f"{PODS}?fieldSelector=status.phase!=Running&limit=1"):
            return False
        phases = [pod["status"].get("phase") for pod in client.items(PODS)]
        return len(phases) == count and set(phases) == {"Running"}

    return true


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        assert wait_for_end(pid)


def has_its_own_pods(client: Client) -> bool:
    """Whether the cluster's own pods run; before that they preempt others on the first node."""
    of = "/apis/apps/v1/namespaces/kube-system"
    ready = [item["status"].get("readyReplicas") for item in client.items(f"{of}/deployments")]
    proxies = [item["status"].get("numberReady") for item in client.items(f"{of}/daemonsets")]
    return bool(ready) and all(ready) and proxies == [NODES]


def start_pods(client: Client) -> int:
    """Two deployments of 140 pods, and as many of 20 single pods as are let in."""
    for name in ("left", "right"):
        assert client.create(DEPLOYMENTS, deployment(name, 140))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return sum(
            pool.map(client.create, [PODS] * 20, [builders.pod(f"single-{n}") for n in range(20)])
        )


@pytest.mark.parametrize("which", seeds.draw("kill", ["worker", "both"], 1))
def test_kill_while_300_pods_start(start: Callable[[], Demo], tmp_path: Path, which: str) -> None:
    demo = start()
    client = Client(demo, tmp_path)
    until(lambda: has_its_own_pods(client), "the cluster's own pods run")
    singles = start_pods(client)
    edge, worker = demo.endpoints["pid"], demo.endpoints["worker_pid"]
    kill(*{"worker": [worker], "both": [edge, worker]}[which])
    if which == "both":  # else the edge starts another one
        client.use(start())
    until(lambda: is_there(client), "there is an API server again")
    assert client.has_all()
    until(runs(client, 280 + singles), f"all of {280 + singles} pods run")
    assert client.has_all()
    owners = [
        pod["metadata"]["ownerReferences"][0]["name"]
        for pod in client.items(PODS)
        if "ownerReferences" in pod["metadata"]
    ]
    owned = {name: owners.count(name) for name in owners}
    assert sorted(owned.values()) == [140, 140]
    # its controller counts the last ones after they run
    until(lambda: ready_of_sets(client) == owned, f"the replica sets count {owned}")
    addresses = [pod["status"]["podIP"] for pod in client.items(PODS)]
    assert len(set(addresses)) == len(addresses)


def ready_of_sets(client: Client) -> dict[str, int]:
    return {
        replica_set["metadata"]["name"]: replica_set["status"].get("readyReplicas", 0)
        for replica_set in client.items(SETS)
    }


def is_there(client: Client) -> bool:
    """Whether the API server answers again."""
    assert client.demo.process.poll() is None, client.demo.errors()
    try:
        return client.api.get("/readyz").code == 200
    except OSError:
        return False


def test_kills_during_a_rollout_lose_nothing_and_stop_nothing(
    start: Callable[[], Demo], tmp_path: Path
) -> None:
    chance = random.Random(SEED)
    demo = start()
    client = Client(demo, tmp_path)
    assert client.create(DEPLOYMENTS, deployment("web", 30))
    until(runs(client, 30), "the first 30 pods run")
    rollouts = 0
    for number in range(KILLS):
        rollouts += roll_out(client, rollouts + 1)
        for _ in range(chance.randrange(12)):  # requests, as a clock the test shares
            client.items(PODS)
        worker = json.loads((demo.data_dir / "endpoints.json").read_text())["worker_pid"]
        edge_too = number % 4 == EDGE_TOO  # before it gives up on its workers
        kill(*[demo.endpoints["pid"]] * edge_too, worker)
        if edge_too:
            demo = start()
            client.use(demo)
        until(lambda: is_there(client), f"there is an API server again (seed {SEED})")
        assert client.has_all()
    assert rollouts == KILLS
    until(lambda: is_rolled_out(client, f"nginx:1.{rollouts}"), f"it is rolled out (seed {SEED})")
    until(runs(client, 30), f"30 pods run (seed {SEED})")


def roll_out(client: Client, number: int) -> bool:
    """Give the deployment another image; whether that was acknowledged."""
    template = {"spec": {"containers": [{"name": "c", "image": f"nginx:1.{number}"}]}}
    patch = {"spec": {"template": template}}
    path = f"{DEPLOYMENTS}/web"
    return client.api.patch(path, patch, "strategic-merge-patch+json").code == 200


def is_rolled_out(client: Client, image: str) -> bool:
    """Whether every replica set but the newest is empty, and that has exactly what is wanted."""
    wanted = {
        replica_set["spec"]["template"]["spec"]["containers"][0]["image"]: replica_set[
            "status"
        ].get("replicas", 0)
        for replica_set in client.items(SETS)
    }
    images = [pod["spec"]["containers"][0]["image"] for pod in client.items(PODS)]
    return {key: count for key, count in wanted.items() if count} == {image: 30} and (
        images == [image] * 30
    )
