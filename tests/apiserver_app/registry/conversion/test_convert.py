"""Kinds served in two versions: there and back without a loss."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, server_session

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = V1.replace("/v1/", "/v2/")
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def hpa(version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec},
    }


def cpu(percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def test_a_v1_autoscaler_is_a_v2_autoscaler_with_one_metric(session: Session) -> None:
    body = hpa("v1", "a", targetCPUUtilizationPercentage=60)
    made = session.request("POST", V1, body).json()
    assert (made["apiVersion"], made["spec"]["targetCPUUtilizationPercentage"]) == (
        "autoscaling/v1",
        60,
    )
    seen = session.request("GET", f"{V2}/a").json()
    assert (seen["apiVersion"], seen["spec"]["metrics"]) == ("autoscaling/v2", [cpu(60)])
    assert "targetCPUUtilizationPercentage" not in seen["spec"]


def test_a_v1_autoscaler_that_names_no_metric_means_four_fifths_of_the_cpu(
    session: Session,
) -> None:
    made = session.request("POST", V1, hpa("v1", "plain")).json()
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80
    assert made == session.request("GET", f"{V1}/plain").json()
    assert session.request("GET", f"{V2}/plain").json()["spec"]["metrics"] == [cpu(80)]


def test_what_v1_has_no_field_for_survives_an_update_through_v1(session: Session) -> None:
    memory = {"type": "AverageValue", "averageValue": "100Mi"}
    metrics = [cpu(50), {"type": "Resource", "resource": {"name": "memory", "target": memory}}]
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 7}}
    body = hpa("v2", "b", metrics=metrics, behavior=behavior)
    assert session.request("POST", V2, body).status == 201
    before = session.request("GET", f"{V2}/b").json()
    seen = session.request("GET", f"{V1}/b").json()
    assert seen["spec"]["targetCPUUtilizationPercentage"] == 50
    assert "metrics" not in seen["spec"] and "behavior" not in seen["spec"]
    seen["spec"]["maxReplicas"] = 9
    assert session.request("PUT", f"{V1}/b", seen).json()["spec"]["maxReplicas"] == 9
    after = session.request("GET", f"{V2}/b").json()
    assert after["spec"] == {**before["spec"], "maxReplicas": 9}
    assert "annotations" not in after["metadata"]


def test_what_is_measured_is_shown_in_both(session: Session) -> None:
    session.request("POST", V2, hpa("v2", "c", metrics=[cpu(50)]))
    current = {"averageUtilization": 33, "averageValue": "300m"}
    status = {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}],
    }
    answer = session.request("PATCH", f"{V2}/c/status", {"status": status}, headers=MERGE)
    assert answer.status == 200
    seen = session.request("GET", f"{V1}/c").json()
    assert seen["status"]["currentCPUUtilizationPercentage"] == 33


def test_an_annotation_that_is_no_json_is_left_alone(session: Session) -> None:
    body = hpa("v1", "d", targetCPUUtilizationPercentage=60)
    body["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/metrics": "{"}
    assert session.request("POST", V1, body).status == 201
    assert session.request("GET", f"{V2}/d").json()["spec"]["metrics"] == [cpu(60)]


def test_an_event_of_the_new_api_is_read_through_the_old_and_back(session: Session) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2025-01-01T00:00:00.000000Z", "reportingController": "example.com/test",
        "reportingInstance": "test-1", "action": "Testing", "reason": "Tested", "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "note": "told",
    }  # fmt: skip
    made = session.request("POST", EVENTS, body)
    assert made.status == 201, made.text
    core = session.request("GET", "/api/v1/namespaces/default/events/e").json()
    assert (core["apiVersion"], core["message"], core["reportingComponent"]) == (
        "v1",
        "told",
        "example.com/test",
    )
    assert core["involvedObject"]["name"] == "p"
    again = session.request("GET", f"{EVENTS}/e").json()
    assert {key: again[key] for key in body if key != "metadata"} == {
        key: value for key, value in body.items() if key != "metadata"
    }
