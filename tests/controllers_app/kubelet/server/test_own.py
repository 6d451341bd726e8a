"""The kubelet's metrics of itself and of its probes, through the node's proxy."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import cluster, create, get, pod

PROXY = "/api/v1/nodes/node-1/proxy"
PROBE = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10}


def samples(session: Session, path: str) -> dict[str, float]:
    """Series and value of each line; each has its HELP and TYPE above it."""
    text = bytes(session.request("GET", f"{PROXY}{path}").text).decode()
    lines = text.splitlines()
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    found = {}
    for line in lines:
        if not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            assert series.partition("{")[0] in typed
            found[series] = float(value)
    return found


@pytest.fixture(scope="module")
def session() -> Session:
    session = cluster(nodes=1)
    create(session, pod())
    create(session, pod("done", "busybox", restartPolicy="Never", container={"command": ["true"]}))
    return session


def test_the_kubelet_counts_its_pods_and_containers(session: Session) -> None:
    found = samples(session, "/metrics")
    assert found['kubelet_node_name{node="node-1"}'] == 1
    assert found['kubelet_desired_pods{static=""}'] == 2
    assert found['kubelet_active_pods{static=""}'] == 1  # the other is over
    assert found['kubelet_active_pods{static="true"}'] == found["kubelet_mirror_pods"] == 0
    assert found["kubelet_running_pods"] == 1
    assert found['kubelet_running_containers{container_state="running"}'] == 1
    assert found['kubelet_running_containers{container_state="exited"}'] == 1
    assert found["process_start_time_seconds"] > 0


def test_probes_that_are_not_really_asked_are_counted_all_the_same() -> None:
    session = cluster(nodes=1)
    container = {"readinessProbe": PROBE, "livenessProbe": {**PROBE, "initialDelaySeconds": 30}}
    create(session, pod(container=container))
    uid = get(session)["metadata"]["uid"]
    known = f'prober_probe_total{{container="c",namespace="default",pod="web",pod_uid="{uid}"'
    ready, alive = (
        f'{known},probe_type="{kind}",result="successful"}}' for kind in ("Readiness", "Liveness")
    )
    before = samples(session, "/metrics/probes")
    session.wait(60)
    after = samples(session, "/metrics/probes")
    assert after[ready] - before[ready] == 6
    assert before.get(alive, 0) == 0 and after[alive] in (3, 4)


def test_a_probe_that_fails_is_counted_as_failed() -> None:
    session = cluster(nodes=1)
    create(session, pod(container={"readinessProbe": {"httpGet": {"path": "/", "port": 81}}}))
    session.wait(30)
    found = samples(session, "/metrics/probes")
    results = {series.split('result="')[1][:6]: value for series, value in found.items() if
               series.startswith("prober_probe_total")}  # fmt: skip
    assert set(results) == {"failed"} and results["failed"] >= 3


def test_commands_of_probes_are_counted_as_they_run() -> None:
    session = cluster(nodes=1)
    probe = {"exec": {"command": ["cat", "/tmp/ready"]}, "periodSeconds": 5}
    command = ["sh", "-c", "sleep 12; touch /tmp/ready; sleep 3600"]
    create(session, pod(image="busybox", container={"command": command, "readinessProbe": probe}))
    session.wait(40)
    found = samples(session, "/metrics/probes")
    results = {series.split('result="')[1][:4]: value for series, value in found.items() if
               series.startswith("prober_probe_total")}  # fmt: skip
    assert results["fail"] == 3
    assert results["succ"] >= 5
