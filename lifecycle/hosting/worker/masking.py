"""What proves who sends a request is not kept: the log of inputs says that it was there, and of
which sort. Knows nothing of whether it was any good.

Models kubernetes staging/src/k8s.io/client-go/transport/round_trippers.go (maskValue).
"""

from __future__ import annotations

from collections.abc import Iterable

MASKED = "<masked>"
_WHOLE = frozenset(("cookie", "x-api-key"))
_SCHEMES = frozenset(("authorization", "proxy-authorization"))
_KNOWN = frozenset(("basic", "bearer", "negotiate"))
_PROTOCOLS = "sec-websocket-protocol"
_BEARER = "base64url.bearer.authorization.k8s.io."
_REVIEWS = "/tokenreviews"  # whoever asks about a token sends it along


def headers(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers as they may be stored."""
    return [(name, _value(name.lower(), value)) for name, value in pairs]


def body(path: str, data: bytes) -> bytes:
    """The body as it may be stored."""
    return MASKED.encode() if data and path.rstrip("/").endswith(_REVIEWS) else data


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
