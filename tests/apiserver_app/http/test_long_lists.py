"""Long lists: made in steps in which others are answered, and the same bytes as ever."""

from __future__ import annotations

import gzip

import orjson
import pytest

from apiserver_app.http import encode, render
from apiserver_app.machinery import kernel
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session

MAPS = 200
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    for number in range(MAPS):
        session.request("POST", CONFIGMAPS, configmap(f"a-{number}", k="<&>", text="x: y\n- z"))
    return session


def listed(session: Session, accept: str, query: str = "", **headers: str) -> bytes:
    path = f"{CONFIGMAPS}?{query}"
    answer = session.request("GET", path, headers={"accept": accept, **headers})
    assert answer.status == 200
    return answer.text


@pytest.mark.parametrize("query", ["", "pretty=true&"])
def test_what_is_empty_is_as_a_kube_apiserver_1_33_4_writes_it(
    session: Session, query: str
) -> None:
    none = f"{query}labelSelector=a%3Db"
    assert orjson.loads(listed(session, "application/json", none))["items"] == []
    assert orjson.loads(listed(session, PARTIAL, none))["items"] is None
    assert orjson.loads(listed(session, TABLE, none))["rows"] == []
    [row] = orjson.loads(listed(session, TABLE, f"{query}limit=1&includeObject=None"))["rows"]
    assert row["object"] is None


@pytest.mark.parametrize("accept", ["application/json", TABLE, PARTIAL])
def test_a_pretty_list_is_the_compact_one_indented(session: Session, accept: str) -> None:
    compact = listed(session, accept)
    assert listed(session, accept, "pretty=true") == encode.pretty(compact)


def test_a_list_as_yaml_is_the_compact_one_as_yaml(session: Session) -> None:
    whole = encode.as_yaml(orjson.loads(listed(session, "application/json")))
    assert listed(session, "application/yaml") == whole


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
def test_an_empty_list_is_empty_in_every_form(session: Session, accept: str) -> None:
    query = "fieldSelector=metadata.name%3Dnobody"
    compact = listed(session, "application/json", query)
    assert orjson.loads(compact)["items"] == []
    whole = encode.as_yaml(orjson.loads(compact)) if "yaml" in accept else compact
    assert listed(session, accept, query) == whole
    assert listed(session, "application/json", query + "&pretty=true") == encode.pretty(compact)


def test_a_list_that_is_compressed_in_pieces_is_the_same(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "PIECE_BYTES", 7000)
    monkeypatch.setattr(render, "COMPRESSED_BYTES_MIN", 1000)
    packed = listed(session, "application/json", **{"accept-encoding": "gzip"})
    body = listed(session, "application/json")
    assert packed == gzip.compress(body, render.COMPRESSION, mtime=0)


@pytest.mark.parametrize("accept", [PROTOBUF, TABLE, "application/yaml"])
def test_others_have_their_turn_while_a_long_list_is_made(session: Session, accept: str) -> None:
    before = session.cluster.kernel.steps
    listed(session, accept)
    work = render.WORK_YAML if "yaml" in accept else render.WORK
    assert session.cluster.kernel.steps - before >= MAPS * work // kernel.ALLOWANCE
