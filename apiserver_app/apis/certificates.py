"""Certificate signing requests, and the interface to the cluster's CA keys.

A request is parsed once into a Request; the keys stay behind `Authority`, which the composition
root passes to the controllers. `cryptography` is loaded with the first request.

Models kubernetes pkg/apis/certificates/helpers.go and pkg/controller/certificates/authority.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

BLOCK = "-----BEGIN CERTIFICATE REQUEST-----"


class SigningError(Exception):
    """The request cannot be signed; the message is upstream's."""


class Request(msgspec.Struct, frozen=True):
    """The parsed contents of a signing request."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


class Authority(Protocol):
    """Signs with the cluster's keys. `now` is µs since 1970."""

    def certificate(
        self, request: str, usages: Sequence[str], seconds: int | None, now: int, serial: int
    ) -> str:
        """PEM of a certificate for `spec.request`. Raises SigningError."""
        ...

    def account_token(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """A legacy service account token, which a Secret holds."""
        ...


def pem_of(request: str) -> bytes:
    """The PEM inside `spec.request`. Raises SigningError."""
    try:
        data = base64.b64decode(request, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if BLOCK.encode() not in data:
        raise SigningError("PEM block type must be CERTIFICATE REQUEST")
    return data


def parse(request: str) -> Request:
    """Parses `spec.request`. Raises SigningError."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        csr = x509.load_pem_x509_csr(pem_of(request))
        names = [str(attribute.value) for attribute in _named(csr.subject, NameOID.COMMON_NAME)]
        groups = tuple(
            str(attribute.value) for attribute in _named(csr.subject, NameOID.ORGANIZATION_NAME)
        )
        try:
            others = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return Request(names[-1] if names else "", groups)
        return Request(
            names[-1] if names else "",
            groups,
            tuple(others.get_values_for_type(x509.DNSName)),
            tuple(str(address) for address in others.get_values_for_type(x509.IPAddress)),
            tuple(others.get_values_for_type(x509.RFC822Name)),
            tuple(others.get_values_for_type(x509.UniformResourceIdentifier)),
        )
    except ValueError as error:
        raise SigningError(f"asn1: structure error: {error}") from error


def _named(name: Any, oid: Any) -> list[Any]:
    return list(name.get_attributes_for_oid(oid))


def until(certificate: str) -> int | None:
    """When a certificate (base64 of PEM, as in `status.certificate`) expires; None if invalid."""
    from cryptography import x509

    try:
        parsed = x509.load_pem_x509_certificate(base64.b64decode(certificate))
    except (ValueError, binascii.Error):
        return None
    return int(parsed.not_valid_after_utc.timestamp()) * 1_000_000
