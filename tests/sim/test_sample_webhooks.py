"""The sample webhooks as images of the simulation: applied, asked, killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controllers_app.containerruntime.servers import samplewebhooks
from lifecycle import catalog
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import DEPLOYMENTS, PODS, pod, started_session
from tests.sim.test_story import deployment

MANIFESTS = Path(catalog.__file__).parent / "webhooks"
SAMPLES = "sample-webhooks"


@pytest.fixture
def session() -> Session:
    return started_session(nodes=2)


def install(session: Session, name: str) -> None:
    for answer in session.apply((MANIFESTS / f"{name}.yaml").read_text()):
        assert answer.status in (0, 201) or "namespaces" in answer.json()["message"], answer.text
    session.settle()
    found = session.request("GET", f"/apis/apps/v1/namespaces/{SAMPLES}/deployments/{name}")
    assert found.json()["status"]["readyReplicas"] == 1


def named(name: str) -> dict[str, Any]:
    made = deployment()
    return {**made, "metadata": {**made["metadata"], "name": name}}


def test_a_name_of_sixteen_characters_is_refused_and_one_of_three_is_not(session: Session) -> None:
    install(session, "name-length")
    refused = session.request("POST", DEPLOYMENTS, named("nginx-deployment"))
    assert refused.status == 403
    assert refused.json()["message"] == (
        'admission webhook "name-length.sample-webhooks.svc" denied the request: the name '
        '"nginx-deployment" has 16 characters, at most 10 are allowed'
    )
    assert session.request("POST", DEPLOYMENTS, named("web")).status == 201


def test_a_pod_that_asks_for_it_runs_with_a_sidecar(session: Session) -> None:
    install(session, "sidecar-injector")
    made = pod("web")
    made["metadata"]["labels"]["inject"] = "true"
    assert session.request("POST", PODS, made).status == 201
    assert session.request("POST", PODS, pod("plain")).status == 201
    found = session.request("GET", f"{PODS}/web").json()
    names = [container["name"] for container in found["spec"]["containers"]]
    assert names == ["main", "sidecar"]
    assert found["metadata"]["annotations"][samplewebhooks.MARK] == "injected"
    assert found["status"]["phase"] == "Running"
    assert all(status["ready"] for status in found["status"]["containerStatuses"])
    assert len(session.request("GET", f"{PODS}/plain").json()["spec"]["containers"]) == 1


def test_once_its_pods_are_gone_the_policy_decides(session: Session) -> None:
    install(session, "name-length")
    path = f"/apis/apps/v1/namespaces/{SAMPLES}/deployments/name-length"
    merge = {"content-type": "application/merge-patch+json"}
    assert session.request("PATCH", path, {"spec": {"replicas": 0}}, headers=merge).status == 200
    session.wait(40)
    refused = session.request("POST", DEPLOYMENTS, named("web"))
    assert refused.json()["message"] == (
        'Internal error occurred: failed calling webhook "name-length.sample-webhooks.svc": failed '
        'to call webhook: Post "https://name-length.sample-webhooks.svc:443/validate?timeout=5s": '
        'no endpoints available for service "name-length"'
    )
    change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    session.request(
        "PATCH",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/name-length",
        change,
        headers={"content-type": "application/json-patch+json"},
    )
    assert session.request("POST", DEPLOYMENTS, named("nginx-deployment")).status == 201


def test_runs_with_webhooks_are_repeated_to_the_byte() -> None:
    runs = []
    inputs = default_inputs(nodes=2)
    for _ in range(2):
        session = Session(inputs)
        install(session, "name-length")
        install(session, "sidecar-injector")
        session.request("POST", DEPLOYMENTS, named("nginx-deployment"))
        session.request("POST", DEPLOYMENTS, named("web"))
        runs.append(session.records())
    assert runs[0] == runs[1]
