"""Impersonation: authorizes each part of the Impersonate-* headers.

It decides only which user the request continues as. It runs after authentication, because it needs
the real user, and before flow control, because everything later sees the impersonated user.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation.go.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator, Mapping

from apiserver_app.auth.authn.union import AUTHENTICATED, UNAUTHENTICATED
from apiserver_app.auth.authz import forbidden
from apiserver_app.authprotocols import Attributes, Authorization
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User

Headers = Mapping[str, tuple[str, ...]]

PREFIX = "impersonate-"
_USER, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_EXTRA = "impersonate-extra-"
_ANONYMOUS = "system:anonymous"
_ACCOUNT = "system:serviceaccount:"


def is_requested(headers: Headers) -> bool:
    """Reports whether a request asks for impersonation."""
    return any(name.startswith(PREFIX) for name in headers)


async def impersonate(
    user: User, headers: Headers, authorization: Authorization, uri: str = ""
) -> User:
    """Returns the user the request continues as; 403 at the first part `user` may not
    impersonate."""
    parts = list(_parts(user, headers))
    if parts and not _first(headers, _USER):
        asked = " ".join(map(_reference, parts))
        raise errors.plain_internal(uri, f"requested [{asked}] without impersonating a user")
    for attributes in parts:
        decision = await authorization.authorize(attributes)
        if not decision.allowed:
            raise forbidden.forbidden_error(attributes, decision.reason)
    return _impersonated_user(headers) if parts else user


def _reference(part: Attributes) -> str:
    """An ObjectReference as Go prints it: kind, namespace, name, uid, version and more."""
    kind = {"groups": "Group", "uids": "UID"}.get(part.resource, "UserExtra")
    version = f"{part.group}/{part.version}" if part.group else ""
    return f"{{{kind}  {part.name}  {version}  {part.subresource}}}"


def _parts(user: User, headers: Headers) -> Iterator[Attributes]:
    """Yields each requested attribute of the impersonated user, as the authorizers see it."""
    core = Attributes(user, "impersonate")
    own = core._replace(group="authentication.k8s.io", version="v1")
    name = _first(headers, _USER)
    account = _account(name)
    if account is not None:
        yield core._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
    elif name:
        yield core._replace(resource="users", name=name)
    for group in headers.get(_GROUP, ()):
        yield core._replace(resource="groups", name=group)
    for key, values in _extra(headers).items():
        for value in values:
            yield own._replace(resource="userextras", subresource=key, name=value)
    uid = _first(headers, _UID)
    if uid:
        yield own._replace(resource="uids", name=uid)


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
