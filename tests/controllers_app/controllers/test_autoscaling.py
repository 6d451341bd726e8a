"""The horizontal pod autoscaler: what it measures, how far it goes, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controllers_app.controllers.podautoscaler import limits
from controllers_app.controllers.podautoscaler import replicacalculator as replicas
from controllers_app.controllers.podautoscaler.metrics import Figure, NoMetrics
from lifecycle import catalog
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import started_session

HPAS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
MERGE = {"content-type": "application/merge-patch+json"}
METRICS = (Path(catalog.__file__).parent / "metrics-server.yaml").read_text()
SECOND = 1_000_000
NOT_SERVED = (
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch "
    "metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)


def post(session: Session, path: str, body: dict[str, Any]) -> None:
    answer = session.request("POST", path, body)
    assert answer.status == 201, answer.json()


def deploy(session: Session, count: int = 1, notes: dict[str, str] | None = None) -> None:
    labels = {"app": "web"}
    container = {"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "200m"}}}
    annotations = {f"simulation.lifecycle/{key}": text for key, text in (notes or {}).items()}
    post(
        session,
        DEPLOYMENTS,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": count,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": annotations},
                    "spec": {"containers": [container]},
                },
            },
        },
    )


def autoscale(session: Session, name: str = "web", kind: str = "Deployment", **spec: Any) -> None:
    api = "apps/v1" if kind == "Deployment" else "example.com/v1"
    target = {"type": "Utilization", "averageUtilization": 50}
    post(
        session,
        HPAS,
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": api, "kind": kind, "name": "web"},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
                **spec,
            },
        },
    )


def status(session: Session, name: str = "web") -> dict[str, Any]:
    found: dict[str, Any] = session.request("GET", f"{HPAS}/{name}").json()["status"]
    return found


def conditions(session: Session, name: str = "web") -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in status(session, name).get("conditions") or ()
    }


def told(session: Session, name: str = "web") -> list[tuple[str, str]]:
    found = session.request("GET", "/api/v1/namespaces/default/events").json()["items"]
    return [
        (event["reason"], event["message"])
        for event in found
        if event["involvedObject"]["kind"] == "HorizontalPodAutoscaler"
        and event["involvedObject"]["name"] == name
    ]


def wanted(session: Session) -> int:
    count: int = session.request("GET", f"{DEPLOYMENTS}/web").json()["spec"]["replicas"]
    return count


def use(session: Session, millis: int) -> None:
    """Let every pod of the deployment use so much."""
    for one in session.request("GET", PODS).json()["items"]:
        note = {"simulation.lifecycle/cpu-millis": str(millis)}
        body = {"metadata": {"annotations": note}}
        session.request("PATCH", f"{PODS}/{one['metadata']['name']}", body, headers=MERGE)


@pytest.fixture
def plain() -> Session:
    return started_session(nodes=1)


@pytest.fixture
def measured() -> Session:
    session = started_session(nodes=1)
    for answer in session.apply(METRICS):
        assert answer.status in (0, 201), answer.text
    session.wait(10)
    return session


def test_without_a_metrics_server_it_says_what_it_cannot_get(plain: Session) -> None:
    deploy(plain)
    autoscale(plain)
    plain.wait(20)
    assert conditions(plain) == {
        "AbleToScale": (
            "True",
            "SucceededGetScale",
            "the HPA controller was able to get the target's current scale",
        ),
        "ScalingActive": (
            "False",
            "FailedGetResourceMetric",
            f"the HPA was unable to compute the replica count: {NOT_SERVED}",
        ),
    }
    first = "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource"
    assert set(told(plain)) == {
        ("FailedGetResourceMetric", NOT_SERVED),
        ("FailedComputeMetricsReplicas", f"{first} metric value: {NOT_SERVED}"),
    }
    found = status(plain)
    assert (found["currentReplicas"], found["desiredReplicas"]) == (1, 0)
    assert found["currentMetrics"] == [{"type": ""}]  # as the real one writes what it could not get


def test_what_the_api_server_refuses_is_told_in_its_words(measured: Session) -> None:
    name = "system:controller:horizontal-pod-autoscaler"
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}"
    role = measured.request("GET", path).json()
    role["rules"] = [rule for rule in role["rules"] if "metrics.k8s.io" not in rule["apiGroups"]]
    assert measured.request("PUT", path, role).status == 200
    deploy(measured)
    autoscale(measured)
    measured.wait(20)

    _, _, message = conditions(measured)["ScalingActive"]
    assert message.endswith(
        "pods.metrics.k8s.io is forbidden: User "
        '"system:serviceaccount:kube-system:horizontal-pod-autoscaler" cannot list resource "pods" '
        'in API group "metrics.k8s.io" in the namespace "default"'
    )


def test_it_goes_up_with_what_is_used_and_down_after_five_minutes(measured: Session) -> None:
    deploy(measured, notes={"cpu-millis": "20"})
    autoscale(measured)
    measured.wait(60)
    assert conditions(measured)["ScalingActive"][:2] == ("True", "ValidMetricFound")
    assert conditions(measured)["ScalingLimited"] == (
        "False",
        "DesiredWithinRange",
        "the desired count is within the acceptable range",
    )
    assert status(measured)["currentMetrics"] == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "current": {"averageValue": "20m", "averageUtilization": 10},
            },
        }
    ]
    use(measured, 250)  # 125 % where 50 % is aimed at
    measured.wait(31)
    assert wanted(measured) == 3
    reason = "cpu resource utilization (percentage of request) above target"
    assert ("SuccessfulRescale", f"New size: 3; reason: {reason}") in told(measured)
    assert status(measured)["lastScaleTime"]
    use(measured, 10)
    measured.wait(200)
    assert wanted(measured) == 3
    assert conditions(measured)["AbleToScale"][1] == "ScaleDownStabilized"
    measured.wait(150)
    assert wanted(measured) == 1
    down = "New size: 1; reason: All metrics below target"
    assert ("SuccessfulRescale", down) in told(measured)


def test_a_pod_without_a_request_cannot_be_judged(measured: Session) -> None:
    deploy(measured)
    path = "/spec/template/spec/containers/0/resources"
    measured.request(
        "PATCH",
        f"{DEPLOYMENTS}/web",
        [{"op": "remove", "path": path}],
        headers={"content-type": "application/json-patch+json"},
    )
    autoscale(measured)
    measured.wait(30)
    _, reason, message = conditions(measured)["ScalingActive"]
    assert reason == "FailedGetResourceMetric"
    assert "failed to get cpu utilization: missing request for cpu in container web of " in message


def test_a_target_outside_the_bounds_is_brought_inside(plain: Session) -> None:
    deploy(plain, 5)
    autoscale(plain, maxReplicas=2)
    plain.wait(20)
    assert wanted(plain) == 2
    reason = "Current number of replicas above Spec.MaxReplicas"
    assert ("SuccessfulRescale", f"New size: 2; reason: {reason}") in told(plain)
    assert conditions(plain)["AbleToScale"] == (
        "True",
        "SucceededRescale",
        "the HPA controller was able to update the target scale to 2",
    )
    body = {"spec": {"replicas": 0}}
    plain.request("PATCH", f"{DEPLOYMENTS}/web", body, headers=MERGE)
    plain.wait(20)
    assert conditions(plain)["ScalingActive"][1] == "ScalingDisabled"
    assert wanted(plain) == 0


def test_a_target_that_is_not_there_or_has_no_kind_is_named(plain: Session) -> None:
    autoscale(plain)
    autoscale(plain, "odd", kind="Widget")
    plain.wait(20)
    assert told(plain) == [("FailedGetScale", 'deployments.apps "web" not found')]
    assert conditions(plain, "odd")["AbleToScale"] == (
        "False",
        "FailedGetScale",
        "the HPA controller was unable to get the target's current scale: "
        'no matches for kind "Widget" in group "example.com"',
    )


def test_two_autoscalers_of_the_same_pods_both_stop(measured: Session) -> None:
    deploy(measured, notes={"cpu-millis": "20"})
    autoscale(measured)
    autoscale(measured, "twin")
    measured.wait(40)
    assert conditions(measured, "twin")["ScalingActive"] == (
        "False",
        "AmbiguousSelector",
        "pods by selector app=web are controlled by multiple HPAs: [default/twin default/web]",
    )


@pytest.mark.parametrize(
    ("metric", "reason", "message"),
    [
        ({"type": "Pods", "pods": {
            "metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
         "FailedGetPodsMetric",
         "unable to get metric hits: unable to fetch metrics from custom metrics API: "
         "no known available metric versions found"),
        ({"type": "Object", "object": {
            "metric": {"name": "hits"}, "target": {"type": "Value", "value": "1"},
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"}}},
         "FailedGetObjectMetric",
         "unable to get metric hits: Service on default web/unable to fetch metrics from custom "
         "metrics API: no known available metric versions found"),
        ({"type": "External", "external": {
            "metric": {"name": "depth"}, "target": {"type": "Value", "value": "1"}}},
         "FailedGetExternalMetric",
         "unable to get external metric default/depth/nil: unable to fetch metrics from external "
         "metrics API: the server could not find the requested resource "
         "(get depth.external.metrics.k8s.io)"),
    ],
)  # fmt: skip
def test_metrics_that_nobody_serves_are_told_by_their_sort(
    plain: Session, metric: dict[str, Any], reason: str, message: str
) -> None:
    deploy(plain)
    autoscale(plain, metrics=[metric])
    plain.wait(20)
    assert (reason, message) in told(plain)
    assert conditions(plain)["ScalingActive"][1] == reason


def test_a_loop_that_asks_the_service_is_shared_by_all_and_scaled_by(measured: Session) -> None:
    deploy(measured, 2, notes={"cpu-millis": "1", "answer-cpu-seconds": "0.1"})
    post(
        measured,
        "/api/v1/namespaces/default/services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        },
    )
    measured.wait(30)
    loop = "while sleep 0.01; do wget -q -O- http://web; done"
    post(
        measured,
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "load"},
            "spec": {
                "containers": [{"name": "load", "image": "busybox", "command": ["sh", "-c", loop]}]
            },
        },
    )
    measured.wait(20)
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb"
    items = measured.request("GET", path).json()["items"]
    used = [int(item["containers"][0]["usage"]["cpu"][:-1]) // 1_000_000 for item in items]
    assert len(used) == 2 and sum(used) > 700 and abs(used[0] - used[1]) < 30
    autoscale(measured)
    measured.wait(35)
    assert wanted(measured) > 2


# -- without a cluster ----------------------------------------------------------------------------


def pod(name: str, *, ready: bool = True, phase: str = "Running") -> dict[str, Any]:
    old = "2025-01-01T00:00:00Z"
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": old}
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]},
        "status": {"phase": phase, "startTime": old, "conditions": [condition]},
    }


NOW = 1_750_000_000 * SECOND


def judged(
    current: int, target: int, used: dict[str, int], pods: list[dict[str, Any]]
) -> tuple[int, int, int]:
    figures = {name: Figure(value, NOW, 0) for name, value in used.items()}
    return replicas.by_utilization(current, target, "cpu", "", figures, pods, NOW)


@pytest.mark.parametrize(
    ("used", "count"),
    [
        ({"a": 500, "b": 500}, 2),  # as aimed at
        ({"a": 540, "b": 550}, 2),  # within a tenth
        ({"a": 900, "b": 900}, 4),
        ({"a": 100, "b": 100}, 1),
    ],
)
def test_replicas_follow_the_ratio_but_for_a_tenth(used: dict[str, int], count: int) -> None:
    assert judged(2, 50, used, [pod("a"), pod("b")])[0] == count


def test_pods_not_ready_or_not_measured_hold_a_change_back() -> None:
    pods = [pod("a"), pod("b", ready=False, phase="Pending"), pod("c")]
    assert judged(3, 50, {"a": 900, "c": 900}, pods)[0] == 4  # b uses nothing
    missing = [pod("a"), pod("b"), pod("c")]
    assert judged(3, 50, {"a": 100, "c": 100}, missing)[0] == 3  # b may use all of it
    with pytest.raises(NoMetrics, match="did not receive metrics for any ready pods"):
        judged(1, 50, {}, [pod("a")])
    with pytest.raises(NoMetrics, match="no pods returned by selector"):
        judged(1, 50, {}, [])


def limited(
    current: int, want: int, history: limits.History | None = None, at: int = NOW, **behavior: Any
) -> limits.Limited:
    rules = {
        "scaleUp": {"policies": [], "selectPolicy": "Max", "stabilizationWindowSeconds": 0},
        "scaleDown": {"policies": [], "selectPolicy": "Max"},
    }
    for side, more in behavior.items():
        rules[side] |= more
    history = history or limits.History()
    return limits.limit(history, current, want, 1, 20, rules if behavior else None, at)


def test_without_a_behavior_it_doubles_at_most_but_may_go_to_four() -> None:
    found = limited(1, 9)
    assert (found.replicas, found.is_limited, found.limited[0]) == (4, True, "ScaleUpLimit")
    assert limited(5, 19).replicas == 10
    assert limited(15, 30).limited[0] == "TooManyReplicas"
    assert limited(3, 0).limited[0] == "TooFewReplicas"


def test_a_policys_rate_counts_what_was_done_in_its_period() -> None:
    two = {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}
    behavior: dict[str, Any] = {"scaleUp": {"selectPolicy": "Max", **two}, "scaleDown": {}}
    history = limits.History()
    found = limited(4, 9, history, scaleUp=two)
    assert (found.replicas, found.limited[0]) == (6, "ScaleUpLimit")
    history.scaled(4, 6, behavior, NOW)
    assert limited(6, 9, history, NOW + 30 * SECOND, scaleUp=two).replicas == 6
    assert limited(6, 9, history, NOW + 61 * SECOND, scaleUp=two).replicas == 8
    assert limited(6, 9, scaleUp={"selectPolicy": "Disabled"}).replicas == 6


def test_the_windows_of_a_behavior_hold_back_both_ways() -> None:
    down = {
        "stabilizationWindowSeconds": 60,
        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
    }
    history = limits.History()
    history.begin(8, NOW)
    held = limited(8, 2, history, NOW + 30 * SECOND, scaleDown=down)
    assert (held.replicas, held.able[0]) == (8, "ScaleDownStabilized")
    free = limited(8, 2, history, NOW + 90 * SECOND, scaleDown=down)
    assert (free.replicas, free.limited[0]) == (4, "ScaleDownLimit")
    up = {
        "stabilizationWindowSeconds": 60,
        "policies": [{"type": "Pods", "value": 9, "periodSeconds": 60}],
    }
    history = limits.History()
    history.begin(2, NOW)
    assert limited(2, 6, history, NOW + 30 * SECOND, scaleUp=up).able[0] == "ScaleUpStabilized"
    assert limited(2, 6, history, NOW + 90 * SECOND, scaleUp=up).replicas == 6
