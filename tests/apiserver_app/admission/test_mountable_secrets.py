"""An account may say that its pods use no secrets but its own."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.plugin import UPDATE
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from tests.apiserver_app.admission.conftest import Cluster, pod

ENFORCE = {"kubernetes.io/enforce-mountable-secrets": "true"}
WHY = "is not allowed because service account strict does not reference that secret"


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    made = Cluster("1.33", "ServiceAccount")
    own = {"secrets": [{"name": "mine"}], "imagePullSecrets": [{"name": "pull"}]}
    for name, notes in (("strict", ENFORCE), ("lax", {})):
        metadata = {"namespace": "default", "name": name, "annotations": notes}
        made.reader.put("serviceaccounts", {"metadata": metadata, **own})
    return made


def said(cluster: Cluster, obj: Object, **how: Any) -> str:
    try:
        cluster.send("pods", obj, **how)
    except errors.ApiError as error:
        return error.message.partition(" is forbidden: ")[2]
    return ""


def env(secret: str) -> Object:
    ref = {"secretKeyRef": {"name": secret, "key": "k"}}
    return {"name": "c", "image": "i", "env": [{"name": "E", "valueFrom": ref}]}


def env_from(secret: str) -> Object:
    return {"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": secret}}]}


def volume(secret: str) -> list[Object]:
    return [{"name": "v", "secret": {"secretName": secret}}]


PLACES: tuple[tuple[Any, str], ...] = (
    (lambda name: {"volumes": volume(name)}, 'volume with secret.secretName="theirs"'),
    (lambda name: {"containers": [env(name)]},
     'container c with envVar E referencing secret.secretName="theirs"'),
    (lambda name: {"containers": [env_from(name)]},
     'container c with envFrom referencing secret.secretName="theirs"'),
    (lambda name: {"initContainers": [env(name)]},
     'init container c with envVar E referencing secret.secretName="theirs"'),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "where"), PLACES)
def test_an_account_that_says_so_lends_its_own_secrets_only(
    cluster: Cluster, spec: Any, where: str
) -> None:
    for name, secret, why in (
        ("strict", "theirs", f"{where} {WHY}"),
        ("strict", "mine", ""),
        ("lax", "theirs", ""),
    ):
        assert said(cluster, pod(serviceAccountName=name, **spec(secret))) == why


def test_pull_secrets_are_the_accounts_too(cluster: Cluster) -> None:
    for secret, why in (
        ("other", f'imagePullSecrets[0].name="other" {WHY[:-6]}imagePullSecret'),
        ("pull", ""),
    ):
        asked = pod(serviceAccountName="strict", imagePullSecrets=[{"name": secret}])
        assert said(cluster, asked) == why
    assert said(cluster, pod(serviceAccountName="strict")) == ""


def test_an_ephemeral_container_uses_no_other_secret(cluster: Cluster) -> None:
    for name, why in (
        (
            "strict",
            'ephemeral container c with envVar E referencing secret.secretName="theirs" ' + WHY,
        ),
        ("lax", ""),
    ):
        old = pod(serviceAccountName=name)
        new = pod(serviceAccountName=name, ephemeralContainers=[env("theirs")])
        how = {"old": old, "operation": UPDATE, "subresource": "ephemeralcontainers"}
        assert said(cluster, new, **how) == why
