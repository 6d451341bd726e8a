"""TLS of the edge: a client certificate is asked for, never required, and always judged.

OpenSSL's verdict on a client certificate does not end the handshake; it is kept beside the
connection and travels with every request, so that authentication answers 401 as a real API server
does. A certificate that no verdict was seen for counts as unverified. There are no session tickets
and no session cache, because a resumed session would skip the verdict.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/secure_serving.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer

PROTOCOL = b"http/1.1"

# OpenSSL's numbers for the verdicts a client certificate usually gets, in crypto/x509's words
_EXPIRED = "x509: certificate has expired or is not yet valid"
_UNKNOWN = "x509: certificate signed by unknown authority"
_VERDICTS = {
    7: _UNKNOWN,  # signed by another authority of the same name
    9: _EXPIRED,
    10: _EXPIRED,
    18: _UNKNOWN,
    19: _UNKNOWN,
    20: _UNKNOWN,
    21: _UNKNOWN,
    26: "x509: certificate specifies an incompatible key usage",
}
_VERDICT_ATTRIBUTE = "lifecycle_verdict"
_PEER_ATTRIBUTE = "lifecycle_peer"


@implementer(IOpenSSLServerConnectionCreator)
class ServerContext:
    """Makes the TLS side of each connection. Client certificates are judged against client_cas."""

    def __init__(self, certificate: Path, key: Path, client_cas: Sequence[Path]) -> None:
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.set_min_proto_version(SSL.TLS1_2_VERSION)
        context.set_options(
            SSL.OP_NO_RENEGOTIATION
            | SSL.OP_NO_COMPRESSION
            | SSL.OP_NO_TICKET
            | SSL.OP_CIPHER_SERVER_PREFERENCE
        )
        context.set_mode(SSL.MODE_RELEASE_BUFFERS)
        context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
        context.set_cipher_list(b"ECDHE+AESGCM:ECDHE+CHACHA20")
        context.use_certificate_chain_file(str(certificate))
        context.use_privatekey_file(str(key))
        context.check_privatekey()
        _trust(context, client_cas)
        context.set_verify(SSL.VERIFY_PEER, _keep_verdict)
        context.set_alpn_select_callback(_select_protocol)
        self._context = context

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        return SSL.Connection(self._context, None)


def peer_of(transport: Any) -> list[Any] | None:
    """Who the client's certificate says it is: [CN, [O], issuer CN, error, SHA-256].

    None without a certificate or without TLS. Worked out once a connection.
    """
    if not hasattr(transport, "getPeerCertificate"):
        return None
    known: tuple[list[Any] | None] | None = getattr(transport, _PEER_ATTRIBUTE, None)
    if known is None:
        known = (_read_peer(transport),)
        setattr(transport, _PEER_ATTRIBUTE, known)
    return known[0]


def _read_peer(transport: Any) -> list[Any] | None:
    presented = transport.getPeerCertificate()
    if presented is None:
        return None
    try:
        return describe(
            presented.to_cryptography(),
            getattr(transport, _VERDICT_ATTRIBUTE, "x509: certificate was not verified"),
        )
    except ValueError as error:  # OpenSSL took it, but its names or numbers cannot be read
        return ["", [], "", f"x509: malformed certificate: {error}", ""]


def describe(certificate: x509.Certificate, verdict: str) -> list[Any]:
    """A certificate as it crosses the port; `verdict` is "" for one that was verified."""
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    organizations = certificate.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)
    issuers = certificate.issuer.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return [
        str(names[-1].value) if names else "",
        [str(organization.value) for organization in organizations],
        str(issuers[-1].value) if issuers else "",
        verdict,
        certificate.fingerprint(hashes.SHA256()).hex(),
    ]


def _trust(context: SSL.Context, client_cas: Sequence[Path]) -> None:
    store = context.get_cert_store()
    assert store is not None
    names = []
    for path in client_cas:
        authority = crypto.X509.from_cryptography(x509.load_pem_x509_certificate(path.read_bytes()))
        store.add_cert(authority)
        names.append(authority.get_subject())
    context.set_client_ca_list(names)


def _keep_verdict(
    connection: SSL.Connection, certificate: crypto.X509, number: int, depth: int, ok: int
) -> bool:
    """Called for each certificate of the chain, the leaf last. "" is kept for a good one."""
    transport = connection.get_app_data()
    said = getattr(transport, _VERDICT_ATTRIBUTE, None)
    if not ok:
        verdict = _VERDICTS.get(number, f"x509: certificate verification failed ({number})")
        setattr(transport, _VERDICT_ATTRIBUTE, said or verdict)
    elif depth == 0 and said is None:
        setattr(transport, _VERDICT_ATTRIBUTE, "")
    return True


def _select_protocol(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return PROTOCOL if PROTOCOL in offered else SSL.NO_OVERLAPPING_PROTOCOLS
