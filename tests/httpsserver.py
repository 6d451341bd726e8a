"""A real HTTPS server on loopback, with a certificate made for it: what a user's webhook is."""

from __future__ import annotations

import datetime
import http.server
import ipaddress
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# (method, path with query, headers in small letters, body) -> (status, body)
Respond = Callable[[str, str, dict[str, str], bytes], tuple[int, bytes]]


@dataclass(frozen=True)
class Certificate:
    """A key with its certificate and what must be trusted for it."""

    pem: str
    key_pem: str
    ca_pem: str


def certificate(*names: str, expired: bool = False) -> Certificate:
    """Signed by an authority of its own, for these host names and addresses."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = _sign("some authority", ca_key, "some authority", ca_key, (), ca=True)
    leaf = _sign("server", key, "some authority", ca_key, names, expired=expired)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(_pem(leaf), private.decode(), _pem(ca))


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    names: tuple[str, ...],
    *,
    ca: bool = False,
    expired: bool = False,
) -> x509.Certificate:
    now = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    end = now + datetime.timedelta(days=1 if expired else 36500)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([_general(one) for one in names]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Server:
    """Use as a context manager; `url` says where it is and `asked` what it got."""

    def __init__(self, where: Path, respond: Respond, made: Certificate | None = None) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.certificate = made or certificate("127.0.0.1", "localhost")
        self.respond = respond
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append((self.command, self.path, headers, body))
                status, answer = outer.respond(self.command, self.path, headers, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                if 300 <= status < 400:
                    self.send_header("Location", "https://127.0.0.1:1/")
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST

            def log_message(self, format: str, *_arguments: object) -> None:
                return

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        chain = where / f"server-{self.port}.pem"
        chain.write_text(self.certificate.pem + self.certificate.key_pem)
        context.load_cert_chain(chain)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
