"""TLS at the edge: who a client certificate says it is, and that nothing is decided there."""

from __future__ import annotations

import datetime
import http.client
import itertools
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from OpenSSL import SSL

from lifecycle.hosting.edge.adapter import tls, turns

from lifecycle.hosting.edge.adapter import server  # isort: skip
from twisted.internet import task
from twisted.protocols.tls import TLSMemoryBIOFactory

from tests.lifecycle.hosting.edge.test_channel import Server, Wire
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo


def test_certificate_of_our_ca_names_user_and_groups(demo: Demo) -> None:
    name, groups, issuer, error, fingerprint, chain = demo.https_get(demo.tls("student"), "/api")[
        "tls"
    ]
    assert (name, groups, issuer, error) == ("student", ["students"], "kubernetes", "")
    assert len(fingerprint) == 64
    assert chain


def test_no_certificate_is_nobody(demo: Demo) -> None:
    assert demo.https_get(demo.tls(), "/api")["tls"] is None


def test_each_request_of_a_connection_carries_the_identity(demo: Demo) -> None:
    connection = http.client.HTTPSConnection(*demo.tls_authority, context=demo.tls("admin"))
    for _ in range(2):
        connection.request("GET", "/api")
        assert json.loads(connection.getresponse().read())["tls"][0] == "kubernetes-admin"


def test_certificate_of_a_foreign_ca_is_passed_on_unjudged(demo: Demo, tmp_path: Path) -> None:
    files = make_certificate(tmp_path, "somebody", "kubernetes-admin", "system:masters")
    context = demo.tls()
    context.load_cert_chain(*files)
    name, _, issuer, error, _, chain = demo.https_get(context, "/api")["tls"]
    assert (name, issuer, error, len(chain)) == ("kubernetes-admin", "somebody", "", 1)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_not_resumed_and_so_never_without_its_chain(
    demo: Demo, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    context = demo.tls(minimum_version=version, maximum_version=version)
    context.load_cert_chain(*make_certificate(tmp_path, "kubernetes", "admin", "system:masters"))
    session = None
    for _ in range(2):
        connection = http.client.HTTPSConnection(*demo.tls_authority, context=context)
        connection.connect()
        if session is not None:
            connection.sock.close()
            raw = socket.create_connection(demo.tls_authority, WAIT_SECONDS)
            connection.sock = context.wrap_socket(
                raw, server_hostname=demo.tls_authority[0], session=session
            )
        connection.request("GET", "/api")
        assert json.loads(connection.getresponse().read())["tls"][5] != []
        assert connection.sock.session_reused is False
        session = connection.sock.session


@pytest.mark.parametrize("begun", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"])
def test_a_client_that_never_finishes_its_hello_is_given_up(
    tmp_path: Path, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2026-73500 of etcd: connections that say nothing were kept for ever."""
    monkeypatch.setattr(turns, "TURNS", turns.Turns(lambda call: call()))
    clock, times = task.Clock(), Server.times
    inner: Any = server.EdgeFactory(Server())
    inner.reactor = clock
    context: Any = tls.ServerContext(
        *make_certificate(tmp_path, "kubernetes", "apiserver", "x"), []
    )
    factory = TLSMemoryBIOFactory(context, False, inner, clock)  # type: ignore[arg-type]
    factory.protocol = tls.Transport
    connection: Any = factory.buildProtocol(None)
    wire: Any = Wire()  # type: ignore[no-untyped-call]
    connection.makeConnection(wire)
    if begun:
        connection.dataReceived(begun)
    clock.advance(times.head - 1)
    assert not wire.disconnecting and not wire.disconnected
    clock.advance(1)
    clock.advance(times.closing)
    assert wire.disconnecting or wire.disconnected


def test_handshakes_take_turns_and_who_waits_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Callable[[], None]] = []
    ticks = itertools.count(step=turns.TURN_SECONDS / 2)  # one step of a handshake is a turn
    monkeypatch.setattr(turns, "TURNS", turns.Turns(calls.append, lambda: next(ticks)))
    context: Any = tls.ServerContext(
        *make_certificate(tmp_path, "kubernetes", "apiserver", "x"), []
    )
    factory = TLSMemoryBIOFactory(context, False, server.EdgeFactory(Server()))
    factory.protocol = tls.Transport
    wires: list[Any] = []
    for _ in range(5):
        client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
        client.set_connect_state()
        with pytest.raises(SSL.WantReadError):
            client.do_handshake()
        connection: Any = factory.buildProtocol(None)
        wires.append(Wire())  # type: ignore[no-untyped-call]
        wires[-1]._tempDataLen = 1  # there is no socket to send to at once
        connection.makeConnection(wires[-1])
        connection.dataReceived(client.bio_read(1 << 14))

    assert [wire.producerState for wire in wires] == ["paused"] * 5
    for done in range(5):
        assert [bool(wire.value()) for wire in wires] == [n < done for n in range(5)]
        (call,) = calls
        calls.clear()
        call()
    assert all(wire.value() for wire in wires) and not calls
    assert [wire.producerState for wire in wires] == ["producing"] * 5


def test_old_versions_of_tls_are_refused(demo: Demo) -> None:
    context = demo.tls()
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, OSError)):
        demo.https_get(context, "/api")


def test_http11_is_negotiated_although_h2_was_offered(demo: Demo) -> None:
    context = demo.tls()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(demo.tls_authority, WAIT_SECONDS) as raw,
        context.wrap_socket(raw, server_hostname=demo.tls_authority[0]) as secured,
    ):
        assert secured.selected_alpn_protocol() == "http/1.1"
        assert secured.version() == "TLSv1.3"


def make_certificate(folder: Path, issuer: str, name: str, organization: str) -> tuple[Path, Path]:
    """A client certificate signed by a made-up CA of that name."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])
    signer = ec.generate_private_key(ec.SECP256R1())
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - datetime.timedelta(days=3))
        .not_valid_after(end)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    files = folder / "client.crt", folder / "client.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return files


def test_who_speaks_plain_http_to_the_port_of_tls_is_told_so(demo: Demo) -> None:
    with socket.create_connection(demo.tls_authority, WAIT_SECONDS) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        said = client.makefile("rb").read()
    assert said.startswith(b"HTTP/1.0 400 Bad Request\r\n")
    assert said.endswith(b"Client sent an HTTP request to an HTTPS server.\n")


def test_garbage_before_a_handshake_ends_the_connection(demo: Demo) -> None:
    for garbage in (b"\0" * 5000, b"SSH-2.0-x\r\n", b"\x16\x03\x01\x02\0\1\0\1\xfc" + b"a" * 600):
        with socket.create_connection(demo.tls_authority, WAIT_SECONDS) as client:
            client.sendall(garbage)
            assert client.makefile("rb").read(6) in (b"", b"\x15\x03\x03\0\2\2")
    assert demo.https_get(demo.tls(), "/api")["path"] == "/api"
