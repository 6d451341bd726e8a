"""Deployments against the golden session, and upstream's sentences."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.apiserver_app.registry.kinds import strategies

GOLDEN = pathlib.Path(__file__).parents[3] / "golden"


def test_defaults_equal_the_golden_response_byte_by_byte() -> None:
    golden = json.loads((GOLDEN / "deployment-1.22.json").read_text())
    asked = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx-deployment", "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"image": "nginx", "name": "nginx"}]},
            },
        },
    }

    stored = strategies.created("deployments.apps", asked)

    assert json.dumps(stored["spec"]) == json.dumps(golden["spec"])
    assert stored["status"] == golden["status"] == {}
    assert stored["metadata"]["generation"] == 1
    assert list(stored) == list(golden)


def test_a_good_deployment_is_accepted() -> None:
    assert strategies.create_errors("deployments.apps", strategies.deployment()) == []


def test_a_missing_selector_is_told_with_the_labels_it_does_not_match() -> None:
    assert strategies.create_errors("deployments.apps", strategies.deployment(selector=None)) == [
        "spec.selector: Required value",
        'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: '
        "`selector` does not match template `labels`",
    ]


def test_a_template_without_containers_or_labels_is_refused() -> None:
    obj = strategies.deployment(template={"spec": {}})

    assert strategies.create_errors("deployments.apps", obj) == [
        "spec.template.metadata.labels: Invalid value: map[string]string(nil): "
        "`selector` does not match template `labels`",
        "spec.template.spec.containers: Required value",
    ]


def test_pods_of_a_deployment_restart_always_and_have_no_deadline() -> None:
    template = strategies.template(restartPolicy="Never", activeDeadlineSeconds=5)

    assert strategies.create_errors(
        "deployments.apps", strategies.deployment(template=template)
    ) == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: "
        "activeDeadlineSeconds in ReplicaSet is not Supported",
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: "
         "must be greater than or equal to 0"),
        ({"minReadySeconds": 700}, "spec.progressDeadlineSeconds: Invalid value: 600: "
         "must be greater than minReadySeconds"),
        ({"selector": {}}, "spec.selector: Invalid value: v1.LabelSelector{"
         "MatchLabels:map[string]string(nil), "
         "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: "
         "empty selector is invalid for deployment"),
        ({"strategy": {"type": "Recreate", "rollingUpdate": {}}},
         "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` "
         "is 'Recreate'"),
        ({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
         "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "
         'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}: may not be 0 when `maxSurge` is 0'),
        ({"strategy": {"type": "Slowly"}},
         'spec.strategy: Unsupported value: apps.DeploymentStrategy{Type:"Slowly", '
         "RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}: supported values: "
         '"Recreate", "RollingUpdate"'),
    ],
)  # fmt: skip
def test_numbers_and_strategy_are_refused_as_upstream_words_it(
    spec: dict[str, object], message: str
) -> None:
    obj = strategies.deployment(**spec)

    assert strategies.create_errors("deployments.apps", obj) == [message]


def test_the_selector_of_a_deployment_never_changes() -> None:
    old = strategies.created("deployments.apps", strategies.deployment())
    template = {**old["spec"]["template"], "metadata": {"labels": {"app": "other"}}}
    new = strategies.with_spec(old, selector={"matchLabels": {"app": "other"}}, template=template)

    assert strategies.update_errors("deployments.apps", new, old) == [
        "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:"
        'map[string]string{"app":"other"}, '
        "MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable"
    ]


def test_the_generation_counts_spec_and_annotations_but_not_status() -> None:
    old = strategies.created("deployments.apps", strategies.deployment())
    scaled = strategies.with_spec(old, replicas=3)
    noted = {**old, "metadata": {**old["metadata"], "annotations": {"a": "b"}}}
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}

    def generation(obj: dict[str, object]) -> int:
        new = strategies.updated("deployments.apps", obj, old)
        return int(new["metadata"]["generation"])

    assert [generation(obj) for obj in (scaled, noted, labelled)] == [2, 2, 1]


def test_status_numbers_make_sense() -> None:
    old = strategies.created("deployments.apps", strategies.deployment())
    new = {**old, "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 2}}

    assert strategies.status_errors("deployments.apps", new, old) == [
        "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
    ]


def test_an_update_keeps_the_status_and_a_status_update_keeps_the_spec() -> None:
    old = {
        **strategies.created("deployments.apps", strategies.deployment()),
        "status": {"replicas": 1},
    }
    new = strategies.updated(
        "deployments.apps", {**strategies.with_spec(old, replicas=5), "status": {}}, old
    )
    assert new["status"] == {"replicas": 1}

    told = {**strategies.with_spec(old, replicas=9), "status": {"replicas": 2}}
    strategies.of("deployments.apps").prepare_for_status_update(strategies.context(), told, old)
    assert (told["spec"]["replicas"], told["status"]) == (1, {"replicas": 2})
