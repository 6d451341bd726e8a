"""Containers that take more memory than they may."""

from __future__ import annotations

import pytest

from tests.controllers_app.podlab import cluster, create, pod, state


@pytest.mark.parametrize(
    ("image", "command", "notes"),
    [
        ("polinux/stress", ["stress", "--vm", "1", "--vm-bytes", "250M", "--vm-hang", "1"], {}),
        ("busybox", ["sleep", "60"], {"memory-bytes": "104857601"}),
    ],
)
def test_a_container_that_takes_more_memory_than_its_limit_is_killed(
    image: str, command: list[str], notes: dict[str, str]
) -> None:
    session = cluster(nodes=1)
    limits = {"limits": {"memory": "100Mi"}}
    create(
        session, pod(image=image, container={"command": command, "resources": limits}, notes=notes)
    )
    last = state(session)["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
    assert state(session)["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_what_is_killed_after_its_grace_period_has_not_run_out_of_memory() -> None:
    session = cluster(nodes=1)
    limits = {"limits": {"memory": "100Mi"}}
    probe = {"exec": {"command": ["false"]}, "failureThreshold": 1}
    container = {"command": ["sleep", "900"], "resources": limits, "livenessProbe": probe}
    notes = {"memory-bytes": "104857600"}
    create(session, pod(image="busybox", container=container, notes=notes))
    session.wait(60)
    last = state(session)["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("Error", 137)
