"""A trace told in lines."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from lifecycle.trace import story
from tests.sim.test_story import DEPLOYMENTS, deployment


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    session = Session()
    session.request("POST", DEPLOYMENTS, deployment(replicas=1))
    session.request("POST", DEPLOYMENTS, deployment(), user="student")
    session.request("GET", DEPLOYMENTS)
    session.wait(60)
    return session.records()


def test_a_story_has_the_command_its_writes_the_choice_and_the_steps(
    records: list[dict[str, Any]],
) -> None:
    lines = list(story.tell(records))
    texts = [line.text for line in lines]
    places = [line.where for line in lines]
    assert f"create {DEPLOYMENTS} -> 201" in texts
    assert any("create deployments.apps default/nginx by script/1" in text for text in texts)
    assert any(" goes to node-" in line.text for line in lines if line.where == "scheduler")
    assert [text for text in texts if text.endswith("container end")]
    assert "refused" in places
    assert [line.t for line in lines] == sorted(line.t for line in lines)


def test_a_refusal_is_told_in_upstreams_words(records: list[dict[str, Any]]) -> None:
    refused = [line.text for line in story.tell(records) if line.where == "refused"]
    # beside the deployment controller's own conflict, which the real one has, too
    forbidden = [text for text in refused if "modified" not in text]
    assert len(forbidden) == 1 and 'User "student" cannot create' in forbidden[0]
    assert forbidden[0].startswith("create deployments.apps at authorization: deployments.apps is")


def test_reads_and_heartbeats_are_told_only_when_asked_for(records: list[dict[str, Any]]) -> None:
    short = [line.text for line in story.tell(records)]
    full = [line.text for line in story.tell(records, everything=True)]
    assert not any(" leases." in text or text.startswith(("get ", "list ")) for text in short)
    assert any(" leases." in text for text in full)
    assert any(text.startswith("list ") for text in full)
    assert set(short) <= set(full)


def test_a_story_that_begins_in_the_middle_is_told_all_the_same(
    records: list[dict[str, Any]],
) -> None:
    assert list(story.tell(records[len(records) // 2 :], everything=True))
