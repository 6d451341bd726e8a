"""Credentials beside certificates: ID tokens, bound tokens, and acting as others."""

from __future__ import annotations

from tests.conformance.kubectl import Kubectl
from tests.conformance.prints import has


def test_an_openid_connect_user_works_with_the_token_of_the_simulated_issuer(
    kubectl: Kubectl,
) -> None:
    user = kubectl.by("oidc-user")

    has(user("auth", "whoami"), "Username {*} oidc:oidc-user")
    assert user("create", "cm", "by-oidc") == "configmap/by-oidc created\n"
    assert user("delete", "cm", "by-oidc") == 'configmap "by-oidc" deleted\n'
    assert 'User "oidc:oidc-user" cannot list' in user.fails("get", "secrets", "-n", "kube-system")
