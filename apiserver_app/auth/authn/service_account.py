"""Service account tokens: a good signature, in time, for us, and the account still exists.

Models kubernetes pkg/serviceaccount/jwt.go and claims.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn.x509 import CREDENTIAL_ID
from apiserver_app.auth.protocols import Try
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
    """`audiences` are the API server's own: a token for somebody else is refused."""

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
        wanted = self.audiences if audiences is None else audiences
        try:
            claims = self.tokens.verify(token)
            good = good_audiences(claims, wanted, self.audiences)
            user = self.user_of(claims, now)
        except jwt.TokenError as error:
            return Try(self.name, "deny", str(error), source=SOURCE)
        why = f'token of service account "{user.name[len(PREFIX) :].replace(":", "/")}"'
        detail = _stale(claims, now)
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE, audiences=good)

    def user_of(self, claims: dict[str, Any], now: int) -> User:
        """The account behind verified claims. TokenError says what is wrong with them."""
        _check_time(claims, now)
        bound = claims.get("kubernetes.io") or {}
        namespace = str(bound.get("namespace", ""))
        account = bound.get("serviceaccount") or {}
        name = str(account.get("name", ""))
        found = self.reader.get("serviceaccounts", namespace, name)
        if found is None:
            raise jwt.TokenError(f'serviceaccount "{name}" not found')
        if meta.uid_of(found) != account.get("uid"):
            raise jwt.TokenError(
                f"service account UID ({meta.uid_of(found)}) "
                f"does not match claim ({account.get('uid', '')})"
            )
        if _deleted(found, now):
            raise jwt.TokenError(f"service account {namespace}/{name} has been deleted")
        self._check_bound(bound, namespace, now)
        return User(
            f"{PREFIX}{namespace}:{name}",
            ("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
            meta.uid_of(found),
            _extra(claims, bound),
        )

    def _check_bound(self, bound: dict[str, Any], namespace: str, now: int) -> None:
        kinds = [("secret", "secrets", "secret"), ("pod", "pods", "pod")]
        if not bound.get("pod"):
            kinds.append(("node", "nodes", "node"))
        for kind, resource, word in kinds:
            ref = bound.get(kind)
            if not ref:
                continue
            place = "" if kind == "node" else namespace
            found = self.reader.get(resource, place, str(ref.get("name", "")))
            if found is None or _deleted(found, now):
                raise jwt.TokenError("service account token has been invalidated")
            if meta.uid_of(found) != ref.get("uid"):
                raise jwt.TokenError(
                    f"{word} UID ({meta.uid_of(found)}) does not match service account "
                    f"{word} ref claim ({ref.get('uid', '')})"
                )


def good_audiences(
    claims: dict[str, Any], wanted: Sequence[str], own: Sequence[str]
) -> tuple[str, ...]:
    """Those of the wanted audiences that the token is for; a token that names none is for the
    API server. TokenError when nothing is left."""
    given = claims.get("aud") or list(own)
    if isinstance(given, str):
        given = [given]
    good = tuple(one for one in given if one in wanted)
    if not good and own:
        raise jwt.TokenError(
            f"token audiences {_go_list(given)} is invalid for the target audiences "
            f"{_go_list(wanted)}"
        )
    return good


def _stale(claims: dict[str, Any], now: int) -> dict[str, Any]:
    """Upstream's audit annotation about a token that lives on only because it was extended."""
    after = (claims.get("kubernetes.io") or {}).get("warnafter")
    if not after or now // _SECOND <= after:
        return {}
    late = now // _SECOND - after
    said = f"subject: {claims.get('sub', '')}, seconds after warning threshold: {late}"
    return {"authentication.k8s.io/stale-token": said}


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


def _extra(claims: dict[str, Any], bound: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    if claims.get("jti"):
        extra[CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
    for kind in ("node", "pod"):
        ref = bound.get(kind)
        if ref:
            extra[f"{_EXTRA}{kind}-name"] = (str(ref.get("name", "")),)
            extra[f"{_EXTRA}{kind}-uid"] = (str(ref.get("uid", "")),)
    return extra


def _go_list(words: Sequence[str]) -> str:
    return "[" + " ".join(go_value(word) for word in words) + "]"
