"""What versions before 1.25 served, on a cluster of such a version."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, server_session

EXTENSIONS = "/apis/extensions/v1beta1/namespaces/default"
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"


@pytest.fixture(scope="module")
def old() -> Session:
    return server_session(version="1.8")


@pytest.fixture(scope="module")
def article() -> Session:
    return server_session(version="1.19")


def groups(session: Session) -> list[str]:
    found = session.request("GET", "/apis").json()["groups"]
    return [version["groupVersion"] for group in found for version in group["versions"]]


def stored(session: Session, key: str) -> Any:
    entry = session.cluster.store.get(key)
    assert entry is not None
    return orjson.loads(entry.value)


def deployment(version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"template": TEMPLATE, **spec},
    }


def test_1_8_finds_deployments_in_extensions_before_apps(old: Session) -> None:
    served = groups(old)

    assert served.index("extensions/v1beta1") < served.index("apps/v1beta2")
    assert "apps/v1" not in served
    names = [
        resource["name"]
        for resource in old.request("GET", "/apis/extensions/v1beta1").json()["resources"]
    ]
    assert {"deployments", "daemonsets", "replicasets", "ingresses", "podsecuritypolicies"} <= set(
        names
    )


def test_what_only_components_use_is_not_there_for_others(old: Session) -> None:
    answer = old.request("GET", "/apis/apps/v1/namespaces/default/deployments")

    assert (answer.status, answer.json()["reason"]) == (404, "NotFound")
    assert old.request("GET", "/apis/coordination.k8s.io/v1/leases").status == 404


def test_an_old_deployment_is_one_object_in_all_its_versions(old: Session) -> None:
    made = old.request("POST", f"{EXTENSIONS}/deployments", deployment("extensions/v1beta1", "a"))

    assert made.status == 201, made.text
    assert made.json()["apiVersion"] == "extensions/v1beta1"
    seen = old.request("GET", "/apis/apps/v1beta2/namespaces/default/deployments/a").json()
    assert seen["apiVersion"] == "apps/v1beta2"
    assert seen["metadata"]["uid"] == made.json()["metadata"]["uid"]
    assert stored(old, "/registry/deployments/default/a")["apiVersion"] == "apps/v1"


def test_each_old_version_has_the_defaults_it_had(old: Session) -> None:
    limit = {}
    for group in ("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"):
        path = f"/apis/{group}/namespaces/default/deployments"
        body = deployment(group, group.replace("/", "-"), selector={"matchLabels": {"app": "web"}})
        limit[group] = old.request("POST", path, body).json()["spec"]["revisionHistoryLimit"]

    assert limit == {"extensions/v1beta1": 2**31 - 1, "apps/v1beta1": 2, "apps/v1beta2": 10}


def test_no_selector_means_the_labels_of_the_template_but_not_since_v1beta2(old: Session) -> None:
    made = old.request("POST", f"{EXTENSIONS}/deployments", deployment("extensions/v1beta1", "b"))
    assert made.json()["spec"]["selector"] == {"matchLabels": {"app": "web"}}

    path = "/apis/apps/v1beta2/namespaces/default/deployments"
    refused = old.request("POST", path, deployment("apps/v1beta2", "c"))
    assert refused.status == 422 and b"spec.selector: Required value" in refused.text


def test_an_old_ingress_keeps_its_fields_and_is_stored_as_v1(article: Session) -> None:
    backend = {"serviceName": "web", "servicePort": 80}
    named = {"path": "/x", "backend": {"serviceName": "web", "servicePort": "http"}}
    body = {
        "apiVersion": "networking.k8s.io/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"backend": backend, "rules": [{"host": "a.b", "http": {"paths": [named]}}]},
    }
    path = "/apis/networking.k8s.io/v1beta1/namespaces/default/ingresses"
    made = article.request("POST", path, body)
    assert made.status == 201, made.text
    spec = made.json()["spec"]
    assert spec["backend"] == backend
    assert spec["rules"][0]["http"]["paths"] == [{**named, "pathType": "ImplementationSpecific"}]

    newer = article.request("GET", "/apis/networking.k8s.io/v1/namespaces/default/ingresses/i")
    port = newer.json()["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]
    assert port == {"name": "http"}
    change = {"spec": {"backend": {"servicePort": 81}}}
    changed = article.request("PATCH", f"{EXTENSIONS}/ingresses/i", change, headers=MERGE)
    assert changed.json()["spec"]["backend"] == {"serviceName": "web", "servicePort": 81}


def test_a_definition_of_v1beta1_keeps_unknown_fields_of_its_resources(old: Session) -> None:
    spec = {
        "group": "stable.example.com",
        "version": "v1",
        "scope": "Namespaced",
        "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
        "additionalPrinterColumns": [{"name": "Spec", "type": "string", "JSONPath": ".spec.cron"}],
    }
    body = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": spec,
    }
    made = old.request("POST", DEFINITIONS, body)
    assert made.status == 201, made.text
    shown = made.json()["spec"]
    assert shown["version"] == "v1" and shown["preserveUnknownFields"] is True
    assert shown["additionalPrinterColumns"] == spec["additionalPrinterColumns"]
    assert "validation" not in shown

    old.wait(5)
    one = {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "a"},
        "spec": {"cron": "* * * * *", "more": {"x": 1}},
    }
    path = "/apis/stable.example.com/v1/namespaces/default/crontabs"
    assert old.request("POST", path, one).status == 201
    assert old.request("GET", f"{path}/a").json()["spec"] == one["spec"]


def test_fields_have_managers_since_1_18(old: Session, article: Session) -> None:
    for session, managed in ((old, False), (article, True)):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "m"},
            "data": {"a": "b"},
        }
        made = session.request("POST", "/api/v1/namespaces/default/configmaps", body).json()
        assert ("managedFields" in made["metadata"]) is managed


def test_flow_control_came_with_1_20(article: Session) -> None:
    names = {name.lower() for name, _ in article.request("GET", "/version").headers}
    assert "x-kubernetes-pf-flowschema-uid" not in names

    newer = server_session(version="1.20")
    names = {name.lower() for name, _ in newer.request("GET", "/version").headers}
    assert "x-kubernetes-pf-flowschema-uid" in names


def test_the_schema_names_every_version_and_requires_what_the_oldest_did(old: Session) -> None:
    found = old.request("GET", "/openapi/v2").json()["definitions"]

    kinds = found["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
    assert {"group": "extensions", "version": "v1beta1", "kind": "Deployment"} in kinds
    assert found["io.k8s.api.apps.v1.DeploymentSpec"]["required"] == ["template"]


def test_a_security_policy_is_written_in_either_group(old: Session, article: Session) -> None:
    anything = {"rule": "RunAsAny"}
    fields = ("seLinux", "runAsUser", "supplementalGroups", "fsGroup")
    body = {
        "apiVersion": "extensions/v1beta1",
        "kind": "PodSecurityPolicy",
        "metadata": {"name": "p"},
        "spec": {"privileged": False, **dict.fromkeys(fields, anything)},
    }
    made = old.request("POST", "/apis/extensions/v1beta1/podsecuritypolicies", body)
    assert made.status == 201, made.text
    assert stored(old, "/registry/podsecuritypolicy/p")["apiVersion"] == "policy/v1beta1"

    body["apiVersion"] = "policy/v1beta1"
    assert article.request("POST", "/apis/policy/v1beta1/podsecuritypolicies", body).status == 201


HOOKS = "/apis/admissionregistration.k8s.io/{}/validatingwebhookconfigurations"


def test_webhooks_of_v1beta1_say_little_and_may_stay_as_they_are(article: Session) -> None:
    hook = {"name": "a.b.c", "clientConfig": {"service": {"name": "x", "namespace": "y"}}}
    body = {"metadata": {"name": "lenient"}, "webhooks": [hook, hook]}

    refused = article.request("POST", HOOKS.format("v1"), body)
    made = article.request("POST", HOOKS.format("v1beta1"), body)

    assert refused.status == 422
    assert made.status == 201, made.text
    shown = made.json()["webhooks"][0]
    assert (shown["sideEffects"], shown["failurePolicy"]) == ("Unknown", "Ignore")
    assert (shown["admissionReviewVersions"], shown["timeoutSeconds"]) == (["v1beta1"], 30)
    path = f"{HOOKS.format('v1')}/lenient"
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert article.request("PATCH", path, labels, headers=MERGE).status == 200
    effects = {"webhooks": [{**shown, "sideEffects": "Many"}]}
    wrong = article.request("PATCH", path, effects, headers=MERGE).json()["message"]
    assert wrong.endswith('supported values: "None", "NoneOnDryRun", "Some", "Unknown"')
    strict = {"webhooks": [{**shown, "sideEffects": "None"}]}
    assert article.request("PATCH", path, strict, headers=MERGE).status == 200
    again = article.request("PATCH", path, {"webhooks": [shown]}, headers=MERGE)
    assert 'Unsupported value: "Unknown"' in again.json()["message"]
