"""Operations on paths that are no resources: the version, and the issuer of tokens.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/routes/version.go and
pkg/routes/openidmetadata.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver_app.http.openapi import components

_INFO = "io.k8s.apimachinery.pkg.version.Info"
_TEXT = {"type": "string"}


class _Route(NamedTuple):
    tag: str
    description: str
    operation: str
    media_type: str
    definition: str = ""


_ROUTES = {
    "version": _Route(
        "version", "get the version information for this server", "getCodeVersion",
        "application/json", _INFO,
    ),
    ".well-known/openid-configuration": _Route(
        "WellKnown", "get service account issuer OpenID configuration, also known as the 'OIDC "
        "discovery doc'", "getServiceAccountIssuerOpenIDConfiguration", "application/json",
    ),
    "openid/v1/jwks": _Route(
        "openid", "get service account issuer OpenID JSON Web Key Set (contains public token "
        "verification keys)", "getServiceAccountIssuerOpenIDKeyset", "application/jwk-set+json",
    ),
}  # fmt: skip
NAMES = tuple(_ROUTES)


def roots(name: str) -> list[str]:
    """The definitions its document refers to."""
    return [_ROUTES[name].definition] if _ROUTES[name].definition else []


def paths(name: str) -> dict[str, Any]:
    route = _ROUTES[name]
    schema = components.reference(route.definition) if route.definition else _TEXT
    return {
        f"/{name}/": {
            "get": {
                "tags": [route.tag],
                "description": route.description,
                "operationId": route.operation,
                "responses": {
                    "200": {"description": "OK", "content": {route.media_type: {"schema": schema}}},
                    "401": {"description": "Unauthorized"},
                },
            }
        }
    }
