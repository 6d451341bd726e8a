"""The watch cache: what is read from its window, and what from the log behind it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from apiserver_app.registry import watchcache
from apiserver_app.registry.watchcache import Change, Subscription
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, configmap, server_session, told


def test_transitions_read_from_the_log_follow_on_the_objects_of_then() -> None:
    session = server_session()
    begin = session.cluster.store.revision
    session.request("POST", CONFIGMAPS, configmap("a", labels={"app": "x"}))
    for value in ("y", "x", "y"):
        patch = {"metadata": {"labels": {"app": value}}}
        session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=MERGE)
    session.request("DELETE", f"{CONFIGMAPS}/a")
    session.request("POST", CONFIGMAPS, configmap("a", labels={"app": "x"}))
    cache = session.cluster.cache
    cache.window.clear()
    cache.window_start = session.cluster.store.revision
    heard: list[str] = []

    def sink(kind: str, change: Change, obj: Object) -> None:
        heard.append(kind)

    def is_x(obj: Object) -> bool:
        return bool(obj["metadata"].get("labels", {}).get("app") == "x")

    prefix = "/registry/configmaps/default/"
    cache.subscribe(Subscription("test", "configmaps", prefix, is_x, sink), begin)
    assert heard == ["ADDED", "DELETED", "ADDED", "DELETED", "ADDED"]


def test_a_watch_from_further_back_than_the_window_misses_nothing() -> None:
    session = server_session()
    begin = session.cluster.store.revision
    for number in range(watchcache.WINDOW // 2 + 1):
        name = f"c{number}"
        session.request("POST", CONFIGMAPS, configmap(name), settle=False)
        session.request("DELETE", f"{CONFIGMAPS}/{name}", settle=False)
    session.settle()
    answer = session.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={begin}")
    assert answer.text.count(b'"type":"ADDED"') == watchcache.WINDOW // 2 + 1
    assert answer.text.count(b'"type":"DELETED"') == watchcache.WINDOW // 2 + 1


def test_the_log_is_not_read_for_a_watch_of_what_has_not_changed_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    store, cache = session.cluster.store, session.cluster.cache
    begin = store.revision
    path = "/api/v1/namespaces/default/serviceaccounts"
    for number in range(watchcache.WINDOW + 1):
        account = {"metadata": {"name": f"s{number}"}}
        session.request("POST", path, account, settle=False)
    session.settle()
    read: list[str] = []
    history = store.history

    def counted(prefix: str, after: int) -> Any:
        read.append(prefix)
        return history(prefix, after)

    monkeypatch.setattr(store, "history", counted)
    heard: list[str] = []
    for what in ("configmaps", "serviceaccounts"):
        prefix = f"/registry/{what}/default/"
        watch = Subscription(
            "test", what, prefix, None, lambda kind, change, obj: heard.append(change.storage)
        )
        cache.subscribe(watch, begin)
    assert read == ["/registry/serviceaccounts/default/"]
    assert set(heard) == {"serviceaccounts"} and len(heard) == watchcache.WINDOW + 1


def test_what_was_deleted_before_the_cache_began_is_heard_of() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    cluster = session.cluster
    begin = cluster.store.revision
    session.request("DELETE", f"{CONFIGMAPS}/a")
    later = watchcache.WatchCache(cluster.store, cluster.resources.all, cluster.recorder)
    later.start()
    heard: list[str] = []
    prefix = "/registry/configmaps/default/"
    watch = Subscription(
        "test", "configmaps", prefix, None, lambda kind, change, obj: heard.append(kind)
    )
    later.subscribe(watch, begin)
    assert heard == ["DELETED"]


def test_the_window_holds_no_more_bytes_than_it_may_and_what_left_it_is_read_from_the_log() -> None:
    session = server_session()
    begin = session.cluster.store.revision
    count = watchcache.WINDOW_BYTES // 900_000 + 10
    assert session.request("POST", CONFIGMAPS, configmap("a")).status == 201
    for number in range(count):
        body = configmap("a", text=f"{number:09}" * 100_000)
        assert session.request("PUT", f"{CONFIGMAPS}/a", body).status == 200
    cache = session.cluster.cache
    kept = sum(len(change.value or b"") for change in cache.window)
    assert watchcache.WINDOW_BYTES - 1_000_000 < kept <= watchcache.WINDOW_BYTES
    assert kept <= cache.window_bytes <= watchcache.WINDOW_BYTES
    heard: list[int] = []

    def sink(kind: str, change: Change, obj: Object) -> None:
        heard.append(change.revision)

    prefix = "/registry/configmaps/default/"
    cache.subscribe(Subscription("test", "configmaps", prefix, None, sink), begin)
    assert len(heard) == count + 1 and heard == sorted(heard)


def test_a_watch_of_one_name_hears_of_no_other_and_asks_no_other() -> None:
    session = server_session()
    cache = session.cluster.cache
    answer = session.request("GET", f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Da")
    (found,) = cache.key_watches["/registry/configmaps/default/a"]
    asked: list[str] = []
    selects = found.selects
    assert selects is not None

    def asks(obj: Object) -> bool:
        asked.append(obj["metadata"]["name"])
        return selects(obj)

    found.selects = asks
    for name in ("a", "a1", "b"):
        session.request("POST", CONFIGMAPS, configmap(name))
    session.request("DELETE", f"{CONFIGMAPS}/a")
    assert set(asked) == {"a"}
    assert told(answer) == [("ADDED", "a"), ("DELETED", "a")]
    cache.unsubscribe(found)
    assert not cache.key_watches
