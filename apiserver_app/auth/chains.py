"""Is a certificate signed by one of ours, in time, and for clients? In crypto/x509's words.

`cryptography` is loaded when the first chain is judged. Knows no connection and no clock.

Models Go's crypto/x509 (verify.go), as kubernetes calls it in
staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import go_value

if TYPE_CHECKING:
    from cryptography import x509

CHAIN_MAX = 8  # certificates a client may bring
_UNKNOWN = "x509: certificate signed by unknown authority"
_NO_SIGNER = "x509: invalid signature: parent certificate cannot sign this kind of certificate"
_USAGE = "x509: certificate specifies an incompatible key usage"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class ChainError(Exception):
    """The certificate is not to be believed; the text is Go's."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Who a chain that holds belongs to, and in which span of time (µs) it does."""

    common_name: str
    organizations: tuple[str, ...]
    issuer: str
    since: int
    until: int


class Roots:
    """Trusted certificates, read from PEM at the first use."""

    def __init__(self, pem: str) -> None:
        self._pem = pem
        self._roots: list[x509.Certificate] | None = None

    def verify(self, chain: Sequence[bytes], now: int) -> Verified:
        """`chain` is DER, the client's own certificate first. Raises ChainError."""
        certificates = _read(chain)
        leaf = certificates[0]
        _check_time(leaf, now)
        path = self._path(leaf, certificates[1:], now, ())
        if not all(_for_clients(one) for one in path):
            raise ChainError(_USAGE)
        return Verified(
            _last(leaf.subject, "CN"),
            _all(leaf.subject, "O"),
            _last(leaf.issuer, "CN"),
            max(_micros(one.not_valid_before_utc) for one in path),
            min(_micros(one.not_valid_after_utc) for one in path),
        )

    def _path(
        self,
        leaf: x509.Certificate,
        between: Sequence[x509.Certificate],
        now: int,
        below: tuple[x509.Certificate, ...],
    ) -> tuple[x509.Certificate, ...]:
        roots = self._load()
        here = (*below, leaf)
        if not below and leaf in roots:
            return here
        hint = ""
        for candidate in [*roots, *between]:
            if candidate.subject != leaf.issuer or candidate in here:
                continue
            problem = _signature(leaf, candidate)
            if problem:
                name = _last(candidate.subject, "CN") or _last(candidate.subject, "O")
                hint = hint or (
                    f" (possibly because of {go_value(problem)} while trying to verify "
                    f"candidate authority certificate {go_value(name)})"
                )
                continue
            _check_time(candidate, now)
            if candidate in roots:
                return (*here, candidate)
            return self._path(candidate, between, now, here)
        raise ChainError(_UNKNOWN + hint)

    def _load(self) -> list[x509.Certificate]:
        if self._roots is None:
            from cryptography import x509

            try:
                self._roots = x509.load_pem_x509_certificates(self._pem.encode())
            except ValueError:
                self._roots = []
        return self._roots


def identifier(chain: Sequence[bytes]) -> str:
    """How upstream names a certificate in a refusal: SN=…, SKID=…, AKID=…"""
    from cryptography import x509

    leaf = _read(chain)[0]
    subject = authority = b""
    with contextlib.suppress(x509.ExtensionNotFound):
        subject = leaf.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    with contextlib.suppress(x509.ExtensionNotFound):
        found = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
        authority = found.value.key_identifier or b""
    return f"SN={leaf.serial_number}, SKID={_hex(subject)}, AKID={_hex(authority)}"


def _hex(data: bytes) -> str:
    return data.hex(":").upper()


def _read(chain: Sequence[bytes]) -> list[x509.Certificate]:
    from cryptography import x509

    try:
        return [x509.load_der_x509_certificate(one) for one in chain[:CHAIN_MAX]]
    except ValueError as error:
        raise ChainError(f"x509: malformed certificate: {error}") from error


def _check_time(certificate: x509.Certificate, now: int) -> None:
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    moment = meta.rfc3339(now)
    expired = "x509: certificate has expired or is not yet valid: current time"
    if now < _micros(since):
        raise ChainError(f"{expired} {moment} is before {meta.rfc3339(_micros(since))}")
    if now > _micros(until):
        raise ChainError(f"{expired} {moment} is after {meta.rfc3339(_micros(until))}")


def _signature(child: x509.Certificate, parent: x509.Certificate) -> str:
    """What is wrong with the parent's signature under the child; "" when nothing is."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        basic = parent.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return _NO_SIGNER
    if not basic.ca:
        return _NO_SIGNER
    try:
        child.verify_directly_issued_by(parent)
    except (InvalidSignature, ValueError, TypeError):
        elliptic = isinstance(parent.public_key(), ec.EllipticCurvePublicKey)
        return "x509: ECDSA verification failure" if elliptic else "crypto/rsa: verification error"
    return ""


def _for_clients(certificate: x509.Certificate) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return Usage.CLIENT_AUTH in usages or Usage.ANY_EXTENDED_KEY_USAGE in usages


def _all(name: x509.Name, part: str) -> tuple[str, ...]:
    from cryptography.x509.oid import NameOID

    oid = {"CN": NameOID.COMMON_NAME, "O": NameOID.ORGANIZATION_NAME}[part]
    return tuple(str(one.value) for one in name.get_attributes_for_oid(oid))


def _last(name: x509.Name, part: str) -> str:
    return (_all(name, part) or ("",))[-1]


def _micros(moment: datetime.datetime) -> int:
    return int((moment - _EPOCH).total_seconds()) * 1_000_000
