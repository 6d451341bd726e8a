"""What a new cluster contains, checked against the keys of a real one (1.22, made by kubeadm)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apiserver_app.auth import bootstrap
from apiserver_app.auth.data import cast
from apiserver_app.machinery.releases import Release

GOLDEN = Path(__file__).parent / "golden_keys_1_22.txt"
RBAC = "rbac.authorization.k8s.io"
# kubeadm's own, add-ons' and the users' objects: not the API server's
_FOREIGN = ("kubeadm:", "flannel", "coredns", "kube-proxy", "development")


def _keys(version: str = "1.33") -> list[str]:
    out = []
    for resource, namespace, obj in bootstrap.objects(Release.parse(version)):
        plural = resource.partition(".")[0]
        name = obj["metadata"]["name"]
        out.append(
            f"/registry/{plural}/{namespace}/{name}" if namespace else f"/registry/{plural}/{name}"
        )
    return out


def _rules(name: str) -> list[dict[str, list[str]]]:
    for resource, _, obj in bootstrap.objects():
        if resource == f"clusterroles.{RBAC}" and obj["metadata"]["name"] == name:
            return obj["rules"]  # type: ignore[no-any-return]
    raise AssertionError(name)


def test_everything_a_real_cluster_has_from_the_start_is_there() -> None:
    real = {
        key
        for key in GOLDEN.read_text().split()
        if not any(word in key for word in _FOREIGN) and not key.endswith("/default")
    }

    assert real - set(_keys()) == set()


def test_what_came_after_1_22_is_known_by_name() -> None:
    policy = ("clusterroles", "roles", "rolebindings", "flowschemas", "priority")
    more = {
        key.rsplit("/", 1)[1]
        for key in set(_keys()) - set(GOLDEN.read_text().split())
        if key.split("/")[2].startswith(policy) and "students" not in key
    }

    assert more == {
        "endpoint-controller",
        "system:controller:legacy-service-account-token-cleaner",
        "system:controller:selinux-warning-controller",
        "system:controller:service-cidrs-controller",
        "system:controller:validatingadmissionpolicy-status-controller",
    }


def test_order_and_content_are_the_same_every_time() -> None:
    assert json.dumps(bootstrap.objects()) == json.dumps(bootstrap.objects())
    assert len(set(_keys())) == len(_keys())


def test_namespaces_come_before_what_is_in_them() -> None:
    made: set[str] = set()
    for resource, namespace, obj in bootstrap.objects():
        if resource == "namespaces":
            made.add(obj["metadata"]["name"])
        assert not namespace or namespace in made
        assert obj["metadata"].get("namespace", "") == namespace


def test_admin_is_edit_and_edit_is_view_with_more() -> None:
    admin, edit, view = _rules("admin"), _rules("edit"), _rules("view")

    assert all(rule in edit for rule in view)
    assert all(rule in admin for rule in edit)
    assert any(rule["resources"] == ["rolebindings", "roles"] for rule in admin)
    assert not any("secrets" in rule["resources"] for rule in view)


def test_every_controller_is_bound_to_its_account_in_kube_system() -> None:
    bound = {
        obj["roleRef"]["name"]: obj["subjects"]
        for resource, _, obj in bootstrap.objects()
        if resource == f"clusterrolebindings.{RBAC}"
        and obj["metadata"]["name"].startswith("system:controller:")
    }

    assert len(bound) == 35
    for role, subjects in bound.items():
        name = role.rpartition(":")[2]
        assert subjects == [{"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}]


@pytest.mark.parametrize(
    ("version", "api_version", "share"),
    [
        ("1.25", "flowcontrol.apiserver.k8s.io/v1beta2", "assuredConcurrencyShares"),
        ("1.28", "flowcontrol.apiserver.k8s.io/v1beta3", "nominalConcurrencyShares"),
        ("1.33", "flowcontrol.apiserver.k8s.io/v1", "nominalConcurrencyShares"),
    ],
)
def test_flow_control_speaks_its_versions_language(
    version: str, api_version: str, share: str
) -> None:
    levels = {
        obj["metadata"]["name"]: obj
        for resource, _, obj in bootstrap.objects(Release.parse(version))
        if resource.startswith("prioritylevelconfigurations.")
    }

    assert levels["system"]["apiVersion"] == api_version
    assert levels["system"]["spec"]["limited"][share] == 30


def test_the_client_authority_is_published_when_there_is_one() -> None:
    items = bootstrap.objects(client_ca="PEM")
    data = {obj["metadata"]["name"]: obj["data"] for kind, _, obj in items if kind == "configmaps"}

    assert data["extension-apiserver-authentication"] == {"client-ca-file": "PEM"}


def test_every_group_of_the_cast_with_a_right_is_bound() -> None:
    groups = {group for person in cast.PEOPLE for group in person.groups}
    bound = {group for _, group in cast.CLUSTER_BINDINGS.values()}
    bound |= {group for _, group in cast.BINDINGS.values()}

    assert groups | {"system:unauthenticated"} == bound


def test_who_is_not_known_may_read_the_metrics_and_nothing_else_of_the_simulation() -> None:
    to_all = [
        name
        for name, (_, group) in cast.CLUSTER_BINDINGS.items()
        if group == "system:unauthenticated"
    ]
    assert to_all == ["simulation-metrics"]
    assert cast.CLUSTER_BINDINGS["simulation-metrics"][0] == "system:monitoring"
