"""The order of an update: precondition, patch, owner of each field, admission, conflict, rules."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.plugin import UPDATE, Attributes, Plugin, Verdict
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    MERGE,
    configmap,
    header,
    last_gates,
    server_session,
)
from tests.apiserver_app.handlers.test_writes import Faster

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
TWINS = (
    "metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in "
    "1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate "
    "UID(s) observed: u-1"
)


class Marks(Plugin):
    """Sets a key of every ConfigMap and remembers what it was shown."""

    name = "Marks"
    resources = ("configmaps",)
    mutates = True

    def __init__(self, ops: list[dict[str, Any]] | None = None) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.ops = ops or [{"op": "add", "path": "/data/marked", "value": "yes"}]

    def admit(self, attributes: Attributes) -> Verdict:
        assert attributes.obj is not None
        self.seen.append((attributes.operation, dict(attributes.obj["metadata"])))
        return Verdict("change", "marked", self.ops)


@pytest.fixture
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v"))
    return session


def with_plugin(session: Session, plugin: Plugin) -> Any:
    chain = session.cluster.context.admission.chain
    chain.plugins = (*chain.plugins, plugin)
    chain.plans.clear()
    return plugin


def test_a_stale_update_passes_mutating_admission_before_it_conflicts(session: Session) -> None:
    marks = with_plugin(session, Marks())
    stale = {**configmap("a", k="w"), "metadata": {"name": "a", "resourceVersion": "1"}}
    answer = session.request("PUT", f"{CONFIGMAPS}/a", stale)
    assert answer.status == 409
    assert [operation for operation, _ in marks.seen] == [UPDATE]
    gates = last_gates(session)
    assert gates[-3:] == [("decode", "allow"), ("mutating", "change"), ("etcd", "deny")]


def test_admission_sees_an_update_before_it_is_prepared(session: Session) -> None:
    marks = with_plugin(session, Marks())
    session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w"))
    assert "uid" not in marks.seen[0][1] and "managedFields" in marks.seen[0][1]


def test_what_admission_changes_in_an_update_belongs_to_nobody(session: Session) -> None:
    with_plugin(session, Marks())
    answer = session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w", m="n"))
    assert answer.json()["data"] == {"k": "w", "m": "n", "marked": "yes"}
    owned = [entry["fieldsV1"]["f:data"] for entry in answer.json()["metadata"]["managedFields"]]
    assert all("f:marked" not in fields for fields in owned)


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_a_retry_asks_admission_again_about_the_newer_object(
    session: Session, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    marks = with_plugin(session, Marks())
    monkeypatch.setattr(session.cluster.context.storage, "update", Faster(session, 2))
    body = {"data": {"k": "w"}} if method == "PATCH" else configmap("a", k="w")
    headers = MERGE if method == "PATCH" else None
    assert session.request(method, f"{CONFIGMAPS}/a", body, headers=headers).status == 200
    assert len(marks.seen) == 3


def test_a_uid_of_what_is_not_there_is_a_conflict_before_it_is_not_found(session: Session) -> None:
    body = configmap("none")
    body["metadata"]["uid"] = "gone"
    answer = session.request("PUT", f"{CONFIGMAPS}/none", body)
    assert answer.status == 409
    assert answer.json()["message"].endswith(
        "Precondition failed: UID in precondition: gone, UID in object meta: "
    )


def test_a_patch_of_the_uid_is_invalid(session: Session) -> None:
    patch = {"metadata": {"uid": "other"}}
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=MERGE)
    assert answer.status == 422
    assert 'metadata.uid: Invalid value: "other": field is immutable' in answer.json()["message"]


def test_a_creation_time_in_an_update_is_ignored(session: Session) -> None:
    body = configmap("a", k="w")
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    answer = session.request("PUT", f"{CONFIGMAPS}/a", body)
    assert answer.status == 200
    assert answer.json()["metadata"]["creationTimestamp"].startswith("2025-")


def test_an_owner_named_twice_is_taken_once_with_a_warning(session: Session) -> None:
    body = configmap("b")
    body["metadata"]["ownerReferences"] = [OWNER, dict(OWNER)]
    answer = session.request("POST", CONFIGMAPS, body)
    assert answer.json()["metadata"]["ownerReferences"] == [OWNER]
    assert header(answer, "warning") == [f'299 - ".{TWINS.format("")}"']
    body["metadata"]["name"] = "a"
    answer = session.request("PUT", f"{CONFIGMAPS}/a", body)
    assert header(answer, "warning") == [f'299 - ".{TWINS.format("")}"']


def test_an_owner_that_a_patch_or_a_plugin_doubles_is_warned_of_as_such(session: Session) -> None:
    patch = {"metadata": {"ownerReferences": [OWNER, OWNER]}}
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=MERGE)
    after = TWINS.format(" after mutating admission happens")
    assert header(answer, "warning") == [f'299 - ".{after}"']
    assert answer.json()["metadata"]["ownerReferences"] == [OWNER]


def test_entries_that_a_plugin_spoils_are_put_back_with_a_warning(session: Session) -> None:
    bad = [{"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "x"}]}]
    with_plugin(session, Marks(bad))
    answer = session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w"))
    managers = [entry["manager"] for entry in answer.json()["metadata"]["managedFields"]]
    assert managers == ["script"]
    (warning,) = header(answer, "warning")
    assert "managedFields was in an invalid state after admission" in warning
    assert "operation must be `Apply` or `Update`" in warning


def test_an_apply_that_creates_asks_admission_about_a_create(session: Session) -> None:
    marks = with_plugin(session, Marks())
    body = configmap("b", k="v")
    session.request("PATCH", f"{CONFIGMAPS}/b?fieldManager=me", body, headers=APPLY)
    assert [operation for operation, _ in marks.seen] == ["CREATE"]
