"""Keyframes of a trace: what they hold, how large they grow, and that any place can be asked for.

That the page makes of one what it makes of all records is in tests/js/keyframe.test.mjs.
"""

from __future__ import annotations

import json
import weakref
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from lifecycle.trace import keyframes
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap

SECRETS = "/api/v1/namespaces/default/secrets"
EVENTS = "/api/v1/namespaces/default/events"


@pytest.fixture
def session() -> Session:
    session = bare_session()
    for number in range(30):
        session.request("POST", CONFIGMAPS, configmap(f"a-{number}", k="v"))
    return session


def told(session: Session, seq: int = 10**9) -> dict[str, Any]:
    frames = keyframes.Keyframes(session.backend)
    return dict(json.loads(frames.message(frames.at(seq)))["keyframe"])


def names(keyframe: dict[str, Any], resource: str = "configmaps") -> list[str]:
    return [
        record["name"]
        for record in keyframe["records"]
        if record["kind"] == "write"
        and record["resource"] == resource
        and record["name"][:2] == "a-"
    ]


def test_a_keyframe_has_the_newest_write_of_each_object_and_says_whose_it_was(
    session: Session,
) -> None:
    session.request("PUT", f"{CONFIGMAPS}/a-3", configmap("a-3", k="w"))
    session.request("DELETE", f"{CONFIGMAPS}/a-4")
    found = told(session)
    assert len(names(found)) == 29 and "a-4" not in names(found)
    changed = next(record for record in found["records"] if record.get("name") == "a-3")
    assert changed["op"] == "update" and changed["object"]["data"] == {"k": "w"}
    assert changed["client"] and len(changed["roots"]) == 1


def test_the_newest_command_comes_with_all_its_records_and_what_it_wrote(session: Session) -> None:
    command = told(session)["command"]
    assert command[0]["kind"] == "request" and command[-1]["kind"] == "response"
    written = next(record for record in command if record["kind"] == "write")
    assert written["object"]["metadata"]["name"] == "a-29"
    assert all(one["roots"] == [command[0]["seq"]] for one in command)


def test_objects_that_a_page_does_not_show_and_values_of_secrets_do_not_travel(
    session: Session,
) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a-secret"}}
    session.request("POST", SECRETS, {**body, "stringData": {"password": "hunter2"}})
    found = json.dumps(told(session))
    assert '"resource": "events"' not in found
    assert "a-secret" in found and "hunter2" not in found and "aHVudGVyMg==" not in found


def test_any_place_can_be_asked_for_in_any_order(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "KEPT_EVERY", 50)
    frames = keyframes.Keyframes(session.backend)
    last = session.cluster.recorder.seq
    for seq in (last, last // 2, last - 10, last // 3, last):
        fresh = keyframes.Keyframes(session.backend)
        assert frames.message(frames.at(seq)) == fresh.message(fresh.at(seq))


def test_of_those_to_go_on_from_few_are_kept(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "KEPT_EVERY", 10)
    monkeypatch.setattr(keyframes, "KEPT_MAX", 6)
    kept: list[weakref.ref[keyframes.Keyframe]] = []
    copy = keyframes.Keyframe.copy

    def copied(frame: keyframes.Keyframe) -> keyframes.Keyframe:
        made = copy(frame)
        kept.append(weakref.ref(made))
        return made

    monkeypatch.setattr(keyframes.Keyframe, "copy", copied)
    frames = keyframes.Keyframes(session.backend)
    last = session.cluster.recorder.seq
    frames.at(last)
    assert len(kept) > 8 and sum(one() is not None for one in kept) <= 6
    for seq in (last // 4, last // 3, last // 2):
        fresh = keyframes.Keyframes(session.backend)
        assert frames.message(frames.at(seq)) == fresh.message(fresh.at(seq))


def test_what_is_remembered_of_the_past_is_bounded(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "REMEMBERED", 5)
    frame = keyframes.Keyframes(session.backend).at(10**9)
    assert [len(memo) for memo in (frame.roots, frame.caused, frame.rooted)] == [5, 5, 5]


def test_a_stream_goes_on_behind_the_answer_and_its_end_is_known() -> None:
    frame = keyframes.Keyframe()
    span = {"span": 1, "t": 0}
    take(
        frame,
        {"seq": 1, "kind": "request", "outside": True, "verb": "get", "resource": "pods", **span},
        {"seq": 2, "kind": "stream", "state": "open", **span},
        {"seq": 3, "kind": "response", "code": 101, **span},
    )
    assert [one["kind"] for one in message(frame)["command"]] == ["request", "stream", "response"]
    assert 1 in frame.spans and 1 in frame.copy().spans

    take(frame, {"seq": 4, "kind": "stream", "state": "end", **span})
    assert message(frame)["command"][-1]["state"] == "end"
    assert not frame.spans


def take(frame: keyframes.Keyframe, *records: dict[str, Any]) -> None:
    frame.take(b",".join(json.dumps(one).encode() for one in records))


def message(frame: keyframes.Keyframe) -> dict[str, Any]:
    return dict(json.loads(frame.message({}))["keyframe"])
