"""OpenID Connect: ID tokens of an issuer outside, verified by the keys it publishes.

The issuer is asked for its discovery document when the server starts; for its keys when the first
token of its comes, and again when a token names one that is not known. Everything else is decided
here. Nothing of a token is believed before its signature is. Not modelled: distributed claims.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go and
github.com/coreos/go-oidc (verify.go, jwks.go).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.auth import jws
from apiserver_app.auth.authn.claims import ClaimMappings, OidcError, user_of
from apiserver_app.auth.protocols import Answer, Try
from apiserver_app.egress import outbound
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.kernel import Kernel

SOURCE = "staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go"
DISCOVERY = "/.well-known/openid-configuration"
RETRY_SECONDS = 10
KEYS_MAX = 256
_SECOND = 1_000_000
_NBF_LEEWAY_SECONDS = 300

Ask = Callable[[outbound.Call], Awaitable[outbound.Answer]]


@dataclass(frozen=True, slots=True)
class Settings:
    """One issuer, by the oidc-* flags or by a file."""

    issuer: str
    audiences: tuple[str, ...]
    claims: ClaimMappings = field(default_factory=ClaimMappings)
    algorithms: tuple[str, ...] = ("RS256",)
    ca_pem: str = ""
    discovery_url: str = ""  # of the document, when it is not below the issuer's own


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
        self._looked: list[str] = []  # what came of the last try to reach the issuer
        why = f"not a token of {settings.issuer}"
        self._foreign = Try(self.name, "skip", why, source=SOURCE)

    @property
    def is_initialized(self) -> bool:
        """Whether the issuer has told where its keys are."""
        return bool(self._keys_url)

    async def initialize(self, kernel: Kernel) -> None:
        """Ask the issuer for its discovery document, every 10 s until it is there."""
        while not await self.discover():
            await kernel.sleep(RETRY_SECONDS, background=True)

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
            user = user_of(token.claims, self.settings.claims)
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
            asked += self._looked
            raise OidcError("oidc: authenticator not initialized")
        given = token.claims.get("aud") or []
        given = [given] if isinstance(given, str) else given
        wanted = self.settings.audiences
        listed = f"[{' '.join(go_value(str(one)) for one in given)}]"
        if len(wanted) == 1 and wanted[0] not in given:
            said = f"oidc: expected audience {go_value(wanted[0])} got {listed}"
            raise OidcError(f"oidc: verify token: {said}")
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
        if not any(one in given for one in wanted):
            quoted = " ".join(map(go_value, sorted(wanted)))
            said = f"oidc: expected audience in [{quoted}] got {listed}"
            raise OidcError(f"oidc: verify token: {said}")

    def _signed(self, token: jws.Token) -> bool:
        for name, key in self._keys.items():
            if token.key_id in ("", name):
                try:
                    jws.verify(token, key)
                    return True
                except jws.JwsError:
                    continue
        return False

    async def discover(self) -> bool:
        """Read the discovery document; whether that is done."""
        asked: list[str] = []
        self._looked = asked
        wanted = self.settings.issuer
        url = self.settings.discovery_url or wanted.rstrip("/") + DISCOVERY
        try:
            document = await self._get(url, asked)
        except outbound.CallFailed as error:
            asked.append(str(error))
            return False
        said = document.get("issuer")
        if said != wanted:
            asked.append(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {go_value(wanted)} got {go_value(str(said))}"
            )
            return False
        self._keys_url = str(document.get("jwks_uri") or "")
        return bool(self._keys_url)

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
