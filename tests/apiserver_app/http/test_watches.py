"""Watches of outside clients, line by line."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.http import encode, watches
from apiserver_app.registry import watchcache
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    MERGE,
    PODS,
    configmap,
    events,
    pod,
    server_session,
    told,
)


@pytest.fixture
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", labels={"app": "x"}))
    return session


def watch(session: Session, query: str = "", path: str = CONFIGMAPS, **more: Any) -> Answer:
    return session.request("GET", f"{path}?watch=1&{query}", **more)


def relabel(session: Session, name: str, value: str | None) -> None:
    patch = {"metadata": {"labels": {"app": value}}}
    session.request("PATCH", f"{CONFIGMAPS}/{name}", patch, headers=MERGE)


@pytest.mark.parametrize("query", ["", "resourceVersion=0"])
def test_without_a_revision_it_begins_with_what_is_there(session: Session, query: str) -> None:
    answer = watch(session, query)
    assert set(told(answer)) == {("ADDED", "a"), ("ADDED", "kube-root-ca.crt")}
    session.request("POST", CONFIGMAPS, configmap("b"))
    assert told(answer)[-1] == ("ADDED", "b") and not answer.done


def test_from_a_revision_it_begins_behind_it(session: Session) -> None:
    revision = session.cluster.store.revision
    session.request("POST", CONFIGMAPS, configmap("b"))
    session.request("DELETE", f"{CONFIGMAPS}/b")
    answer = watch(session, f"resourceVersion={revision}")
    assert told(answer) == [("ADDED", "b"), ("DELETED", "b")]
    gone = events(answer)[-1][1]["metadata"]["resourceVersion"]
    assert int(gone) == session.cluster.store.revision


def test_from_a_revision_yet_to_come_it_waits_for_it(session: Session) -> None:
    revision = session.cluster.store.revision
    answer = watch(session, f"resourceVersion={revision + 2}")
    for name in ("b", "c", "d"):
        session.request("POST", CONFIGMAPS, configmap(name))
    assert (answer.status, told(answer)) == (200, [("ADDED", "d")])


def test_from_behind_the_compaction_it_ends_with_an_error_event(session: Session) -> None:
    revision = session.cluster.store.revision
    session.request("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "v"}}, headers=MERGE)
    session.restart()
    session.cluster.store.compact(session.cluster.store.revision)
    answer = watch(session, f"resourceVersion={revision - 1}")
    ((kind, status),) = events(answer)
    assert (answer.status, kind, status["code"], status["reason"]) == (200, "ERROR", 410, "Expired")
    assert answer.done


@pytest.mark.parametrize("query", ["resourceVersion=x"])
def test_a_revision_that_is_none_is_refused_before_the_stream_begins(
    session: Session, query: str
) -> None:
    answer = watch(session, query)
    assert (answer.status, answer.done, answer.json()["kind"]) == (500, True, "Status")


def test_an_object_enters_and_leaves_a_label_selection(session: Session) -> None:
    revision = session.cluster.store.revision
    answer = watch(session, f"labelSelector=app=y&resourceVersion={revision}")
    relabel(session, "a", "y")
    session.request("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "v"}}, headers=MERGE)
    relabel(session, "a", "z")
    relabel(session, "a", "y")
    session.request("DELETE", f"{CONFIGMAPS}/a")
    assert [kind for kind, _ in told(answer)] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
        "ADDED",
        "DELETED",
    ]
    left = events(answer)[2][1]["metadata"]
    assert left["labels"] == {"app": "y"}, "what left is shown as it was"
    assert int(left["resourceVersion"]) == revision + 3, "at the revision with which it left"


def test_a_node_watches_its_own_pods_only() -> None:
    session = server_session()
    revision = session.cluster.store.revision
    query = f"fieldSelector=spec.nodeName=node-1&resourceVersion={revision}"
    answer = watch(session, query, PODS)
    session.request("POST", PODS, pod("mine", nodeName="node-1"))
    session.request("POST", PODS, pod("other", nodeName="node-2"))
    assert {name for _, name in told(answer)} == {"mine"}


def test_every_namespace_or_one(session: Session) -> None:
    revision = session.cluster.store.revision
    everywhere = watch(session, f"resourceVersion={revision}", "/api/v1/configmaps")
    one = watch(session, f"resourceVersion={revision}")
    elsewhere = "/api/v1/namespaces/kube-system/configmaps"
    session.request("POST", elsewhere, configmap("far"))
    assert told(everywhere) == [("ADDED", "far")] and told(one) == []


def test_the_old_path_of_a_watch_still_works(session: Session) -> None:
    answer = session.request("GET", "/api/v1/watch/namespaces/default/configmaps")
    assert ("ADDED", "a") in told(answer) and not answer.done


def test_a_table_is_sent_row_by_row_with_columns_once(session: Session) -> None:
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    answer = watch(session, "labelSelector=app", headers=headers)
    relabel(session, "a", "y")
    tables = [obj for _, obj in events(answer)]
    assert [table["kind"] for table in tables] == ["Table", "Table"]
    assert [bool(table.get("columnDefinitions")) for table in tables] == [True, False]
    assert tables[1]["rows"][0]["cells"][0] == "a"


def test_metadata_only_is_sent_as_such_bookmarks_included(session: Session) -> None:
    headers = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    query = "allowWatchBookmarks=true&timeoutSeconds=10"
    answer = watch(session, query, headers=headers)
    session.wait(11)
    assert {obj["kind"] for _, obj in events(answer)} == {"PartialObjectMetadata"}
    assert "data" not in events(answer)[0][1]
    assert events(answer)[-1][0] == "BOOKMARK"


def test_bookmarks_come_each_minute_and_shortly_before_the_end(session: Session) -> None:
    revision = session.cluster.store.revision
    began = session.cluster.kernel.now
    query = f"resourceVersion={revision}&allowWatchBookmarks=true&timeoutSeconds=100"
    answer = watch(session, query)
    for seconds, marks in ((59, 0), (2, 1), (35, 1), (3, 2), (3, 2)):
        session.wait(seconds)
        assert [kind for kind, _ in events(answer)] == ["BOOKMARK"] * marks
    assert answer.done and session.cluster.kernel.now - began < 103_000_000
    mark = events(answer)[-1][1]
    assert (mark["kind"], mark["apiVersion"]) == ("ConfigMap", "v1")
    assert int(mark["metadata"]["resourceVersion"]) >= revision


def test_no_bookmarks_unless_asked_for(session: Session) -> None:
    answer = watch(session, f"resourceVersion={session.cluster.store.revision}&timeoutSeconds=200")
    session.wait(201)
    assert (answer.text, answer.done) == (b"", True)


def subscriptions(session: Session) -> list[watchcache.Subscription]:
    groups = session.cluster.cache.watches.values()
    return [one for group in groups for one in group if one.outside]


def test_a_client_that_goes_frees_its_subscription_and_its_timers(session: Session) -> None:
    answer = watch(session, "allowWatchBookmarks=true")
    assert len(subscriptions(session)) == 1
    timers = len(session.cluster.kernel.dropped)
    answer.cancel()
    assert subscriptions(session) == []
    assert len(session.cluster.kernel.dropped) == timers + 2
    before = answer.text
    session.request("POST", CONFIGMAPS, configmap("b"))
    assert answer.text == before


def test_a_watch_that_ends_by_itself_frees_its_subscription(session: Session) -> None:
    watch(session, "timeoutSeconds=5&allowWatchBookmarks=true")
    session.wait(6)
    assert subscriptions(session) == []


INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (INITIAL, "unless the WatchList feature gate is enabled"),
        ("sendInitialEvents=true", "requires setting resourceVersionMatch to NotOlderThan"),
        ("resourceVersionMatch=Exact", "forbidden for watch unless sendInitialEvents is provided"),
    ],
)
def test_a_watch_list_is_refused_by_a_server_of_1_33(
    session: Session, query: str, why: str
) -> None:
    answer = watch(session, query)
    assert answer.status == 422 and why in answer.json()["message"]


def test_a_watch_list_of_1_34_ends_what_is_there_with_a_bookmark() -> None:
    session = server_session(version="1.34")
    session.request("POST", CONFIGMAPS, configmap("a"))
    answer = watch(session, INITIAL)
    kinds = [kind for kind, _ in events(answer)]
    assert kinds == ["ADDED"] * (len(kinds) - 1) + ["BOOKMARK"]
    annotations = events(answer)[-1][1]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}
    session.request("POST", CONFIGMAPS, configmap("b"))
    assert told(answer)[-1] == ("ADDED", "b")


def test_events_of_both_apis_are_the_same_events(session: Session) -> None:
    body = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Tested", "message": "told", "reportingComponent": "", "reportingInstance": "",
        "source": {"component": "test"},
    }  # fmt: skip
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    answer = watch(session, "", path)
    assert session.request("POST", "/api/v1/namespaces/default/events", body).status == 201
    kind, seen = events(answer)[-1]
    assert (kind, seen["apiVersion"], seen["note"]) == ("ADDED", "events.k8s.io/v1", "told")
    assert seen["regarding"]["name"] == "p"
    assert session.request("GET", f"{path}/e").json()["note"] == "told"


BIG = "x" * 1000 * 1000


def test_a_client_that_does_not_read_gets_a_window_and_then_the_rest_in_order() -> None:
    session = server_session()
    for name in ("a", "b", "c"):
        assert session.request("POST", CONFIGMAPS, configmap(name, k=BIG)).status == 201
    answer = session.send("GET", f"{CONFIGMAPS}?watch=1")
    answer.reads = False
    session.settle()
    session.request("POST", CONFIGMAPS, configmap("d", k=BIG))
    session.request("DELETE", f"{CONFIGMAPS}/a")
    assert len(answer.text) == watches.WINDOW_BYTES

    while (read := len(answer.text)) < 5 * len(BIG):
        answer.on("took", watches.WINDOW_BYTES)
        assert read < len(answer.text) <= read + watches.WINDOW_BYTES

    wanted = [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d"), ("DELETED", "a")]
    assert [one for one in told(answer) if one[1] != "kube-root-ca.crt"] == wanted
    session.request("POST", CONFIGMAPS, configmap("e"))
    assert told(answer)[-1] == ("ADDED", "e")


def test_a_watch_that_is_too_far_behind_ends_and_others_go_on() -> None:
    session = server_session()
    slow = session.send("GET", f"{CONFIGMAPS}?watch=1")
    slow.reads = False
    other = session.request("GET", f"{CONFIGMAPS}?watch=1")
    session.request("POST", CONFIGMAPS, configmap("a", k=BIG))
    for number in range(9):
        assert not slow.done
        session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k=BIG, number=str(number)))
    assert slow.done and len(slow.text) <= watches.WINDOW_BYTES
    assert not other.done
    assert [kind for kind, name in told(other) if name == "a"] == ["ADDED"] + 9 * ["MODIFIED"]


def test_a_watch_whose_time_is_up_ends_once_all_was_read() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k=BIG))
    answer = session.send("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=5")
    answer.reads = False
    session.settle()
    session.wait(6)
    session.request("POST", CONFIGMAPS, configmap("b"))
    assert not answer.done
    assert ("configmaps", "namespace") not in session.cluster.cache.open_watches()
    for _ in range(len(BIG) // watches.WINDOW_BYTES + 1):
        answer.on("took", watches.WINDOW_BYTES)
    assert answer.done
    assert sorted(told(answer)) == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")]


def test_an_event_is_written_once_for_all_who_watch(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = encode.watch_line

    def counted(kind: str, value: bytes) -> bytes:
        written.append(kind)
        return write(kind, value)

    answers = [watch(session) for _ in range(3)]
    monkeypatch.setattr(encode, "watch_line", counted)
    session.request("POST", CONFIGMAPS, configmap("b"))
    session.request("DELETE", f"{CONFIGMAPS}/b")
    assert written == ["ADDED", "DELETED"]
    assert [told(answer)[-2:] for answer in answers] == 3 * [[("ADDED", "b"), ("DELETED", "b")]]


# -- over a WebSocket ---------------------------------------------------------------------------

SOCKET = {"connection": "Upgrade", "upgrade": "websocket", "origin": "https://cluster"}


def test_a_websocket_gets_a_text_message_for_each_event(session: Session) -> None:
    answer = watch(session, headers=SOCKET)
    assert (answer.status, answer.headers) == (101, [])
    session.request("POST", CONFIGMAPS, configmap("b"))
    found = [orjson.loads(chunk) for chunk in answer.chunks]
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in found] == [
        ("ADDED", "a"),
        ("ADDED", "kube-root-ca.crt"),
        ("ADDED", "b"),
    ]


def test_a_websocket_gets_protobuf_without_the_length(session: Session) -> None:
    accept = {"accept": "application/vnd.kubernetes.protobuf;stream=watch"}
    lines = b"".join(watch(session, headers=accept).chunks)
    messages = watch(session, headers={**SOCKET, **accept}).chunks
    assert len(messages) == 2
    assert b"".join(len(one).to_bytes(4, "big") + one for one in messages) == lines


def test_a_websocket_is_closed_when_the_watch_ends(session: Session) -> None:
    answer = watch(session, "timeoutSeconds=5", headers=SOCKET)
    session.wait(6)
    assert answer.closed == (1000, "")
    assert subscriptions(session) == []


def test_a_websocket_that_leaves_is_watched_for_no_longer(session: Session) -> None:
    answer = watch(session, headers=SOCKET)
    session.host.offer("cancel", [0], answer.cancel)
    session.settle()
    assert subscriptions(session) == []


def test_what_a_websocket_says_is_read_and_means_nothing(session: Session) -> None:
    answer = watch(session, headers=SOCKET)
    session.host.offer("data", [0, "abc"], lambda: answer.on("data", "abc"))
    session.settle()
    assert answer.used == 3 and not answer.done


def test_a_websocket_gets_the_subprotocol_that_it_offers(session: Session) -> None:
    answer = watch(session, headers={**SOCKET, "sec-websocket-protocol": "v1"})
    assert answer.headers == [("Sec-WebSocket-Protocol", "v1")]


def test_a_websocket_without_an_origin_is_refused(session: Session) -> None:
    headers = {name: value for name, value in SOCKET.items() if name != "origin"}
    answer = watch(session, headers=headers)
    assert (answer.status, answer.text, answer.done) == (403, b"", True)


def test_a_websocket_that_does_not_read_is_sent_no_more_than_a_window(session: Session) -> None:
    answer = watch(session, headers=SOCKET)
    answer.reads = False
    large = {**configmap("large"), "data": {"k": "x" * watches.WINDOW_BYTES}}
    session.request("POST", CONFIGMAPS, large)
    session.request("POST", CONFIGMAPS, configmap("b"))
    assert len(answer.chunks) == 3  # the large one went whole
    answer.on("took", len(answer.chunks[-1]))
    session.settle()
    assert orjson.loads(answer.chunks[-1])["object"]["metadata"]["name"] == "b"
