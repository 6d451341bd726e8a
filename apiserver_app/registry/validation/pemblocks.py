"""PEM text as Go's decoder sees it: the blocks, and what certificates in them may not be.

Text between blocks and damaged blocks are skipped. `cryptography` parses the certificates; it is
loaded with the first one.

Models Go encoding/pem and kubernetes pkg/apis/certificates/validation/validation.go.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

BUNDLE_SIZE = 1 << 20
_blocks = re.compile(
    r"^-----BEGIN (?P<kind>[^\n]*?)-----[ \t\r]*\n(?P<body>.*?)^-----END (?P=kind)-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
).finditer


class Block(NamedTuple):
    """One block: its type, whether it has headers, its bytes."""

    kind: str
    headers: bool
    data: bytes


def blocks(text: str) -> Iterator[Block]:
    for match in _blocks(text):
        head, blank, rest = match["body"].partition("\n\n")
        headers = bool(blank) and ":" in head
        try:
            data = base64.b64decode("".join((rest if headers else match["body"]).split()))
        except (binascii.Error, ValueError):
            continue
        yield Block(match["kind"], headers, data)


def certificate_error(text: str) -> str:
    """The error of an invalid certificate chain; empty if it is valid or empty."""
    if not text:
        return ""
    count = 0
    for block in blocks(text):
        if block.kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.kind}"'
        if block.headers:
            return "no PEM block headers are permitted"
        count += 1
        if _is_authority(block.data) is None:
            return "x509: malformed certificate"
    return "" if count else "must contain at least one CERTIFICATE PEM block"


def authorities_error(text: str) -> str:
    """The error of a CA bundle without any certificate; empty if it has one.

    Models kubernetes staging/src/k8s.io/client-go/transport/transport.go."""
    all_blocks = list(blocks(text))
    plain = [
        block.data for block in all_blocks if block.kind == "CERTIFICATE" and not block.headers
    ]
    if any(_is_authority(data) is not None for data in plain):
        return ""
    message = "no valid certificate authority data seen"
    if plain:
        message = "failed to parse certificate: x509: malformed certificate"
    elif not all_blocks:
        message = "unable to parse bytes as PEM block"
    return f"unable to load root certificates: {message}"


def bundle_errors(text: str) -> list[str]:
    """The errors of a trust bundle, entry by entry."""
    messages: list[str] = []
    places: dict[bytes, list[int]] = {}
    for index, block in enumerate(blocks(text)):
        if block.kind != "CERTIFICATE":
            messages.append(f"entry {index} has bad block type: {block.kind}")
        elif block.headers:
            messages.append(f"entry {index} has PEM block headers")
        elif (authority := _is_authority(block.data)) is None:
            messages.append(f"entry {index} does not parse as X.509")
        elif not authority:
            messages.append(f"entry {index} does not have the CA bit set")
        else:
            places.setdefault(block.data, []).append(index)
    if messages:
        return messages
    if not places:
        return ["at least one trust anchor must be provided"]
    return [
        f"duplicate trust anchor (indices [{' '.join(map(str, indices))}])"
        for indices in places.values()
        if len(indices) > 1
    ]


def _is_authority(data: bytes) -> bool | None:
    """Whether a certificate is a CA; None if it does not parse."""
    from cryptography import x509

    try:
        certificate = x509.load_der_x509_certificate(data)
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
    except ValueError:
        return None
