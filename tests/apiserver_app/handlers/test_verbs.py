"""What a verb takes in its query and body beside the object, as upstream takes it."""

from __future__ import annotations

import gzip
from urllib.parse import quote

import orjson
import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    JSON_PATCH,
    configmap,
    events,
    header,
    server_session,
)

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
OURS = "labelSelector=n"


def filled(count: int = 5) -> Session:
    session = server_session()
    for number in range(count):
        session.request("POST", CONFIGMAPS, configmap(f"c{number}", labels={"n": str(number)}))
    return session


@pytest.fixture
def five() -> Session:
    return filled()


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def left(session: Session) -> list[str]:
    return names(session.request("GET", f"{CONFIGMAPS}?{OURS}"))


# -- deletecollection ------------------------------------------- -----


def test_a_limited_collection_is_deleted_page_by_page(five: Session) -> None:
    first = five.request("DELETE", f"{CONFIGMAPS}?{OURS}&limit=2")
    assert names(first) == ["c0", "c1"] and left(five) == ["c2", "c3", "c4"]
    token = first.json()["metadata"]["continue"]
    second = five.request("DELETE", f"{CONFIGMAPS}?{OURS}&limit=2&continue={token}")
    assert names(second) == ["c2", "c3"] and left(five) == ["c4"]


def test_a_deleted_collection_is_answered_as_a_list_is(five: Session) -> None:
    answer = five.request("DELETE", f"{CONFIGMAPS}?{OURS}&dryRun=All")
    assert names(answer) == ["c0", "c1", "c2", "c3", "c4"] == left(five)
    assert all("kind" not in item for item in answer.json()["items"])
    table = five.request("DELETE", f"{CONFIGMAPS}?{OURS}", headers=TABLE).json()
    assert (table["kind"], len(table["rows"])) == ("Table", 5)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        (f"limit={'9' * 5000}", 400, f'strconv.ParseInt: parsing "{"9" * 5000}": value out of'),
        ("resourceVersionMatch=Exact", 422, 'ListOptions.meta.k8s.io "" is invalid: resourceVers'),
        ("resourceVersion=99999999", 504, "Timeout: Too large resource version: 99999999, curr"),
        ("fieldSelector=spec.x=1", 400, '"spec.x" is not a known field selector: only "metadata.'),
    ],
)
def test_nothing_of_a_collection_goes_when_its_options_are_wrong(
    five: Session, query: str, code: int, message: str
) -> None:
    answer = five.request("DELETE", f"{CONFIGMAPS}?{query}")
    assert (answer.status, len(left(five))) == (code, 5)
    assert answer.json()["message"].startswith(message)


# -- the options of a delete ------------------------------------ -----


