"""A container that a probe has killed: when it starts again, and when it waits."""

from __future__ import annotations

import itertools

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import cluster, create, events, pod

HTTP = {"httpGet": {"path": "/", "port": 80}}
NEVER = {"ready-after-seconds": "never"}


def seen(session: Session) -> list[tuple[int, str]]:
    """(restarts, state or reason to wait) of each revision of the pod's status, without repeats."""
    told = []
    for record in session.records():
        if record["kind"] == "write" and record["resource"] == "pods":
            for container in record["object"]["status"].get("containerStatuses") or ():
                ((kind, detail),) = container["state"].items()
                told.append((container["restartCount"], detail.get("reason", kind)))
    return [key for key, _ in itertools.groupby(told)]


def test_a_container_starts_in_the_sync_that_kills_it_until_it_fails_too_often() -> None:
    """The first two times nothing is known that would have it wait: upstream looks at the instance
    before the one that it kills."""
    session = cluster(nodes=1)
    probe = {**HTTP, "periodSeconds": 2, "failureThreshold": 2}
    create(session, pod(container={"startupProbe": probe}, notes=NEVER), settle=False)
    session.wait(45)
    assert seen(session)[:7] == [
        (0, "ContainerCreating"),
        (0, "running"),
        (1, "running"),
        (2, "running"),
        (2, "Completed"),
        (2, "CrashLoopBackOff"),
        (3, "running"),
    ]


def test_a_container_that_runs_longer_than_it_would_wait_is_not_held_back() -> None:
    session = cluster(nodes=1)
    probe = {**HTTP, "periodSeconds": 15, "failureThreshold": 2}
    create(session, pod(container={"startupProbe": probe}, notes=NEVER), settle=False)
    session.wait(100)  # it runs 30 s each time; the waits would be 10 s, then 20 s
    assert seen(session)[1:4] == [(0, "running"), (1, "running"), (2, "running")]
    assert (3, "running") in seen(session)
    assert "BackOff" not in [reason for _, reason, _ in events(session)]


def test_a_container_that_may_not_restart_ends_when_a_probe_has_killed_it() -> None:
    session = cluster(nodes=1)
    probe = {**HTTP, "periodSeconds": 2, "failureThreshold": 2}
    body = pod(container={"startupProbe": probe}, notes=NEVER, restartPolicy="Never")
    create(session, body)
    assert seen(session)[1:] == [(0, "running"), (0, "Completed")]
