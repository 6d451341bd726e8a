"""ValidatingAdmissionPolicy: what users write in CEL decides, in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.plugin import DELETE, UPDATE
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, User
from tests.apiserver_app.admission.conftest import Cluster

GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
DEPLOYMENTS: Object = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["deployments"],
    "scope": "*",
}


def deployment(replicas: int = 6, **labels: str) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": labels},
        "spec": {"replicas": replicas},
    }


def bind(
    cluster: Cluster,
    *validations: Object,
    name: str = "replicas",
    actions: tuple[str, ...] = ("Deny",),
    rule: Object = DEPLOYMENTS,
    match: Object | None = None,
    binding: Object | None = None,
    **spec: Any,
) -> None:
    constraints = {
        "resourceRules": [rule],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        **(match or {}),
    }
    whole = {
        "failurePolicy": "Fail",
        "matchConstraints": constraints,
        "validations": list(validations),
        **spec,
    }
    cluster.reader.put(POLICIES, {"metadata": {"name": name}, "spec": whole})
    bound = {"policyName": name, "validationActions": list(actions), **(binding or {})}
    cluster.reader.put(BINDINGS, {"metadata": {"name": f"{name}-binding"}, "spec": bound})


def refused(cluster: Cluster, obj: Object, **how: Any) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("deployments.apps", obj, **how)
    return caught.value


AT_MOST_5 = {"expression": "object.spec.replicas <= 5"}
DENIED = (
    "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'replicas' with binding "
    "'replicas-binding' denied request: "
)


def test_what_breaks_a_rule_is_refused_with_upstreams_sentence(cluster: Cluster) -> None:
    bind(cluster, AT_MOST_5)

    cluster.send("deployments.apps", deployment(5))
    error = refused(cluster, deployment(6))

    assert error.message == DENIED + "failed expression: object.spec.replicas <= 5"
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.details["causes"] == [{"message": error.message.partition("forbidden: ")[2]}]


def test_message_message_expression_and_reason(cluster: Cluster) -> None:
    bind(
        cluster,
        {
            **AT_MOST_5,
            "message": "too many",
            "reason": "Forbidden",
            "messageExpression": "'at most 5, not ' + string(object.spec.replicas)",
        },
    )
    error = refused(cluster, deployment(6))
    assert error.message == DENIED + "at most 5, not 6"
    assert (error.code, error.reason) == (403, "Forbidden")

    bind(cluster, {**AT_MOST_5, "message": "too many", "messageExpression": "object.nothing"})
    assert refused(cluster, deployment(6)).message == DENIED + "too many"


def test_trace_shows_each_expression_with_its_value(cluster: Cluster) -> None:
    bind(
        cluster,
        {"expression": "variables.count <= 9"},
        {"expression": "variables.count <= 5"},
        variables=[
            {"name": "count", "expression": "object.spec.replicas"},
            {"name": "unused", "expression": "1 / 0"},
        ],
    )
    refused(cluster, deployment(6))

    assert cluster.attributes.run.policies == [
        {
            "policy": "replicas",
            "binding": "replicas-binding",
            "validations": [
                {"expression": "variables.count <= 9", "result": True},
                {
                    "expression": "variables.count <= 5",
                    "result": False,
                    "message": "failed expression: variables.count <= 5",
                },
            ],
            "variables": {"count": 6},
        }
    ]


def test_error_of_an_expression_counts_as_the_failure_policy_says(cluster: Cluster) -> None:
    bind(cluster, {"expression": "object.spec.nothing == 1"})
    assert refused(cluster, deployment()).message == (
        DENIED + "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing"
    )

    bind(cluster, {"expression": "object.spec.nothing == 1"}, failurePolicy="Ignore")
    cluster.send("deployments.apps", deployment())


def test_expression_that_would_never_end_is_stopped(cluster: Cluster) -> None:
    loops = "x.all(a, x.all(b, x.all(c, a + b + c >= 0)))".replace("x", f"{[1] * 200}")
    bind(cluster, {"expression": loops})
    message = refused(cluster, deployment()).message
    assert message.endswith("resulted in error: operation cancelled: actual cost limit exceeded")


def test_warn_and_audit_let_it_pass(cluster: Cluster) -> None:
    bind(cluster, AT_MOST_5, actions=("Warn", "Audit"))

    cluster.send("deployments.apps", deployment(6))

    assert cluster.warnings == [
        "Validation failed for ValidatingAdmissionPolicy 'replicas' with binding "
        "'replicas-binding': failed expression: object.spec.replicas <= 5"
    ]
    assert cluster.attributes.annotations == {
        "validation.policy.admission.k8s.io/validation_failure": (
            '[{"message":"failed expression: object.spec.replicas <= 5","policy":"replicas",'
            '"binding":"replicas-binding","expressionIndex":0,'
            '"validationActions":["Warn","Audit"]}]'
        )
    }


def test_audit_annotations_are_published(cluster: Cluster) -> None:
    bind(
        cluster,
        auditAnnotations=[
            {"key": "high", "valueExpression": "'replicas: ' + string(object.spec.replicas)"},
            {"key": "none", "valueExpression": "null"},
        ],
    )
    cluster.send("deployments.apps", deployment(6))
    assert cluster.attributes.annotations == {"replicas/high": "replicas: 6"}


def test_match_conditions_leave_requests_out(cluster: Cluster) -> None:
    conditions = [{"name": "people", "expression": "request.userInfo.username != 'alice'"}]
    bind(cluster, AT_MOST_5, matchConditions=conditions)

    cluster.send("deployments.apps", deployment(6), user=User("alice"))
    assert refused(cluster, deployment(6), user=User("bob")).code == 422


def test_selectors_exclusions_and_operations_leave_requests_out(cluster: Cluster) -> None:
    labelled = {"objectSelector": {"matchLabels": {"checked": "yes"}}}
    bind(cluster, AT_MOST_5, match=labelled)
    cluster.send("deployments.apps", deployment(6))
    assert refused(cluster, deployment(6, checked="yes")).code == 422

    bind(cluster, AT_MOST_5, match={"excludeResourceRules": [DEPLOYMENTS]})
    cluster.send("deployments.apps", deployment(6))

    bind(cluster, AT_MOST_5, binding={"matchResources": labelled})
    cluster.send("deployments.apps", deployment(6))

    bind(cluster, {"expression": "false"})
    cluster.send("deployments.apps", None, old=deployment(6), operation=DELETE)


def test_params_by_name_and_by_selector(cluster: Cluster) -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = {"expression": "object.spec.replicas <= int(params.data.max)"}
    by_name = {"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}
    bind(cluster, rule, binding=by_name, paramKind=kind)
    assert refused(cluster, deployment(6)).message == (
        DENIED + "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction"
    )

    for name, most in (("limits", "7"), ("strict", "5")):
        limits = {
            "metadata": {"name": name, "namespace": "default", "labels": {"use": "limit"}},
            "data": {"max": most},
        }
        cluster.reader.put("configmaps", limits)
    cluster.send("deployments.apps", deployment(6))
    assert cluster.attributes.run.policies[0]["params"] == "default/limits"

    selected = {"selector": {"matchLabels": {"use": "limit"}}, "parameterNotFoundAction": "Allow"}
    bind(cluster, rule, binding={"paramRef": selected}, paramKind=kind)
    assert refused(cluster, deployment(6)).code == 422
    assert [policy["params"] for policy in cluster.attributes.run.policies] == [
        "default/limits",
        "default/strict",
    ]


def test_authorizers_are_asked_by_expressions(cluster: Cluster) -> None:
    check = "authorizer.group('apps').resource('deployments').namespace('default').check('scale')"
    bind(cluster, {"expression": f"{check}.allowed() || object.spec.replicas <= 5"})

    cluster.send("deployments.apps", deployment(6))
    error = refused(cluster, deployment(6), user=User("bob"))
    assert "failed expression: authorizer.group" in error.message


def test_old_object_namespace_and_options_are_seen(cluster: Cluster) -> None:
    bind(
        cluster,
        {
            "expression": "oldObject == null || object.spec.replicas >= oldObject.spec.replicas",
            "message": "never fewer",
        },
        {"expression": "namespaceObject.metadata.name == 'default'"},
    )
    cluster.send("deployments.apps", deployment(6))
    error = refused(cluster, deployment(5), old=deployment(6), operation=UPDATE)
    assert error.message == DENIED + "never fewer"


def test_policies_themselves_are_never_held_up(cluster: Cluster) -> None:
    anything = {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*/*"],
        "scope": "*",
    }
    bind(cluster, {"expression": "false"}, rule=anything)
    assert "denied request" in refused(cluster, deployment()).message
    cluster.send(POLICIES, {"metadata": {"name": "other"}, "spec": {}})


def test_policy_without_a_binding_does_nothing(cluster: Cluster) -> None:
    bind(cluster, {"expression": "false"}, binding={"policyName": "another"})
    cluster.send("deployments.apps", deployment(6))
    assert cluster.said("ValidatingAdmissionPolicy").why == "no policy matches"
