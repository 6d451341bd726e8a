"""Deletes: grace, finalizers, propagation, preconditions, collections, namespaces to the end."""

from __future__ import annotations

import urllib.parse
from typing import Any

import orjson
import pytest

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    DEPLOYMENTS,
    MERGE,
    PODS,
    bare_session,
    configmap,
    pod,
    server_session,
)
from tests.sim.test_story import deployment

REPLICASETS = "/apis/apps/v1/namespaces/default/replicasets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
RCS = "/api/v1/namespaces/default/replicationcontrollers"


@pytest.fixture
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v"))
    return session


def uid_of(session: Session, path: str) -> str:
    return str(session.request("GET", path).json()["metadata"]["uid"])


def test_most_kinds_answer_a_status_that_names_what_went(session: Session) -> None:
    uid = uid_of(session, f"{CONFIGMAPS}/a")
    answer = session.request("DELETE", f"{CONFIGMAPS}/a")
    assert (answer.status, answer.json()) == (
        200,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": uid},
        },
    )
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 404


def test_a_pod_no_node_has_goes_at_once_and_is_the_answer(session: Session) -> None:
    session.request("POST", PODS, pod("p"))
    answer = session.request("DELETE", f"{PODS}/p")
    assert (answer.status, answer.json()["kind"]) == (200, "Pod")
    assert session.request("GET", f"{PODS}/p").status == 404


@pytest.mark.parametrize(("asked", "given"), [(None, 30), (5, 5), (-7, 1)])
def test_a_pod_on_a_node_gets_its_grace(session: Session, asked: int | None, given: int) -> None:
    session.request("POST", PODS, pod("p", nodeName="node-1"))
    now = session.cluster.kernel.now
    options = None if asked is None else {"gracePeriodSeconds": asked}
    metadata = session.request("DELETE", f"{PODS}/p", options).json()["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == given
    left = meta.parse_time(metadata["deletionTimestamp"]) - now
    assert abs(left - given * 1_000_000) <= 1_000_000


def test_grace_can_only_be_shortened(session: Session) -> None:
    session.request("POST", PODS, pod("p", nodeName="node-1"))
    first = session.request("DELETE", f"{PODS}/p").json()["metadata"]
    revision = session.cluster.store.revision
    session.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 60})
    assert session.cluster.store.revision == revision
    shorter = session.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 10}).json()["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 10
    assert shorter["deletionTimestamp"] < first["deletionTimestamp"]
    session.request("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    assert session.request("GET", f"{PODS}/p").status == 404


# how often a pod is deleted with which options, its phase set in between; then what kube-apiserver
# 1.33.4 told a watch: event, revisions since before the first deletion, grace period
NEVER_BOUND = ([None], [("MODIFIED", 1, 0), ("DELETED", 2, 0)])
SHORTENED = (
    [
        None,
        {"gracePeriodSeconds": 60},
        {"propagationPolicy": "Orphan"},
        {"gracePeriodSeconds": 10},
        {"gracePeriodSeconds": 0},
    ],
    [("MODIFIED", 1, 30), ("MODIFIED", 2, 10), ("MODIFIED", 3, 0), ("DELETED", 4, 0)],
)
ENDED = (
    [None, "Succeeded", None, {"gracePeriodSeconds": 60}, {"propagationPolicy": "Orphan"},
     {"gracePeriodSeconds": -5}, {"gracePeriodSeconds": 0}],
    [("MODIFIED", 1, 30), ("MODIFIED", 2, 30), ("MODIFIED", 3, 1), ("MODIFIED", 4, 0),
     ("DELETED", 5, 0)],
)  # fmt: skip


@pytest.mark.parametrize(
    ("node", "steps", "told"),
    [("", *NEVER_BOUND), ("node-1", *SHORTENED), ("node-1", *ENDED)],
    ids=["never bound", "shortened", "ended"],
)
def test_a_watch_tells_of_a_deletion_what_the_real_one_tells(
    session: Session, node: str, steps: list[Any], told: list[tuple[str, int, int]]
) -> None:
    spec = {"nodeName": node} if node else {}
    session.request("POST", PODS, pod("p", **spec))
    before = session.cluster.store.revision
    for step in steps:
        if isinstance(step, str):
            ended = {"status": {"phase": step}}
            session.request("PATCH", f"{PODS}/p/status", ended, headers=MERGE)
        else:
            answer = session.request("DELETE", f"{PODS}/p", step)
            assert answer.status == 200
            assert answer.json()["metadata"]["generation"] == 2
            assert "finalizers" not in answer.json()["metadata"]
    watch = session.request("GET", f"{PODS}?watch=1&resourceVersion={before}&timeoutSeconds=1")
    events = [orjson.loads(line) for line in watch.text.splitlines()]
    assert [
        (
            event["type"],
            meta.revision_of(event["object"]) - before,
            event["object"]["metadata"]["deletionGracePeriodSeconds"],
        )
        for event in events
    ] == told
    assert session.request("GET", f"{PODS}/p").status == 404


def test_a_shorter_grace_does_not_end_in_the_past(session: Session) -> None:
    session.request("POST", PODS, pod("p", nodeName="node-1"))
    session.request("DELETE", f"{PODS}/p")
    session.wait(20)
    answer = session.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 10}).json()["metadata"]
    assert answer["deletionGracePeriodSeconds"] == 1
    assert meta.parse_time(answer["deletionTimestamp"]) >= session.cluster.kernel.now - SECOND


