"""TLS of the edge: requests a client certificate, but neither requires nor verifies it.

OpenSSL checks only that the client holds the key. The chain travels with every request, and
authentication verifies it at the cluster's own time, so that a bad one gets 401 as from a real API
server. There are no session tickets and no session cache, because a resumed session has no chain.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/secure_serving.go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.protocol import connectionDone
from twisted.protocols import tls
from zope.interface import implementer

from lifecycle.hosting.edge.adapter import turns

PROTOCOL = b"http/1.1"
CHAIN_MAX = 8
RECORDS_BYTES_MAX = 1 << 15  # encrypted in one call
JOINED_BYTES_MAX = 1 << 16  # held back until the end of the loop's turn
PLAIN = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")  # how HTTP without TLS begins
NOT_PLAIN = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_PEER_ATTRIBUTE = "lifecycle_peer"


@implementer(IOpenSSLServerConnectionCreator)
class ServerContext:
    """Makes the TLS side of each connection. `client_cas` are the authorities (PEM) that are
    named to clients."""

    def __init__(self, certificate: Path, key: Path, client_cas: Sequence[str]) -> None:
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
        context.set_client_ca_list(_names(client_cas))
        context.set_verify(SSL.VERIFY_PEER, _take_any)
        context.set_alpn_select_callback(_select_protocol)
        self._context = context

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        return SSL.Connection(self._context, None)


class Transport(tls.TLSMemoryBIOProtocol):
    """One connection. Answers plain HTTP with an error, as Go's server does.

    All writes of one turn of the loop become one TLS record, which is sent at once; only the part
    that the socket does not accept waits until it is writable. The steps of its handshake take
    turns with those of others.
    """

    joins = True  # False after an upgrade: each write is a record then
    _begun = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._written: list[bytes] = []
        self._count = 0
        self._greeting = b""  # what came of the handshake, until it is looked at

    def write(self, data: bytes) -> None:
        if not self.joins:
            super().write(data)
            return
        if not self._written:
            asyncio.get_running_loop().call_soon(self.flush)
        self._written.append(data)
        self._count += len(data)
        if self._count > JOINED_BYTES_MAX:
            self.flush()

    def writeSequence(self, sequence: Iterable[bytes]) -> None:
        self.write(b"".join(sequence))

    def flush(self) -> None:
        """Encrypts the collected writes."""
        if self._written:
            written, self._written, self._count = self._written, [], 0
            super().write(b"".join(written))

    def loseConnection(self) -> None:
        self.flush()
        super().loseConnection()

    def connectionLost(self, reason: Any = connectionDone) -> None:
        self._written, self._greeting = [], b""
        super().connectionLost(reason)

    @property
    def _wire(self) -> Any:
        """The socket's transport."""
        return self.transport

    def _flushSendBIO(self) -> None:
        try:
            data = self._tlsConnection.bio_read(RECORDS_BYTES_MAX)
        except SSL.WantReadError:
            return
        wire = self._wire
        if wire.connected and not wire.dataBuffer and not wire._tempDataLen:
            with contextlib.suppress(OSError):  # full or closed: the reactor will notice
                data = data[wire.socket.send(data) :]
        if data:
            wire.write(data)

    def dataReceived(self, data: bytes) -> None:
        begun, self._begun = self._begun, True
        if not begun and data[:5] in PLAIN:
            self._wire.write(NOT_PLAIN)
            self._wire.loseConnection()
        elif self._handshakeDone:
            super().dataReceived(data)
        elif not self.disconnecting:
            self._greeting += data
            self._wire.pauseProducing()
            turns.TURNS.join(self)

    def look(self) -> bool:
        """The next step of the handshake."""
        greeting, self._greeting = self._greeting, b""
        if greeting and not self.disconnecting:
            self._wire.resumeProducing()  # what is wrapped may pause it again
            super().dataReceived(greeting)
        return False


def peer_of(transport: Any) -> list[Any] | None:
    """Describes the client's certificate: [CN, [O], issuer CN, error, SHA-256, chain as DER].

    The error says why a certificate cannot be parsed. None without a certificate or TLS. Computed
    once for each connection.
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
        # on the server's side OpenSSL keeps the client's own certificate apart from the others
        others = transport.getHandle().get_peer_cert_chain() or []
        chain = [certificate.to_cryptography() for certificate in (presented, *others)]
        return describe(list(dict.fromkeys(chain)))
    except ValueError as error:  # OpenSSL accepted it, but its names or numbers do not parse
        return ["", [], "", f"x509: malformed certificate: {error}", "", []]


def describe(chain: Sequence[x509.Certificate]) -> list[Any]:
    """Describes a chain for the port, the client's own certificate first."""
    certificate = chain[0]
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    organizations = certificate.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)
    issuers = certificate.issuer.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return [
        str(names[-1].value) if names else "",
        [str(organization.value) for organization in organizations],
        str(issuers[-1].value) if issuers else "",
        "",
        certificate.fingerprint(hashes.SHA256()).hex(),
        [certificate.public_bytes(serialization.Encoding.DER) for certificate in chain[:CHAIN_MAX]],
    ]


def _names(client_cas: Sequence[str]) -> list[crypto.X509Name]:
    names = []
    for text in client_cas:
        for authority in x509.load_pem_x509_certificates(text.encode()):
            names.append(crypto.X509.from_cryptography(authority).get_subject())
    return names


def _take_any(
    connection: SSL.Connection, certificate: crypto.X509, number: int, depth: int, ok: int
) -> bool:
    return True


def _select_protocol(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return PROTOCOL if PROTOCOL in offered else SSL.NO_OVERLAPPING_PROTOCOLS
