"""Impersonation: authorizes each part of the Impersonate-* headers.

It decides only which user the request continues as. It runs after authentication, because it needs
the real user, and before flow control, because everything later sees the impersonated user.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from apiserver_app.auth.authn.union import AUTHENTICATED, UNAUTHENTICATED
from apiserver_app.auth.authz import forbidden
from apiserver_app.auth.protocols import Attributes, Decision
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User

Headers = Mapping[str, tuple[str, ...]]
Authorize = Callable[[Attributes], Awaitable[Decision]]

PREFIX = "impersonate-"
_WITHOUT_USER = "requested groups, uid or extra without impersonating a user"
_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"
_ANONYMOUS = "system:anonymous"
_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


class _Part(NamedTuple):
    """One requested attribute of the impersonated user, as the authorizer sees it."""

    resource: str
    name: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    subresource: str = ""


def is_requested(headers: Headers) -> bool:
    """Reports whether a request asks for impersonation."""
    return any(name.startswith(PREFIX) for name in headers)


async def impersonate(user: User, headers: Headers, authorize: Authorize) -> User:
    """Returns the user the request continues as; 403 at the first part `user` may not
    impersonate."""
    parts = _parts(headers)
    if parts and not _first(headers, _USER):
        raise errors.unclassified(_WITHOUT_USER)
    for part in parts:
        attributes = Attributes(
            user, "impersonate", group=part.group, version=part.version, resource=part.resource,
            subresource=part.subresource, namespace=part.namespace, name=part.name,
        )  # fmt: skip
        decision = await authorize(attributes)
        if not decision.allowed:
            raise forbidden.forbidden_error(attributes, decision.reason)
    return _impersonated_user(headers) if parts else user


def _parts(headers: Headers) -> list[_Part]:
    parts: list[_Part] = []
    name = _first(headers, _USER)
    account = _account(name)
    if account is not None:
        parts.append(_Part("serviceaccounts", account[1], namespace=account[0]))
    elif name:
        parts.append(_Part("users", name))
    parts += [_Part("groups", group) for group in headers.get(_GROUP, ())]
    for key, values in _extra(headers).items():
        parts += [_Part("userextras", value, _AUTHENTICATION, "v1", "", key) for value in values]
    uid = _first(headers, _UID)
    if uid:
        parts.append(_Part("uids", uid, _AUTHENTICATION, "v1"))
    return parts


def _impersonated_user(headers: Headers) -> User:
    name = _first(headers, _USER)
    groups = headers.get(_GROUP, ())
    account = _account(name)
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
    if AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, UNAUTHENTICATED if name == _ANONYMOUS else AUTHENTICATED)
    return User(name, tuple(groups), _first(headers, _UID), _extra(headers))


def _account(name: str) -> tuple[str, str] | None:
    """Splits a service account's user name into (namespace, name)."""
    parts = name.removeprefix(_ACCOUNT).split(":")
    if not name.startswith(_ACCOUNT) or len(parts) != 2 or not all(parts):
        return None
    return parts[0], parts[1]


def _extra(headers: Headers) -> dict[str, tuple[str, ...]]:
    return {
        urllib.parse.unquote(name[len(_EXTRA) :]): values
        for name, values in sorted(headers.items())
        if name.startswith(_EXTRA)
    }


def _first(headers: Headers, name: str) -> str:
    values = headers.get(name)
    return values[0] if values else ""
