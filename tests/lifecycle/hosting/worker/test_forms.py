"""An object in its forms: as it was sent, as it was understood, as etcd holds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_app.etcd.backend import Segment
from apiserver_app.machinery.serializer import protobuf, protoencode
from lifecycle.hosting.scripted import Session
from lifecycle.hosting.worker import forms
from tests.apiserver_app.cluster import CONFIGMAPS, DEPLOYMENTS, PODS, bare_session, configmap, pod
from tests.sim.test_story import deployment


@pytest.fixture
def session() -> Session:
    return bare_session()


def last_request(session: Session) -> int:
    """The record with which the last outside request began."""
    found = [
        record for record in session.records() if record["kind"] == "request" and record["outside"]
    ]
    return int(found[-1]["seq"])


def test_a_created_object_is_shown_as_sent_as_decoded_and_as_stored(session: Session) -> None:
    made = session.request("POST", PODS, pod("a")).json()

    told = forms.of_request(session.cluster, last_request(session))

    assert told["body"]["media"] == "application/json"
    assert '"name":"a"' in told["body"]["text"]
    assert told["body"]["size"] == len(told["body"]["text"])
    assert told["internal"]["spec"]["restartPolicy"] == "Always"  # a default
    assert "uid" not in told["internal"]["metadata"]  # what comes behind decode is not there yet
    stored = told["stored"]
    assert stored["key"] == "/registry/pods/default/a"
    assert str(stored["revision"]) == made["metadata"]["resourceVersion"]
    assert stored["media"] == "application/vnd.kubernetes.protobuf"
    assert bytes.fromhex(stored["hex"]).startswith(b"k8s\0")
    del made["metadata"]["resourceVersion"]
    assert stored["object"] == made
    assert protoencode.encode(made)[: forms.HEX_BYTES_MAX].hex() == stored["hex"]


def test_a_body_in_protobuf_is_shown_by_its_bytes(session: Session) -> None:
    body = protoencode.encode(configmap("a"))
    headers = {"content-type": "application/vnd.kubernetes.protobuf"}
    session.request("POST", CONFIGMAPS, body, headers=headers)

    told = forms.of_request(session.cluster, last_request(session))

    assert (told["body"]["text"], told["body"]["hex"]) == ("", body.hex())
    assert told["internal"]["metadata"]["name"] == protobuf.decode(body)["metadata"]["name"]


def test_a_patch_is_shown_with_the_object_it_made(session: Session) -> None:
    session.request("POST", CONFIGMAPS, configmap("a"))
    headers = {"content-type": "application/merge-patch+json"}
    session.request("PATCH", f"{CONFIGMAPS}/a", {"data": {"new": "1"}}, headers=headers)

    told = forms.of_request(session.cluster, last_request(session))

    assert told["body"]["text"] == '{"data":{"new":"1"}}'
    assert told["internal"]["data"]["new"] == "1"
    assert told["stored"]["object"]["data"]["new"] == "1"


def test_each_of_two_requests_at_one_moment_finds_its_own_body(session: Session) -> None:
    for name in ("a", "b"):
        session.request("POST", CONFIGMAPS, configmap(name), settle=False)
    session.settle()
    asked = [
        record for record in session.records() if record["kind"] == "request" and record["outside"]
    ]
    for one, name in zip(asked[-2:], ("a", "b"), strict=True):
        told = forms.of_request(session.cluster, one["seq"])
        assert f'"name":"{name}"' in told["body"]["text"]


def test_a_components_object_has_no_bytes_and_a_deleted_one_is_not_stored(session: Session) -> None:
    session.request("POST", DEPLOYMENTS, deployment("web"))
    inside = next(
        record
        for record in session.records()
        if record["kind"] == "request" and not record["outside"] and record["verb"] == "create"
    )
    told = forms.of_request(session.cluster, inside["seq"])
    assert (told["body"], told["internal"]) == (None, None)
    assert told["stored"]["size"] > 0
    session.request("DELETE", f"{DEPLOYMENTS}/web")
    assert forms.of_request(session.cluster, last_request(session))["stored"] is None


def test_only_a_requests_first_record_has_forms(session: Session) -> None:
    session.request("POST", CONFIGMAPS, configmap("a"))
    with pytest.raises(KeyError):
        forms.of_request(session.cluster, last_request(session) + 1)


def test_no_more_of_the_trace_is_read_than_to_the_requests_answer(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        session.request("POST", CONFIGMAPS, configmap(name))
    records = session.records()
    asked = next(record for record in records if record["kind"] == "request" and record["outside"])
    answered = next(
        record["seq"]
        for record in records
        if record["kind"] == "response" and record["span"] == asked["seq"]
    )
    backend = session.cluster.store.backend
    segments, read = backend.segments, list[int]()

    def counted(first: int, last: int) -> Iterator[Segment]:
        for segment in segments(first, last):
            read.append(segment.last)
            yield segment

    monkeypatch.setattr(backend, "segments", counted)

    assert forms.of_request(session.cluster, asked["seq"])["stored"] is not None

    assert len([*segments(asked["seq"], records[-1]["seq"])]) > 2
    assert [last >= answered for last in read].count(True) == 1
