"""Certificate authorities of the tests, and the chains that clients bring."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver_app.machinery.meta import TlsPeer
from tests.apiserver_app.auth.conftest import NOW

Extensions = Sequence[tuple[x509.ExtensionType, bool]]
AUTHORITY = x509.BasicConstraints(True, None)
MOMENT = datetime.datetime.fromtimestamp(NOW / 1e6, datetime.UTC)


class Authority:
    """A CA that lives in memory; an intermediate one has a parent. `basic` are its constraints,
    `more` are further extensions, each with whether it is critical."""

    def __init__(
        self,
        name: str,
        parent: Authority | None = None,
        *,
        basic: x509.BasicConstraints | None = AUTHORITY,
        more: Extensions = (),
        key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | None = None,
        days: float = 3650,
    ) -> None:
        self.name = name
        self.parent = parent
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        signer = parent or self
        builder = _builder(_name(name), _name(signer.name), self.key.public_key(), -1, days)
        for extension, critical in (*([(basic, True)] if basic else []), *more):
            builder = builder.add_extension(extension, critical)
        self.certificate = builder.sign(signer.key, hashes.SHA256())

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def peer(
        self,
        name: str,
        groups: tuple[str, ...] = (),
        *,
        since: float = -1,
        days: float = 1,
        usage: x509.ObjectIdentifier | None = ExtendedKeyUsageOID.CLIENT_AUTH,
        more: Extensions = (),
    ) -> TlsPeer:
        """A client with a certificate of this CA; `since` and `days` count from NOW."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, groups), _name(self.name), key.public_key(), since, days)
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        for extension, critical in more:
            builder = builder.add_extension(extension, critical)
        certificate = builder.sign(self.key, hashes.SHA256())
        chain = [certificate]
        authority: Authority | None = self
        while authority is not None and authority.parent is not None:
            chain.append(authority.certificate)
            authority = authority.parent
        return TlsPeer(
            name,
            groups,
            self.name,
            "",
            certificate.fingerprint(hashes.SHA256()).hex(),
            tuple(one.public_bytes(serialization.Encoding.DER) for one in chain),
        )


@functools.cache
def authority(name: str) -> Authority:
    """The CA of that name, the same each time."""
    return Authority(name)


def _name(common_name: str, groups: tuple[str, ...] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey,
    since: float,
    days: float,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(MOMENT + datetime.timedelta(days=since))
        .not_valid_after(MOMENT + datetime.timedelta(days=days))
    )