def test_a_finalizer_keeps_an_object_until_it_is_taken_off(session: Session) -> None:
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    session.request("PATCH", f"{CONFIGMAPS}/a", hold, headers=MERGE)
    answer = session.request("DELETE", f"{CONFIGMAPS}/a")
    assert (answer.status, answer.json()["kind"]) == (200, "ConfigMap")
    assert answer.json()["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    refused = session.request("PATCH", f"{CONFIGMAPS}/a", more, headers=MERGE)
    assert refused.status == 422
    free = {"metadata": {"finalizers": None}}
    assert session.request("PATCH", f"{CONFIGMAPS}/a", free, headers=MERGE).status == 200
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 404


def test_202_when_background_deletion_was_asked_for_the_old_way_and_it_is_still_there(
    session: Session,
) -> None:
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    session.request("PATCH", f"{CONFIGMAPS}/a", hold, headers=MERGE)
    answer = session.request("DELETE", f"{CONFIGMAPS}/a", {"orphanDependents": False})
    assert answer.status == 202


@pytest.mark.parametrize(
    ("preconditions", "message"),
    [
        ({"uid": "other"}, "the UID in the precondition (other) does not match the UID in record"),
        (
            {"resourceVersion": "1"},
            "the ResourceVersion in the precondition (1) does not match the "
            "ResourceVersion in record",
        ),
    ],
)
def test_a_delete_of_another_object_is_a_conflict(
    session: Session, preconditions: dict[str, str], message: str
) -> None:
    answer = session.request("DELETE", f"{CONFIGMAPS}/a", {"preconditions": preconditions})
    status = answer.json()
    assert (answer.status, status["details"]["kind"]) == (409, "ConfigMap")
    assert message in status["message"]
    in_query = urllib.parse.urlencode(preconditions)
    answer = session.request("DELETE", f"{CONFIGMAPS}/a?{in_query}")
    assert (answer.status, message in answer.json()["message"]) == (409, True)
    assert session.request("GET", f"{CONFIGMAPS}/a").status == 200


def test_a_delete_that_names_what_is_there_does_it(session: Session) -> None:
    metadata = session.request("GET", f"{CONFIGMAPS}/a").json()["metadata"]
    wanted = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    answer = session.request("DELETE", f"{CONFIGMAPS}/a", {"preconditions": wanted})
    assert answer.status == 200


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_dependents_go_or_stay_as_the_policy_says(policy: str) -> None:
    session = bare_session()
    session.request("POST", DEPLOYMENTS, deployment(replicas=2))
    session.request("DELETE", f"{DEPLOYMENTS}/nginx", {"propagationPolicy": policy})
    session.wait(60)
    assert session.request("GET", f"{DEPLOYMENTS}/nginx").status == 404
    left = session.request("GET", REPLICASETS).json()["items"]
    if policy == "Orphan":
        assert len(left) == 1 and not left[0]["metadata"].get("ownerReferences")
    else:
        assert left == [] and session.request("GET", PODS).json()["items"] == []


@pytest.mark.parametrize("policy", [None, "Background"])
def test_jobs_and_controllers_leave_their_pods_unless_told_otherwise(policy: str | None) -> None:
    session = bare_session()
    pods = {"metadata": {"labels": {"app": "x"}}, "spec": pod("x")["spec"]}
    once = {"spec": {**pods["spec"], "restartPolicy": "Never"}}
    session.request("POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": once}})
    session.request("POST", RCS, {"metadata": {"name": "c"}, "spec": {"template": pods}})
    session.wait(60)
    options = {"propagationPolicy": policy} if policy else None
    warned = [
        dict(session.request("DELETE", path, options).headers).get("Warning", "")
        for path in (f"{JOBS}/j", f"{RCS}/c")
    ]
    session.wait(60)
    assert session.request("GET", JOBS).json()["items"] == []
    assert session.request("GET", RCS).json()["items"] == []
    left = session.request("GET", PODS).json()["items"]
    assert len(left) == (0 if policy else 2)
    assert not any("ownerReferences" in item["metadata"] for item in left)
    said = "" if policy else '299 - "child pods are preserved by default when jobs are deleted; '
    assert warned[0].startswith(said) and bool(warned[0]) is not bool(policy)
    assert warned[1] == ""


