"""What a kubelet gets: tokens for what its pods mount, slices and certificates of its own."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver_app.admission.plugin import DELETE
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from tests.apiserver_app.admission.conftest import KUBELET, RESOURCES, Cluster, pod


def refusal(cluster: Cluster, resource: str, obj: Object | None, **more: Any) -> str:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, user=KUBELET, **more)
    return caught.value.message.partition(": ")[2]


def token(*audiences: str) -> Object:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "nginx", "uid": "u"}
    spec = {"audiences": list(audiences), "boundObjectRef": bound}
    return {"metadata": {"name": "default", "namespace": "default"}, "spec": spec}


def test_a_kubelet_gets_tokens_only_for_audiences_that_a_volume_names() -> None:
    cluster = Cluster("1.33", "NodeRestriction")
    sources = [{"serviceAccountToken": {"audience": "vault", "path": "t"}}]
    volumes = [
        {"name": "v", "projected": {"sources": sources}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
    ]
    mine = pod(nodeName="node-1", volumes=volumes)
    mine["metadata"]["uid"] = "u"
    cluster.reader.put("pods", mine)

    def ask(*audiences: str) -> str:
        return refusal(cluster, "serviceaccounts", token(*audiences), subresource="token")

    def take(cluster: Cluster, audience: str) -> None:
        cluster.send("serviceaccounts", token(audience), subresource="token", user=KUBELET)

    take(cluster, "vault")
    assert ask("other") == 'audience "other" not found in pod spec volume'
    assert ask() == 'audience "" not found in pod spec volume'
    assert ask("vault", "other") == "node may only request 0 or 1 audiences"
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"volumeName": "pv"}}
    cluster.reader.put("persistentvolumeclaims", claim)
    disk = {"metadata": {"name": "pv"}, "spec": {"csi": {"driver": "d"}}}
    cluster.reader.put("persistentvolumes", disk)
    driver = {"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "other"}]}}
    cluster.reader.put("csidrivers.storage.k8s.io", driver)
    take(cluster, "other")
    old = Cluster("1.31", "NodeRestriction")
    old.reader.put("pods", mine)
    take(old, "any")


def test_a_kubelet_asks_for_certificates_in_its_own_name() -> None:
    cluster = Cluster("1.33", "NodeRestriction")
    key = ec.generate_private_key(ec.SECP256R1())

    def request(user: str) -> Object:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)])
        made = x509.CertificateSigningRequestBuilder().subject_name(name)
        pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        spec = {
            "signerName": "kubernetes.io/kubelet-serving",
            "request": base64.b64encode(pem).decode(),
        }
        return {"metadata": {"name": "r"}, "spec": spec}

    resource = "certificatesigningrequests.certificates.k8s.io"
    cluster.send(resource, request("system:node:node-1"), user=KUBELET)
    text = "can only create a node CSR with CN=system:node:node-1"
    assert refusal(cluster, resource, request("system:node:node-2")) == text


def test_a_kubelet_tells_of_its_own_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster("1.33", "NodeRestriction")
    resource = "resourceslices.resource.k8s.io"
    if resource not in RESOURCES.by_key:
        info = RESOURCES.by_key["nodes"]
        import dataclasses

        made = dataclasses.replace(
            info,
            group="resource.k8s.io",
            version="v1",
            plural="resourceslices",
            kind="ResourceSlice",
            storage="resourceslices",
        )
        monkeypatch.setitem(RESOURCES.by_key, resource, made)
    mine: Object = {"metadata": {"name": "s"}, "spec": {"nodeName": "node-1"}}
    other: Object = {"metadata": {"name": "s"}, "spec": {"nodeName": "node-2"}}
    cluster.send(resource, mine, user=KUBELET)
    text = "can only {} ResourceSlice with the same NodeName as the requesting node"
    assert refusal(cluster, resource, other) == text.format("create")
    assert refusal(cluster, resource, None, old=other, operation=DELETE) == text.format("delete")
