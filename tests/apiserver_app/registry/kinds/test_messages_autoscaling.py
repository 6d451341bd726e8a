"""What a HorizontalPodAutoscaler and a PodDisruptionBudget are refused for, word for word.

The rows are facts of kubernetes pkg/apis/autoscaling/validation/validation.go and
pkg/apis/policy/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

HPA = "horizontalpodautoscalers.autoscaling"
PDB = "poddisruptionbudgets.policy"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def autoscaler(**spec: object) -> Object:
    fields = {"scaleTargetRef": TARGET, "maxReplicas": 3, **spec}
    return strategies.named("HorizontalPodAutoscaler", "autoscaling/v2", spec=fields)


def measured(kind: str, **source: object) -> dict[str, Any]:
    return {"metrics": [{"type": kind, kind[:1].lower() + kind[1:]: source}]}


def of_cpu(**target: object) -> dict[str, Any]:
    return measured("Resource", name="cpu", target=target)


AUTOSCALERS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    (
        {"minReplicas": 0},
        ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
         "spec.metrics: Forbidden: must specify at least one Object or External metric "
         "to support scaling to zero replicas"],
    ),
    (
        {"minReplicas": 5},
        ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
    ),
    (
        {"maxReplicas": 0},
        ["spec.maxReplicas: Invalid value: 0: must be greater than 0",
         "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`"],
    ),
    (
        {"scaleTargetRef": {"apiVersion": "apps/v1"}},
        ["spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value"],
    ),
    (
        {"scaleTargetRef": {"kind": "a/b", "name": ".."}},
        ["spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
         "spec.scaleTargetRef.name: Invalid value: \"..\": may not be '..'"],
    ),
    (
        {"metrics": [{"type": "Cpu"}]},
        [f'spec.metrics[0].type: Unsupported value: "Cpu": supported values: {words}'
         for words in ('"ContainerResource", "External", "Object", "Pods", "Resource"',) * 2],
    ),
    (
        {"metrics": [{"type": "Resource"}]},
        ["spec.metrics[0].resource: Required value: "
         "must populate information for the given metric source"],
    ),
    (
        {"metrics": [{
            "type": "Pods",
            "resource": {"name": "cpu", "target": {"type": "Value", "averageValue": "1"}}}]},
        ["spec.metrics[0].pods: Required value: "
         "must populate information for the given metric source"],
    ),
    (
        of_cpu(type="Utilization"),
        ["spec.metrics[0].resource.target.averageUtilization: Required value: "
         "must set either a target raw value or a target utilization"],
    ),
    (
        of_cpu(type="Utilization", averageUtilization=0),
        ["spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: "
         "must be greater than 0"],
    ),
    (
        of_cpu(averageUtilization=50),
        ["spec.metrics[0].resource.target.type: Required value: must specify a metric target type",
         "spec.metrics[0].resource.target.type: Invalid value: \"\": "
         "must be either Utilization, Value, or AverageValue"],
    ),
    (
        of_cpu(type="Utilization", averageUtilization=50, averageValue="1"),
        ["spec.metrics[0].resource.target.averageValue: Forbidden: "
         "may not set both a target raw value and a target utilization"],
    ),
    (
        measured("Pods", metric={}, target={"type": "AverageValue"}),
        ["spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
         "spec.metrics[0].pods.target.averageValue: Required value: "
         "must specify a positive target averageValue"],
    ),
    (
        measured("External", metric={"name": "q"},
                 target={"type": "Value", "value": "1", "averageValue": "1"}),
        ["spec.metrics[0].external.target.value: Forbidden: "
         "may not set both a target value for metric and a per-pod target"],
    ),
    (
        measured("Object", metric={"name": "q"}, describedObject={"kind": "Ingress"},
                 target={"type": "Value"}),
        ["spec.metrics[0].object.describedObject.name: Required value",
         "spec.metrics[0].object.target.averageValue: Required value: "
         "must set either a target value or averageValue"],
    ),
    (
        measured("ContainerResource", name="cpu",
                 target={"type": "Utilization", "averageUtilization": 1}),
        ["spec.metrics[0].containerResource.container: Required value: must specify a container"],
    ),
    (
        {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Most"}}},
        ["spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: "
         "must be less than or equal to 3600",
         'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": '
         'supported values: "Disabled", "Max", "Min"'],
    ),
    (
        {"behavior": {"scaleDown": {"policies": [
            {"type": "Pod", "value": 0, "periodSeconds": 1801}]}}},
        ['spec.behavior.scaleDown.policies[0].type: Unsupported value: "Pod": '
         'supported values: "Percent", "Pods"',
         "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
         "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: "
         "must be less than or equal to 1800"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), AUTOSCALERS)
def test_an_autoscaler_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert strategies.create_errors(HPA, autoscaler(**spec)) == messages


def test_an_autoscaler_that_was_at_zero_may_stay_there() -> None:
    source = measured("External", metric={"name": "q"}, target={"type": "Value", "value": "1"})
    old = strategies.created(HPA, autoscaler(minReplicas=0, **source))

    assert strategies.update_errors(HPA, old, old) == []


BUDGETS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"minAvailable": 1}, []),
    (
        {"minAvailable": 1, "maxUnavailable": 1},
        ["spec: Invalid value: policy.PodDisruptionBudgetSpec{"
         "MinAvailable:(*intstr.IntOrString)(0xc000000000), Selector:(*v1.LabelSelector)(nil), "
         "MaxUnavailable:(*intstr.IntOrString)(0xc000000000), "
         "UnhealthyPodEvictionPolicy:(*policy.UnhealthyPodEvictionPolicyType)(nil)}: "
         "minAvailable and maxUnavailable cannot be both set"],
    ),
    (
        {"minAvailable": -1},
        ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    ),
    (
        {"maxUnavailable": "101%"},
        ['spec.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, '
         'StrVal:"101%"}: must not be greater than 100%'],
    ),
    (
        {"minAvailable": 1, "unhealthyPodEvictionPolicy": "Never"},
        ['spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": '
         'supported values: "AlwaysAllow", "IfHealthyBudget"'],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), BUDGETS)
def test_a_budget_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    budget = strategies.named("PodDisruptionBudget", "policy/v1", spec=spec)

    assert strategies.create_errors(PDB, budget) == messages
