"""Refusals of later releases: fewer causes of updates, longer paths of wrong types, label keys."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import server_session

_ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"


def refused(session: Session, verb: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = session.request(verb, path, body).json()
    assert answer["kind"] == "Status", answer
    return answer


@pytest.mark.parametrize(("release", "times"), [("1.33", 2), ("1.34", 2), ("1.36", 1)])
def test_a_cause_of_a_refused_update_is_told_once_since_1_36(release: str, times: int) -> None:
    session = server_session(version=release)
    group = "rbac.authorization.k8s.io"
    binding: dict[str, Any] = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": group}],
    }
    assert session.request("POST", _ROLES, binding).status == 201
    binding["subjects"][0]["kind"] = "Robot"
    found = refused(session, "PUT", f"{_ROLES}/b", binding)["details"]["causes"]
    assert [one["field"] for one in found] == ["subjects[0].kind"] * times


@pytest.mark.parametrize(("release", "told"), [("1.33", "&{150%!}(MISSING)"), ("1.34", "&{150%}")])
def test_a_value_in_the_error_of_an_apply_is_no_format_since_1_34(release: str, told: str) -> None:
    session = server_session(version=release)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": "150%"}}
    answer = session.request(
        "PATCH",
        "/api/v1/namespaces/default/configmaps/x?fieldManager=m",
        body,
        headers={"content-type": "application/apply-patch+yaml"},
    )
    assert answer.json()["message"].endswith(f"expected map, got {told}")


@pytest.mark.parametrize(
    ("release", "told"),
    [
        ("1.33", "parameters: Forbidden: updates to parameters are forbidden."),
        ("1.36", 'parameters: Invalid value: {"a":"c"}: field is immutable'),
    ],
)
def test_a_changed_storage_class_is_refused_in_other_words_since_1_36(
    release: str, told: str
) -> None:
    session = server_session(version=release)
    path = "/apis/storage.k8s.io/v1/storageclasses"
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "x"},
        "provisioner": "example.com/p",
        "parameters": {"a": "b"},
    }
    assert session.request("POST", path, body).status == 201
    changed = {**body, "parameters": {"a": "c"}}
    assert refused(session, "PUT", f"{path}/x", changed)["message"].endswith(told)


@pytest.mark.parametrize(
    ("release", "path"),
    [
        ("1.33", "spec.volumes.projected.sources.serviceAccountToken"),
        ("1.35", "spec.volumes.VolumeSource.projected.sources.serviceAccountToken"),
    ],
)
def test_the_path_of_a_wrong_type_names_embedded_structs_since_1_35(
    release: str, path: str
) -> None:
    session = server_session(version=release)
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": "x"}]}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"volumes": [volume]},
    }
    message = refused(session, "POST", "/api/v1/namespaces/default/pods", body)["message"]
    assert message == (
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go '
        f"struct field VolumeProjection.{path} of type v1.ServiceAccountTokenProjection"
    )


@pytest.mark.parametrize(
    ("release", "key", "unit"),
    [("1.33", "qualified name", "characters"), ("1.35", "valid label key", "bytes")],
)
def test_label_keys_are_called_so_and_measured_in_bytes_since_1_35(
    release: str, key: str, unit: str
) -> None:
    session = server_session(version=release)
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "labels": {"k/e/y": "c", "l" * 64: "d", "e": "f" * 64}},
    }
    message = refused(session, "POST", "/api/v1/namespaces/default/configmaps", body)["message"]
    assert f"a {key} must consist of" in message
    assert f"name part must be no more than 63 {unit}" in message
    assert f'"{"f" * 64}": must be no more than 63 {unit}' in message


@pytest.mark.parametrize(("release", "code"), [("1.33", 422), ("1.36", 201)])
def test_the_name_of_a_service_may_begin_with_a_digit_since_1_36(release: str, code: int) -> None:
    session = server_session(version=release)
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "1x"},
        "spec": {"ports": [{"port": 80}]},
    }
    assert session.request("POST", "/api/v1/namespaces/default/services", body).status == code


@pytest.mark.parametrize(("release", "code"), [("1.33", 201), ("1.34", 422)])
def test_the_template_of_a_stateful_set_is_validated_since_1_34(release: str, code: int) -> None:
    session = server_session(version=release)
    path = "/apis/apps/v1/namespaces/default/statefulsets?dryRun=All"
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "d", "mountPath": "/d"}]}
    containers: list[dict[str, Any]] = [container]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": template,
            "volumeClaimTemplates": [claim, claim],
        },
    }
    assert session.request("POST", path, body).status == 201, "the claims are the pod's volumes"
    containers.append({**container, "name": "other", "image": ""})
    assert session.request("POST", path, body).status == code
