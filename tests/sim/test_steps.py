"""How much a single step of a cluster does, counted: no task keeps the others waiting long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lifecycle.hosting import scripted
from tests.sim.test_story import DEPLOYMENTS, deployment

REPLICASETS = "/apis/apps/v1/namespaces/default/replicasets"
PODS = "/api/v1/namespaces/default/pods"
REQUESTS_MAX, RECORDS_MAX = 6, 150


class Step:
    """What happened in one step of the kernel."""

    def __init__(self, task: str, records: list[dict[str, Any]]) -> None:
        self.task = task
        self.records = len(records)
        self.requests = sum(record["kind"] == "request" for record in records)


@pytest.fixture(scope="module")
def session() -> scripted.Session:
    return scripted.Session()


def steps(session: scripted.Session) -> Iterator[Step]:
    """Take what is to do step by step."""
    host, recorder = session.host, session.cluster.recorder
    ends: list[tuple[str, int]] = []
    first = recorder.seq + 1
    while host.idle_seconds() == 0.0:
        host.run_slice(0.0)
        task = host.kernel.last
        ends.append((task.name if task else "", recorder.seq))
    host.commit()
    told = session.records()
    for task_name, last in ends:
        yield Step(task_name, told[first - 1 : last])
        first = last + 1


def test_no_step_of_a_hundred_starting_pods_is_long(session: scripted.Session) -> None:
    session.request("POST", DEPLOYMENTS, deployment("many", 100), settle=False)
    taken = list(steps(session))
    assert max(taken, key=lambda one: one.requests).requests <= REQUESTS_MAX
    longest = max(taken, key=lambda one: one.records)
    assert longest.records <= RECORDS_MAX, longest.task


def test_no_step_of_deleting_a_hundred_pods_is_long(session: scripted.Session) -> None:
    session.request("DELETE", f"{DEPLOYMENTS}/many?propagationPolicy=Orphan")
    session.request("DELETE", f"{REPLICASETS}?propagationPolicy=Orphan")
    session.request("DELETE", PODS, settle=False)
    taken = list(steps(session))
    assert max(taken, key=lambda one: one.requests).requests <= REQUESTS_MAX
    longest = max(taken, key=lambda one: one.records)
    assert longest.records <= RECORDS_MAX, longest.task
    assert not session.cluster.cache.list("pods", "default")
