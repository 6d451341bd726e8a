"""Verifies client certificate chains; errors are worded as Go's crypto/x509 words them.

`cryptography` is loaded when the first chain is verified. Knows no connection and no clock.

Models Go's crypto/x509 (verify.go), as kubernetes calls it in
staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import go_value

if TYPE_CHECKING:
    from cryptography import x509

    Path = tuple[x509.Certificate, ...]

CHAIN_MAX = 8  # certificates a client may send
_UNKNOWN = "x509: certificate signed by unknown authority"
_NO_SIGNER = "x509: invalid signature: parent certificate cannot sign this kind of certificate"
_USAGE = "x509: certificate specifies an incompatible key usage"
_CRITICAL = "x509: unhandled critical extension"
_NOT_AUTHORIZED = "x509: certificate is not authorized to sign other certificates"
_TOO_LONG = "x509: too many intermediates for path length constraint"
_NAME = "x509: a root or intermediate certificate is not authorized to sign for this name: "
_INSECURE = "x509: cannot verify signature: insecure algorithm "
_TOO_MANY_CHECKS = "x509: signature check attempts limit reached while verifying certificate chain"
SIGNATURE_CHECKS_MAX = 100  # of one chain
# extensions that Go reads: any other that is critical refuses the certificate
_HANDLED = {f"2.5.29.{number}" for number in (14, 15, 17, 19, 30, 31, 32, 33, 35, 36, 37, 54)} | {
    "1.3.6.1.5.5.7.1.1"
}
# signature algorithms that Go refuses
_WEAK = {
    "1.2.840.113549.1.1.4": "MD5-RSA",
    "1.2.840.113549.1.1.5": "SHA1-RSA",
    "1.2.840.10045.4.1": "ECDSA-SHA1",
    "1.2.840.10040.4.3": "DSA-SHA1",
}


class ChainError(Exception):
    """The certificate chain is not trusted; the message is Go's."""


class Verified(msgspec.Struct, frozen=True):
    """The subject of a verified chain and the time span (µs) in which it is valid."""

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
        """Returns the verified subject. `chain` is DER, leaf first. Raises ChainError."""
        certificates = _read(chain)
        leaf = certificates[0]
        _check(leaf, (), now, is_intermediate=False)
        if leaf in self._load():
            paths: list[Path] = [(leaf,)]
        else:
            paths = _Search(self._load(), certificates[1:], now).paths((leaf,))
        for path in paths:
            if all(_allows_client_auth(certificate) for certificate in path):
                return Verified(
                    _last(leaf.subject, "CN"),
                    _all(leaf.subject, "O"),
                    _last(leaf.issuer, "CN"),
                    max(_micros(certificate.not_valid_before_utc) for certificate in path),
                    min(_micros(certificate.not_valid_after_utc) for certificate in path),
                )
        raise ChainError(_USAGE)

    def _load(self) -> list[x509.Certificate]:
        if self._roots is None:
            from cryptography import x509

            try:
                self._roots = x509.load_pem_x509_certificates(self._pem.encode())
            except ValueError:
                self._roots = []
        return self._roots


class _Search:
    """Every path from a certificate to a root, as Go's buildChains finds them."""

    def __init__(
        self, roots: Sequence[x509.Certificate], intermediates: Sequence[x509.Certificate], now: int
    ) -> None:
        self._roots = roots
        self._intermediates = intermediates
        self._now = now
        self._checks = 0

    def paths(self, path: Path) -> list[Path]:
        """Returns the paths that extend this one to a root. Raises ChainError when there are
        none."""
        child, hint = path[-1], ""
        complete: list[Path] = []
        refusal: ChainError | None = None
        candidates = [(certificate, False) for certificate in self._roots]
        candidates += [(certificate, True) for certificate in self._intermediates]
        for candidate, is_intermediate in candidates:
            if candidate.subject != child.issuer or candidate in path:
                continue
            self._checks += 1
            if self._checks > SIGNATURE_CHECKS_MAX:
                raise ChainError(_TOO_MANY_CHECKS)
            problem = _signature(child, candidate)
            if problem:
                hint = hint or _hint(candidate, problem)
                continue
            try:
                _check(candidate, path, self._now, is_intermediate=is_intermediate)
                longer = (*path, candidate)
                complete += self.paths(longer) if is_intermediate else [longer]
            except ChainError as error:
                refusal = error
        if not complete:
            raise refusal or ChainError(_UNKNOWN + hint)
        return complete


def _hint(candidate: x509.Certificate, problem: str) -> str:
    name = _last(candidate.subject, "CN") or "".join(_all(candidate.subject, "O")[:1])
    return (
        f" (possibly because of {go_value(problem)} while trying to verify candidate authority "
        f"certificate {go_value(name or f'serial:{candidate.serial_number}')})"
    )


