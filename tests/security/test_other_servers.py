"""Ways in which other API servers and installers were attacked, tried here."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import orjson
import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import bare_session
from tests.lifecycle.hosting.running import Demo

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = "rbac.authorization.k8s.io"


def definition(plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": plural, "singular": plural[:-1], "kind": plural.title()}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {**names, "listKind": f"{names['kind']}List"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def session() -> Session:
    """Two kinds of one group, of which dora may list one everywhere."""
    session = bare_session()
    for plural in ("things", "thingsafes"):
        assert session.request("POST", CRDS, definition(plural)).status == 201
        body = {
            "apiVersion": "example.com/v1",
            "kind": plural.title(),
            "metadata": {"name": "a"},
            "value": f"value-of-{plural}",
        }
        path = f"/apis/example.com/v1/namespaces/default/{plural}"
        assert session.request("POST", path, body).status == 201
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["list", "watch"]}
    role = {"metadata": {"name": "things"}, "rules": [rule]}
    assert session.request("POST", f"{RBAC}/clusterroles", role).status == 201
    binding = {
        "metadata": {"name": "things"},
        "roleRef": {"apiGroup": ROLES, "kind": "ClusterRole", "name": "things"},
        "subjects": [{"apiGroup": ROLES, "kind": "User", "name": "dora"}],
    }
    assert session.request("POST", f"{RBAC}/clusterrolebindings", binding).status == 201
    return session


@pytest.mark.parametrize(
    "path",
    ["things", "things/", "namespaces/default/things", "things?watch=1&resourceVersion=0",
     "things/../thingsafes", "things%2F..%2Fthingsafes", "thingsafes/../things", "thingsafes",
     "namespaces/default/things/../thingsafes", "namespaces/..%2F/things", "watch/thingsafes",
     "namespaces/default%2F..%2F../things", "things/a%2F..%2F..%2Fthingsafes"],
)  # fmt: skip
def test_who_may_list_one_kind_of_a_group_reads_no_other(session: Session, path: str) -> None:
    """CVE-2022-3162 of kube-apiserver."""
    answer = session.request("GET", f"/apis/example.com/v1/{path}", user="dora")
    assert b"value-of-thingsafes" not in answer.text


def test_no_object_but_a_secret_holds_what_opens_the_cluster(session: Session) -> None:
    """CVE-2023-32191 of RKE: the state of the installation, with its keys, in a ConfigMap."""
    cluster = session.cluster
    found = [
        entry.key
        for entry in cluster.store.range("/registry/").entries
        if not entry.key.startswith("/registry/secrets/") and b"PRIVATE KEY" in entry.value
    ]
    assert found == []
    tokens = [
        orjson.loads(entry.value)["data"]
        for entry in cluster.store.range("/registry/secrets/kube-system/bootstrap-token").entries
    ]
    everything = b"".join(
        entry.value
        for entry in cluster.store.range("/registry/").entries
        if not entry.key.startswith("/registry/secrets/")
    )
    assert not any(data["token-secret"].encode() in everything for data in tokens)


def test_names_that_clients_ask_for_leave_the_certificate_as_it_is(demo: Demo) -> None:
    """CVE-2023-32187 of k3s: each name became part of the certificate."""
    seen = set()
    for name in (None, "a.example", *(f"{number}.evil.example" for number in range(20))):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(demo.tls_authority) as raw,
            context.wrap_socket(raw, server_hostname=name) as wrapped,
        ):
            seen.add(wrapped.getpeercert(binary_form=True))
    assert len(seen) == 1
