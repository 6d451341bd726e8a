"""The generic store: compare-and-swap, dry runs, continue tokens."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import errors
from apiserver_app.registry import generic
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session


@pytest.mark.parametrize("do", ["update", "remove"])
def test_a_write_on_a_stale_object_is_a_conflict_and_leaves_no_record(do: str) -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    cluster = session.cluster
    info = cluster.resources.by_key["configmaps"]
    storage = cluster.context.storage
    old = storage.find(info, "default", "a")
    assert old is not None
    session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="v"))
    seq, revision = cluster.recorder.seq, cluster.store.revision
    with pytest.raises(errors.ApiError, match="the object has been modified"):
        if do == "update":
            storage.update(info, {**old, "data": {"k": "w"}}, old)
        else:
            storage.remove(info, old)
    assert (cluster.recorder.seq, cluster.store.revision) == (seq, revision)


def test_stored_bytes_carry_their_own_resource_version_and_upstreams_field_order() -> None:
    session = server_session()
    answer = session.request("POST", CONFIGMAPS, configmap("a", labels={"x": "y"}))
    entry = session.cluster.store.get("/registry/configmaps/default/a")
    assert entry is not None
    assert f'"resourceVersion":"{entry.mod_revision}"'.encode() in entry.value
    names = list(answer.json()["metadata"])
    expected = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels"]
    assert [name for name in names if name != "managedFields"] == expected


def test_a_continue_token_leads_back_to_where_the_page_ended() -> None:
    prefix = "/registry/pods/default/"
    token = generic.encode_token(7, prefix + "web-1", prefix)
    assert generic.decode_token(token, prefix) == (7, prefix + "web-1")


@pytest.mark.parametrize("token", ["!", "e30", "", "bnVsbA", "W10"])
def test_a_token_that_is_none_is_a_bad_request(token: str) -> None:
    with pytest.raises(errors.ApiError, match="continue key is not valid") as caught:
        generic.decode_token(token, "/registry/pods/")
    assert caught.value.code == 400
