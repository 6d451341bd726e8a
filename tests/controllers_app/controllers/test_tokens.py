"""Secrets with tokens: of service accounts, and of machines that want to join."""

from __future__ import annotations

import base64
from typing import Any

from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn.legacy_account import INVALID_SINCE, LAST_USED
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Credential, Object
from controllers_app.controllers import bootstrapsigner
from tests.controllers_app.controllers.lab import Lab


def account_secret(name: str, account: str = "default") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "annotations": {"kubernetes.io/service-account.name": account},
        },
        "type": "kubernetes.io/service-account-token",
    }


def bootstrap_secret(lab: Lab, seconds: int, **more: str) -> Object:
    end = meta.rfc3339(lab.kernel.now + seconds * 1_000_000)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bootstrap-token-abcdef"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": end, **more,
        },
    }  # fmt: skip


def text(secret: Object, key: str) -> str:
    return base64.b64decode(secret["data"][key]).decode()


def who(lab: Lab, token: str) -> tuple[str, str]:
    """The user a token names, or why it names none."""
    union = lab.cluster.context.authentication
    user, tries = lab.call(union.authenticate(Credential(bearer=token), lab.kernel.now))
    refused = [one.why for one in tries if one.verdict == "deny"]
    return (user.name, "") if user else ("", refused[0])


def test_a_secret_gets_its_accounts_token_and_the_server_believes_it(lab: Lab) -> None:
    lab.create("secrets", account_secret("kept"))

    secret = lab.get("secrets", "kept")

    assert text(secret, "namespace") == "default"
    assert text(secret, "ca.crt") == lab.cluster.inputs.ca_pem
    assert jwt.issuer_of(text(secret, "token")) == "kubernetes/serviceaccount"
    uid = meta.uid_of(lab.get("serviceaccounts", "default"))
    assert meta.annotations_of(secret)["kubernetes.io/service-account.uid"] == uid
    assert who(lab, text(secret, "token")) == ("system:serviceaccount:default:default", "")


def test_each_day_of_use_is_written_on_the_secret(lab: Lab) -> None:
    lab.create("secrets", account_secret("kept"))
    token = text(lab.get("secrets", "kept"), "token")

    who(lab, token)
    first = meta.labels_of(lab.get("secrets", "kept"))[LAST_USED]
    lab.kernel.advance(lab.kernel.now + 86_400_000_000)
    who(lab, token)
    second = meta.labels_of(lab.get("secrets", "kept"))[LAST_USED]

    assert first == meta.rfc3339(lab.kernel.now - 86_400_000_000)[:10]
    assert second > first


def test_a_token_of_a_secret_that_went_or_was_marked_invalid_is_refused(lab: Lab) -> None:
    lab.create("secrets", account_secret("kept"))
    token = text(lab.get("secrets", "kept"), "token")

    lab.patch("secrets", "kept", {"metadata": {"labels": {INVALID_SINCE: "2025-01-01"}}})
    marked = who(lab, token)
    lab.delete("secrets", "kept")
    gone = who(lab, token)

    assert marked[1].startswith(
        "the token in secret default/kept for service account default/default has been marked "
        "invalid. Use tokens from the TokenRequest API"
    )
    assert gone == ("", "Token has been invalidated")


def test_a_secret_goes_with_its_account_and_without_one_at_once(lab: Lab) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}}
    lab.create("serviceaccounts", account)
    lab.create("secrets", account_secret("kept", "builder"))
    lab.create("secrets", account_secret("stray", "nobody"))
    assert lab.names("secrets") == ["kept"]

    lab.delete("serviceaccounts", "builder")

    assert lab.names("secrets") == []


def test_a_bootstrap_token_goes_when_its_time_is_over(lab: Lab) -> None:
    lab.create("secrets", bootstrap_secret(lab, 600), "kube-system")

    lab.run(590)
    assert lab.names("secrets", "kube-system") == ["bootstrap-token-abcdef"]
    lab.run(20)
    assert lab.names("secrets", "kube-system") == []


def test_cluster_info_is_signed_by_each_token_that_may_sign(lab: Lab) -> None:
    info: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-info"},
        "data": {"kubeconfig": "content", "jws-kubeconfig-gone": "old"},
    }
    lab.create("configmaps", info, "kube-public")
    assert "jws-kubeconfig-gone" not in lab.get("configmaps", "cluster-info", "kube-public")["data"]

    more = {"usage-bootstrap-signing": "true"}
    lab.create("secrets", bootstrap_secret(lab, 600, **more), "kube-system")
    signed = lab.get("configmaps", "cluster-info", "kube-public")["data"]

    # as jws.ComputeDetachedSignature signs, which go-jose's HS256 gives
    assert signed["jws-kubeconfig-abcdef"] == bootstrapsigner.signature(
        "content", "abcdef", "0123456789abcdef"
    )
    assert signed["jws-kubeconfig-abcdef"].startswith("eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..")
