"""Admission policies, their bindings, webhooks and API services, in upstream's words and order."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.registry import kinds as registered
from apiserver_app.registry.admissionregistration import admissionpolicy
from apiserver_app.registry.validation import conditions
from tests.apiserver_app.registry.kinds import strategies

GROUP = "admissionregistration.k8s.io"
RULE = {
    "operations": ["CREATE"],
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "resources": ["deployments"],
}
APPLY = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
SPECS: dict[str, dict[str, Any]] = {
    "ValidatingAdmissionPolicy": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "true"}],
    },
    "ValidatingAdmissionPolicyBinding": {"policyName": "p", "validationActions": ["Deny"]},
    "MutatingAdmissionPolicy": {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "mutations": [APPLY],
    },
    "MutatingAdmissionPolicyBinding": {"policyName": "p"},
}


def strategy_of(kind: str) -> Any:
    """Mutating policies are not served by default; their strategy is the same."""
    key = f"{kind.lower()}s.{GROUP}".replace("policys", "policies")
    return dict(registered.KINDS)[key](strategies.of(f"validatingadmissionpolicies.{GROUP}").info)


def findings(kind: str, **spec: Any) -> list[str]:
    api = f"{GROUP}/v1"
    obj = strategies.named(kind, api, "p", namespace=None, spec={**SPECS[kind], **spec})
    strategy = strategy_of(kind)
    strategy.default(obj)
    return [str(error) for error in strategy.validate(strategies.context(), obj)]


POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
MUTATING, MUTATING_BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
DELETES = {"resourceRules": [{**RULE, "operations": ["DELETE", "UPDATE"]}]}
NOT_MUTABLE = 'Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'
FOUND: list[tuple[str, dict[str, Any], list[str]]] = [
    *((kind, {}, []) for kind in SPECS),
    (POLICY, {"validations": [{"expression": "true", "reason": "Unauthorized"}]}, [
        'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: '
        '"Forbidden", "Invalid", "RequestEntityTooLarge"',
    ]),
    (POLICY, {"matchConstraints": {"resourceRules": [{**RULE, "resourceNames": ["a/b", "a/b"]}]}}, [
        'spec.matchConstraints.resourceRules[0].resourceNames[0]: Invalid value: "a/b": may not '
        "contain '/'",
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Invalid value: "a/b": may not '
        "contain '/'",
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a/b"',
    ]),
    (POLICY, {"matchConstraints": {"resourceRules": [{**RULE, "operations": ["CREATE", "*"]}]}}, [
        "spec.matchConstraints.resourceRules[0].operations: Invalid value: "
        '[]admissionregistration.OperationType{"CREATE", "*"}: if \'*\' is present, must not '
        "specify other operations",
    ]),
    (POLICY, {"paramKind": {"apiVersion": "apps/", "kind": "Deployment"}}, [
        'spec.paramKind.apiVersion: Invalid value: "apps/": version must be specified',
    ]),
    (POLICY, {"auditAnnotations": [{"key": "a", "valueExpression": f"'{'x' * 5120}'"}]}, [
        "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in "
        "length",
    ]),
    (POLICY, {"auditAnnotations": [{"key": f"k{at}", "valueExpression": "'a'"}
                                   for at in range(admissionpolicy.ANNOTATIONS_MAX + 1)]}, [
        "spec.auditAnnotations: Invalid value: []admissionregistration.AuditAnnotation{"
        + ", ".join(
            f'admissionregistration.AuditAnnotation{{Key:"k{at}", ValueExpression:"\'a\'"}}'
            for at in range(21))
        + "}: must not have more than 20 auditAnnotations",
    ]),
    (BINDING, {"paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Deny"}}, [
        "spec.paramRef.name: Invalid value: \"a/b\": may not contain '/'",
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    ]),
    (BINDING, {"matchResources": {"matchPolicy": "Some"}}, [
        'spec.matchResources.matchPolicy: Unsupported value: "Some": supported values: '
        '"Equivalent", "Exact"',
    ]),
    (BINDING, {"matchResources": DELETES}, []),
    (MUTATING, {"matchConstraints": DELETES}, [
        f"spec.matchConstraints.resourceRules.operations: {NOT_MUTABLE}",
    ]),
    (MUTATING_BINDING, {"matchResources": DELETES}, [
        f"spec.matchResources.resourceRules.operations: {NOT_MUTABLE}",
    ]),
    (MUTATING, {"reinvocationPolicy": None}, ["spec.reinvocationPolicy: Required value"]),
    (MUTATING, {"mutations": [{}]}, ["spec.mutations[0].patchType: Required value"]),
    (MUTATING, {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": " "}}]}, [
        "spec.mutations[0].jsonPatch.expression: Required value",
    ]),
    (MUTATING, {"mutations": [{**APPLY, "patchType": "JSONPatch"}]}, [
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
        "JSONPatch",
        'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be '
        "specified when patchType is JSONPatch",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "found"), FOUND)
def test_policies_are_found_wrong_in_upstreams_words(
    kind: str, spec: dict[str, Any], found: list[str]
) -> None:
    assert findings(kind, **spec) == found


def test_an_expression_of_an_annotation_is_compiled_trimmed_and_shown_as_written() -> None:
    [said] = findings(POLICY, auditAnnotations=[{"key": "a", "valueExpression": "  1 +"}])

    assert said.startswith('spec.auditAnnotations[0].valueExpression: Invalid value: "  1 +": ')
    assert "ERROR: <input>:1:4: Syntax error" in said


def test_a_mutating_policy_has_variables_even_if_it_names_none() -> None:
    apply = {**APPLY, "applyConfiguration": {"expression": "variables.x"}}

    [mutating] = findings(MUTATING, mutations=[apply])
    [validating] = findings(POLICY, validations=[{"expression": "variables.x"}])

    assert "undefined field 'x'" in mutating
    assert "undeclared reference to 'variables'" in validating


CONDITION = {"type": "A", "status": "True", "lastTransitionTime": "x", "reason": "R"}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, []),
        ({"type": "", "status": "", "lastTransitionTime": None, "reason": ""}, [
            "c[0].type: Required value: is required", "c[0].status: Required value",
            "c[0].lastTransitionTime: Required value", "c[0].reason: Required value",
        ]),
        ({"status": "Yes", "observedGeneration": -1, "reason": "not one"}, [
            'c[0].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"',
            "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
            'c[0].reason: Invalid value: "not one": a condition reason must start with alphabetic '
            "character, optionally followed by a string of alphanumeric characters or '_,:', and "
            "must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
            "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
            "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
        ]),
        ({"reason": "r" * 1025, "message": "m" * 32769}, [
            "c[0].reason: Too long: may not be more than 1024 bytes",
            "c[0].message: Too long: may not be more than 32768 bytes",
        ]),
    ],
)  # fmt: skip
def test_conditions_of_the_common_form(fields: Object, found: list[str]) -> None:
    said: list[Any] = []
    conditions.validate([{**CONDITION, **fields}], "c", said)

    assert [str(one) for one in said] == found


def test_no_condition_stands_there_twice() -> None:
    said: list[Any] = []
    conditions.validate([CONDITION, CONDITION], "c", said)

    assert [str(one) for one in said] == ['c[1]: Duplicate value: "A"']


def test_the_status_of_a_policy_and_of_a_budget_is_looked_at() -> None:
    key = f"validatingadmissionpolicies.{GROUP}"
    old = strategies.created(key, strategies.named(POLICY, f"{GROUP}/v1", namespace=None))
    status: Object = {"typeChecking": {"expressionWarnings": [{"fieldRef": " "}]}}

    assert strategies.status_errors(key, {**old, "status": status}, old) == [
        "status.typeChecking.expressionWarnings[0].warning: Required value",
        "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
    ]
    key = "poddisruptionbudgets.policy"
    old = strategies.created(key, strategies.named("PodDisruptionBudget", "policy/v1", spec={}))
    status = {"conditions": [{**CONDITION, "reason": ""}], "currentHealthy": -1}
    assert strategies.status_errors(key, {**old, "status": status}, old) == [
        "status.conditions[0].reason: Required value",
        "status.currentHealthy: Invalid value: -1: must be greater than or equal to 0",
    ]


FORM = "; desired format: https://host[/path]"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.b:443/x%20y", []),
        ("https://[::1]:8443", []),
        (
            "",
            [
                f"Invalid value: \"\": 'https' is the only allowed URL scheme{FORM}",
                f'Invalid value: "": host must be specified{FORM}',
            ],
        ),
        ("https:x", [f'Invalid value: "": host must be specified{FORM}']),
        (":x", "missing protocol scheme"),
        ("a b:c", "first path segment in URL cannot contain colon"),
        ("https://a\x01", "net/url: invalid control character in URL"),
        ("https://a:b/", 'invalid port ":b" after host'),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://[::1", "missing ']' in host"),
        ("https://a/%zz", 'invalid URL escape "%zz"'),
        ("https://a b@c/", "net/url: invalid userinfo"),
    ],
)
def test_urls_of_webhooks_are_read_as_go_reads_them(url: str, found: list[str] | str) -> None:
    hook = {
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url},
    }
    kind = "ValidatingWebhookConfiguration"
    obj = strategies.named(kind, f"{GROUP}/v1", namespace=None, webhooks=[hook])

    said = strategies.create_errors(f"{kind.lower()}s.{GROUP}", obj)

    at = "webhooks[0].clientConfig.url: "
    if isinstance(found, str):
        shown = errors.go_value(url)
        found = [f"Required value: url must be a valid URL: parse {shown}: {found}{FORM}"]
    assert said == [f"{at}{one}" for one in found]


def test_two_webhooks_without_a_name_are_not_twins() -> None:
    hook = {
        "name": "",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a/"},
    }
    kind = "MutatingWebhookConfiguration"
    obj = strategies.named(kind, f"{GROUP}/v1", namespace=None, webhooks=[hook, hook])

    assert strategies.create_errors(f"{kind.lower()}s.{GROUP}", obj) == [
        "webhooks[0].name: Required value",
        "webhooks[1].name: Required value",
    ]


def test_an_api_service_is_called_as_its_group_and_has_a_port() -> None:
    key = "apiservices.apiregistration.k8s.io"
    spec = {
        "group": "a.b",
        "version": "v1",
        "groupPriorityMinimum": 1,
        "versionPriority": 1,
        "service": {"namespace": "n", "name": "s", "port": 0},
    }
    obj = strategies.named(
        "APIService", "apiregistration.k8s.io/v1", "x/y", namespace=None, spec=spec
    )

    assert strategies.create_errors(key, obj) == [
        "metadata.name: Invalid value: \"x/y\": may not contain '/'",
        "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, "
        "inclusive",
    ]
    old = strategies.created(key, obj)
    status = {"conditions": [{"type": "Available", "status": "Yes"}]}
    assert strategies.status_errors(key, {**old, "status": status}, old) == [
        'status.conditions[0].status: Unsupported value: "Yes": supported values: "True", '
        '"False", "Unknown"'
    ]


def test_who_may_be_updated_without_a_revision_or_created_by_a_put() -> None:
    conditional = {key for key, one in registered.KINDS if not one.unconditional_update}
    made = {key for key, one in registered.KINDS if one.create_on_update}

    assert conditional == {
        f"initializerconfigurations.{GROUP}",
        f"mutatingwebhookconfigurations.{GROUP}",
        f"validatingwebhookconfigurations.{GROUP}",
        f"validatingadmissionpolicies.{GROUP}",
        f"validatingadmissionpolicybindings.{GROUP}",
        f"mutatingadmissionpolicies.{GROUP}",
        f"mutatingadmissionpolicybindings.{GROUP}",
        "customresourcedefinitions.apiextensions.k8s.io",
        "apiservices.apiregistration.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "leasecandidates.coordination.k8s.io",
        "leases.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "poddisruptionbudgets.policy",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
    assert made == {
        "endpoints",
        "events",
        "limitranges",
        "services",
        "events.events.k8s.io",
        "leasecandidates.coordination.k8s.io",
        "leases.coordination.k8s.io",
        "runtimeclasses.node.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
    }
