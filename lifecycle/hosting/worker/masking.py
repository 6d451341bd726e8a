"""Masks credentials in the log of inputs, which keeps only their presence and type.

Masks valid and invalid credentials alike.

Models kubernetes staging/src/k8s.io/client-go/transport/round_trippers.go (maskValue).
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote_plus

MASKED = "<masked>"
_WHOLE = frozenset(("cookie", "x-api-key"))
_SCHEMES = frozenset(("authorization", "proxy-authorization"))
_KNOWN = frozenset(("basic", "bearer", "negotiate"))
_PROTOCOLS = "sec-websocket-protocol"
_BEARER = "base64url.bearer.authorization.k8s.io."
_PARAMETERS = ("access_token", "id_token", "token", "password", "client_secret")
_REVIEWS = "/tokenreviews"  # their bodies hold a token


def headers(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the headers with credentials masked."""
    return [(name, _value(name.lower(), value)) for name, value in pairs]


def body(path: str, data: bytes) -> bytes:
    """Returns the body with credentials masked."""
    return MASKED.encode() if data and path.rstrip("/").endswith(_REVIEWS) else data


def query(text: str) -> str:
    """Returns the query with credentials masked: some clients send them there."""
    if "%" not in text and not any(name in text.lower() for name in _PARAMETERS):
        return text
    pairs = (pair.partition("=") for pair in text.split("&"))
    return "&".join(
        f"{name}={MASKED}"
        if sign and unquote_plus(name).lower() in _PARAMETERS
        else name + sign + value
        for name, sign, value in pairs
    )


def _value(name: str, value: str) -> str:
    if name in _WHOLE:
        return MASKED
    if name in _SCHEMES:
        scheme, space, _ = value.strip().partition(" ")
        return f"{scheme} {MASKED}" if space and scheme.lower() in _KNOWN else MASKED
    if name == _PROTOCOLS and _BEARER in value:
        parts = (part.strip() for part in value.split(","))
        return ", ".join(_BEARER + MASKED if one.startswith(_BEARER) else one for one in parts)
    return value
