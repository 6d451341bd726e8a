"""What a pod costs, in numbers that are the same on every machine, beside those of costs.json.

A number that grew by more than TOLERANCE fails. Who has a reason records anew and says it:

    RECORD_COSTS="why it costs what it costs now" python -m pytest tests/sim/test_costs.py
"""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest

from lifecycle.hosting.scripted import Session, default_inputs
from tests.sim.test_story import DEPLOYMENTS, deployment

FILE = Path(__file__).with_name("costs.json")
PODS = 30
TOLERANCE = 0.05
WHY = os.environ.get("RECORD_COSTS", "")


def measure() -> dict[str, float]:
    """Of a Deployment of PODS pods, from the command until all run: per pod, but the last two."""
    session = Session(default_inputs(seed=7))
    cluster, host = session.cluster, session.host
    kernel, recorder = cluster.kernel, cluster.recorder
    before = recorder.seq, cluster.store.revision, kernel.steps, host.commits
    most = 0
    run_ready = kernel.run_ready

    def counted(steps: int) -> None:
        nonlocal most
        first = recorder.seq
        run_ready(steps)
        most = max(most, recorder.seq - first)

    kernel.run_ready = counted  # type: ignore[method-assign, assignment]
    body = deployment()
    body["spec"]["replicas"] = PODS
    assert session.request("POST", DEPLOYMENTS, body).status == 201
    session.wait(30)
    pods = [pod for pod in cluster.cache.list("pods") if pod["metadata"]["namespace"] == "default"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * PODS
    segments = [
        zlib.decompress(segment.data) for segment in session.backend.segments(before[0] + 1, 10**9)
    ]
    requests = sum(segment.count(b'"kind":"request"') for segment in segments)
    after = recorder.seq, cluster.store.revision, kernel.steps, host.commits
    records, revisions, steps, commits = (new - old for new, old in zip(after, before, strict=True))
    per_pod = {
        "requests": requests,
        "records": records,
        "revisions": revisions,
        "kernel steps": steps,
        "bytes of trace": sum(map(len, segments)),
    }
    return {
        **{name: round(value / PODS, 2) for name, value in per_pod.items()},
        "commits of the run": commits,
        "records of the longest step": most,
    }


@pytest.fixture(scope="module")
def costs() -> dict[str, float]:
    found = measure()
    if WHY:
        FILE.write_text(json.dumps({"why": WHY, "costs": found}, indent=2) + "\n")
    return found


RECORDED: dict[str, float] = json.loads(FILE.read_text())["costs"] if FILE.is_file() else {}


@pytest.mark.parametrize("name", RECORDED)
def test_a_pod_costs_no_more_than_recorded(costs: dict[str, float], name: str) -> None:
    most = (costs if WHY else RECORDED)[name] * (1 + TOLERANCE)
    again = "RECORD_COSTS=why records anew; see the top of this file"
    assert costs[name] <= most, f"{name}: {costs[name]}, {RECORDED[name]} recorded. {again}"


def test_all_that_is_measured_is_recorded(costs: dict[str, float]) -> None:
    assert set(json.loads(FILE.read_text())["costs"]) == set(costs)