def identifier(chain: Sequence[bytes]) -> str:
    """Returns the SN=…, SKID=…, AKID=… text by which upstream names a certificate in a refusal."""
    leaf = _read(chain)[0]
    subject = _extension(leaf, "SubjectKeyIdentifier")
    issuer = _extension(leaf, "AuthorityKeyIdentifier")
    own = b"" if subject is None else subject.digest
    authority = b"" if issuer is None else issuer.key_identifier or b""
    return f"SN={leaf.serial_number}, SKID={_hex(own)}, AKID={_hex(authority)}"


def _hex(data: bytes) -> str:
    return data.hex(":").upper()


def _read(chain: Sequence[bytes]) -> list[x509.Certificate]:
    from cryptography import x509

    try:
        certificates = [x509.load_der_x509_certificate(der) for der in chain[:CHAIN_MAX]]
        for certificate in certificates:
            certificate.extensions  # noqa: B018 - raises when malformed
        return certificates
    except ValueError as error:
        raise ChainError(f"x509: malformed certificate: {error}") from error


def _check(certificate: x509.Certificate, below: Path, now: int, *, is_intermediate: bool) -> None:
    """Whether a certificate may stand above those `below` it, which are the path so far."""
    from apiserver_app.auth import nameconstraints

    if _has_unhandled(certificate):
        raise ChainError(_CRITICAL)
    _check_time(certificate, now)
    constraints = _extension(certificate, "NameConstraints")
    if constraints is not None:
        for issuer in below:
            names = _extension(issuer, "SubjectAlternativeName")
            problem = "" if names is None else nameconstraints.violation(constraints, names)
            if problem:
                raise ChainError(_NAME + problem)
    basic = _extension(certificate, "BasicConstraints")
    if is_intermediate and (basic is None or not basic.ca):
        raise ChainError(_NOT_AUTHORIZED)
    if basic is not None and basic.path_length is not None and len(below) - 1 > basic.path_length:
        raise ChainError(_TOO_LONG)


def _check_time(certificate: x509.Certificate, now: int) -> None:
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    current = meta.rfc3339(now)
    expired = "x509: certificate has expired or is not yet valid: current time"
    if now < _micros(since):
        raise ChainError(f"{expired} {current} is before {meta.rfc3339(_micros(since))}")
    if now > _micros(until):
        raise ChainError(f"{expired} {current} is after {meta.rfc3339(_micros(until))}")


def _has_unhandled(certificate: x509.Certificate) -> bool:
    from cryptography import x509

    from apiserver_app.auth import nameconstraints

    for extension in certificate.extensions:
        if not extension.critical:
            continue
        if extension.oid.dotted_string not in _HANDLED:
            return True
        value = extension.value
        if isinstance(value, x509.NameConstraints) and not nameconstraints.are_handled(value):
            return True
        if isinstance(value, x509.SubjectAlternativeName) and not nameconstraints.has_known(value):
            return True
    return False


def _extension(certificate: x509.Certificate, name: str) -> Any:
    """The extension of that class, or None."""
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(getattr(x509, name)).value
    except x509.ExtensionNotFound:
        return None


def _signature(child: x509.Certificate, parent: x509.Certificate) -> str:
    """Returns why the parent's signature of the child does not verify; "" when it does."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    basic, usage = _extension(parent, "BasicConstraints"), _extension(parent, "KeyUsage")
    may_lack = basic is None and parent.version is not x509.Version.v3
    if not (may_lack or (basic is not None and basic.ca)):
        return _NO_SIGNER
    if usage is not None and not usage.key_cert_sign:
        return _NO_SIGNER
    weak = _WEAK.get(child.signature_algorithm_oid.dotted_string)
    if weak:
        return _INSECURE + weak
    try:
        child.verify_directly_issued_by(parent)
    except (InvalidSignature, ValueError, TypeError):
        key = parent.public_key()
        if isinstance(key, ec.EllipticCurvePublicKey):
            return "x509: ECDSA verification failure"
        if isinstance(key, ed25519.Ed25519PublicKey):
            return "x509: Ed25519 verification failure"
        return "crypto/rsa: verification error"
    return ""


def _allows_client_auth(certificate: x509.Certificate) -> bool:
    from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

    usages = _extension(certificate, "ExtendedKeyUsage")
    return usages is None or Usage.CLIENT_AUTH in usages or Usage.ANY_EXTENDED_KEY_USAGE in usages


def _all(name: x509.Name, part: str) -> tuple[str, ...]:
    from cryptography.x509.oid import NameOID

    oid = {"CN": NameOID.COMMON_NAME, "O": NameOID.ORGANIZATION_NAME}[part]
    return tuple(str(attribute.value) for attribute in name.get_attributes_for_oid(oid))


def _last(name: x509.Name, part: str) -> str:
    return (_all(name, part) or ("",))[-1]


def _micros(moment: datetime.datetime) -> int:
    return int((moment - meta.EPOCH).total_seconds()) * 1_000_000
