"""How pods end when they are deleted: in time, completely, and without a trace on the node."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import (
    PODS,
    addresses,
    cluster,
    create,
    events,
    get,
    items,
    kubelet,
    pod,
)


def test_a_pod_is_stopped_within_its_grace_and_goes() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"stop-seconds": "5"}))
    before = session.cluster.kernel.now
    session.request("DELETE", f"{PODS}/web")
    assert items(session) == []
    assert 5 <= (session.cluster.kernel.now - before) / 1e6 < 6
    assert ("Normal", "Killing", "Stopping container c") in events(session)
    assert len(addresses(session)) == 0 and kubelet(session).workers == {}


def test_who_takes_longer_than_the_grace_period_is_killed() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"stop-seconds": "100"}))
    before = session.cluster.kernel.now
    session.request("DELETE", f"{PODS}/web")
    assert 30 <= (session.cluster.kernel.now - before) / 1e6 < 31
    last = [
        record
        for record in session.records()
        if record["kind"] == "write" and record["name"] == "web"
    ][-1]
    done = last["object"]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert done["exitCode"] == 137 and last["object"]["status"]["phase"] == "Failed"


def test_who_gets_sigterm_late_has_two_seconds_and_a_hook_no_more_than_the_grace_period() -> None:
    session = cluster(nodes=1)
    hook = {"preStop": {"exec": {"command": ["sleep", "100"]}}}
    create(session, pod(container={"lifecycle": hook}, notes={"stop-seconds": "1.5"}))
    before = session.cluster.kernel.now
    session.request("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 4})
    assert 5.5 <= (session.cluster.kernel.now - before) / 1e6 < 6.5
    assert last_status(session)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_sidecars_stop_one_after_the_other_the_last_one_first() -> None:
    session = cluster(nodes=1)
    sidecars = [
        {"name": name, "image": "nginx", "restartPolicy": "Always"} for name in ("one", "two")
    ]
    create(session, pod(initContainers=sidecars, notes={"stop-seconds": "2"}))
    session.request("DELETE", f"{PODS}/web")
    status = last_status(session)
    ended = {
        one["name"]: meta.parse_time(one["state"]["terminated"]["finishedAt"]) // 1_000_000
        for one in status["containerStatuses"] + status["initContainerStatuses"]
    }
    assert [ended["two"] - ended["c"], ended["one"] - ended["two"]] == [2, 2]


def test_a_shorter_grace_period_hurries_a_pod_that_is_stopping() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"stop-seconds": "100"}))
    before = session.cluster.kernel.now
    session.request("DELETE", f"{PODS}/web", settle=False)
    session.cluster.kernel.run_ready(10_000)
    session.request("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 2})
    assert (session.cluster.kernel.now - before) / 1e6 < 4
    assert items(session) == []


def test_a_forced_delete_leaves_no_address_and_writes_nothing_more() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    session.request("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert len(addresses(session)) == 0 and kubelet(session).workers == {}
    refused = [
        record
        for record in session.records()
        if record["kind"] == "response" and record["code"] == 404
    ]
    assert not [event for event in refused if 'pods "web"' in event["message"]]


@pytest.mark.parametrize("seconds", [0.01, 0.1, 0.25, 0.5, 2.0, 3.9])
@pytest.mark.parametrize("grace", [None, 0])
def test_a_pod_deleted_while_it_starts_leaves_nothing(seconds: float, grace: int | None) -> None:
    session = cluster(nodes=1)
    create(session, pod(), settle=False)
    kernel = session.cluster.kernel
    due = kernel.now + int(seconds * 1e6)
    while kernel.has_ready() or kernel.fire_timer(due, jump=False):
        kernel.run_ready(1000)
    options = {} if grace is None else {"gracePeriodSeconds": grace}
    session.request("DELETE", f"{PODS}/web", options)
    assert items(session) == []
    assert len(addresses(session)) == 0 and kubelet(session).workers == {}


def test_a_pod_of_the_same_name_may_come_back_at_once() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    session.request("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0}, settle=False)
    create(session, pod())
    assert get(session)["status"]["phase"] == "Running"
    assert len(kubelet(session).workers) == 1 and len(addresses(session)) == 1


def test_a_container_that_waits_for_its_restart_ends_as_it_had_ended() -> None:
    session = cluster(nodes=1)
    create(session, pod(notes={"crash": "true"}))
    assert get(session)["status"]["containerStatuses"][0]["state"]["waiting"]
    session.request("DELETE", f"{PODS}/web")
    done = last_status(session)["containerStatuses"][0]
    ended = done["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (1, "Error")
    assert ended["containerID"] == done["containerID"]
    assert done["lastState"]["terminated"]["containerID"] != done["containerID"]


def test_each_container_ends_at_a_time_of_its_own() -> None:
    session = cluster(nodes=1)
    containers = [{"name": "c", "image": "nginx"}, {"name": "slow", "image": "nginx"}]
    notes = {"c.stop-seconds": "1", "slow.stop-seconds": "600"}
    create(session, pod(notes=notes, containers=containers))
    session.request("DELETE", f"{PODS}/web")
    first, second = (
        status["state"]["terminated"] for status in last_status(session)["containerStatuses"]
    )
    assert (first["exitCode"], second["exitCode"]) == (0, 137)
    apart = meta.parse_time(second["finishedAt"]) - meta.parse_time(first["finishedAt"])
    assert apart == 29 * SECOND


def last_status(session: Session) -> dict[str, Any]:
    """The status that the kubelet wrote before the pod went."""
    found: dict[str, Any] = [
        record["object"]["status"]
        for record in session.records()
        if record["kind"] == "write"
        and record["resource"] == "pods"
        and record["subresource"] == "status"
    ][-1]
    return found
