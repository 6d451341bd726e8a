"""APIServices: made for what is served, remote ones asked, told unavailable, passed on to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apiserver_app.flags import Flags
from apiserver_app.machinery.errors import ApiError
from lifecycle import catalog
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import MERGE, header, server_session, started_session

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
METRICS = "/apis/metrics.k8s.io/v1beta1"
SCALE = "/apis/apps/v1/namespaces/kube-system/deployments/metrics-server/scale"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MANIFEST = (Path(catalog.__file__).parent / "metrics-server.yaml").read_text()
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "crontabs.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "kind": "CronTab"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def bare() -> Session:
    return server_session()


@pytest.fixture
def session() -> Session:
    session = started_session(nodes=1)
    for answer in session.apply(MANIFEST):
        assert answer.status in (0, 201), answer.text
    session.settle()
    return session


def remote(name: str = "v1.sample.example.com", **spec: Any) -> dict[str, Any]:
    version, _, group = name.partition(".")
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "sample"},
            **spec,
        },
    }


def condition(session: Session, name: str = "v1beta1.metrics.k8s.io") -> tuple[str, str, str]:
    found = session.request("GET", f"{APISERVICES}/{name}").json()
    one = found["status"]["conditions"][0]
    return one["status"], one["reason"], one["message"]


def groups(session: Session) -> list[str]:
    return [group["name"] for group in session.request("GET", "/apis").json()["groups"]]


def scaled(session: Session, replicas: int) -> None:
    answer = session.request("PATCH", SCALE, {"spec": {"replicas": replicas}}, headers=MERGE)
    assert answer.status == 200


def routing(session: Session) -> dict[str, Any]:
    found = [
        record
        for record in session.records()
        if record["kind"] == "gate" and record["gate"] == "routing"
    ]
    detail: dict[str, Any] = found[-1]["detail"]
    return detail


def test_every_group_version_of_this_process_has_a_local_api_service(bare: Session) -> None:
    found = bare.request("GET", APISERVICES).json()["items"]
    names = [item["metadata"]["name"] for item in found]
    assert {"v1.", "v1.apps", "v2.autoscaling", "v1.apiextensions.k8s.io"} <= set(names)
    assert "v1.apiregistration.k8s.io" not in names
    for item in found:
        assert item["metadata"]["labels"] == {
            "kube-aggregator.kubernetes.io/automanaged": "onstart"
        }
        assert item["status"]["conditions"][0]["reason"] == "Local"
    apps = next(item for item in found if item["metadata"]["name"] == "v1.apps")
    assert apps["spec"] == {
        "group": "apps",
        "version": "v1",
        "groupPriorityMinimum": 17800,
        "versionPriority": 15,
    }


def test_priorities_decide_the_order_of_discovery() -> None:
    session = server_session()
    before = groups(session)
    assert before[:2] == ["apiregistration.k8s.io", "apps"]
    patch = {"spec": {"groupPriorityMinimum": 17801}}
    assert session.request("PATCH", f"{APISERVICES}/v1.batch", patch, headers=MERGE).status == 200
    after = groups(session)
    assert after[:3] == ["apiregistration.k8s.io", "batch", "apps"]
    assert sorted(after) == sorted(before)


def test_versions_of_a_group_come_by_their_priorities() -> None:
    names = ("v1alpha1", "v1beta1")
    given = tuple(f"admissionregistration.k8s.io/{name}=true" for name in names)
    found = server_session(flags=Flags(runtime_config=given))
    group = found.request("GET", "/apis/admissionregistration.k8s.io").json()
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1", "v1alpha1"]


def test_without_its_api_service_a_group_is_not_listed_but_still_answers() -> None:
    session = server_session()
    assert session.request("DELETE", f"{APISERVICES}/v1.batch").status == 200
    assert "batch" not in groups(session)
    assert session.request("GET", "/apis/batch/v1/jobs").status == 200
    session.restart()
    assert "batch" in groups(session)


def test_a_definitions_versions_get_api_services_that_come_and_go_with_it() -> None:
    session = server_session()
    assert session.request("POST", CRDS, CRD).status == 201
    session.settle()
    found = session.request("GET", f"{APISERVICES}/v1.stable.example.com").json()
    assert found["spec"] == {
        "group": "stable.example.com",
        "version": "v1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
    }
    assert groups(session)[-1] == "stable.example.com"

    session.request("DELETE", f"{CRDS}/crontabs.stable.example.com")
    assert session.request("GET", f"{APISERVICES}/v1.stable.example.com").status == 404


def test_an_aggregated_server_is_asked_on_behalf_of_the_user(session: Session) -> None:
    assert condition(session) == ("True", "Passed", "all checks passed")
    answer = session.request("GET", f"{METRICS}/nodes")
    assert answer.status == 200
    usage = answer.json()["items"][0]["usage"]
    assert usage["cpu"].endswith("n") and usage["memory"].endswith("Ki")
    assert header(answer, "Audit-Id") and header(answer, "X-Kubernetes-Pf-Flowschema-Uid")
    assert routing(session)["apiservice"] == "v1beta1.metrics.k8s.io"
    told = [record for record in session.records() if record["kind"] == "stream"][-1]
    assert told["state"] == "end"
    assert told["detail"]["to"] == "kube-system/metrics-server:443"
    assert told["detail"]["code"] == 200
    assert told["detail"]["by"].startswith("pod kube-system/metrics-server-")


def test_who_may_ask_an_aggregated_server_is_decided_before_it_is_asked(session: Session) -> None:
    answer = session.request("GET", f"{METRICS}/nodes", user="nobody")
    assert answer.status == 403
    assert 'nodes.metrics.k8s.io is forbidden: User "nobody"' in answer.json()["message"]


def test_a_clients_own_claims_are_not_passed_on(session: Session) -> None:
    claims = {"x-remote-user": "somebody-else", "x-remote-group": "system:masters"}
    assert session.request("GET", f"{METRICS}/nodes", headers=claims).status == 200


def test_an_aggregated_server_says_itself_what_it_has_not(session: Session) -> None:
    answer = session.request("GET", f"{METRICS}/nodes/nothere")
    assert answer.status == 404
    assert answer.json()["message"] == 'nodes.metrics.k8s.io "nothere" not found'
    assert session.request("DELETE", f"{METRICS}/nodes/node-1").status == 405


def test_a_remote_group_is_part_of_discovery(session: Session) -> None:
    assert groups(session)[-1] == "metrics.k8s.io"
    found = session.request("GET", "/apis", headers=AGGREGATED).json()["items"][-1]
    assert found["metadata"]["name"] == "metrics.k8s.io"
    version = found["versions"][0]
    assert version["freshness"] == "Current"
    assert [resource["resource"] for resource in version["resources"]] == ["nodes", "pods"]
    assert session.request("GET", METRICS).json()["groupVersion"] == "metrics.k8s.io/v1beta1"


def test_without_pods_behind_it_a_group_version_is_unavailable_until_they_are_back(
    session: Session,
) -> None:
    scaled(session, 0)
    assert condition(session) == (
        "False",
        "MissingEndpoints",
        'endpointslices for service/metrics-server in "kube-system" have no addresses with port '
        'name "https"',
    )
    answer: Answer = session.request("GET", f"{METRICS}/nodes")
    assert (answer.status, answer.text) == (503, b"service unavailable\n")
    assert header(answer, "Audit-Id")
    found = session.request("GET", "/apis", headers=AGGREGATED).json()["items"][-1]
    assert found["versions"][0]["freshness"] == "Stale"
    scaled(session, 1)
    assert condition(session) == ("True", "Passed", "all checks passed")
    assert session.request("GET", f"{METRICS}/nodes").status == 200


def test_removing_an_api_service_removes_its_route(session: Session) -> None:
    assert session.request("DELETE", f"{APISERVICES}/v1beta1.metrics.k8s.io").status == 200
    assert session.request("GET", f"{METRICS}/nodes").status == 404
    assert "metrics.k8s.io" not in groups(session)


def test_an_api_service_that_was_removed_and_is_back_is_checked_at_once(session: Session) -> None:
    name = f"{APISERVICES}/v1beta1.metrics.k8s.io"
    service = session.request("GET", name).json()
    assert session.request("DELETE", name).status == 200
    again = {**service, "metadata": {"name": service["metadata"]["name"]}, "status": {}}
    assert session.request("POST", APISERVICES, again).status == 201
    assert condition(session) == ("True", "Passed", "all checks passed")


def test_an_api_service_without_its_service_says_what_is_missing() -> None:
    session = server_session()
    assert session.request("POST", APISERVICES, remote()).status == 201
    name = "v1.sample.example.com"
    said = 'service/sample in "default" is not present'
    assert condition(session, name) == ("False", "ServiceNotFound", said)
    service = {"metadata": {"name": "sample"}, "spec": {"ports": [{"port": 444}]}}
    services = "/api/v1/namespaces/default/services"
    assert session.request("POST", services, service).status == 201
    said = 'service/sample in "default" is not listening on port 443'
    assert condition(session, name) == ("False", "ServicePortError", said)
    session.request(
        "PATCH", f"{services}/sample", {"spec": {"ports": [{"port": 443}]}}, headers=MERGE
    )
    said = 'cannot find endpointslices for service/sample in "default"'
    assert condition(session, name) == ("False", "EndpointsNotFound", said)


def test_a_server_that_does_not_answer_fails_the_discovery_check(session: Session) -> None:
    wrong = remote(
        "v1.sample.example.com", service={"namespace": "kube-system", "name": "metrics-server"}
    )
    assert session.request("POST", APISERVICES, wrong).status == 201
    status, reason, message = condition(session, "v1.sample.example.com")
    assert (status, reason) == ("False", "FailedDiscoveryCheck")
    address = session.request("GET", "/api/v1/namespaces/kube-system/services/metrics-server")
    url = f"https://{address.json()['spec']['clusterIP']}:443/apis/sample.example.com/v1"
    assert message == f"failing or missing response from {url}: bad status from {url}: 404"


def test_an_api_service_is_checked_in_upstreams_words(bare: Session) -> None:
    wrong = remote("v2.", groupPriorityMinimum=20001, versionPriority=0, caBundle="QUJD")
    answer = bare.request("POST", APISERVICES, wrong)
    assert answer.status == 422
    said = answer.json()["message"]
    assert "spec.group: Required value: only v1 may have an empty group and it better be" in said
    assert "Invalid value: 20001: must be positive and less than 20000" in said
    assert "may not be true if caBundle is present" in said


def test_the_availability_of_a_server_is_told_as_work_with_its_causes(session: Session) -> None:
    name = "apiservice-status-remote-available-controller"
    works = [
        record
        for record in session.records()
        if record["kind"] == "work" and record["component"] == name
    ]
    assert works and all(work["key"] == "v1beta1.metrics.k8s.io" for work in works)
    spans = {work["span"] for work in works}
    said = [
        record["said"]
        for record in session.records()
        if record["kind"] == "done" and record["span"] in spans
    ]
    assert said[-1] == "Passed: all checks passed"


def test_what_an_aggregated_server_refuses_reaches_a_client_of_the_cluster_in_its_words(
    session: Session,
) -> None:
    raised: list[ApiError] = []

    async def ask() -> None:
        client = session.cluster.clients.loopback()
        try:
            await client.fetch("metrics.k8s.io/v1beta1", "pods", "default", name="nope")
        except ApiError as error:
            raised.append(error)

    session.wait(30)
    session.cluster.kernel.spawn("test", ask())
    session.settle()

    said = session.request("GET", f"{METRICS}/namespaces/default/pods/nope").json()
    [error] = raised
    assert (error.code, error.reason, error.message) == (404, "NotFound", said["message"])
    assert "nope" in error.message
