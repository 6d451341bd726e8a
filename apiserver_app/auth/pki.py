"""The cluster's own certificate authority, server and client certificates, and signing key.

Everything lies under DIR/pki as PEM and is used again after a restart. Keys are P-256 and readable
by their owner only. `cryptography` is imported at the first use. Never talks to the network.

Models what kubeadm's phases `certs` and `sa` leave behind (cmd/kubeadm/app/phases/certs).
"""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from apiserver_app.auth.data import cast
from apiserver_app.machinery import meta

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

T = TypeVar("T")
ADMIN = cast.Person("kubernetes-admin", ("system:masters",))
CA_NAME = "kubernetes"
CA_DAYS, LEAF_DAYS = 3650, 365
RENEW_BEFORE_DAYS = 7
BACKDATED = datetime.timedelta(days=3650)
_SERVER_NAMES = (
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class PkiError(Exception):
    """The files cannot be read or written; the message is for the person who started the server."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, as PEM and as files."""

    certificate: bytes
    key: bytes = field(repr=False)
    certificate_path: Path
    key_path: Path


@dataclass(frozen=True, slots=True)
class Pki:
    """The certificates and keys that the server and the kubeconfigs need."""

    directory: Path
    ca: Identity
    server: Identity
    admin: Identity
    clients: dict[str, Identity]  # by name of the cast
    service_account_key: bytes = field(repr=False)
    tokens_csv: str = field(repr=False)


def load(directory: Path, now: int, hosts: Sequence[str] = ()) -> Pki:
    """Reads the files under `directory`, and makes those missing, expiring or for other hosts.

    `now` is µs since 1970; `hosts` are further names or addresses of the server.
    """
    folder = directory / "pki"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        maker = _Maker(folder, _moment(now))
        return Pki(
            directory,
            maker.authority(),
            maker.server([*_SERVER_NAMES, *hosts]),
            maker.client("admin", ADMIN),
            {
                person.name: maker.client(person.name, person)
                for person in cast.PEOPLE
                if person.has_certificate
            },
            maker.signing_key(),
            _tokens(directory / "tokens.csv"),
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise PkiError(f"cannot keep keys and certificates in {folder}: {reason}") from error
    except ValueError as error:
        raise PkiError(f"a key or certificate in {folder} cannot be read: {error}") from error


def read(directory: Path) -> Pki:
    """Reads what `load` wrote, unchecked and without loading `cryptography`: for a process that
    trusts the one that wrote it."""
    folder = directory / "pki"
    names = [person.name for person in cast.PEOPLE if person.has_certificate]
    try:
        return Pki(
            directory,
            _read_pair(folder, "ca"),
            _read_pair(folder, "apiserver"),
            _read_pair(folder, "admin"),
            {name: _read_pair(folder, name) for name in names},
            (folder / "sa.key").read_bytes(),
            (directory / "tokens.csv").read_text(),
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise PkiError(f"cannot read keys and certificates in {folder}: {reason}") from error


def client(directory: Path, now: int, person: cast.Person) -> Identity:
    """Reads the certificate of somebody who is not of the cast, or makes it; as in `load`."""
    folder = directory / "pki"
    try:
        maker = _Maker(folder, _moment(now))
        maker.authority()
        return maker.client(person.name, person)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PkiError(f"cannot keep keys and certificates in {folder}: {reason}") from error


def _moment(now: int) -> datetime.datetime:
    return datetime.datetime.fromisoformat(meta.rfc3339(now).replace("Z", "+00:00"))


def _read_pair(folder: Path, name: str) -> Identity:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    return Identity(certificate.read_bytes(), key.read_bytes(), certificate, key)


class _Maker:
    """Makes and reads the files of one folder at one moment."""

    def __init__(self, folder: Path, moment: datetime.datetime) -> None:
        self.folder = folder
        self.moment = moment
        self._ca: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None = None

    def authority(self) -> Identity:
        from cryptography import x509

        identity = self._read("ca")
        if identity is None:
            key = _new_key()
            name = _name(CA_NAME, ())
            builder = self._builder(name, name, key, CA_DAYS)
            builder = builder.add_extension(x509.BasicConstraints(True, None), critical=True)
            builder = builder.add_extension(_usage(ca=True), critical=True)
            names = x509.SubjectAlternativeName([x509.DNSName(CA_NAME)])
            identity = self._write("ca", self._sign(builder.add_extension(names, False), key), key)
        self._ca = _parse(identity)
        return identity

    def server(self, hosts: Sequence[str]) -> Identity:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        general_names = [_general_name(host) for host in dict.fromkeys(hosts)]
        identity = self._read(
            "apiserver", lambda certificate: _has_names(certificate, general_names)
        )
        if identity is not None:
            return identity
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        names = x509.SubjectAlternativeName(general_names)
        return self._issue("apiserver", _name("kube-apiserver", ()), [usage, names])

    def client(self, file_name: str, person: cast.Person) -> Identity:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        identity = self._read(file_name)
        if identity is not None:
            return identity
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._issue(file_name, _name(person.name, person.groups), [usage])

    def signing_key(self) -> bytes:
        """Returns the key that signs service account tokens; its public half is stored beside
        it."""
        path = self.folder / "sa.key"
        if path.exists():
            kept = path.read_bytes()
            _load_key(path, kept)
            return kept
        key = _new_key()
        pem = _key_pem(key)
        write_file(path, pem, 0o600)
        write_file(self.folder / "sa.pub", _public_pem(key), 0o644)
        return pem

    def _issue(
        self, file_name: str, subject: x509.Name, extensions: Sequence[x509.ExtensionType]
    ) -> Identity:
        from cryptography import x509

        assert self._ca is not None, "the authority comes first"
        certificate, authority_key = self._ca
        key = _new_key()
        builder = self._builder(subject, certificate.subject, key, LEAF_DAYS)
        builder = builder.add_extension(_usage(ca=False), critical=True)
        builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return self._write(file_name, self._sign(builder, authority_key), key)

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
    ) -> x509.CertificateBuilder:
        from cryptography import x509

        # valid since the CA is, as kubeadm makes them, and that since long ago: a cluster whose
        # certificates were lost goes on at the time at which it stopped
        start = self.moment - BACKDATED
        end = self.moment + datetime.timedelta(days=days)
        if self._ca is not None:
            start = self._ca[0].not_valid_before_utc
            end = min(end, self._ca[0].not_valid_after_utc)
        public = key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        )

    def _sign(
        self, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey
    ) -> x509.Certificate:
        from cryptography.hazmat.primitives import hashes

        return builder.sign(key, hashes.SHA256())

    def _read(
        self, name: str, fits: Callable[[x509.Certificate], bool] | None = None
    ) -> Identity | None:
        """Reads a certificate with its key; None when missing, expiring or signed by another CA."""
        try:
            identity = _read_pair(self.folder, name)
        except FileNotFoundError:
            return None
        certificate, _ = _parse(identity)
        renew_at = certificate.not_valid_after_utc - datetime.timedelta(days=RENEW_BEFORE_DAYS)
        if renew_at < self.moment or (fits is not None and not fits(certificate)):
            return None
        if self._ca is not None and not _signed_by(certificate, self._ca[0]):
            return None
        return identity

    def _write(
        self, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> Identity:
        from cryptography.hazmat.primitives.serialization import Encoding

        # the key first: a certificate without its key would look complete
        write_file(self.folder / f"{name}.key", _key_pem(key), 0o600)
        write_file(self.folder / f"{name}.crt", certificate.public_bytes(Encoding.PEM), 0o644)
        return _read_pair(self.folder, name)


def _tokens(path: Path) -> str:
    """Returns the static token file; each token is generated once and kept."""
    if path.exists():
        try:
            return read_text(path)
        except ValueError as error:
            raise PkiError(str(error)) from error
    lines = [
        f'{secrets.token_hex(16)},{person.name},{person.name},"{",".join(person.groups)}"\n'
        for person in cast.PEOPLE
        if person.uses_token
    ]
    text = "".join(lines)
    write_file(path, text.encode(), 0o600)
    return text


def read_text(path: Path) -> str:
    """Raises ValueError with the line of what is not text."""
    data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: this is not UTF-8 text") from error


def write_file(path: Path, content: bytes, mode: int) -> None:
    """Writes a file atomically; others can never read it in between."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def new_signing_key() -> bytes:
    """Generates a key for service account tokens that exists only in memory, as PEM."""
    return _key_pem(_new_key())


def _new_key() -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _parse(identity: Identity) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    path = identity.certificate_path
    certificate = _loaded(path, lambda: x509.load_pem_x509_certificate(identity.certificate))
    key = _load_key(identity.key_path, identity.key)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{identity.key_path.name} is not an EC key")
    if key.public_key() != certificate.public_key():
        raise ValueError(
            f"{identity.key_path.name} does not belong to {identity.certificate_path.name}"
        )
    return certificate, key


def _load_key(path: Path, pem: bytes) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return _loaded(path, lambda: load_pem_private_key(pem, None))


def _loaded(path: Path, load: Callable[[], T]) -> T:
    """Raises ValueError that names the file."""
    try:
        return load()
    except (ValueError, TypeError) as error:  # TypeError: it is encrypted
        raise ValueError(
            f"{path.name} is not PEM; put it back, or delete it to have a new one made"
        ) from error


def validity(certificate: bytes) -> tuple[int, int]:
    """Returns when a certificate becomes valid and when it expires, in seconds since 1970."""
    from cryptography import x509

    parsed = x509.load_pem_x509_certificate(certificate)
    return int(parsed.not_valid_before_utc.timestamp()), int(parsed.not_valid_after_utc.timestamp())


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError):
        return False
    return True


def _has_names(certificate: x509.Certificate, names: Sequence[x509.GeneralName]) -> bool:
    from cryptography import x509

    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return all(name in list(extension) for name in names)


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return x509.DNSName(host)


def _name(common_name: str, groups: Sequence[str]) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(ca: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
