"""Storage, networking, scheduling, access, certificates and extensions."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from apiserver_app.machinery.meta import Object, User
from tests.apiserver_app.registry.kinds import strategies

RBAC = "rbac.authorization.k8s.io"


def claim(**spec: object) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return strategies.named("PersistentVolumeClaim", "v1", spec=spec)


def test_a_claim_is_pending_and_asks_for_a_file_system() -> None:
    obj = strategies.created("persistentvolumeclaims", claim())

    assert obj["spec"]["volumeMode"] == "Filesystem"
    assert obj["status"] == {"phase": "Pending"}
    assert strategies.create_errors("persistentvolumeclaims", claim()) == []


def test_a_claim_says_how_much_and_how() -> None:
    assert strategies.create_errors(
        "persistentvolumeclaims", claim(accessModes=[], resources={})
    ) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_a_claim_is_fixed_but_may_be_bound_once() -> None:
    key = "persistentvolumeclaims"
    old = strategies.created(key, claim())
    bound = strategies.with_spec(old, volumeName="pv-1")
    other = strategies.with_spec(old, accessModes=["ReadOnlyMany"])

    assert strategies.update_errors(key, bound, old) == []
    [message] = strategies.update_errors(key, other, old)
    assert message.startswith(
        "spec: Forbidden: spec is immutable after creation except resources.requests and "
        "volumeAttributesClassName for bound claims\n"
    )


def test_a_volume_is_kept_by_default_and_its_source_is_fixed() -> None:
    key = "persistentvolumes"
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/a"},
    }
    obj = strategies.named("PersistentVolume", "v1", "pv", namespace=None, spec=spec)
    old = strategies.created(key, obj)

    assert old["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert old["status"]["phase"] == "Pending"
    assert strategies.create_errors(key, obj) == []
    new = strategies.with_spec(old, hostPath={"path": "/b", "type": ""})
    [message] = strategies.update_errors(key, new, old)
    assert message.startswith(
        "spec.persistentvolumesource: Forbidden: "
        "spec.persistentvolumesource is immutable after creation\n"
    )


def test_a_storage_class_deletes_and_binds_at_once() -> None:
    key = "storageclasses.storage.k8s.io"
    obj = strategies.named(
        "StorageClass", "storage.k8s.io/v1", namespace=None, provisioner="example.com/disk"
    )
    old = strategies.created(key, obj)

    assert (old["reclaimPolicy"], old["volumeBindingMode"]) == ("Delete", "Immediate")
    assert strategies.update_errors(key, {**old, "provisioner": "b"}, old) == [
        "provisioner: Forbidden: updates to provisioner are forbidden."
    ]


def binding(kind: str = "RoleBinding", **role: object) -> Object:
    obj = strategies.named(
        kind, f"{RBAC}/v1", namespace="default" if kind == "RoleBinding" else None
    )
    subjects = [{"kind": "User", "name": "jane"}]
    return {**obj, "roleRef": {"kind": "Role", "name": "reader", **role}, "subjects": subjects}


def test_groups_of_a_binding_are_filled_in() -> None:
    obj = strategies.created(f"rolebindings.{RBAC}", binding())

    assert obj["roleRef"] == {"apiGroup": RBAC, "kind": "Role", "name": "reader"}
    assert obj["subjects"] == [{"kind": "User", "apiGroup": RBAC, "name": "jane"}]


def test_a_cluster_wide_binding_names_cluster_roles() -> None:
    assert strategies.create_errors(
        f"clusterrolebindings.{RBAC}", binding("ClusterRoleBinding")
    ) == ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"']


def test_the_role_of_a_binding_never_changes() -> None:
    key = f"rolebindings.{RBAC}"
    old = strategies.created(key, binding())
    new = {**old, "roleRef": {**old["roleRef"], "name": "writer"}}

    assert strategies.update_errors(key, new, old) == [
        f'roleRef: Invalid value: rbac.RoleRef{{APIGroup:"{RBAC}", Kind:"Role", '
        'Name:"writer"}: cannot change roleRef'
    ]


def test_rules_say_what_may_be_done_to_what() -> None:
    obj = strategies.named("Role", f"{RBAC}/v1", rules=[{"verbs": []}])

    assert strategies.create_errors(f"roles.{RBAC}", obj) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
    ]


def test_a_priority_class_preempts_and_its_value_is_fixed() -> None:
    key = "priorityclasses.scheduling.k8s.io"
    obj = strategies.named(
        "PriorityClass", "scheduling.k8s.io/v1", "high", namespace=None, value=1000
    )
    old = strategies.created(key, obj)

    assert old["preemptionPolicy"] == "PreemptLowerPriority"
    assert strategies.create_errors(key, {**obj, "value": 2_000_000_000}) == [
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]
    assert strategies.update_errors(key, {**old, "value": 1}, old) == [
        "value: Forbidden: may not be changed in an update."
    ]


def test_a_disruption_budget_starts_with_zeros_and_checks_its_percent() -> None:
    key = "poddisruptionbudgets.policy"
    obj = strategies.named("PodDisruptionBudget", "policy/v1", spec={"minAvailable": "120%"})

    assert strategies.created(key, obj)["status"] == {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    }
    assert strategies.create_errors(key, obj) == [
        'spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"120%"}: '
        "must not be greater than 100%"
    ]


def test_an_autoscaler_watches_cpu_and_has_bounds() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    obj = strategies.named(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        spec={"scaleTargetRef": target, "maxReplicas": 0},
    )
    strategy = strategies.of("horizontalpodautoscalers.autoscaling", "v2")
    strategy.default(obj)
    strategy.prepare_for_create(strategies.context(), obj)

    found = strategy.validate(strategies.context(), obj)

    assert obj["spec"]["minReplicas"] == 1
    assert obj["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 80
    assert [str(error) for error in found] == [
        "spec.maxReplicas: Invalid value: 0: must be greater than 0",
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ]


def test_an_ingress_leads_somewhere() -> None:
    key = "ingresses.networking.k8s.io"
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    path = {"path": "web", "pathType": "Prefix", "backend": backend}
    rule = {"host": "*.example.com", "http": {"paths": [path]}}

    def errors_of(**spec: object) -> list[str]:
        obj = strategies.named("Ingress", "networking.k8s.io/v1", spec=spec)
        return strategies.create_errors(key, obj)

    assert errors_of() == [
        "spec: Invalid value: []networking.IngressRule(nil): "
        "either `defaultBackend` or `rules` must be specified"
    ]
    assert errors_of(rules=[rule]) == [
        'spec.rules[0].http.paths[0].path: Invalid value: "web": must be an absolute path'
    ]


def test_a_network_policy_is_for_ingress_unless_it_says_more() -> None:
    key = "networkpolicies.networking.k8s.io"
    plain = strategies.named("NetworkPolicy", "networking.k8s.io/v1", spec={"podSelector": {}})
    both = strategies.with_spec(plain, egress=[{"ports": [{"port": 53}]}])

    assert strategies.created(key, plain)["spec"]["policyTypes"] == ["Ingress"]
    spec = strategies.created(key, both)["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["egress"][0]["ports"] == [{"protocol": "TCP", "port": 53}]


def test_a_slice_names_its_ports_and_its_type_is_fixed() -> None:
    key = "endpointslices.discovery.k8s.io"
    obj = strategies.named(
        "EndpointSlice",
        "discovery.k8s.io/v1",
        addressType="IPv4",
        endpoints=[{"addresses": ["10.0.0.300"]}],
        ports=[{"port": 80}],
    )
    old = strategies.created(key, obj)

    assert old["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert strategies.create_errors(key, obj) == [
        'endpoints[0].addresses[0]: Invalid value: "10.0.0.300": must be a valid IP '
        "address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    ]
    # endpoints that stay as they are were good once
    assert strategies.update_errors(key, {**old, "addressType": "IPv6"}, old) == [
        'addressType: Invalid value: "IPv6": field is immutable'
    ]


def test_a_signing_request_records_who_asked() -> None:
    key = "certificatesigningrequests.certificates.k8s.io"
    pem = "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"
    spec = {
        "request": base64.b64encode(pem.encode()).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
        "username": "root",
    }
    obj = strategies.named(
        "CertificateSigningRequest", "certificates.k8s.io/v1", "jane", namespace=None, spec=spec
    )
    ctx = strategies.context(user=User("jane", ("dev",)))

    stored = strategies.created(key, obj, ctx)

    assert (stored["spec"]["username"], stored["spec"]["groups"]) == ("jane", ["dev"])
    assert strategies.create_errors(key, obj, ctx) == []


def definition(**spec: object) -> Object:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "crons", "kind": "Cron"},
        "versions": [version],
        **spec,
    }
    return strategies.named(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        "crons.example.com",
        namespace=None,
        spec=spec,
    )


def test_a_definition_names_itself_fully() -> None:
    key = "customresourcedefinitions.apiextensions.k8s.io"
    obj = strategies.created(key, definition())

    assert obj["spec"]["names"] == {
        "plural": "crons",
        "singular": "cron",
        "kind": "Cron",
        "listKind": "CronList",
    }
    assert obj["spec"]["conversion"] == {"strategy": "None"}
    assert obj["status"]["storedVersions"] == ["v1"]
    assert strategies.create_errors(key, definition()) == []


def test_the_name_of_a_definition_is_its_plural_and_group() -> None:
    key = "customresourcedefinitions.apiextensions.k8s.io"

    assert strategies.create_errors(key, definition(group="other.com")) == [
        'metadata.name: Invalid value: "crons.example.com": '
        'must be spec.names.plural+"."+spec.group'
    ]


@pytest.mark.parametrize("word", ["mutating", "validating"])
def test_webhooks_have_defaults_and_must_say_what_they_do(word: str) -> None:
    kind = f"{word.capitalize()}WebhookConfiguration"
    key = f"{kind.lower()}s.admissionregistration.k8s.io"
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
    }
    hook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"name": "hook", "namespace": "default"}},
        "rules": [rule],
    }
    obj = strategies.named(kind, "admissionregistration.k8s.io/v1", namespace=None, webhooks=[hook])

    stored = strategies.created(key, obj)["webhooks"][0]

    assert (stored["failurePolicy"], stored["matchPolicy"]) == ("Fail", "Equivalent")
    assert (stored["timeoutSeconds"], stored["rules"][0]["scope"]) == (10, "*")
    assert stored["clientConfig"]["service"]["port"] == 443
    assert ("reinvocationPolicy" in stored) == (word == "mutating")
    assert strategies.create_errors(key, obj) == [
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ]


def test_an_api_service_of_this_server_is_available() -> None:
    key = "apiservices.apiregistration.k8s.io"
    spec = {"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15}
    obj = strategies.named(
        "APIService", "apiregistration.k8s.io/v1", "v1.apps", namespace=None, spec=spec
    )

    stored = strategies.created(key, obj)

    assert stored["status"]["conditions"][0]["reason"] == "Local"
    assert strategies.create_errors(key, obj) == []


def test_an_admission_policy_fails_closed_and_says_what_it_checks() -> None:
    key = "validatingadmissionpolicies.admissionregistration.k8s.io"
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
    }
    obj = strategies.named(
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/v1",
        namespace=None,
        spec={"matchConstraints": {"resourceRules": [rule]}},
    )

    spec = strategies.created(key, obj)["spec"]

    assert spec["failurePolicy"] == "Fail"
    assert spec["matchConstraints"]["matchPolicy"] == "Equivalent"
    text = "validations or auditAnnotations must contain at least one item"
    assert strategies.create_errors(key, obj) == [
        f"spec.validations: Required value: {text}",
        f"spec.auditAnnotations: Required value: {text}",
    ]


def test_a_volume_driver_attaches_unless_it_says_otherwise() -> None:
    obj = strategies.named(
        "CSIDriver", "storage.k8s.io/v1", "a.example.com", namespace=None, spec={}
    )

    spec = strategies.created("csidrivers.storage.k8s.io", obj)["spec"]

    assert (spec["attachRequired"], spec["volumeLifecycleModes"]) == (True, ["Persistent"])


def test_parameters_of_an_ingress_class_are_cluster_wide() -> None:
    parameters = {"kind": "A", "name": "b"}
    obj = strategies.named(
        "IngressClass",
        "networking.k8s.io/v1",
        namespace=None,
        spec={"controller": "example.com/a", "parameters": parameters},
    )

    stored = strategies.created("ingressclasses.networking.k8s.io", obj)

    assert stored["spec"]["parameters"]["scope"] == "Cluster"
    assert stored["metadata"]["generation"] == 1


def _hook_findings(**fields: Any) -> list[str]:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
    }
    hook = {
        "name": "check.example.com",
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://localhost/x"},
        **fields,
    }
    obj = strategies.named(
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/v1",
        namespace=None,
        webhooks=[hook],
    )
    found = strategies.create_errors(
        "mutatingwebhookconfigurations.admissionregistration.k8s.io", obj
    )
    return [one.removeprefix("webhooks[0].") for one in found]


def _service(**fields: Any) -> dict[str, Any]:
    return {"service": {"namespace": "a", "name": "b", "port": 443, **fields}}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"clientConfig": {"url": "http://u@h/x?y=z#f"}}, [
            'clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; '
            "desired format: https://host[/path]",
            'clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
            'clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
            'clientConfig.url: Invalid value: "y=z": query parameters are not permitted in the URL',
        ]),
        ({"clientConfig": _service(name="", port=70000, path="x/y")}, [
            "clientConfig.service.namespace: Required value: service namespace is required",
            "clientConfig.service.port: Invalid value: 70000: port is not valid: must be between "
            "1 and 65535, inclusive",
            'clientConfig.service.path: Invalid value: "x/y": must start with a \'/\'',
            'clientConfig.service.path: Invalid value: "x/y": segment[0] may not be empty',
        ]),
        ({"admissionReviewVersions": ["v2", "v2"]}, [
            'admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
            'admissionReviewVersions: Invalid value: []string{"v2"',
        ]),
        ({"reinvocationPolicy": "Often"}, [
            'reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"'
        ]),
        ({"matchConditions": [{"name": "a", "expression": "1 +"}, {"expression": "true"}]}, [
            'matchConditions[0].expression: Invalid value: "1 +": compilation failed: ERROR: ',
            "matchConditions[1].name: Required value",
        ]),
    ],
)  # fmt: skip
def test_webhooks_are_found_wrong_in_upstreams_words(
    fields: dict[str, Any], found: list[str]
) -> None:
    said = _hook_findings(**fields)
    assert len(said) == len(found), said
    for one, wanted in zip(said, found, strict=True):
        assert one.startswith(wanted)
