"""Reading records back: packed segments, objects from the log, ranges."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from apiserver_app.etcd.backend import Segment
from lifecycle.hosting.scripted import Session
from lifecycle.trace import storage
from tests.apiserver_app.cluster import CONFIGMAPS, bare_session, configmap

SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(scope="module")
def session() -> Session:
    session = bare_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v"))
    session.request("DELETE", f"{CONFIGMAPS}/a")
    return session


def test_what_is_packed_is_unpacked() -> None:
    records = [{"seq": 1, "kind": "x"}, {"seq": 2, "kind": "y"}]
    packed = storage.pack(b",".join(map(orjson.dumps, records)))
    assert storage.unpack(Segment(1, 2, 0, packed)) == records


def test_a_write_comes_with_its_object_and_a_delete_with_the_last(session: Session) -> None:
    written = [
        record
        for record in session.records()
        if record["kind"] == "write"
        and record["resource"] == "configmaps"
        and record["name"] == "a"
    ]
    assert [record["op"] for record in written] == ["create", "delete"]
    assert written[0]["object"]["metadata"]["resourceVersion"] == str(written[0]["rev"])
    assert written[1]["object"] == written[0]["object"]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (3, 9), (5, 10**9), (10**9, 10**9 + 5)])
def test_a_range_gives_exactly_its_records(session: Session, first: int, last: int) -> None:
    end = session.cluster.recorder.seq
    found = [record["seq"] for record in storage.read(session.backend, first, last)]
    assert found == list(range(first, min(last, end) + 1))


def test_bytes_are_bounded_and_say_where_they_end(session: Session) -> None:
    data, end = storage.read_bytes(session.backend, 4, 10**9, limit=3)
    assert end == 6
    assert [record["seq"] for record in orjson.loads(b"[" + data + b"]")] == [4, 5, 6]
    assert storage.read_bytes(session.backend, 10**9, 10**9 + 1) == (b"", 10**9 - 1)


def test_bytes_say_what_records_say_and_as_little_of_secrets() -> None:
    session = bare_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    session.request("POST", SECRETS, {**secret, "stringData": {"password": "hunter2"}})
    session.request("DELETE", f"{SECRETS}/s")
    data, end = storage.read_bytes(session.backend, 1, 10**9, limit=10**9)
    assert orjson.loads(b"[" + data + b"]") == session.records()
    assert end == session.cluster.recorder.seq
    assert b'"password"' in data and b"hunter2" not in data and b"aHVudGVyMg" not in data


def test_a_compacted_write_has_no_object() -> None:
    session = bare_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    session.request("DELETE", f"{CONFIGMAPS}/a")
    store = session.cluster.store
    store.compact(store.revision)
    store.clear(store.revision)
    written = [
        record
        for record in session.records()
        if record["kind"] == "write" and record["name"] == "a"
    ]
    assert [one["object"] for one in written] == [None, None]


def test_a_directory_without_a_cluster_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no cluster was ever started here") as caught:
        storage.open_store(tmp_path, "demo")
    assert caught.value.filename == str(tmp_path)