def test_a_collection_is_deleted_as_far_as_its_selectors_reach(session: Session) -> None:
    for name, color in (("b", "red"), ("c", "blue"), ("d", "red")):
        session.request("POST", CONFIGMAPS, configmap(name, labels={"color": color}))
    answer = session.request("DELETE", f"{CONFIGMAPS}?labelSelector=color=red")
    listed = answer.json()
    assert (answer.status, listed["kind"]) == (200, "ConfigMapList")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b", "d"]
    left = session.request("GET", CONFIGMAPS).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["a", "c", "kube-root-ca.crt"]
    session.request("DELETE", f"{CONFIGMAPS}?fieldSelector=metadata.name=c")
    assert session.request("GET", f"{CONFIGMAPS}/c").status == 404


def event(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "reason": "Tested",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "type": "Normal",
    }


def test_a_collection_of_a_converted_kind_is_answered_in_its_version(session: Session) -> None:
    for name in ("e1", "e2"):
        session.request("POST", "/api/v1/namespaces/default/events", event(name))
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    listed = session.request("DELETE", path).json()
    assert (listed["kind"], listed["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert listed["items"][0]["regarding"]["name"] == "p"
    assert session.request("GET", path).json()["items"] == []


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    session = Session()
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "room"}}
    assert session.request("POST", "/api/v1/namespaces", made).status == 201
    inside = "/api/v1/namespaces/room"
    body = {**configmap("a"), "metadata": {"name": "a", "namespace": "room"}}
    session.request("POST", f"{inside}/configmaps", body)
    session.request("POST", f"{inside}/pods", pod("p"))
    assert session.request("GET", f"{inside}/pods/p").json()["status"]["phase"] == "Running"
    answer = session.request("DELETE", inside, settle=False)
    session.settle()
    assert answer.json()["status"]["phase"] == "Terminating"
    session.wait(120)
    assert session.request("GET", inside).status == 404
    keys = [entry.key for entry in session.cluster.store.range("/registry/").entries]
    assert [key for key in keys if "/room/" in key and "/events/" not in key] == []


def test_nothing_is_made_in_a_namespace_that_is_going() -> None:
    session = server_session()
    made = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "room", "finalizers": ["example.com/hold"]},
    }
    session.request("POST", "/api/v1/namespaces", made)
    session.request("DELETE", "/api/v1/namespaces/room")
    answer = session.request("POST", "/api/v1/namespaces/room/configmaps", configmap("x"))
    status = answer.json()
    assert (answer.status, status["details"]["causes"][0]["reason"]) == (
        403,
        "NamespaceTerminating",
    )


def test_what_is_gone_or_never_was_is_not_found(session: Session) -> None:
    answer = session.request("DELETE", f"{CONFIGMAPS}/none")
    assert (answer.status, answer.json()["message"]) == (404, 'configmaps "none" not found')
