"""Authenticates service account tokens: signature, times, audience, and the account exists.

Models kubernetes pkg/serviceaccount/jwt.go and claims.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn.x509 import CREDENTIAL_ID
from apiserver_app.authprotocols import Try
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

SOURCE = "pkg/serviceaccount/claims.go"
PREFIX = "system:serviceaccount:"
_LEEWAY_SECONDS = 60
_SECOND = 1_000_000
_EXTRA = "authentication.kubernetes.io/"


class ServiceAccounts:
    """`audiences` are the API server's own: a token for another audience is refused."""

    name = "ServiceAccount"
    audience_agnostic = False

    def __init__(
        self, tokens: jwt.Tokens, reader: Reader, audiences: Sequence[str] = (jwt.ISSUER,)
    ) -> None:
        self.tokens = tokens
        self.reader = reader
        self.audiences = tuple(audiences)
        self._foreign = Try(
            self.name, "skip", "not a service account token of this cluster", source=SOURCE
        )

    def authenticate_token(
        self, token: str, now: int, audiences: tuple[str, ...] | None = None
    ) -> Try:
        issuer = jwt.issuer_of(token)
        if not issuer or issuer not in self.tokens.issuers:
            return self._foreign
        accepted = self.audiences if audiences is None else audiences
        try:
            claims = self.tokens.verify(token)
            good = good_audiences(claims, accepted, self.audiences)
            user = self.user_of(claims, now)
        except jwt.TokenError as error:
            return Try(self.name, "deny", str(error), source=SOURCE)
        why = f'token of service account "{user.name[len(PREFIX) :].replace(":", "/")}"'
        detail = _stale(claims, now)
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE, audiences=good)

    def user_of(self, claims: dict[str, Any], now: int) -> User:
        """Returns the account of verified claims. Raises TokenError."""
        _check_time(claims, now)
        private_claims = claims.get("kubernetes.io") or {}
        namespace = str(private_claims.get("namespace", ""))
        account = private_claims.get("serviceaccount") or {}
        name = str(account.get("name", ""))
        stored = self.reader.get("serviceaccounts", namespace, name)
        if stored is None:
            raise jwt.TokenError(f'serviceaccount "{name}" not found')
        if meta.uid_of(stored) != account.get("uid"):
            raise jwt.TokenError(
                f"service account UID ({meta.uid_of(stored)}) "
                f"does not match claim ({account.get('uid', '')})"
            )
        if _deleted(stored, now):
            raise jwt.TokenError(f"service account {namespace}/{name} has been deleted")
        self._check_bound(private_claims, namespace, now)
        return User(
            f"{PREFIX}{namespace}:{name}",
            ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
            meta.uid_of(stored),
            _extra(claims, private_claims),
        )

    def _check_bound(self, private_claims: dict[str, Any], namespace: str, now: int) -> None:
        kinds = [("secret", "secrets", "secret"), ("pod", "pods", "pod")]
        if not private_claims.get("pod"):
            kinds.append(("node", "nodes", "node"))
        for kind, resource, label in kinds:
            ref = private_claims.get(kind)
            if not ref:
                continue
            ref_namespace = "" if kind == "node" else namespace
            obj = self.reader.get(resource, ref_namespace, str(ref.get("name", "")))
            if obj is None or _deleted(obj, now):
                raise jwt.TokenError("service account token has been invalidated")
            if meta.uid_of(obj) != ref.get("uid"):
                raise jwt.TokenError(
                    f"{label} UID ({meta.uid_of(obj)}) does not match service account "
                    f"{label} ref claim ({ref.get('uid', '')})"
                )


def good_audiences(
    claims: dict[str, Any], accepted: Sequence[str], own: Sequence[str]
) -> tuple[str, ...]:
    """Returns the accepted audiences the token is for; a token without any is for the API server.
    Raises TokenError when none is left."""
    audiences = claims.get("aud") or list(own)
    if isinstance(audiences, str):
        audiences = [audiences]
    good = tuple(audience for audience in audiences if audience in accepted)
    if not good and own:
        raise jwt.TokenError(
            f"token audiences {_go_list(audiences)} is invalid for the target audiences "
            f"{_go_list(accepted)}"
        )
    return good


def _stale(claims: dict[str, Any], now: int) -> dict[str, Any]:
    """Returns upstream's audit annotation for a token used beyond its original expiration."""
    after = (claims.get("kubernetes.io") or {}).get("warnafter")
    if not after or now // _SECOND <= after:
        return {}
    late = now // _SECOND - after
    annotation = f"subject: {claims.get('sub', '')}, seconds after warning threshold: {late}"
    return {"authentication.k8s.io/stale-token": annotation}


def _check_time(claims: dict[str, Any], now: int) -> None:
    second = now // _SECOND
    if second + _LEEWAY_SECONDS < int(claims.get("nbf") or 0):
        raise jwt.TokenError("service account token is not valid yet")
    if second - _LEEWAY_SECONDS > int(claims.get("exp") or 1 << 62):
        raise jwt.TokenError("service account token has expired")
    if second + _LEEWAY_SECONDS < int(claims.get("iat") or 0):
        raise jwt.TokenError("service account token is issued in the future")


def _deleted(obj: Object, now: int) -> bool:
    stamp = obj["metadata"].get("deletionTimestamp")
    return bool(stamp) and meta.parse_time(stamp) < now - _LEEWAY_SECONDS * _SECOND


def _extra(claims: dict[str, Any], private_claims: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    if claims.get("jti"):
        extra[CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
    for kind in ("node", "pod"):
        ref = private_claims.get(kind)
        if ref:
            extra[f"{_EXTRA}{kind}-name"] = (str(ref.get("name", "")),)
            extra[f"{_EXTRA}{kind}-uid"] = (str(ref.get("uid", "")),)
    return extra


def _go_list(items: Sequence[str]) -> str:
    return "[" + " ".join(go_value(item) for item in items) + "]"
