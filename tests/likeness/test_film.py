"""A Deployment's life, as the page is told it: the requests of the real one's audit log.

The log had kwok where kubelets are here, so of theirs only what is written of a pod counts.
"""

from __future__ import annotations

import itertools
import json
import pathlib
from collections.abc import Iterable
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session, default_inputs
from tests.js import recorded
from tests.likeness.stage import ACCOUNTS

LIFE = json.loads((pathlib.Path(__file__).parent / "deployment-life.json").read_text())
KUBELET = "kwok"
COMPONENTS = sorted({who for who, _ in LIFE["requests"]} - {KUBELET})


@pytest.fixture(scope="module")
def told() -> list[tuple[str, str]]:
    """Who asked for what, as the trace has it, with the code of the answer."""
    session = Session(default_inputs(seed=7))
    before = len(session.records())
    recorded.full(session)
    session.request("DELETE", f"{recorded.DEPLOYMENTS}/nginx")
    session.wait(40)
    return _requests(session.records()[before:])


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_is_told_with_the_requests_of_the_real_audit_log(
    component: str, told: list[tuple[str, str]]
) -> None:
    real = [line for who, line in LIFE["requests"] if who == component]
    ours = [line for who, line in told if who == component]
    for about_events in (True, False):  # another task's
        assert _turns(ours, about_events) == _turns(real, about_events)
    for line in ("create pods 201", "create pods/binding 201", "delete pods 200"):
        assert ours.count(line) == real.count(line)


def _requests(records: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    users: dict[int, str] = {}
    asked: dict[int, dict[str, Any]] = {}
    out = []
    for record in records:
        if record["kind"] == "request":
            asked[record["seq"]] = record
        elif record["kind"] == "gate" and record["gate"] == "authentication":
            users[record["span"]] = record["detail"]["user"]["name"].removeprefix(ACCOUNTS)
        elif record["kind"] == "response" and record["span"] in users:
            request = asked[record["span"]]
            resource = "/".join(filter(None, (request["resource"], request["subresource"])))
            line = f"{request['verb']} {resource} {record['code']}"
            if request["verb"] != "watch" and "leases" not in resource:
                out.append((users[record["span"]], line))
    return out


def _turns(lines: list[str], about_events: bool) -> list[str]:
    """What came in a row, once: how often a status is written on the way is a matter of moments."""
    kept = [line for line in lines if ("events" in line) == about_events]
    return [line for line, _ in itertools.groupby(kept)]
