"""Who may do what, and what each is told: the cast, impersonation, reviews, and bad credentials."""

from __future__ import annotations

import pytest

from tests.conformance.kubectl import Kubectl, since
from tests.conformance.prints import fits, has

PODS = 'User "{}" cannot list resource "pods" in API group "" in the namespace "kube-system"'


@pytest.mark.parametrize("user", ["student", "token-user", "nobody"])
def test_another_namespace_is_forbidden(kubectl: Kubectl, user: str) -> None:
    said = kubectl.by(user).fails("get", "pods", "-n", "kube-system")
    assert said == f"Error from server (Forbidden): pods is forbidden: {PODS.format(user)}"


@since(1, 21, "`create` words a refusal otherwise")
def test_a_viewer_looks_but_does_not_touch(kubectl: Kubectl) -> None:
    viewer = kubectl.by("viewer")
    viewer("get", "pods", "-n", "kube-system")
    assert viewer.fails("create", "cm", "x") == (
        'error: failed to create configmap: configmaps is forbidden: User "viewer" cannot create '
        'resource "configmaps" in API group "" in the namespace "default"'
    )
    assert viewer.fails("get", "secrets") == (
        'Error from server (Forbidden): secrets is forbidden: User "viewer" cannot list resource '
        '"secrets" in API group "" in the namespace "default"'
    )
    assert viewer.fails("get", "nodes") == (
        'Error from server (Forbidden): nodes is forbidden: User "viewer" cannot list resource '
        '"nodes" in API group "" at the cluster scope'
    )
    assert viewer.fails("delete", "ns", "default") == (
        'Error from server (Forbidden): namespaces "default" is forbidden: User "viewer" cannot '
        'delete resource "namespaces" in API group "" in the namespace "default"'
    )


def test_students_work_in_their_namespace(kubectl: Kubectl) -> None:
    student = kubectl.by("student")
    assert student("create", "cm", "mine") == "configmap/mine created\n"
    assert student("delete", "cm", "mine") == 'configmap "mine" deleted\n'
    assert student.fails("create", "deployment", "d", "--image=nginx", "-n", "default") == (
        'error: failed to create deployment: deployments.apps is forbidden: User "student" cannot '
        'create resource "deployments" in API group "apps" in the namespace "default"'
    )


def test_can_i(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    said = kubectl.by("viewer").run("auth", "can-i", "create", "pods")
    assert (said.out, said.code) == ("no\n", 1)
    said = kubectl.by("student").run("auth", "can-i", "list", "nodes")
    assert (said.out, said.code) == ("no\n", 1)
    assert said.err.strip() == "Warning: resource 'nodes' is not namespace scoped"
    listed = kubectl.by("nobody")("auth", "can-i", "--list")
    has(
        listed,
        """
Resources                                       Non-Resource URLs   Resource Names   Verbs
selfsubjectreviews.authentication.k8s.io        []                  []               [create]
selfsubjectaccessreviews.authorization.k8s.io   []                  []               [create]
selfsubjectrulesreviews.authorization.k8s.io    []                  []               [create]
                                                [/api/*]            []               [get]
                                                [/version]          []               [get]
""",
    )
    assert "pods" not in listed
    has(kubectl("auth", "can-i", "--list"), "*.*    []    []    [*]")


@since(1, 28, "it has no `auth whoami`")
def test_whoami(kubectl: Kubectl) -> None:
    fits(
        kubectl("auth", "whoami"),
        """
ATTRIBUTE                                           VALUE
Username                                            kubernetes-admin
Groups                                              [system:masters system:authenticated]
Extra: authentication.kubernetes.io/credential-id   [X509SHA256={*}]
""",
    )
    fits(
        kubectl.by("token-user")("auth", "whoami"),
        """
ATTRIBUTE   VALUE
Username    token-user
UID         token-user
Groups      [students system:authenticated]
""",
    )


@since(1, 28, "it has no `auth whoami`")
def test_impersonation(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "pods", "-n", "kube-system", "--as=jane") == (
        f"Error from server (Forbidden): pods is forbidden: {PODS.format('jane')}"
    )
    kubectl("get", "pods", "-n", "kube-system", "--as=jane", "--as-group=viewers")
    assert kubectl.by("student").fails("get", "pods", "--as=jane") == (
        'Error from server (Forbidden): users "jane" is forbidden: User "student" cannot '
        'impersonate resource "users" in API group "" at the cluster scope'
    )
    fits(
        kubectl("auth", "whoami", "--as=jane", "--as-group=a", "--as-group=b"),
        """
ATTRIBUTE   VALUE
Username    jane
Groups      [a b system:authenticated]
""",
    )


def test_a_bad_token_is_unauthorized(kubectl: Kubectl) -> None:
    assert kubectl.bare().fails("get", "pods", "--token=bad") == (
        "error: You must be logged in to the server (Unauthorized)"
    )


def test_paths_that_are_no_resources_are_guarded(kubectl: Kubectl) -> None:
    nobody = kubectl.by("nobody")
    assert nobody("get", "--raw", "/healthz") == "ok"
    assert nobody.fails("get", "--raw", "/metrics") == (
        'Error from server (Forbidden): forbidden: User "nobody" cannot get path "/metrics"'
    )
