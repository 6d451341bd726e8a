"""Equal parts of objects are kept once, and nobody sees a difference."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from apiserver_app.machinery.meta import Object
from apiserver_app.registry import sharing, watchcache
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session


def pod(number: int) -> Object:
    made: Object = orjson.loads(
        orjson.dumps(
            {
                "metadata": {"name": f"pod-{number}", "labels": {"app": "web"}, "generation": 1},
                "spec": {
                    "tolerations": [{"key": "not-ready", "tolerationSeconds": 300}],
                    "containers": [{"name": f"c-{number}", "resources": {"limits": {"cpu": "1"}}}],
                    "hostNetwork": None,
                },
            }
        )
    )
    return made


def test_equal_parts_become_one_and_what_differs_stays() -> None:
    shared = sharing.Sharing()
    pods = [pod(number) for number in range(3)]
    for one in pods:
        shared.share(one)
    assert pods == [pod(number) for number in range(3)]
    assert orjson.dumps(pods[2]) == orjson.dumps(pod(2))  # also in the order of its fields
    first, last = pods[0]["spec"], pods[2]["spec"]
    assert first is not last and first["containers"][0] is not last["containers"][0]
    assert first["tolerations"] is last["tolerations"]
    assert first["containers"][0]["resources"] is last["containers"][0]["resources"]
    assert pods[0]["metadata"]["labels"] is pods[2]["metadata"]["labels"]


def test_values_that_python_calls_equal_stay_what_they_were() -> None:
    shared = sharing.Sharing()
    values = [
        {"a": 1}, {"a": True}, {"a": 1.0}, {"a": 0.0}, {"a": -0.0}, {"a": None}, {"a": "1"},
        {"a": []}, {"a": {}}, {"a": [{}]}, {"a": [[]]}, {"a": 1, "b": 2}, {"b": 2, "a": 1},
    ]  # fmt: skip
    objects: list[Object] = [{"spec": copy.deepcopy(one)} for one in values for _ in range(2)]
    before = [orjson.dumps(item) for item in objects]
    for item in objects:
        shared.share(item)
    assert [orjson.dumps(item) for item in objects] == before
    assert objects[0]["spec"] is objects[1]["spec"]


def test_parts_of_the_revision_before_are_not_gone_through_again() -> None:
    class Counted(dict[Any, Any]):
        asked = 0

        def setdefault(self, key: Any, value: Any = None) -> Any:
            self.asked += 1
            return super().setdefault(key, value)

    shared = sharing.Sharing()
    shared.known = known = Counted()
    before = pod(1)
    shared.share(before)
    whole, known.asked = known.asked, 0
    after: Object = {**before, "metadata": {**before["metadata"], "resourceVersion": "2"}}
    shared.share(after)
    assert after["spec"] is before["spec"]
    assert known.asked == 3 < whole  # the name, the version, the metadata


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "KNOWN_MAX", 50)
    shared = sharing.Sharing()
    for number in range(200):
        shared.share(pod(number))
        assert len(shared.known) < 100


def test_objects_that_have_left_the_window_share_their_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchcache, "MANY", 5)
    monkeypatch.setattr(watchcache, "SMALL_BYTES", 0)
    session = server_session()
    for number in range(watchcache.WINDOW + 20):
        made = configmap(f"c{number}", labels={"app": "web"})
        session.request("POST", CONFIGMAPS, made, settle=False)
    found = session.cluster.cache.list("configmaps", "default")
    labels = {id(item["metadata"]["labels"]) for item in found if "labels" in item["metadata"]}
    assert len(labels) <= watchcache.WINDOW + 1 < len(found)
