"""From a body to a key: what is known by its kind, what is dropped, what a dry run does."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.registry import generic, storagecalls
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    DEPLOYMENTS,
    PODS,
    configmap,
    last_gates,
    pod,
    server_session,
)
from tests.sim.test_story import deployment


@pytest.fixture
def session() -> Session:
    return server_session()


def last_etcd(session: Session) -> dict[str, Any]:
    """The detail of the last etcd gate of the last outside request."""
    records = session.records()
    span = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ][-1]
    found: dict[str, Any] = [
        record["detail"]
        for record in records
        if record.get("gate") == "etcd" and record["span"] == span
    ][-1]
    return found


def test_a_body_of_another_group_than_its_path_is_refused(session: Session) -> None:
    answer = session.request("POST", "/apis/batch/v1/namespaces/default/jobs", deployment("web"))
    assert answer.status == 400
    assert "cannot be handled as a Job" in answer.json()["message"]
    assert last_gates(session)[-1] == ("decode", "deny")


def test_a_kind_that_is_not_registered_is_named(session: Session) -> None:
    body = {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "x"}}
    answer = session.request("POST", CONFIGMAPS, body)
    assert answer.status == 400
    assert 'no kind "Nothing" is registered for version "v1"' in answer.json()["message"]


def test_a_status_in_a_new_object_is_dropped_and_the_kind_prepares_its_own(
    session: Session,
) -> None:
    made = session.request("POST", PODS, {**pod("p"), "status": {"phase": "Running"}}).json()
    assert (made["status"]["phase"], made["status"]["qosClass"]) == ("Pending", "BestEffort")
    body = {**deployment("web"), "status": {"replicas": 9}}
    made = session.request("POST", DEPLOYMENTS, body).json()
    assert (made["metadata"]["generation"], made["status"]) == (1, {})


def test_an_error_of_the_store_is_the_answer_and_nothing_is_there(session: Session) -> None:
    said = "etcdserver: request timed out"
    session.cluster.context.storage.faults.append(generic.Fault(said, "configmaps"))

    answer = session.request("POST", CONFIGMAPS, configmap("a"))

    assert (answer.status, answer.json()["message"]) == (500, said)
    assert last_gates(session)[-1] == ("etcd", "deny")
    told = last_etcd(session)
    assert (told["call"], told["end"]) == ("Create", "injected")
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 404
    assert session.request("POST", CONFIGMAPS, configmap("a")).status == 201


@pytest.mark.parametrize(
    ("method", "call"), [("POST", "Create"), ("PUT", "GuaranteedUpdate"), ("DELETE", "Delete")]
)
def test_each_write_names_its_call_of_the_storage_interface(
    session: Session, method: str, call: str
) -> None:
    if method != "POST":
        session.request("POST", CONFIGMAPS, configmap("a"))
    path = CONFIGMAPS if method == "POST" else f"{CONFIGMAPS}/a"
    body = {**configmap("a"), "data": {"b": "c"}} if method != "DELETE" else None
    assert session.request(method, path, body).status < 300
    assert last_etcd(session)["call"] == call


def test_a_fault_of_another_operation_or_resource_does_no_harm(session: Session) -> None:
    faults = session.cluster.context.storage.faults
    faults += [generic.Fault("x", "pods"), generic.Fault("y", op="delete", times=2)]
    assert session.request("POST", CONFIGMAPS, configmap("a")).status == 201
    assert session.request("DELETE", f"{CONFIGMAPS}/a").json()["message"] == "y"
    assert session.request("DELETE", f"{CONFIGMAPS}/a").json()["message"] == "y"
    assert session.request("DELETE", f"{CONFIGMAPS}/a").status == 200


def test_a_name_is_taken_as_long_as_its_last_owner_goes(session: Session) -> None:
    held = configmap("a")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    session.request("POST", CONFIGMAPS, held)
    session.request("DELETE", f"{CONFIGMAPS}/a")

    answer = session.request("POST", CONFIGMAPS, configmap("a"))

    said = 'object is being deleted: configmaps "a" already exists'
    assert (answer.status, answer.json()["message"]) == (409, said)
    told = last_etcd(session)
    found = session.request("GET", f"{CONFIGMAPS}/a").json()["metadata"]["resourceVersion"]
    assert (told["expected"], told["found"]) == (0, int(found))


def test_a_stored_object_is_told_with_its_key_and_revision(session: Session) -> None:
    made = session.request("POST", CONFIGMAPS, configmap("a")).json()
    detail = last_etcd(session)
    assert detail["key"] == "/registry/configmaps/default/a"
    assert str(detail["rev"]) == made["metadata"]["resourceVersion"]


def test_a_dry_run_can_be_had_twice_and_conflicts_with_what_is_there(session: Session) -> None:
    path = f"{CONFIGMAPS}?dryRun=All"
    assert session.request("POST", path, configmap("a")).status == 201
    assert last_etcd(session)["why"] == (
        "the key was looked up and the object answered; nothing was written"
    )
    assert session.request("POST", path, configmap("a")).status == 201
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 404
    session.request("POST", CONFIGMAPS, configmap("a"))
    answer = session.request("POST", path, configmap("a"))
    assert (answer.status, answer.json()["message"]) == (409, 'configmaps "a" already exists')
    assert last_etcd(session)["word"] == "AlreadyExists"


def test_a_list_cannot_be_the_metadata_of_one_object(session: Session) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
    answer = session.request("GET", CONFIGMAPS, headers=accept)
    assert (answer.status, answer.json()["reason"]) == (406, "NotAcceptable")
    assert answer.json()["message"].startswith(
        "you requested PartialObjectMetadata, but the requested object is a list"
    )


MERGE = {"content-type": "application/merge-patch+json"}
# method, path, what is sent, and the call and end that the trace names
ENDS: tuple[tuple[str, str, dict[str, Any] | None, str, str], ...] = (
    ("POST", CONFIGMAPS, configmap("there"), "Create", "exists"),
    ("POST", CONFIGMAPS, {**configmap("b"), "metadata": {"name": "b", "resourceVersion": "7"}},
     "Create", "versioned"),
    ("PUT", f"{CONFIGMAPS}/there", {**configmap("there"), "metadata": {
        "name": "there", "resourceVersion": "1"}}, "GuaranteedUpdate", "refused"),
    ("PATCH", f"{CONFIGMAPS}/missing", {"data": {"a": "b"}}, "GuaranteedUpdate", "absent"),
    ("DELETE", f"{CONFIGMAPS}/missing", None, "Get", "absent"),
    ("DELETE", f"{CONFIGMAPS}/there", {"preconditions": {"uid": "another"}}, "Get", "refused"),
    ("DELETE", f"{CONFIGMAPS}/there", {"propagationPolicy": "Foreground"},
     "GuaranteedUpdate", "marked"),
)  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "call", "end"), ENDS)
def test_a_call_of_the_store_names_the_end_whose_steps_the_start_record_has(
    session: Session, method: str, path: str, body: dict[str, Any] | None, call: str, end: str
) -> None:
    session.request("POST", CONFIGMAPS, configmap("there"))

    session.request(method, path, body, headers=MERGE if method == "PATCH" else None)

    told = last_etcd(session)
    assert (told["call"], told.get("end", "refused")) == (call, end)
    assert call not in storagecalls.DONE or end in storagecalls.ENDS[call]
