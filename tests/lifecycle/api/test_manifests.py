"""Pasted manifests become the requests `kubectl create -f` would make."""

from __future__ import annotations

import json

import pytest

from apiserver_app.machinery.releases import Release
from lifecycle.api import manifests
from lifecycle.api.manifests import ManifestError


def posts(text: str, namespace: str = "default") -> list[manifests.Post]:
    return manifests.posts(text.encode(), Release(33), namespace)


def test_each_document_is_posted_to_its_collection() -> None:
    made = posts(
        """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
---
# nothing here
---
apiVersion: v1
kind: Namespace
metadata: {name: blue}
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "blue"}}
"""
    )
    assert [(one.kind, one.name, one.path) for one in made] == [
        ("Deployment", "web", "/apis/apps/v1/namespaces/default/deployments"),
        ("Namespace", "blue", "/api/v1/namespaces"),
        ("Pod", "a", "/api/v1/namespaces/blue/pods"),
    ]
    assert json.loads(made[2].body)["metadata"] == {"name": "a", "namespace": "blue"}


def test_a_list_is_taken_apart() -> None:
    text = (
        '{"apiVersion":"v1","kind":"List","items":['
        '{"apiVersion":"v1","kind":"Secret"},{"apiVersion":"v1","kind":"ConfigMap"}]}'
    )
    assert [post.kind for post in posts(text)] == ["Secret", "ConfigMap"]


def test_what_is_applied_goes_to_its_own_path_and_needs_a_name() -> None:
    text = b"{apiVersion: v1, kind: Node, metadata: {name: a/b}}\n---\n{apiVersion: v1, kind: Node}"
    named, nameless = manifests.posts(text, Release(33), "default", manifests.APPLY)
    assert (named.path, named.problem) == ("/api/v1/nodes/a%2Fb", "")
    assert nameless.problem == "what is applied needs a name"


def test_namespace_is_that_of_the_user_unless_it_is_named() -> None:
    (made,) = posts("{apiVersion: v1, kind: Pod}", "student")
    assert made.namespace == "student" and made.path == "/api/v1/namespaces/student/pods"


def test_namespace_cannot_leave_its_place_in_the_path() -> None:
    (made,) = posts('{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"a/../b?c"}}')
    assert made.path == "/api/v1/namespaces/a%2F..%2Fb%3Fc/pods"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{apiVersion: v1, kind: Pot}", 'no matches for kind "Pot" in version "v1"'),
        ("{kind: Pod}", 'no matches for kind "Pod" in version ""'),
        ("{apiVersion: apps/v1, kind: Scale}", 'no matches for kind "Scale" in version "apps/v1"'),
    ],
)
def test_an_object_that_cannot_be_sent_says_why(text: str, problem: str) -> None:
    (made,) = posts(text)
    assert problem in made.problem and not made.path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no object"),
        ("--- \n---\n", "no object"),
        ("- a\n- b", "document 1 is no object"),
        ("{a: [", "error converting YAML to JSON"),
        ("{apiVersion: v1, kind: Pod}\n---\n" * 201, "201 objects are more than 200"),
    ],
)
def test_text_that_is_no_manifest_is_refused(text: str, why: str) -> None:
    with pytest.raises(ManifestError, match=why):
        posts(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ManifestError, match="yaml: invalid leading UTF-8 octet"):
        manifests.posts(b"\xff\xfe", Release(33), "default")
