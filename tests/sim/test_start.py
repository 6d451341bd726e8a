"""What holds when a cluster says that it is ready, and after a restart."""

from __future__ import annotations

from apiserver_app.etcd.backend import MemoryBackend
from lifecycle.cluster.composition import Cluster
from lifecycle.hosting.scripted import Session
from tests.sim.test_story import DEPLOYMENTS, deployment, pods


def test_a_cluster_is_ready_when_its_nodes_take_pods() -> None:
    session = Session()
    seen: list[int] = []

    def report(kind: str, what: object) -> None:
        assert kind == "ready"
        seen.append(sum(not node["spec"].get("taints") for node in other.cache.list("nodes")))

    other = Cluster(session.inputs, MemoryBackend(), report)
    other.start()
    while not seen and (other.kernel.run_ready(1000) or other.kernel.fire_timer(0, jump=True)):
        pass
    assert seen == [3]


def test_an_unschedulable_deployment_does_not_make_a_fast_clock_hurry() -> None:
    session = Session()
    body = deployment(replicas=1)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"no": "such-node"}
    before = session.cluster.kernel.now
    session.request("POST", DEPLOYMENTS, body)
    assert session.cluster.kernel.now - before < 60_000_000


def test_a_cluster_that_was_paused_starts_again_running() -> None:
    session = Session()
    session.host.pause()
    session.request("POST", DEPLOYMENTS, deployment(replicas=1))
    session.restart()
    assert session.cluster.ready
    assert pods(session) == [], "the request was never admitted, so nobody was answered"


def test_a_restarted_scheduler_does_not_wait_for_its_own_lease() -> None:
    session = Session()
    session.restart()
    before = session.cluster.kernel.now
    session.request("POST", DEPLOYMENTS, deployment(replicas=1))
    assert [pod["status"]["phase"] for pod in pods(session)] == ["Running"]
    assert session.cluster.kernel.now - before < 10_000_000
