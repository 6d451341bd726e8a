"""What containers say themselves of their restarts, since 1.35."""

from __future__ import annotations

import pytest

from tests.controllers_app.podlab import cluster, create, get, pod, state


@pytest.mark.parametrize(
    ("code", "wanted"), [(42, ("Running", True)), (3, ("Failed", False)), (0, ("Succeeded", False))]
)
def test_since_1_35_a_containers_rules_decide_before_its_pods_policy(
    code: int, wanted: tuple[str, bool]
) -> None:
    session = cluster(nodes=1, version="1.35")
    made = pod(notes={"run-seconds": "2", "exit-code": str(code)}, restartPolicy="OnFailure")
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    made["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    create(session, made)
    session.wait(5)
    started = "lastState" in state(session) and bool(state(session)["lastState"])
    assert (get(session)["status"]["phase"], started) == wanted
