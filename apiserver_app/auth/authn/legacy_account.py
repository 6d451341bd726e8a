"""Authenticates tokens in Secrets of type kubernetes.io/service-account-token. They never expire.

The Secret decides: a token that differs from its copy, or whose Secret is gone, is invalid. Each
day of use is recorded on the Secret, and a Secret marked invalid is refused.

Models kubernetes pkg/serviceaccount/legacy.go.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable
from typing import Any

from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn import service_account
from apiserver_app.authprotocols import Try
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

SOURCE = "pkg/serviceaccount/legacy.go"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_CLAIM = "kubernetes.io/serviceaccount/"

# records (namespace, name of the secret, day) of a token's use
Mark = Callable[[str, str, str], None]


class LegacyServiceAccounts:
    """Without `lookup` only the signature is checked."""

    name = "LegacyServiceAccount"
    audience_agnostic = False

    def __init__(
        self,
        tokens: jwt.Tokens,
        reader: Reader,
        audiences: tuple[str, ...],
        mark: Mark,
        *,
        lookup: bool,
    ) -> None:
        self._tokens = tokens
        self._reader = reader
        self._audiences = audiences
        self._mark = mark
        self._lookup = lookup
        self._foreign = Try(
            self.name, "skip", "not a service account token from a Secret", source=SOURCE
        )

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Try:
        if jwt.issuer_of(token) != jwt.LEGACY_ISSUER:
            return self._foreign
        try:
            claims = self._tokens.verify(token)
            good = service_account.good_audiences(claims, audiences, self._audiences)
            user = self._user(claims, token, now)
        except jwt.TokenError as error:
            return Try(self.name, "deny", str(error), source=SOURCE)
        secret = claims[f"{_CLAIM}secret.name"]
        why = f'token in secret "{claims[f"{_CLAIM}namespace"]}/{secret}"'
        detail = {"authentication.k8s.io/legacy-token": user.name}
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE, audiences=good)

    def _user(self, claims: dict[str, Any], token: str, now: int) -> User:
        if not claims.get("sub"):
            raise jwt.TokenError("sub claim is missing")
        values = {}
        for field, claim in (
            ("namespace", "namespace"),
            ("secretName", "secret.name"),
            ("serviceAccountName", "service-account.name"),
            ("serviceAccountUID", "service-account.uid"),
        ):
            values[field] = str(claims.get(f"{_CLAIM}{claim}") or "")
            if not values[field]:
                raise jwt.TokenError(f"{field} claim is missing")
        namespace, name = values["namespace"], values["serviceAccountName"]
        username = f"{service_account.PREFIX}{namespace}:{name}"
        if claims["sub"] != username:
            raise jwt.TokenError("sub claim is invalid")
        if self._lookup:
            secret = self._secret(namespace, values["secretName"], token)
            self._check_account(namespace, name, values["serviceAccountUID"])
            self._check_valid(secret, namespace, name)
            day = meta.rfc3339(now)[:10]
            if meta.labels_of(secret).get(LAST_USED) != day:
                self._mark(namespace, values["secretName"], day)
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return User(username, groups, values["serviceAccountUID"])

    def _secret(self, namespace: str, name: str, token: str) -> Object:
        secret = self._reader.get("secrets", namespace, name)
        if secret is None or meta.is_deleting(secret):
            raise jwt.TokenError("Token has been invalidated")
        stored = base64.b64decode((secret.get("data") or {}).get("token") or "")
        if not hmac.compare_digest(stored, token.encode()):
            raise jwt.TokenError("Token does not match server's copy")
        return secret

    def _check_account(self, namespace: str, name: str, uid: str) -> None:
        account = self._reader.get("serviceaccounts", namespace, name)
        if account is None:
            raise jwt.TokenError(f'serviceaccount "{name}" not found')
        if meta.is_deleting(account):
            raise jwt.TokenError(f"ServiceAccount {namespace}/{name} has been deleted")
        if meta.uid_of(account) != uid:
            raise jwt.TokenError(
                f"ServiceAccount UID ({meta.uid_of(account)}) does not match claim ({uid})"
            )

    def _check_valid(self, secret: Object, namespace: str, name: str) -> None:
        if INVALID_SINCE in meta.labels_of(secret):
            raise jwt.TokenError(
                f"the token in secret {namespace}/{meta.name_of(secret)} for service account "
                f"{namespace}/{name} has been marked invalid. Use tokens from the TokenRequest API "
                f"or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label "
                "from the secret to temporarily allow use of this token"
            )
