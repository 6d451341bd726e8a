"""Binding, eviction, tokens and scales, by real requests."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import DEPLOYMENTS, MERGE, PODS, last_gates, pod, server_session
from tests.sim.test_story import deployment

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


def binding(name: str, node: str = "node-1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": node},
    }


@pytest.fixture
def session() -> Session:
    session = server_session()
    assert session.request("POST", PODS, pod("p", schedulerName="nobody")).status == 201
    return session


def running(session: Session, name: str) -> None:
    """Bound and ready, as a kubelet would report it."""
    session.request("POST", f"{PODS}/{name}/binding", binding(name))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    answer = session.request("PATCH", f"{PODS}/{name}/status", {"status": status}, headers=MERGE)
    assert answer.status == 200


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", "/api/v1/namespaces/default/bindings"])
def test_a_binding_sets_the_node_and_the_condition(session: Session, path: str) -> None:
    answer = session.request("POST", path, binding("p"))
    assert (answer.status, answer.json()) == (
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )
    found = session.request("GET", f"{PODS}/p").json()
    assert found["spec"]["nodeName"] == "node-1"
    assert found["status"]["conditions"][-1]["type"] == "PodScheduled"


def test_the_annotations_of_a_binding_are_added_to_the_pod(session: Session) -> None:
    answer = session.request(
        "POST",
        PODS,
        {
            **pod("q"),
            "metadata": {"name": "q", "annotations": {"kept": "yes", "changed": "before"}},
        },
    )
    assert answer.status == 201
    body = binding("q")
    body["metadata"]["annotations"] = {"changed": "after", "chosen": "by-the-scheduler"}
    assert session.request("POST", f"{PODS}/q/binding", body).status == 201
    metadata = session.request("GET", f"{PODS}/q").json()["metadata"]
    assert metadata["annotations"] == {
        "kept": "yes",
        "changed": "after",
        "chosen": "by-the-scheduler",
    }


def test_a_binding_is_told_at_every_gate_of_a_write(session: Session) -> None:
    session.request("POST", f"{PODS}/p/binding", binding("p"))
    assert [gate for gate, _ in last_gates(session)][5:] == [
        "decode",
        "mutating",
        "validation",
        "validating",
        "etcd",
    ]


def test_a_binding_is_noted_for_nobody_in_managed_fields(session: Session) -> None:
    session.request("POST", f"{PODS}/p/binding", binding("p"))
    managed = session.request("GET", f"{PODS}/p").json()["metadata"]["managedFields"]
    assert [entry["operation"] for entry in managed] == ["Update"]


def test_a_second_binding_is_a_conflict(session: Session) -> None:
    session.request("POST", f"{PODS}/p/binding", binding("p"))
    answer = session.request("POST", f"{PODS}/p/binding", binding("p", "node-2"))
    assert (answer.status, answer.json()["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": '
        'pod p is already assigned to node "node-1"',
    )


def test_a_binding_meant_for_another_pod_is_a_conflict(session: Session) -> None:
    answer = session.request("POST", f"{PODS}/p/binding", binding("p", uid="other"))
    assert answer.status == 409
    assert "Precondition failed: UID in precondition: other" in answer.json()["message"]


def test_a_pod_that_is_being_deleted_is_not_bound(session: Session) -> None:
    finalizers = {"metadata": {"finalizers": ["example.com/hold"]}}
    session.request("PATCH", f"{PODS}/p", finalizers, headers=MERGE)
    session.request("DELETE", f"{PODS}/p")
    answer = session.request("POST", f"{PODS}/p/binding", binding("p"))
    assert (answer.status, answer.json()["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": '
        "pod p is being deleted, cannot be assigned to a host",
    )


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (binding("q"), 400, "name in URL does not match name in Binding object"),
        (binding("p", node=""), 500, "target.name: Required value"),
    ],
)
def test_a_binding_that_makes_no_sense_is_refused(
    session: Session, body: dict[str, Any], code: int, message: str
) -> None:
    answer = session.request("POST", f"{PODS}/p/binding", body)
    assert (answer.status, answer.json()["message"]) == (code, message)


def test_a_binding_on_dry_run_binds_nothing(session: Session) -> None:
    revision = session.cluster.store.revision
    assert session.request("POST", f"{PODS}/p/binding?dryRun=All", binding("p")).status == 201
    assert session.cluster.store.revision == revision


def eviction(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


def budget(allowed: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}, **spec},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 1 + allowed,
            "observedGeneration": 1,
        },
    }


def with_budget(session: Session, allowed: int) -> None:
    """As the disruption controller leaves it; it is stopped so that the test decides."""
    session.cluster.role("controllers", "stop")
    body = budget(allowed)
    assert session.request("POST", BUDGETS, body).status == 201
    status = {"status": body["status"]}
    assert session.request("PATCH", f"{BUDGETS}/b/status", status, headers=MERGE).status == 200


def test_a_pod_that_never_ran_is_evicted_whatever_its_budget(session: Session) -> None:
    with_budget(session, 0)
    assert session.request("POST", f"{PODS}/p/eviction", eviction("p")).status == 201
    assert session.request("GET", f"{PODS}/p").status == 404


def test_an_eviction_the_budget_forbids_is_refused_with_its_cause(session: Session) -> None:
    running(session, "p")
    with_budget(session, 0)
    answer = session.request("POST", f"{PODS}/p/eviction", eviction("p"))
    status = answer.json()
    assert (answer.status, status["reason"], status["message"]) == (
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )
    assert status["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }
    ]
    assert "deletionTimestamp" not in session.request("GET", f"{PODS}/p").json()["metadata"]


def test_an_eviction_takes_from_the_budget_and_marks_the_pod(session: Session) -> None:
    running(session, "p")
    with_budget(session, 1)
    assert session.request("POST", f"{PODS}/p/eviction", eviction("p")).status == 201
    status = session.request("GET", f"{BUDGETS}/b").json()["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["p"])
    found = session.request("GET", f"{PODS}/p").json()
    assert found["metadata"]["deletionGracePeriodSeconds"] == 30
    assert found["status"]["conditions"][-1]["type"] == "DisruptionTarget"


def test_an_eviction_on_dry_run_takes_nothing(session: Session) -> None:
    running(session, "p")
    with_budget(session, 1)
    revision = session.cluster.store.revision
    answer = session.request("POST", f"{PODS}/p/eviction?dryRun=All", eviction("p"))
    assert (answer.status, session.cluster.store.revision) == (201, revision)


def token_request(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


def test_a_token_knows_its_account_and_is_not_stored(session: Session) -> None:
    revision = session.cluster.store.revision
    answer = session.request("POST", f"{ACCOUNT}/token", token_request(expirationSeconds=600))
    assert (answer.status, session.cluster.store.revision) == (201, revision)
    token = answer.json()["status"]["token"]
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    }
    seen = session.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).json()
    assert seen["status"]["user"]["username"] == "system:serviceaccount:default:default"


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"expirationSeconds": 5}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 2**33}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "gone"}}, 404,
         'pods "gone" not found'),
        ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "other"}}, 409,
         "does not match the UID in record"),
        ({"boundObjectRef": {"kind": "Service", "apiVersion": "v1", "name": "p"}}, 400,
         "cannot bind token to object of type /v1, Kind=Service"),
    ],
)  # fmt: skip
def test_a_token_that_cannot_be_is_refused(
    session: Session, spec: dict[str, Any], code: int, message: str
) -> None:
    answer = session.request("POST", f"{ACCOUNT}/token", token_request(**spec))
    assert answer.status == code and message in answer.json()["message"]


def test_a_node_gets_no_token_for_a_pod_of_another_node() -> None:
    session = Session()
    session.request("POST", DEPLOYMENTS, deployment(replicas=1))
    found = session.request("GET", PODS).json()["items"][0]
    others = {"node-1", "node-2", "node-3"} - {found["spec"]["nodeName"]}
    ref = {
        "kind": "Pod",
        "apiVersion": "v1",
        "name": found["metadata"]["name"],
        "uid": found["metadata"]["uid"],
    }
    request = token_request(boundObjectRef=ref, expirationSeconds=3600)
    asked: list[Any] = []

    async def ask(name: str) -> None:
        client = session.cluster.clients.client(f"system:node:{name}", "kubelet", ("system:nodes",))
        try:
            await client.create(
                "serviceaccounts", "default", request, name="default", subresource="token"
            )
            asked.append("given")
        except errors.ApiError as error:
            asked.append(str(error))

    for name in (found["spec"]["nodeName"], sorted(others)[0]):
        session.cluster.kernel.spawn("ask", ask(name))
        session.settle()
    assert asked[0] == "given" and "forbidden" in asked[1]


def test_a_scale_shows_and_sets_the_replicas(session: Session) -> None:
    session.request("POST", DEPLOYMENTS, deployment(replicas=2))
    path = f"{DEPLOYMENTS}/nginx/scale"
    scale = session.request("GET", path).json()
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == (
        "Scale",
        {"replicas": 2},
        "app=nginx",
    )
    scale["spec"]["replicas"] = 3
    assert session.request("PUT", path, scale).json()["spec"] == {"replicas": 3}
    patched = session.request("PATCH", path, {"spec": {"replicas": 0}}, headers=MERGE)
    assert patched.json()["spec"] == {}
    found = session.request("GET", f"{DEPLOYMENTS}/nginx").json()
    assert found["spec"]["replicas"] == 0
    entries = found["metadata"]["managedFields"]
    subresources = [entry.get("subresource") for entry in entries]
    assert "scale" in subresources
    assert "time" not in entries[subresources.index("scale")]  # as the real one's, which has none


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "the name of the object (nginx based on URL) was undeterminable: name must be "
         "provided"),
        ({"name": "other"}, "the name of the object (other) does not match the name on the URL "
         "(nginx)"),
        ({"name": "nginx", "namespace": "other"}, "the namespace of the provided object does not "
         "match the namespace sent on the request"),
    ],
)  # fmt: skip
def test_a_scale_names_the_object_it_belongs_to(
    session: Session, metadata: dict[str, str], message: str
) -> None:
    session.request("POST", DEPLOYMENTS, deployment())
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata}
    answer = session.request("PUT", f"{DEPLOYMENTS}/nginx/scale", {**scale, "spec": {}})
    assert (answer.status, answer.json()["message"]) == (400, message)


def test_a_stale_scale_is_a_conflict_and_a_negative_one_invalid(session: Session) -> None:
    session.request("POST", DEPLOYMENTS, deployment(replicas=2))
    path = f"{DEPLOYMENTS}/nginx/scale"
    scale = session.request("GET", path).json()
    session.request("PATCH", path, {"spec": {"replicas": 1}}, headers=MERGE)
    assert session.request("PUT", path, scale).status == 409
    answer = session.request("PATCH", path, {"spec": {"replicas": -1}}, headers=MERGE)
    assert answer.json()["message"] == (
        'Scale.autoscaling "nginx" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0"
    )
