"""A definition makes its resources served like any other, and takes them along when it goes."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import (
    CRONTABS,
    DEFINITIONS,
    NAME,
    TABLE,
    conditions,
    crontab,
    define,
    definition,
    session_with_crontabs,
)
from tests.apiserver_app.cluster import APPLY, MERGE, STRATEGIC, header, server_session, told


@pytest.fixture(scope="module")
def session() -> Session:
    return session_with_crontabs()


def test_a_definition_is_established_with_the_names_it_asks_for(session: Session) -> None:
    assert conditions(session) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
    status = session.request("GET", f"{DEFINITIONS}/{NAME}").json()["status"]
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"] == {
        "plural": "crontabs",
        "singular": "crontab",
        "shortNames": ["ct"],
        "kind": "CronTab",
        "listKind": "CronTabList",
        "categories": ["all"],
    }


def test_discovery_lists_the_resource_and_its_subresources(session: Session) -> None:
    answer = session.request("GET", "/apis/stable.example.com/v1").json()
    assert [resource["name"] for resource in answer["resources"]] == [
        "crontabs",
        "crontabs/scale",
        "crontabs/status",
    ]
    assert answer["resources"][0]["shortNames"] == ["ct"]
    groups = session.request("GET", "/apis").json()["groups"]
    assert groups[-1]["name"] == "stable.example.com"


def test_unknown_fields_are_pruned_warned_of_and_refused_when_strict(session: Session) -> None:
    answer = session.request("POST", CRONTABS, crontab("pruned", bogus=1, free={"x": {"y": 1}}))
    assert header(answer, "warning") == ['299 - "unknown field \\"spec.bogus\\""']
    spec = answer.json()["spec"]
    assert "bogus" not in spec
    assert spec["free"] == {"x": {"y": 1}}
    strict = session.request(
        "POST", f"{CRONTABS}?fieldValidation=Strict", crontab("strict", bogus=1)
    )
    assert (strict.status, strict.json()["message"]) == (
        400,
        'CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: '
        'unknown field "spec.bogus"',
    )


def test_defaults_are_filled_in_also_in_lists_and_for_nulls(session: Session) -> None:
    body = crontab("defaulted", image=None, note=None, env=[{"name": "A"}])
    spec = session.request("POST", CRONTABS, body).json()["spec"]
    assert spec["image"] == "my-cron-image"
    assert spec["note"] is None
    assert spec["env"] == [{"name": "A", "value": "none"}]


def test_an_object_is_written_with_its_keys_sorted(session: Session) -> None:
    text = session.request("POST", CRONTABS, crontab("sorted")).text
    assert text.startswith(b'{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"c')
    listed = session.request("GET", CRONTABS).text
    assert listed.startswith(b'{"apiVersion":"stable.example.com/v1","items":[{"apiVersion":')
    assert b'"kind":"CronTabList","metadata":{"continue":"","resourceVersion":' in listed


def test_generation_counts_changes_outside_metadata_and_status(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("counted", replicas=1))

    def generation() -> int:
        return int(session.request("GET", f"{CRONTABS}/counted").json()["metadata"]["generation"])

    assert generation() == 1
    session.request("PATCH", f"{CRONTABS}/counted", {"spec": {"replicas": 2}}, headers=MERGE)
    assert generation() == 2
    session.request(
        "PATCH", f"{CRONTABS}/counted", {"metadata": {"labels": {"a": "b"}}}, headers=MERGE
    )
    session.request(
        "PATCH", f"{CRONTABS}/counted/status", {"status": {"replicas": 2}}, headers=MERGE
    )
    assert generation() == 2


def test_status_is_left_alone_by_the_main_resource_and_the_other_way_round(
    session: Session,
) -> None:
    body = {**crontab("halves", replicas=1), "status": {"replicas": 7}}
    assert "status" not in session.request("POST", CRONTABS, body).json()
    patch = {"status": {"replicas": 3}, "spec": {"replicas": 9}}
    answer = session.request("PATCH", f"{CRONTABS}/halves/status", patch, headers=MERGE).json()
    assert (answer["status"], answer["spec"]["replicas"]) == ({"replicas": 3}, 1)
    answer = session.request("PATCH", f"{CRONTABS}/halves", patch, headers=MERGE).json()
    assert (answer["status"], answer["spec"]["replicas"]) == ({"replicas": 3}, 9)


def test_a_kind_called_a_review_has_a_status_that_its_main_resource_does_not_own() -> None:
    session = server_session()
    names = {"plural": "bookreviews", "singular": "bookreview", "kind": "BookReview"}
    assert define(session, definition(**names, shortNames=[])).status == 201
    body = {**crontab("a"), "kind": "BookReview", "status": {"replicas": 1}}
    path = CRONTABS.replace("crontabs", "bookreviews")
    (entry,) = session.request("POST", path, body).json()["metadata"]["managedFields"]
    assert "f:status" not in entry["fieldsV1"]


def test_scale_reads_and_writes_the_paths_it_names(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("scaled", replicas=2))
    status = {"status": {"replicas": 2, "labelSelector": "app=x"}}
    session.request("PATCH", f"{CRONTABS}/scaled/status", status, headers=MERGE)
    scale = session.request("GET", f"{CRONTABS}/scaled/scale").json()
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale",
        {"replicas": 2},
        {"replicas": 2, "selector": "app=x"},
    )
    session.request("PATCH", f"{CRONTABS}/scaled/scale", {"spec": {"replicas": 5}}, headers=MERGE)
    assert session.request("GET", f"{CRONTABS}/scaled").json()["spec"]["replicas"] == 5


def test_scale_of_what_has_no_replicas_is_refused_as_upstream_does(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("bare"))
    answer = session.request("GET", f"{CRONTABS}/bare/scale")
    assert answer.status == 500
    assert 'the spec replicas field ".spec.replicas" does not exist' in answer.json()["message"]


def test_a_table_has_the_columns_of_the_definition(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("shown", replicas=4))
    table = session.request("GET", f"{CRONTABS}/shown", headers=TABLE).json()
    assert [(column["name"], column["priority"]) for column in table["columnDefinitions"]] == [
        ("Name", 0),
        ("Spec", 0),
        ("Replicas", 1),
        ("Age", 0),
    ]
    assert table["rows"][0]["cells"] == ["shown", "* * * * */5", 4, "0s"]


def test_strategic_patches_and_protobuf_are_no_media_types_of_custom_resources(
    session: Session,
) -> None:
    session.request("POST", CRONTABS, crontab("plain"))
    answer = session.request("PATCH", f"{CRONTABS}/plain", {}, headers=STRATEGIC)
    assert (answer.status, answer.json()["message"]) == (
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
    protobuf = {"content-type": "application/vnd.kubernetes.protobuf"}
    assert session.request("POST", CRONTABS, b"k8s\x00", headers=protobuf).status == 415


def test_server_side_apply_owns_items_of_a_list_by_their_keys(session: Session) -> None:
    first = crontab("applied", env=[{"name": "A", "value": "1"}])
    path = f"{CRONTABS}/applied"
    assert session.request("PATCH", f"{path}?fieldManager=one", first, headers=APPLY).status == 201
    second = crontab("applied", env=[{"name": "B", "value": "2"}])
    answer = session.request("PATCH", f"{path}?fieldManager=two", second, headers=APPLY)
    assert answer.json()["spec"]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    other = crontab("applied", env=[{"name": "A", "value": "3"}])
    refused = session.request("PATCH", f"{path}?fieldManager=two", other, headers=APPLY)
    assert refused.status == 409
    assert refused.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .spec.env[name="A"].value'
    )


def test_a_body_of_another_kind_or_version_is_refused(session: Session) -> None:
    other = {**crontab("x"), "apiVersion": "stable.example.com/v2"}
    answer = session.request("POST", CRONTABS, other)
    assert answer.json()["message"] == (
        "the API version in the data (stable.example.com/v2) does not match the expected API "
        "version (stable.example.com/v1)"
    )
    answer = session.request("POST", CRONTABS, {**crontab("x"), "kind": "Other"})
    assert answer.json()["message"] == (
        'CronTab.stable.example.com "x" is invalid: kind: Invalid value: "Other": must be CronTab'
    )


def test_an_update_must_name_the_revision_it_replaces(session: Session) -> None:
    session.request("POST", CRONTABS, crontab("replaced"))
    answer = session.request("PUT", f"{CRONTABS}/replaced", crontab("replaced"))
    assert answer.json()["message"] == (
        'crontabs.stable.example.com "replaced" is invalid: metadata.resourceVersion: Invalid '
        "value: 0x0: must be specified for an update"
    )


def test_names_that_another_definition_has_are_not_accepted_until_they_are_free() -> None:
    session = session_with_crontabs()
    other = definition(plural="others", singular="other", kind="Other", shortNames=["ct", "oo"])
    define(session, other)
    name = "others.stable.example.com"
    assert conditions(session, name) == {
        "NamesAccepted": ("False", "ShortNamesConflict", '"ct" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert session.request("GET", "/apis/stable.example.com/v1/others").status == 404
    session.request("DELETE", f"{DEFINITIONS}/{NAME}")
    session.wait(10)
    assert conditions(session, name)["Established"][0] == "True"
    assert session.request("GET", "/apis/stable.example.com/v1/others").status == 200


def test_a_definition_that_goes_takes_its_objects_along() -> None:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("doomed"))
    held = crontab("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    session.request("POST", CRONTABS, held)
    watch = session.request("GET", f"{CRONTABS}?watch=1")
    session.request("DELETE", f"{DEFINITIONS}/{NAME}")
    session.wait(2)
    assert conditions(session)["Terminating"] == (
        "True",
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    )
    refused = session.request("POST", CRONTABS, crontab("late"))
    assert (refused.status, refused.json()["message"]) == (
        405,
        "create not allowed while custom resource definition is terminating",
    )
    session.request("PATCH", f"{CRONTABS}/held", {"metadata": {"finalizers": None}}, headers=MERGE)
    session.wait(10)
    assert session.request("GET", f"{DEFINITIONS}/{NAME}").status == 404
    assert session.request("GET", CRONTABS).status == 404
    assert session.cluster.store.count("/registry/stable.example.com/") == 0
    assert ("DELETED", "doomed") in told(watch)


def test_a_restart_keeps_definitions_and_objects() -> None:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("kept"))
    session.restart()
    assert session.request("GET", f"{CRONTABS}/kept").json()["spec"]["image"] == "my-cron-image"
    assert session.request("POST", CRONTABS, crontab("after")).status == 201


def test_without_a_definition_nothing_runs_for_it() -> None:
    session = server_session()
    started = [record["name"] for record in session.records() if record["kind"] == "component"]
    assert "apiextensions-controllers" not in started
    define(session)
    started = [record["name"] for record in session.records() if record["kind"] == "component"]
    assert "apiextensions-controllers" in started


def test_the_trace_says_which_part_of_the_server_answered_and_what_was_pruned() -> None:
    session = session_with_crontabs()
    session.request("POST", CRONTABS, crontab("told", bogus=1))
    records = session.records()
    told = [
        record["seq"]
        for record in records
        if (record["kind"], record.get("path")) == ("request", CRONTABS)
    ]
    gates = [
        record for record in records if record["kind"] == "gate" and record["span"] == told[-1]
    ]
    routing = [gate["detail"] for gate in gates if gate["gate"] == "routing"][-1]
    assert (routing["word"], routing["definition"]) == ("apiextensions-apiserver", NAME)
    decode = [gate["detail"] for gate in gates if gate["gate"] == "decode"][-1]
    assert decode["unknown"] == ['unknown field "spec.bogus"']
    assert decode["word"].startswith("1 pruned, ")
