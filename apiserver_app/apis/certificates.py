"""Requests for certificates, and who signs them: what the controllers know of the cluster's keys.

A request is read once into plain facts; the keys themselves stay behind `Authority`, which the
composition root gives to the controllers. `cryptography` is loaded with the first request.

Models kubernetes pkg/apis/certificates/helpers.go and pkg/controller/certificates/authority.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

BLOCK = "-----BEGIN CERTIFICATE REQUEST-----"


class SigningError(Exception):
    """It cannot be signed; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks to have certified."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


class Authority(Protocol):
    """The cluster's keys at work. `now` is µs since 1970."""

    def certificate(
        self, request: str, usages: Sequence[str], seconds: int | None, now: int, serial: int
    ) -> str:
        """PEM of a certificate for `spec.request`. Raises SigningError."""
        ...

    def account_token(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """The token of a service account that a Secret keeps."""
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
    """The facts of `spec.request`. Raises SigningError."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        found = x509.load_pem_x509_csr(pem_of(request))
        names = [str(one.value) for one in _named(found.subject, NameOID.COMMON_NAME)]
        groups = tuple(str(one.value) for one in _named(found.subject, NameOID.ORGANIZATION_NAME))
        try:
            others = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return Request(names[-1] if names else "", groups)
        return Request(
            names[-1] if names else "",
            groups,
            tuple(others.get_values_for_type(x509.DNSName)),
            tuple(str(one) for one in others.get_values_for_type(x509.IPAddress)),
            tuple(others.get_values_for_type(x509.RFC822Name)),
            tuple(others.get_values_for_type(x509.UniformResourceIdentifier)),
        )
    except ValueError as error:
        raise SigningError(f"asn1: structure error: {error}") from error


def _named(name: Any, oid: Any) -> list[Any]:
    return list(name.get_attributes_for_oid(oid))


def until(certificate: str) -> int | None:
    """When a certificate (base64 of PEM, as in `status.certificate`) ends; None when it is none."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(base64.b64decode(certificate))
    except (ValueError, binascii.Error):
        return None
    return int(found.not_valid_after_utc.timestamp()) * 1_000_000
