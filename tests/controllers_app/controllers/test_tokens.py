"""Secrets with tokens: of service accounts, and of machines that want to join."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pytest

from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn.legacy_account import INVALID_SINCE, LAST_USED
from apiserver_app.etcd.backend import MemoryBackend
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Credential, Object
from controllers_app.controllers.bootstrap import bootstrapsigner
from lifecycle.cluster.inputs import Inputs
from tests.controllers_app.controllers.lab import Lab


def account_secret(name: str, account: str = "default") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account}},
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
            "token-id": "abcdef",
            "token-secret": "0123456789abcdef",
            "expiration": end,
            **more,
        },
    }


def text(secret: Object, key: str) -> str:
    return base64.b64decode(secret["data"][key]).decode()


def who(lab: Lab, token: str) -> tuple[str, str]:
    """The user a token names, or why it names none."""
    union = lab.cluster.context.access.authentication
    user, tries = lab.call(union.authenticate(Credential(bearer=token), lab.kernel.now))
    refused = [attempt.why for attempt in tries if attempt.verdict == "deny"]
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


# -- tokens that are made for accounts, until 1.23 ------------------------------------------------

DAY = 86_400_000_000


def account(name: str, **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, **more}


@pytest.fixture
def old(inputs: Inputs) -> Lab:
    lab = Lab(dataclasses.replace(inputs, version="1.23"), MemoryBackend())
    lab.run(10)  # one for every account there is, twenty requests a second
    return lab


def test_before_1_24_every_account_gets_a_token_and_a_new_one_when_it_goes(old: Lab) -> None:
    old.create("serviceaccounts", account("builder"))

    (name,) = [one["name"] for one in old.get("serviceaccounts", "builder")["secrets"]]
    secret = old.get("secrets", name)
    assert name.startswith("builder-token-") and len(name) == len("builder-token-") + 5
    assert who(old, text(secret, "token")) == ("system:serviceaccount:default:builder", "")

    old.delete("secrets", name)
    names = [one["name"] for one in old.get("serviceaccounts", "builder")["secrets"]]
    assert names[0] == name and names[1] in old.names("secrets")

    old.delete("serviceaccounts", "builder")
    assert not [one for one in old.names("secrets") if one.startswith("builder-")]


def test_since_1_24_no_account_gets_one(lab: Lab) -> None:
    lab.create("serviceaccounts", account("builder"))

    assert lab.names("secrets") == []
    assert "secrets" not in lab.get("serviceaccounts", "builder")


def test_what_nobody_used_for_a_year_is_marked_and_a_year_later_deleted(lab: Lab) -> None:
    named = [{"name": "made"}, {"name": "mounted"}]
    lab.create("serviceaccounts", account("builder", secrets=named))
    for name in ("made", "mounted", "own"):  # no account names the last: a person made it
        lab.create("secrets", account_secret(name, "builder"))
    volume = {"name": "v", "secret": {"secretName": "mounted"}}
    containers = [{"name": "c", "image": "nginx"}]
    lab.create(
        "pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "user"},
            "spec": {"containers": containers, "volumes": [volume]},
        },
    )

    def later(days: int) -> dict[str, bool]:
        lab.kernel.advance(lab.kernel.now + days * DAY)
        lab.run(60)
        return {
            meta.name_of(secret): INVALID_SINCE in meta.labels_of(secret)
            for secret in lab.all("secrets")
        }

    unmarked = {"made": False, "mounted": False, "own": False}
    assert later(365) == unmarked, "its use is not noted for long enough"
    assert later(1) == {**unmarked, "made": True}
    assert later(365) == {**unmarked, "made": True}
    assert later(1) == {"mounted": False, "own": False}
