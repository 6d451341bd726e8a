"""What a kubelet says of its pods holds: where somebody else changes it, it is said again."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import meta
from lifecycle.hosting.scripted import Session
from tests.controllers_app import podlab

NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}


@pytest.fixture
def web() -> Session:
    """A cluster in which a pod runs."""
    session = podlab.cluster()
    podlab.create(session, podlab.pod())
    session.wait(20)
    assert podlab.condition(session, "Ready")["status"] == "True"
    return session


def test_a_pod_that_somebody_marks_not_ready_is_ready_again_within_ten_seconds(
    web: Session,
) -> None:
    podlab.patch(web, f"{podlab.PODS}/web/status", {"status": NOT_READY})
    assert podlab.condition(web, "Ready")["status"] == "False"

    web.wait(10)

    ready = podlab.condition(web, "Ready")
    assert ready["status"] == "True"
    assert meta.parse_time(ready["lastTransitionTime"]) > meta.parse_time(
        podlab.get(web)["status"]["startTime"]
    )


def test_what_the_kubelet_does_not_say_is_left_as_it_is(web: Session) -> None:
    own = {"type": "team.example/checked", "status": "True"}
    podlab.patch(web, f"{podlab.PODS}/web/status", {"status": {"conditions": [own]}})
    before = podlab.get(web)["metadata"]["resourceVersion"]

    web.wait(30)

    assert podlab.condition(web, "team.example/checked")["status"] == "True"
    assert podlab.get(web)["metadata"]["resourceVersion"] == before
