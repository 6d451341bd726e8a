"""/metrics of controller manager and scheduler: reached as in a cluster, with what was counted."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apiserver_app.machinery.releases import Release
from lifecycle import catalog
from lifecycle.cluster import staticpods
from lifecycle.cluster.inputs import POD_RANGE
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import DEPLOYMENTS, pod
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import create
from tests.controllers_app.podlab import pod as box

KUBE_SYSTEM = "/api/v1/namespaces/kube-system/pods"
MONITORING: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "metrics"},
    "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "system:monitoring",
    },
}
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    options = {
        "kubelet": {"images": catalog.images()},
        "manifests": {staticpods.NODE: staticpods.manifests(Release(33), pods=POD_RANGE)},
    }
    session = Session(default_inputs(nodes=1, options=options))
    session.wait(5)
    assert session.request("POST", DEPLOYMENTS, DEPLOYMENT).status == 201
    big = {"requests": {"cpu": "100"}}
    containers = [{"name": "c", "image": "nginx", "resources": big}]
    assert (
        session.request(
            "POST", "/api/v1/namespaces/default/pods", pod("big", containers=containers)
        ).status
        == 201
    )
    session.wait(5)
    return session


def ask(session: Session, name: str, port: int, path: str = "metrics") -> Answer:
    return session.request("GET", f"{KUBE_SYSTEM}/https:{name}-node-1:{port}/proxy/{path}")


def samples(text: bytes) -> dict[tuple[str, str], float]:
    return {
        (
            sample.name,
            next(
                (sample.labels[key] for key in ("name", "queue", "result") if key in sample.labels),
                "",
            ),
        ): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_what_queues_and_attempts_there_were_is_counted(session: Session) -> None:
    found = samples(ask(session, "kube-controller-manager", 10257).text)
    assert found["workqueue_adds_total", "deployment"] >= 1
    assert found["workqueue_depth", "deployment"] == 0
    work = ("workqueue_work_duration_seconds_count", "replicaset")
    assert 1 <= found[work] <= found["workqueue_adds_total", "replicaset"]
    found = samples(ask(session, "kube-scheduler", 10259).text)
    assert found["scheduler_pending_pods", "unschedulable"] == 1
    assert found["scheduler_schedule_attempts_total", "scheduled"] == 2
    assert found["scheduler_schedule_attempts_total", "unschedulable"] >= 1
    assert found["scheduler_pod_scheduling_attempts_count", ""] == 2


def test_health_is_for_everybody_and_metrics_for_who_may(session: Session) -> None:
    assert session.request("DELETE", f"{BINDINGS}/simulation-metrics").status == 200
    assert ask(session, "kube-scheduler", 10259, "healthz").text == b"ok"
    refused = ask(session, "kube-scheduler", 10259)
    assert refused.status == 403
    assert refused.json()["message"] == (
        'forbidden: User "system:anonymous" cannot get path "/metrics"'
    )


def test_a_pod_asks_with_its_token_at_the_nodes_address(session: Session) -> None:
    account = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
    create(session, box("box"))
    token = "$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)"
    url = "https://10.0.0.11:10259/metrics"
    script = f'curl -sk -H "Authorization: Bearer {token}" {url} | head -1'
    assert '"reason":"Forbidden"' in execute(session, "sh", "-c", script, name="box")[0]
    assert session.request("POST", BINDINGS, {**MONITORING, "subjects": account}).status == 201
    assert execute(session, "sh", "-c", script, name="box")[0].startswith("# HELP scheduler_")


def test_a_process_that_has_ended_shows_nothing(session: Session) -> None:
    session.cluster.role("scheduler", "stop")
    session.settle()
    assert ask(session, "kube-scheduler", 10259, "healthz").status == 503
