"""Requests for certificates: who approves, who signs, what fails, and when they go."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver_app.auth import chains
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.certificates import rules
from tests.controllers_app.controllers.lab import Lab

CLIENT = ("digital signature", "key encipherment", "client auth")
SERVER = ("digital signature", "server auth")


def request_of(name: str, *groups: str, dns: str = "") -> str:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), False)
    asked = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode()


def csr(
    name: str,
    request: str,
    signer: str = rules.CLIENT,
    usages: tuple[str, ...] = CLIENT,
    **spec: Any,
) -> Object:
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {"request": request, "signerName": signer, "usages": list(usages), **spec},
    }


def decide(lab: Lab, name: str, kind: str = "Approved") -> None:
    found = lab.get(rules.RESOURCE, name, "")
    condition = {"type": kind, "status": "True", "reason": "Test", "message": "because"}
    changed = meta.with_path(found, ("status", "conditions"), [condition])
    lab.call(lab.admin.update(rules.RESOURCE, "", name, changed, subresource="approval"))


def status(lab: Lab, name: str) -> Object:
    found: Object = lab.get(rules.RESOURCE, name, "").get("status") or {}
    return found


def certificate(lab: Lab, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(status(lab, name)["certificate"]))


def test_an_approved_client_request_gets_a_certificate_the_server_believes(lab: Lab) -> None:
    lab.create(rules.RESOURCE, csr("ann", request_of("ann", "students")), "")
    assert "certificate" not in status(lab, "ann")

    decide(lab, "ann")

    found = certificate(lab, "ann")
    der = found.public_bytes(serialization.Encoding.DER)
    who = chains.Roots(lab.cluster.inputs.ca_pem).verify([der], lab.kernel.now)
    assert (who.common_name, who.organizations) == ("ann", ("students",))
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    life = found.not_valid_after_utc - found.not_valid_before_utc
    assert life.days == 365


def test_equal_clusters_sign_equally_and_short_certificates_last_as_long_as_asked(lab: Lab) -> None:
    body = csr("short", request_of("ann"), expirationSeconds=600)
    lab.create(rules.RESOURCE, body, "")
    decide(lab, "short")

    found = certificate(lab, "short")

    life = found.not_valid_after_utc - found.not_valid_before_utc
    assert life.total_seconds() == 600 + 300  # begins five minutes ago, ends ten from now


@pytest.mark.parametrize(
    ("name", "groups", "signer", "usages", "dns", "said"),
    [
        (
            "ann", (), rules.CLIENT, SERVER, "",
            "invalid usage for client certificate: server auth",
        ),
        (
            "ann", (), rules.CLIENT, CLIENT[:2], "",
            "missing required usage for client certificate: client auth",
        ),
        (
            "ann", (), rules.KUBELET_CLIENT, CLIENT, "",
            "subject organization is not system:nodes",
        ),
        (
            "ann", ("system:nodes",), rules.KUBELET_CLIENT, CLIENT, "",
            "subject common name does not begin with system:node:",
        ),
        (
            "system:node:a", ("system:nodes",), rules.KUBELET_CLIENT, CLIENT, "a.example",
            "DNS subjectAltNames are not allowed",
        ),
        (
            "system:node:a", ("system:nodes",), rules.KUBELET_CLIENT, SERVER, "",
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (
            "system:node:a", ("system:nodes",), rules.KUBELET_SERVING, SERVER, "",
            "DNS or IP subjectAltName is required",
        ),
    ],
)  # fmt: skip
def test_a_request_that_breaks_its_signers_rules_fails(
    lab: Lab,
    name: str,
    groups: tuple[str, ...],
    signer: str,
    usages: tuple[str, ...],
    dns: str,
    said: str,
) -> None:
    lab.create(rules.RESOURCE, csr("bad", request_of(name, *groups, dns=dns), signer, usages), "")
    decide(lab, "bad")

    failed = status(lab, "bad")["conditions"][-1]

    assert (failed["type"], failed["reason"]) == ("Failed", "SignerValidationFailure")
    assert failed["message"] == said
    assert "certificate" not in status(lab, "bad")


def test_a_serving_certificate_keeps_the_names_that_were_asked_for(lab: Lab) -> None:
    request = request_of("system:node:a", "system:nodes", dns="a.example")
    lab.create(rules.RESOURCE, csr("serve", request, rules.KUBELET_SERVING, SERVER), "")
    decide(lab, "serve")

    names = certificate(lab, "serve").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    assert names.value.get_values_for_type(x509.DNSName) == ["a.example"]


def test_a_nodes_own_renewal_is_approved_after_a_review_and_a_strangers_is_not(lab: Lab) -> None:
    bind = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "renewal"},
        "subjects": [
            {"kind": "Group", "name": "system:nodes", "apiGroup": "rbac.authorization.k8s.io"}
        ],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        },
    }
    lab.create("clusterrolebindings.rbac.authorization.k8s.io", bind, "")
    request = request_of("system:node:a", "system:nodes")
    node = lab.cluster.clients.client("system:node:a", "kubelet", ("system:nodes",))
    body = csr("own", request, rules.KUBELET_CLIENT)
    lab.call(node.create(rules.RESOURCE, "", body))
    lab.create(rules.RESOURCE, csr("others", request, rules.KUBELET_CLIENT), "")

    approved = status(lab, "own")["conditions"][0]

    assert (approved["type"], approved["reason"]) == ("Approved", "AutoApproved")
    assert approved["message"] == (
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    )
    assert certificate(lab, "own").subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"


def test_requests_go_an_hour_after_the_decision_and_a_day_without_one(lab: Lab) -> None:
    for name in ("denied", "issued", "waiting"):
        lab.create(rules.RESOURCE, csr(name, request_of("ann")), "")
    decide(lab, "denied", "Denied")
    decide(lab, "issued")

    lab.run(3500)
    assert lab.names(rules.RESOURCE, "") == ["denied", "issued", "waiting"]
    lab.run(200)
    assert lab.names(rules.RESOURCE, "") == ["waiting"]
    lab.kernel.advance(lab.kernel.now + 24 * 3600 * 1_000_000)
    lab.run(5)
    assert lab.names(rules.RESOURCE, "") == []


def test_who_signs_cannot_approve(lab: Lab) -> None:
    lab.create(rules.RESOURCE, csr("sneaky", request_of("ann")), "")
    found = lab.get(rules.RESOURCE, "sneaky", "")
    condition = {"type": "Approved", "status": "True", "reason": "Me"}
    changed = meta.with_path(found, ("status", "conditions"), [condition])

    lab.call(lab.admin.update(rules.RESOURCE, "", "sneaky", changed, subresource="status"))

    assert "conditions" not in status(lab, "sneaky")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            csr("x", request_of("ann"), "kubernetes.io/legacy-unknown"),
            'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": '
            "the legacy signerName is not allowed via this API version",
        ),
        (
            csr("x", request_of("ann"), usages=("client auth", "client auth")),
            'spec.usages[1]: Duplicate value: "client auth"',
        ),
        (
            csr("x", request_of("ann"), usages=("walking",)),
            'spec.usages[0]: Unsupported value: "walking": supported values: "any"',
        ),
        (csr("x", "bm9wZQ=="), "PEM block type must be CERTIFICATE REQUEST"),
    ],
)
def test_a_malformed_request_is_refused(lab: Lab, body: Object, said: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        lab.create(rules.RESOURCE, body, "")
    assert said in caught.value.message
