"""A number in an object does not take the machine: controllers work as far as they are let.

Two of the objects are drawn each day; the long suite makes all.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from apiserver_app.machinery import meta
from lifecycle.hosting import scripted
from lifecycle.hosting.scripted import Session
from tests.suite import seeds

MOST = 2**31 - 1
PODS_MAX = 20
MEMORY_MAX = 40 << 20  # that may come with one such object
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}
SELECTOR = {"matchLabels": {"app": "web"}}
OBJECTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a stateful set": ("apps/v1", "statefulsets", {
        "kind": "StatefulSet", "spec": {"replicas": MOST, "serviceName": "web",
                                        "selector": SELECTOR, "template": TEMPLATE},
    }),
    "a parallel stateful set": ("apps/v1", "statefulsets", {
        "kind": "StatefulSet", "spec": {"replicas": MOST, "serviceName": "web",
                                        "podManagementPolicy": "Parallel",
                                        "ordinals": {"start": MOST},
                                        "selector": SELECTOR, "template": TEMPLATE},
    }),
    "a deployment": ("apps/v1", "deployments", {
        "kind": "Deployment", "spec": {"replicas": MOST, "selector": SELECTOR,
                                       "template": TEMPLATE},
    }),
    "a job with indexes": ("batch/v1", "jobs", {
        "kind": "Job", "spec": {"completions": MOST, "parallelism": 100_000,
                                "completionMode": "Indexed",
                                "template": {"spec": {**TEMPLATE["spec"],
                                                      "restartPolicy": "Never"}}},
    }),
    "a job": ("batch/v1", "jobs", {
        "kind": "Job", "spec": {"completions": MOST, "parallelism": MOST,
                                "template": {"spec": {**TEMPLATE["spec"],
                                                      "restartPolicy": "Never"}}},
    }),
    "a pod's times": ("v1", "pods", {
        "kind": "Pod", "spec": {"terminationGracePeriodSeconds": MOST, "containers": [{
            "name": "c", "image": "nginx", "readinessProbe": {
                "tcpSocket": {"port": 80}, "periodSeconds": MOST, "initialDelaySeconds": MOST,
                "timeoutSeconds": MOST, "failureThreshold": MOST,
            },
        }]},
    }),
}  # fmt: skip


@pytest.mark.parametrize("what", seeds.draw("numbers", list(OBJECTS), 2))
def test_a_number_takes_no_more_than_the_cluster_lets_it(what: str) -> None:
    version, resource, body = OBJECTS[what]
    limits = {"namespace_pods": PODS_MAX}
    session = Session(scripted.default_inputs(nodes=1, options={"limits": limits}))
    tracemalloc.start()
    try:
        answer = session.request(
            "POST",
            f"{meta.api_root(version)}/namespaces/default/{resource}",
            {"apiVersion": version, "metadata": {"name": "web"}, **body},
            settle=False,
        )
        session.wait(60)
        assert tracemalloc.get_traced_memory()[1] < MEMORY_MAX
    finally:
        tracemalloc.stop()
    assert answer.status in (201, 422), answer.json()
    pods = session.request("GET", "/api/v1/namespaces/default/pods", settle=False).json()["items"]
    assert len(pods) <= PODS_MAX
    session.restart()
    session.wait(10)
    assert session.request("GET", "/readyz", settle=False).status == 200
