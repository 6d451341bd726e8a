"""Certificates that are asked for, ID tokens, bound tokens, and acting as others."""

from __future__ import annotations

import base64
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.conformance.kubectl import Kubectl, since
from tests.conformance.prints import has


@since(1, 28, "it has no `auth whoami`")
def test_an_openid_connect_user_works_with_the_token_of_the_simulated_issuer(
    kubectl: Kubectl,
) -> None:
    user = kubectl.by("oidc-user")

    has(user("auth", "whoami"), "Username {*} oidc:oidc-user")
    assert user("create", "cm", "by-oidc") == "configmap/by-oidc created\n"
    assert user("delete", "cm", "by-oidc") == 'configmap "by-oidc" deleted\n'
    assert 'User "oidc:oidc-user" cannot list' in user.fails("get", "secrets", "-n", "kube-system")


@since(1, 28, "it has no `auth whoami`")
def test_a_user_asks_for_a_certificate_and_comes_back_with_it(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    request, key_pem = asked(key, "newcomer", "viewers")
    given = CSR.format(base64.b64encode(request).decode())

    assert kubectl("apply", "-f", "-", given=given) == (
        "certificatesigningrequest.certificates.k8s.io/newcomer created\n"
    )
    has(
        kubectl("get", "csr", "newcomer"),
        "newcomer {age} kubernetes.io/kube-apiserver-client kubernetes-admin 24h Pending",
    )
    assert kubectl("certificate", "approve", "newcomer") == (
        "certificatesigningrequest.certificates.k8s.io/newcomer approved\n"
    )
    path = "-o", "jsonpath={.status.certificate}"
    certificate = base64.b64decode(kubectl.until(bool, "get", "csr", "newcomer", *path))
    files = tmp_path / "new.crt", tmp_path / "new.key"
    files[0].write_bytes(certificate)
    files[1].write_bytes(key_pem)

    newcomer = kubectl.bare()
    flags = f"--client-certificate={files[0]}", f"--client-key={files[1]}"
    has(newcomer(*flags, "auth", "whoami"), "Username {*} newcomer")
    assert newcomer(*flags, "get", "pods", "-n", "kube-public") is not None
    assert 'User "newcomer" cannot list' in newcomer.fails(*flags, "get", "secrets")
    kubectl("delete", "csr", "newcomer")


def test_a_denied_request_gets_no_certificate(kubectl: Kubectl) -> None:
    request, _ = asked(ec.generate_private_key(ec.SECP256R1()), "newcomer")
    given = CSR.format(base64.b64encode(request).decode())
    kubectl("apply", "-f", "-", given=given)

    assert kubectl("certificate", "deny", "newcomer") == (
        "certificatesigningrequest.certificates.k8s.io/newcomer denied\n"
    )

    assert kubectl("get", "csr", "newcomer", "--no-headers").split()[-1] == "Denied"
    kubectl("delete", "csr", "newcomer")


@since(1, 28, "it has no `auth whoami`")
def test_a_token_bound_to_a_secret_works_until_the_secret_goes(kubectl: Kubectl) -> None:
    kubectl("create", "secret", "generic", "anchor")
    bound = "--bound-object-kind=Secret", "--bound-object-name=anchor"
    token = kubectl("create", "token", "default", *bound).strip()

    said = kubectl.bare()("--token", token, "auth", "whoami")

    has(said, "Username {*} system:serviceaccount:default:default")
    has(said, "Extra: authentication.kubernetes.io/credential-id {*} [JTI={*}]")
    kubectl("delete", "secret", "anchor")


@since(1, 28, "it has no `auth whoami`")
def test_acting_as_a_service_account_brings_its_groups(kubectl: Kubectl) -> None:
    said = kubectl("auth", "whoami", "--as=system:serviceaccount:default:default")

    has(
        said,
        """
Username {*} system:serviceaccount:default:default
Groups {*} [system:serviceaccounts system:serviceaccounts:default system:authenticated]
""",
    )


def asked(key: ec.EllipticCurvePrivateKey, name: str, *groups: str) -> tuple[bytes, bytes]:
    """A request and its key, as openssl makes them."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return signed, key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


CSR = """
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata:
  name: newcomer
spec:
  request: {}
  signerName: kubernetes.io/kube-apiserver-client
  expirationSeconds: 86400
  usages:
  - client auth
"""
