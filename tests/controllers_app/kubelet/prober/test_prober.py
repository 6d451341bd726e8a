"""Probes that are really asked, and containers that are added to a running pod."""

from __future__ import annotations

from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import PODS, cluster, create, events, get, patch, pod, state


def test_a_liveness_command_fails_once_the_file_is_gone() -> None:
    session = cluster(nodes=1)
    probe = {"exec": {"command": ["cat", "/tmp/healthy"]}, "periodSeconds": 5}
    script = "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"
    container = {"command": ["sh", "-c", script], "livenessProbe": probe}
    create(session, pod(image="busybox", container=container, terminationGracePeriodSeconds=1))
    session.wait(60)
    told = [text for _, reason, text in events(session) if reason == "Unhealthy"]
    assert told[0] == (
        "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory"
    )
    assert state(session)["restartCount"] >= 1


def test_a_readiness_command_decides_about_readiness_while_the_container_runs() -> None:
    session = cluster(nodes=1)
    probe = {"exec": {"command": ["test", "-f", "/tmp/ready"]}, "periodSeconds": 1}
    container = {"command": ["sleep", "infinity"], "readinessProbe": probe}
    create(session, pod(image="busybox", container=container))
    assert state(session)["ready"] is False
    execute(session, "touch", "/tmp/ready")
    session.wait(3)
    assert state(session)["ready"] is True
    execute(session, "rm", "/tmp/ready")
    session.wait(6)
    assert state(session)["ready"] is False


def test_a_probe_of_a_port_where_the_image_does_not_listen_fails() -> None:
    session = cluster(nodes=1)
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    create(session, pod(container={"readinessProbe": probe}))
    session.wait(5)
    assert state(session)["ready"] is False
    address = get(session)["status"]["podIP"]
    assert (
        "Warning",
        "Unhealthy",
        (
            f'Readiness probe failed: Get "http://{address}:8080/": '
            f"dial tcp {address}:8080: connect: connection refused"
        ),
    ) in events(session)


def test_an_ephemeral_container_starts_beside_the_others_and_is_not_restarted() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    added = {"name": "debug", "image": "busybox", "command": ["sh", "-c", "echo seen; exit 5"]}
    patch(session, f"{PODS}/web/ephemeralcontainers", {"spec": {"ephemeralContainers": [added]}})
    told = [
        next(iter(record["object"]["status"]["ephemeralContainerStatuses"][0]["state"]))
        for record in session.records()
        if record["kind"] == "write"
        and record["subresource"] == "status"
        and "ephemeralContainerStatuses" in record["object"]["status"]
    ]
    assert told[0] == "waiting" and told[-1] == "terminated"
    found = get(session)["status"]["ephemeralContainerStatuses"][0]
    assert "started" not in found
    assert found["name"] == "debug" and found["restartCount"] == 0
    assert found["state"]["terminated"]["exitCode"] == 5
    assert get(session)["status"]["phase"] == "Running"


def test_a_container_without_a_startup_probe_has_started_as_soon_as_it_runs() -> None:
    session = cluster(nodes=1)
    probe = {"tcpSocket": {"port": 80}, "initialDelaySeconds": 600}
    create(session, pod(container={"readinessProbe": probe}))
    told = [
        (status["started"], status["ready"])
        for record in session.records()
        if record["kind"] == "write"
        and record["resource"] == "pods"
        and record["subresource"] == "status"
        for status in record["object"]["status"].get("containerStatuses", ())
        if "running" in status["state"]
    ]
    assert told == [(True, False), (True, True)]
