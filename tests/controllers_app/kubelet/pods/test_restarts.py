"""Kubelets are crash-only: kill the worker at any moment, and every pod gets where it goes."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import PODS, create, get, items, pod, state, whole_cluster
from tests.sim.test_story import DEPLOYMENTS, deployment
from tests.suite import seeds


def work(session: Session, steps: int) -> None:
    """So many steps of the kernel and no more, then a commit: the worker may die here."""
    kernel = session.cluster.kernel
    for _ in range(steps):
        if not kernel.run_ready(1) and not kernel.fire_timer(kernel.now, jump=True):
            break
    session.host.commit()


def addresses(session: Session) -> list[str]:
    return [item["status"]["podIP"] for item in items(session)]


@pytest.mark.parametrize(
    "steps", seeds.draw("deaths", [3, 20, 60, 120, 180, 250, 330, 420, 600], 3)
)
def test_a_deployment_survives_the_workers_death_after_any_number_of_steps(steps: int) -> None:
    session = whole_cluster()
    session.request("POST", DEPLOYMENTS, deployment(replicas=4), settle=False)
    work(session, steps)
    session.restart()
    found = items(session)
    assert [item["status"]["phase"] for item in found] == ["Running"] * 4
    assert len(set(addresses(session))) == 4
    assert all(item["status"]["containerStatuses"][0]["restartCount"] == 0 for item in found)


@pytest.mark.parametrize("steps", [5, 25, 60, 100])
def test_a_deletion_survives_the_workers_death(steps: int) -> None:
    session = whole_cluster(nodes=1)
    create(session, pod())
    session.request("DELETE", f"{PODS}/web", settle=False)
    work(session, steps)
    session.restart()
    assert items(session) == []


def test_adopted_pods_keep_their_addresses_and_new_ones_get_others() -> None:
    session = whole_cluster(nodes=1)
    create(session, pod("a"))
    create(session, pod("b"))
    before = addresses(session)
    session.restart()
    session.wait(20)  # until the dead scheduler's lease has run out
    create(session, pod("c"))
    after = addresses(session)
    assert after[:2] == before and len(set(after)) == 3


@pytest.mark.parametrize("notes", [{"crash": "true"}, {"run-seconds": "30", "exit-code": "1"}])
def test_a_crash_loop_goes_on_after_a_restart(notes: dict[str, Any]) -> None:
    session = whole_cluster(nodes=1)
    create(session, pod(notes=notes))
    before = state(session)["restartCount"]
    session.restart()
    assert state(session)["restartCount"] > before
    assert "lastState" in state(session)


def test_a_job_pod_that_ended_while_nobody_looked_is_finished_after_the_restart() -> None:
    session = whole_cluster(nodes=1)
    create(session, pod("job", notes={"run-seconds": "5"}, restartPolicy="Never"), settle=False)
    work(session, 200)
    session.restart()
    assert get(session, "job")["status"]["phase"] == "Succeeded"


def test_init_containers_go_on_where_they_were_after_a_restart() -> None:
    for steps in (150, 250, 350):
        session = whole_cluster(nodes=1)
        inits = [{"name": name, "image": "busybox"} for name in ("one", "two")]
        create(session, pod(initContainers=inits), settle=False)
        work(session, steps)
        session.restart()
        assert get(session)["status"]["phase"] == "Running"


def test_a_failed_kubelet_stops_its_lease_and_a_started_one_takes_it_up() -> None:
    session = whole_cluster(nodes=1)
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"

    def renewed() -> str:
        found: str = session.request("GET", path).json()["spec"]["renewTime"]
        return found

    session.wait(15)
    before = renewed()
    session.cluster.role("kubelet", "fail", component="kubelet/node-1")
    session.wait(20)
    assert renewed() == before
    session.cluster.role("kubelet", "start", component="kubelet/node-1")
    session.wait(11)
    assert renewed() > before


def test_a_pod_bound_while_the_kubelet_was_away_starts_when_it_is_back() -> None:
    session = whole_cluster(nodes=1)
    session.cluster.role("kubelet", "fail", component="kubelet/node-1")
    create(session, pod())
    assert get(session)["status"]["phase"] == "Pending" and get(session)["spec"]["nodeName"]
    session.cluster.role("kubelet", "start", component="kubelet/node-1")
    session.settle()
    assert get(session)["status"]["phase"] == "Running"


def test_a_node_tells_what_it_has_and_keeps_some_memory_back() -> None:
    session = whole_cluster(nodes=1)
    create(session, pod())
    session.wait(11)
    status = session.request("GET", "/api/v1/nodes/node-1").json()["status"]
    assert status["capacity"]["memory"] == "8Gi"
    assert status["allocatable"]["memory"] == "8092Mi"
    assert [condition["type"] for condition in status["conditions"]] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
    ]
    image = next(one for one in status["images"] if one["sizeBytes"] == 72225394)
    assert image["names"][1] == "docker.io/library/nginx:latest"
    session.restart()
    session.wait(11)
    assert image in session.request("GET", "/api/v1/nodes/node-1").json()["status"]["images"]