def test_the_query_of_a_delete_counts_only_without_a_body(five: Session) -> None:
    assert five.request("DELETE", f"{CONFIGMAPS}/c0?dryRun=All").status == 200
    assert "c0" in left(five)
    body = {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert five.request("DELETE", f"{CONFIGMAPS}/c0?dryRun=All", body).status == 200
    assert "c0" not in left(five)


def test_a_body_of_another_kind_deletes_nothing(five: Session) -> None:
    answer = five.request("DELETE", f"{CONFIGMAPS}/c0", {"kind": "Pod", "apiVersion": "v1"})
    assert (answer.status, answer.json()["message"]) == (
        500,
        'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:110"',
    )
    assert "c0" in left(five)


@pytest.mark.parametrize("text", ["1_0", "٣", " 5", "5.0", "x"])
def test_a_grace_period_in_the_query_is_a_number_as_go_reads_it(five: Session, text: str) -> None:
    answer = five.request("DELETE", f"{CONFIGMAPS}/c0?gracePeriodSeconds={quote(text)}")
    assert (answer.status, "c0" in left(five)) == (400, True)


def test_the_unsafe_option_is_not_looked_at_while_its_gate_is_off(five: Session) -> None:
    body = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    assert five.request("DELETE", f"{CONFIGMAPS}/c0", body).status == 200


# -- field selectors -------------------------------------------- -----

NOT_SUPPORTED = "field label not supported: {}"
UNKNOWN = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
FIELDS = (
    ("/api/v1/pods", "spec.image", NOT_SUPPORTED),
    ("/api/v1/nodes", "metadata.namespace", NOT_SUPPORTED),
    ("/api/v1/namespaces", "name", NOT_SUPPORTED),
    ("/api/v1/secrets", "data", NOT_SUPPORTED),
    ("/api/v1/events", "message", NOT_SUPPORTED),
    ("/api/v1/services", "spec.ports", NOT_SUPPORTED),
    ("/api/v1/persistentvolumes", "name", UNKNOWN),
    ("/api/v1/persistentvolumeclaims", "name", UNKNOWN),
    ("/apis/apps/v1/deployments", "status.replicas", UNKNOWN),
    ("/apis/apps/v1/replicasets", "status.replicas", UNKNOWN),
    ("/api/v1/replicationcontrollers", "spec.replicas", NOT_SUPPORTED),
    ("/apis/batch/v1/jobs", "spec.x", 'field label "{}" not supported for Job'),
    ("/apis/storage.k8s.io/v1/storageclasses", "provisioner", UNKNOWN),
)


@pytest.mark.parametrize(("path", "field", "message"), FIELDS)
def test_fields_that_a_kind_does_not_select_by(path: str, field: str, message: str) -> None:
    answer = server_session().request("GET", f"{path}?fieldSelector={field}=x")
    assert (answer.status, answer.json()["message"]) == (400, message.format(field))


# -- bookmarks -------------------------------------------------- -----


def test_a_table_watch_gets_its_bookmarks_as_tables(five: Session) -> None:
    query = f"watch=1&allowWatchBookmarks=1&includeObject=None&{OURS}"
    answer = five.request("GET", f"{CONFIGMAPS}?{query}", headers=TABLE)
    five.wait(61)
    kind, table = events(answer)[-1]
    assert (kind, table["kind"], table["columnDefinitions"]) == ("BOOKMARK", "Table", None)
    assert int(table["metadata"]["resourceVersion"]) >= five.cluster.store.revision - 1
    assert [len(row["cells"]) for row in table["rows"]] == [3]
    assert table["rows"][0]["object"] is None  # Go writes a row's object always


def test_the_end_of_the_initial_events_is_told_in_a_tables_row() -> None:
    session = server_session(version="1.34")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&includeObject=None"
    answer = session.request("GET", f"{CONFIGMAPS}?{query}&allowWatchBookmarks", headers=TABLE)
    kind, table = events(answer)[-1]
    assert kind == "BOOKMARK"
    marked = table["rows"][0]["object"]
    assert marked["kind"] == "PartialObjectMetadata"
    assert marked["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_every_kind_has_a_row_for_a_bookmark() -> None:
    session = server_session()
    watches = {}
    for info in session.cluster.context.resources.all:
        if "watch" not in info.verbs:
            continue
        path = f"{info.root}/{info.plural}?watch=1&allowWatchBookmarks=true"
        path += f"&resourceVersion={session.cluster.store.revision}"
        watches[path] = session.request("GET", path, headers=TABLE)
    session.wait(61)
    for path, answer in watches.items():
        assert "BOOKMARK" in [kind for kind, _ in events(answer)], path


# -- json patches ----------------------------------------------- -----


def test_copies_of_a_json_patch_are_bounded(five: Session) -> None:
    double = {"op": "copy", "from": "/x", "path": "/x/-"}
    ops = [{"op": "add", "path": "/x", "value": ["x" * 100]}] + [double] * 60
    answer = five.request("PATCH", f"{CONFIGMAPS}/c0", ops, headers=JSON_PATCH)
    assert (answer.status, answer.json()["reason"]) == (422, "Invalid")
    few = [{"op": "add", "path": "/data", "value": {"a": "b"}}]
    few += [{"op": "copy", "from": "/data/a", "path": f"/data/b{n}"} for n in range(9)]
    answer = five.request("PATCH", f"{CONFIGMAPS}/c0", few, headers=JSON_PATCH)
    assert answer.status == 200 and len(answer.json()["data"]) == 10


# -- compression ------------------------------------------------ -----


def test_long_answers_are_compressed_for_whoever_takes_them_so(five: Session) -> None:
    five.request("POST", CONFIGMAPS, configmap("long", k="x" * (128 << 10)))
    packed = {"accept-encoding": "deflate, gzip"}
    for path in (CONFIGMAPS, f"{CONFIGMAPS}/long"):
        plain = five.request("GET", path)
        answer = five.request("GET", path, headers=packed)
        assert header(answer, "Content-Encoding") == ["gzip"]
        assert header(answer, "Vary") == ["Accept-Encoding"]
        assert gzip.decompress(answer.text) == plain.text and len(answer.text) < 10_000
        assert orjson.loads(plain.text) and header(plain, "Content-Encoding") == []
    weighed = five.request("GET", CONFIGMAPS, headers={"accept-encoding": "gzip;q=1.0"})
    assert header(weighed, "Content-Encoding") == []  # upstream knows no qualities
    short = five.request("GET", f"{CONFIGMAPS}/c0", headers=packed)
    assert header(short, "Content-Encoding") == [] and short.json()


@pytest.mark.parametrize("text", ["9" * 5000, "²", "-+1"])
def test_what_only_looks_like_a_number_is_nobodys_bug(five: Session, text: str) -> None:
    said = quote(text)
    for query in (f"limit={said}", f"timeout={said}", f"limit={said}&labelSelector=n"):
        assert 200 <= five.request("GET", f"{CONFIGMAPS}?{query}").status < 500
    cron = {
        "metadata": {"name": "odd"},
        "spec": {
            "schedule": f"{text} * * * *",
            "jobTemplate": {
                "spec": {
                    "completionMode": "Indexed",
                    "completions": 1,
                    "successPolicy": {"rules": [{"succeededIndexes": text}]},
                    "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}},
                }
            },
        },
    }
    path = "/apis/batch/v1/namespaces/default/cronjobs"
    assert five.request("POST", path, cron).status == 422
