"""Operations on paths that are no resources: the version, the issuer of tokens, and the discovery
of groups.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/routes/version.go,
pkg/routes/openidmetadata.go and staging/src/k8s.io/apiserver/pkg/endpoints/discovery.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver_app.http.openapi import components, operations
from apiserver_app.machinery.kinds import kinds

_INFO = "io.k8s.apimachinery.pkg.version.Info"
_TEXT = {"type": "string"}


class _Route(NamedTuple):
    tag: str
    description: str
    operation: str
    media_types: tuple[str, ...]
    definition: str = ""


_ROUTES = {
    "version": _Route(
        "version", "get the version information for this server", "getCodeVersion",
        ("application/json",), _INFO,
    ),
    ".well-known/openid-configuration": _Route(
        "WellKnown", "get service account issuer OpenID configuration, also known as the 'OIDC "
        "discovery doc'", "getServiceAccountIssuerOpenIDConfiguration", ("application/json",),
    ),
    "openid/v1/jwks": _Route(
        "openid", "get service account issuer OpenID JSON Web Key Set (contains public token "
        "verification keys)", "getServiceAccountIssuerOpenIDKeyset", ("application/jwk-set+json",),
    ),
    "api": _Route(
        "core", "get available API versions", "getCoreAPIVersions", operations.ANSWERS,
        components.META + "APIVersions",
    ),
    "apis": _Route(
        "apis", "get available API versions", "getAPIVersions", operations.ANSWERS,
        components.META + "APIGroupList",
    ),
}  # fmt: skip


def names(resources: kinds.Resources) -> list[str]:
    """What has a document or a part of one: the fixed paths, and a path for each group."""
    return [
        *_ROUTES,
        *dict.fromkeys(f"apis/{info.group}" for info in resources.built_in if info.group),
    ]


def roots(name: str) -> list[str]:
    """The definitions its document refers to."""
    route = _route(name)
    return [route.definition] if route.definition else []


def _route(name: str) -> _Route:
    if name in _ROUTES:
        return _ROUTES[name]
    word = operations.operation_prefix(name.removeprefix("apis/"), "")
    return _Route(
        word[0].lower() + word[1:],
        "get information of a group",
        f"get{word}APIGroup",
        operations.ANSWERS,
        components.META + "APIGroup",
    )


def paths(name: str) -> dict[str, Any]:
    route = _route(name)
    content = dict.fromkeys(route.media_types, _schema(route))
    return {
        f"/{name}/": {
            "get": {
                "tags": [route.tag],
                "description": route.description,
                "operationId": route.operation,
                "responses": {
                    "200": {"description": "OK", "content": content},
                    "401": {"description": "Unauthorized"},
                },
            }
        }
    }


def _schema(route: _Route) -> dict[str, Any]:
    return {"schema": components.reference(route.definition) if route.definition else _TEXT}
