"""Masks credentials in the log of inputs, which keeps only their presence and type.

Masks valid and invalid credentials alike. What it masks is remembered by the process alone, so that
a fork can be asked the same again; it is never written anywhere.

Models kubernetes staging/src/k8s.io/client-go/transport/round_trippers.go (maskValue).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_plus

from apiserver_app.http.exchange import Request

MASKED = "<masked>"
_WHOLE = frozenset(("cookie", "x-api-key"))
_SCHEMES = frozenset(("authorization", "proxy-authorization"))
_KNOWN = frozenset(("basic", "bearer", "negotiate"))
_PROTOCOLS = "sec-websocket-protocol"
_BEARER = "base64url.bearer.authorization.k8s.io."
_PARAMETERS = ("access_token", "id_token", "token", "password", "client_secret")
_REVIEWS = "/tokenreviews"  # their bodies hold a token


class Withheld(NamedTuple):
    """What the log does not have of a request: headers by their place."""

    query: str | None
    headers: dict[int, str]
    body: bytes | None


class Logged(NamedTuple):
    """A request as it is logged."""

    query: str
    headers: list[tuple[str, str]]
    body: bytes


def logged(request: Request) -> tuple[Logged, Withheld | None]:
    """Returns the request as it is logged, and what is not, if there is anything."""
    shown = Logged(query(request.query), headers(request.headers), body(request.path, request.body))
    hidden = Withheld(
        None if shown.query == request.query else request.query,
        {
            place: whole
            for place, ((_, value), (_, whole)) in enumerate(
                zip(shown.headers, request.headers, strict=True)
            )
            if value is not whole
        },
        None if shown.body is request.body else request.body,
    )
    return shown, hidden if any(part is not None and part != {} for part in hidden) else None


def whole(request: Request, hidden: Withheld | None) -> Request | None:
    """Returns a logged request as it came; None when what is masked of it is not known."""
    if hidden is None:
        values = (request.query, *(value for _, value in request.headers))
        is_masked = any(MASKED in value for value in values) or request.body == MASKED.encode()
        return None if is_masked else request
    pairs = [
        (name, hidden.headers.get(place, value))
        for place, (name, value) in enumerate(request.headers)
    ]
    return Request(
        request.method,
        request.path,
        request.query if hidden.query is None else hidden.query,
        pairs,
        request.body if hidden.body is None else hidden.body,
        request.tls,
        request.address,
    )


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
        return ", ".join(_BEARER + MASKED if part.startswith(_BEARER) else part for part in parts)
    return value
