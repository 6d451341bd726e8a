"""Claims, ingresses, certificates, and the extension points."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiserver_app.admission.plugin import UPDATE
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User
from tests.apiserver_app.admission.conftest import Cluster

CLASSES = "storageclasses.storage.k8s.io"
REQUESTS = "certificatesigningrequests.certificates.k8s.io"
STUDENT = User("student", ("students", "system:authenticated"))
HOOKS = "admissionregistration.k8s.io"


def _refusal(cluster: Cluster, resource: str, obj: Any, **more: Any) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, **more)
    return caught.value


def _class(name: str, **fields: Any) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {"metadata": {"name": name, "annotations": annotations}, **fields}


def _claim(size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    spec = {"resources": {"requests": {"storage": size}}, **spec}
    return {"metadata": {"name": "data", "namespace": "default"}, "spec": spec}


def test_claim_gets_the_default_class_and_a_finalizer(cluster: Cluster) -> None:
    cluster.reader.put(CLASSES, _class("standard"))

    claim = cluster.send("persistentvolumeclaims", _claim())

    assert claim["spec"]["storageClassName"] == "standard"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_claim_that_wants_no_class_gets_none(cluster: Cluster) -> None:
    cluster.reader.put(CLASSES, _class("standard"))

    claim = cluster.send("persistentvolumeclaims", _claim(storageClassName=""))

    assert claim["spec"]["storageClassName"] == ""


def test_newest_of_several_default_classes_is_taken(cluster: Cluster) -> None:
    for name, made in (("old", "2025-01-01T00:00:00Z"), ("new", "2025-02-01T00:00:00Z")):
        one = _class(name)
        one["metadata"]["creationTimestamp"] = made
        cluster.reader.put(CLASSES, one)

    claim = cluster.send("persistentvolumeclaims", _claim())

    assert claim["spec"]["storageClassName"] == "new"


@pytest.mark.parametrize(
    ("phase", "expands", "said"),
    [
        ("Pending", True, "Only bound persistent volume claims can be expanded"),
        (
            "Bound",
            False,
            "only dynamically provisioned pvc can be resized and the storageclass that "
            "provisions the pvc must support resize",
        ),
    ],
)
def test_claim_grows_only_when_bound_and_allowed(
    cluster: Cluster, phase: str, expands: bool, said: str
) -> None:
    cluster.reader.put(CLASSES, _class("standard", allowVolumeExpansion=expands))
    old = {**_claim(storageClassName="standard"), "status": {"phase": phase}}
    new = _claim("2Gi", storageClassName="standard")

    error = _refusal(cluster, "persistentvolumeclaims", new, old=old, operation=UPDATE)

    assert error.message == f'persistentvolumeclaims "data" is forbidden: {said}'


def test_ingress_gets_the_default_class(cluster: Cluster) -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    cluster.reader.put(
        "ingressclasses.networking.k8s.io",
        {"metadata": {"name": "nginx", "annotations": annotations}},
    )

    ingress = {"metadata": {"name": "web", "namespace": "default"}, "spec": {}}
    made = cluster.send("ingresses.networking.k8s.io", ingress)

    assert made["spec"]["ingressClassName"] == "nginx"


# -- certificates -------------------------------------------------------------------------------


def _signing_request(groups: list[str], signer: str) -> dict[str, Any]:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, "eve"))
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    spec = {"request": base64.b64encode(pem).decode(), "signerName": signer}
    return {"metadata": {"name": "eve"}, "spec": spec}


CLIENT = "kubernetes.io/kube-apiserver-client"


def test_nobody_gets_a_certificate_of_the_masters(cluster: Cluster) -> None:
    request = _signing_request(["system:masters"], CLIENT)

    assert _refusal(cluster, REQUESTS, request).message == (
        f'{REQUESTS} "eve" is forbidden: use of {CLIENT} signer with system:masters group is '
        "not allowed"
    )


def test_ordinary_client_certificate_may_be_requested(cluster: Cluster) -> None:
    cluster.send(REQUESTS, _signing_request(["students"], CLIENT))

    assert cluster.said("CertificateSubjectRestriction").verdict == "allow"


def test_approving_needs_the_verb_on_the_signer(cluster: Cluster) -> None:
    request = _signing_request(["students"], CLIENT)

    cluster.send(REQUESTS, request, old=request, operation=UPDATE, subresource="approval")
    error = _refusal(
        cluster,
        REQUESTS,
        request,
        old=request,
        operation=UPDATE,
        subresource="approval",
        user=STUDENT,
    )

    assert error.message == (
        f'{REQUESTS} "eve" is forbidden: user not permitted to approve requests with '
        f'signerName "{CLIENT}"'
    )


def test_signing_needs_the_verb_on_the_signer(cluster: Cluster) -> None:
    old = _signing_request(["students"], CLIENT)
    new = {**old, "status": {"certificate": "PEM"}}

    error = _refusal(
        cluster, REQUESTS, new, old=old, operation=UPDATE, subresource="status", user=STUDENT
    )

    assert error.message.endswith(f'user not permitted to sign requests with signerName "{CLIENT}"')
