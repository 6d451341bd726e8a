"""Admission policies as a class meets them: written in YAML, refused by the API server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.kubectl import Kubectl

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: demo-policy.example.com
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: ["apps"]
      apiVersions: ["v1"]
      operations: ["CREATE", "UPDATE"]
      resources: ["deployments"]
  validations:
  - expression: "object.spec.replicas <= 5"
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: demo-binding.example.com
spec:
  policyName: demo-policy.example.com
  validationActions: [Deny]
  matchResources:
    namespaceSelector:
      matchLabels:
        kubernetes.io/metadata.name: policies
"""
DENIED = (
    "ValidatingAdmissionPolicy 'demo-policy.example.com' with binding 'demo-binding.example.com' "
    "denied request: failed expression: object.spec.replicas <= 5"
)


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("policies") as within:
        for manifest in (POLICY, BINDING):
            within("apply", "-f", "-", given=manifest)
        yield within
        for manifest in (POLICY, BINDING):
            within("delete", "-f", "-", given=manifest)


def test_policy_refuses_too_many_replicas(kubectl: Kubectl) -> None:
    create = ("create", "deployment", "web", "--image=nginx")
    assert kubectl.fails(*create, "--replicas=6") == (
        f'error: failed to create deployment: deployments.apps "web" is forbidden: {DENIED}'
    )
    assert kubectl(*create, "--replicas=5") == "deployment.apps/web created\n"
    more = ("patch", "deployment", "web", "--patch", '{"spec": {"replicas": 6}}')
    assert kubectl.fails(*more) == f'The deployments "web" is invalid: : {DENIED}'
    kubectl("delete", "deployment", "web")


def test_policy_that_does_not_compile_is_refused_with_the_position(kubectl: Kubectl) -> None:
    broken = POLICY.replace("object.spec.replicas <= 5", "object.spec.replicas <=")
    said = kubectl.fails("apply", "-f", "-", given=broken.replace("demo-policy", "broken"))
    assert said.startswith(
        'The ValidatingAdmissionPolicy "broken.example.com" is invalid: '
        'spec.validations[0].expression: Invalid value: "object.spec.replicas <=": compilation '
        "failed: ERROR: <input>:1:24: Syntax error: mismatched input '<EOF>' expecting "
    )
    assert said.endswith("\n | object.spec.replicas <=\n | .......................^")
