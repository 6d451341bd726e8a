"""OpenID Connect: ID tokens of an issuer outside, verified by the keys it publishes.

The issuer is asked when the first token of its comes: for its discovery document, then for its
keys, and again for the keys when a token names one that is not known. Everything else is decided
here. Nothing of a token is believed before its signature is.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go and
github.com/coreos/go-oidc (verify.go, jwks.go).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.auth import jws
from apiserver_app.auth.protocols import Answer, Try
from apiserver_app.machinery import outbound
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go"
DISCOVERY = "/.well-known/openid-configuration"
RETRY_SECONDS = 10
KEYS_MAX = 256
_SECOND = 1_000_000
_NBF_LEEWAY_SECONDS = 300

Ask = Callable[[outbound.Call], Awaitable[outbound.Answer]]


class OidcError(Exception):
    """The token is refused; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The oidc-* flags. An empty prefix is none."""

    issuer: str
    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: Mapping[str, str] = field(default_factory=dict)
    algorithms: tuple[str, ...] = ("RS256",)
    ca_pem: str = ""


class Oidc:
    """One issuer."""

    name = "OIDC"
    audience_agnostic = True

    def __init__(self, settings: Settings, ask: Ask) -> None:
        for name in settings.algorithms:
            if name not in jws.ALGORITHMS:
                raise ValueError(f"oidc: unsupported signing alg: {go_value(name)}")
        self.settings = settings
        self._ask = ask
        self._keys_url = ""
        self._keys: dict[str, Any] = {}
        self._not_before = 0  # when the issuer is asked again after it did not answer
        self._foreign = Try(self.name, "skip", "not a token of this issuer", source=SOURCE)

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        try:
            found = jws.parse(token)
        except jws.JwsError:
            return self._foreign
        if found.claims.get("iss") != self.settings.issuer:
            return self._foreign
        return self._authenticate(found, now)

    async def _authenticate(self, token: jws.Token, now: int) -> Try:
        asked: list[str] = []
        try:
            await self._verify(token, now, asked)
            user = self._user(token.claims)
        except OidcError as error:
            return Try(
                self.name, "deny", str(error), detail={"asked": asked} if asked else {},
                source=SOURCE,
            )  # fmt: skip
        why = f'ID token of "{user.name}" by {self.settings.issuer}'
        detail = {"asked": asked} if asked else {}
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE)

    # -- the signature ----------------------------------------------------------------------------

    async def _verify(self, token: jws.Token, now: int, asked: list[str]) -> None:
        if not self._keys_url:
            await self._discover(now, asked)
        _check_time(token.claims, now)
        allowed = self.settings.algorithms
        if token.algorithm not in allowed:
            expected = " ".join(go_value(name) for name in allowed)
            raise OidcError(
                "oidc: verify token: oidc: malformed jwt: go-jose/go-jose: unexpected signature "
                f"algorithm {go_value(token.algorithm)}; expected [{expected}]"
            )
        if not self._signed(token):
            await self._fetch_keys(asked)
            if not self._signed(token):
                raise OidcError(
                    "oidc: verify token: failed to verify signature: "
                    "failed to verify id token signature"
                )
        given = token.claims.get("aud") or []
        given = [given] if isinstance(given, str) else given
        if self.settings.client_id not in given:
            raise OidcError(
                "oidc: verify token: oidc: expected audience in "
                f"[{go_value(self.settings.client_id)}] "
                f"got [{' '.join(go_value(str(one)) for one in given)}]"
            )

    def _signed(self, token: jws.Token) -> bool:
        for name, key in self._keys.items():
            if token.key_id in ("", name):
                try:
                    jws.verify(token, key)
                    return True
                except jws.JwsError:
                    continue
        return False

    async def _discover(self, now: int, asked: list[str]) -> None:
        refusal = OidcError("oidc: authenticator not initialized")
        if now < self._not_before:
            raise refusal
        self._not_before = now + RETRY_SECONDS * _SECOND
        url = self.settings.issuer.rstrip("/") + DISCOVERY
        try:
            document = await self._get(url, asked)
        except outbound.CallFailed as error:
            asked.append(str(error))
            raise refusal from error
        said, wanted = document.get("issuer"), self.settings.issuer
        if said != wanted:
            asked.append(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {go_value(wanted)} got {go_value(str(said))}"
            )
            raise refusal
        self._keys_url = str(document.get("jwks_uri") or "")

    async def _fetch_keys(self, asked: list[str]) -> None:
        try:
            document = await self._get(self._keys_url, asked)
        except outbound.CallFailed as error:
            raise OidcError(
                "oidc: verify token: failed to verify signature: fetching keys oidc: get keys "
                f"failed {error}"
            ) from error
        keys: dict[str, Any] = {}
        listed = document.get("keys")
        for jwk in (listed if isinstance(listed, list) else [])[:KEYS_MAX]:
            try:
                keys[str(jwk.get("kid", ""))] = jws.from_jwk(jwk)
            except (ValueError, AttributeError):
                continue
        self._keys = keys

    async def _get(self, url: str, asked: list[str]) -> dict[str, Any]:
        call = outbound.Call(to=url, method="GET", ca_pem=self.settings.ca_pem)
        answer = await self._ask(call)
        asked.append(f"GET {url}: {answer.status}" + (f" by {answer.by}" if answer.by else ""))
        if answer.status != 200:
            raise outbound.CallFailed(f"{answer.status}: {answer.body[:200]!r}")
        try:
            document = json.loads(answer.body)
        except ValueError as error:
            raise outbound.CallFailed(f"{url}: no JSON") from error
        if not isinstance(document, dict):
            raise outbound.CallFailed(f"{url}: no JSON object")
        return document

    # -- the claims -------------------------------------------------------------------------------

    def _user(self, claims: dict[str, Any]) -> User:
        settings = self.settings
        name = claims.get(settings.username_claim)
        if not isinstance(name, str):
            why = "claim not present" if name is None else _not_a("string", name)
            claim = go_value(settings.username_claim)
            raise OidcError(f"oidc: parse username claims {claim}: {why}")
        if settings.username_claim == "email" and "email_verified" in claims:
            verified = claims["email_verified"]
            if not isinstance(verified, bool):
                why = _not_a("bool", verified)
                raise OidcError(f"oidc: parse 'email_verified' claim: {why}")
            if not verified:
                raise OidcError("oidc: email not verified")
        groups = self._groups(claims)
        for claim, value in settings.required.items():
            if claim not in claims:
                raise OidcError(f"oidc: required claim {claim} not present in ID token")
            if not isinstance(claims[claim], str):
                raise OidcError(f"oidc: parse claim {claim}: {_not_a('string', claims[claim])}")
            if claims[claim] != value:
                raise OidcError(
                    f"oidc: required claim {claim} value does not match. Got = {claims[claim]}, "
                    f"want = {value}"
                )
        extra = {}
        if isinstance(claims.get("jti"), str):
            extra["authentication.kubernetes.io/credential-id"] = (f"JTI={claims['jti']}",)
        return User(settings.username_prefix + name, groups, "", extra)

    def _groups(self, claims: dict[str, Any]) -> tuple[str, ...]:
        claim = self.settings.groups_claim
        found = claims.get(claim) if claim else None
        if found is None:
            return ()
        if isinstance(found, str):
            found = [found]
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            why = _not_a("string", found)
            raise OidcError(f"oidc: parse groups claim {go_value(claim)}: {why}")
        return tuple(self.settings.groups_prefix + one for one in found)


def _check_time(claims: dict[str, Any], now: int) -> None:
    second = now // _SECOND
    try:
        ends, begins = int(claims.get("exp") or 0), int(claims.get("nbf") or 0)
        when = datetime.datetime.fromtimestamp(ends, datetime.UTC)
        since = datetime.datetime.fromtimestamp(begins, datetime.UTC)
        moment = datetime.datetime.fromtimestamp(second, datetime.UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise OidcError(
            "oidc: verify token: oidc: failed to unmarshal claims: times are no numbers"
        ) from error
    if ends < second:
        said = f"oidc: token is expired (Token Expiry: {when:%Y-%m-%d %H:%M:%S} +0000 UTC)"
        raise OidcError(f"oidc: verify token: {said}")
    if second + _NBF_LEEWAY_SECONDS < begins:
        raise OidcError(
            f"oidc: verify token: oidc: current time {moment:%Y-%m-%d %H:%M:%S} +0000 UTC before "
            f"the nbf (not before) time: {since:%Y-%m-%d %H:%M:%S} +0000 UTC"
        )


def _not_a(wanted: str, value: Any) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    kind = kinds.get(type(value), "object")
    return f"json: cannot unmarshal {kind} into Go value of type {wanted}"
