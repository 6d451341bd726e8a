"""Policies on the real pipeline: made, bound, evaluated, told of."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from lifecycle.hosting.scripted import Answer
from tests.apiserver_app.admission.hooks import GROUP, Lab
from tests.apiserver_app.cluster import CONFIGMAPS, configmap

SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
SCALER: Object = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 3,
    },
}
RULE: Object = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


@pytest.fixture
def lab() -> Lab:
    return Lab()


def make(lab: Lab, name: str, rule: Object = RULE, **spec: Any) -> Answer:
    match = {"resourceRules": [rule], **spec.pop("match", {})}
    made = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": match, **spec},
    }
    return lab.create(f"{GROUP}/validatingadmissionpolicies", made)


def bind(lab: Lab, name: str, rule: Object = RULE, **spec: Any) -> None:
    answer = make(lab, name, rule, **spec)
    assert answer.status == 201, answer.text
    bound = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{name}-binding"},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    answer = lab.create(f"{GROUP}/validatingadmissionpolicybindings", bound)
    assert answer.status == 201, answer.text


def test_policy_decides_and_the_trace_has_its_expressions(lab: Lab) -> None:
    bind(lab, "named", validations=[{"expression": "object.metadata.name != 'bad'"}])

    assert lab.create(CONFIGMAPS, configmap("good")).status == 201
    (record,) = lab.plugins()
    assert record["plugin"] == "ValidatingAdmissionPolicy" and record["verdict"] == "allow"
    assert record["detail"]["policies"] == [
        {
            "policy": "named",
            "binding": "named-binding",
            "validations": [{"expression": "object.metadata.name != 'bad'", "result": True}],
        }
    ]

    answer = lab.create(CONFIGMAPS, configmap("bad"))
    assert answer.status == 422
    assert answer.json()["message"] == (
        "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'named' with binding "
        "'named-binding' denied request: failed expression: object.metadata.name != 'bad'"
    )
    (record,) = lab.plugins()
    assert record["verdict"] == "deny"
    assert record["detail"]["policies"][0]["validations"][0]["result"] is False


def test_equivalent_version_is_evaluated_in_the_policys_own(lab: Lab) -> None:
    rule = {**RULE, "apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"]}
    seen = "object.apiVersion != 'autoscaling/v1' || request.requestKind.version != 'v2'"
    bind(lab, "old", rule, validations=[{"expression": seen}])
    assert lab.create(SCALERS, SCALER).status == 422

    exact = {"matchPolicy": "Exact"}
    assert make(lab, "exact", rule, match=exact, validations=[{"expression": "false"}])
    lab.session.request("DELETE", f"{GROUP}/validatingadmissionpolicies/old")
    assert lab.create(SCALERS, SCALER).status == 201


def test_authorizers_are_asked_about_the_user(lab: Lab) -> None:
    check = "authorizer.requestResource.check('create').allowed()"
    bind(lab, "asks", validations=[{"expression": check}])
    assert lab.create(CONFIGMAPS, configmap("one")).status == 201
    other = check.replace("create", "fly")
    bind(lab, "flies", validations=[{"expression": f"!{other} || true"}])
    assert lab.create(CONFIGMAPS, configmap("two")).status == 201


def findings(answer: Answer) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in answer.json()["details"]["causes"]]


def test_expression_that_does_not_compile_is_refused_with_its_position(lab: Lab) -> None:
    answer = make(
        lab,
        "broken",
        validations=[{"expression": "object.spec.replicas <= foo"}, {"expression": "1 + 1"}],
        variables=[{"name": "in", "expression": "'a'"}],
        matchConditions=[{"name": "a", "expression": "variables.x"}],
    )
    assert answer.status == 422
    assert findings(answer) == [
        (
            "spec.matchConditions[0].expression",
            'Invalid value: "variables.x": compilation failed: ERROR: <input>:1:1: undeclared '
            "reference to 'variables' (in container '')\n | variables.x\n | ^",
        ),
        ("spec.variables[0].name", 'Invalid value: "in": name is not a valid CEL identifier'),
        (
            "spec.validations[0].expression",
            'Invalid value: "object.spec.replicas <= foo": compilation failed: ERROR: '
            "<input>:1:25: undeclared reference to 'foo' (in container '')\n"
            " | object.spec.replicas <= foo\n | ........................^",
        ),
        (
            "spec.validations[1].expression",
            'Invalid value: "1 + 1": must evaluate to bool but got int',
        ),
    ]
