"""What objects and paths call a group version."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release


@pytest.mark.parametrize(
    ("group", "api_version", "root"), [("", "v1", "/api/v1"), ("apps", "apps/v1", "/apis/apps/v1")]
)
def test_only_the_core_group_has_no_name(group: str, api_version: str, root: str) -> None:
    assert meta.group_version(group, "v1") == api_version
    assert meta.api_root(api_version) == root


def test_a_resource_knows_the_root_of_its_group_version() -> None:
    resources = kinds.Resources(Release(33))
    assert resources.by_key["pods"].root == "/api/v1"
    assert resources.by_key["deployments.apps"].root == "/apis/apps/v1"


def test_what_is_put_at_a_path_is_put_into_a_copy_of_all_that_leads_there() -> None:
    pod: meta.Object = {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": "node-1"}}

    changed = meta.with_path(pod, ("metadata", "labels", "tier"), "front")

    assert changed["metadata"]["labels"] == {"app": "web", "tier": "front"}
    assert pod["metadata"]["labels"] == {"app": "web"}
    assert changed["spec"] is pod["spec"]


def test_what_leads_to_a_path_is_made_where_it_is_not_there() -> None:
    assert meta.with_path({}, ("status", "phase"), "Running") == {"status": {"phase": "Running"}}


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, {"annotations": {}}])
def test_no_annotations_are_none_whatever_stands_there(metadata: dict[str, object]) -> None:
    assert meta.annotations_of({"metadata": metadata}) == {}
    assert meta.annotations_of({"metadata": {"annotations": {"a": "b"}}}) == {"a": "b"}


def test_what_is_taken_from_a_path_is_missing_in_a_copy_and_nothing_else_is() -> None:
    pod: meta.Object = {"metadata": {"labels": {"app": "web"}, "name": "web"}}

    assert meta.without_path(pod, ("metadata", "labels")) == {"metadata": {"name": "web"}}
    assert pod["metadata"]["labels"] == {"app": "web"}
    for absent in (("metadata", "annotations"), ("spec", "nodeName"), ("metadata", "name", "x")):
        assert meta.without_path(pod, absent) is pod
