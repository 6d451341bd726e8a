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
