"""OpenID Connect: verifies ID tokens of an external issuer with the keys it publishes.

The issuer's discovery document is fetched when the server starts; its keys with the first token,
and again when a token names an unknown key. No claim is trusted before the signature is verified.
Not modelled: distributed claims.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go and
github.com/coreos/go-oidc (verify.go, jwks.go).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from apiserver_app.auth import jws
from apiserver_app.auth.authn.claims import ClaimMappings, OidcError, user_of
from apiserver_app.authprotocols import Answer, Try
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


class Settings(msgspec.Struct, frozen=True):
    """One issuer, configured by the oidc-* flags or by a file."""

    issuer: str
    audiences: tuple[str, ...]
    claims: ClaimMappings = msgspec.field(default_factory=ClaimMappings)
    algorithms: tuple[str, ...] = ("RS256",)
    ca_pem: str = ""
    discovery_url: str = ""  # when the document is not below the issuer's own URL


class Oidc:
    """Authenticates one issuer's tokens."""

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
        self._last_requests: list[str] = []  # what the last attempt to reach the issuer did
        why = f"not a token of {settings.issuer}"
        self._foreign = Try(self.name, "skip", why, source=SOURCE)

    @property
    def is_initialized(self) -> bool:
        """Reports whether the issuer's key URL is known."""
        return bool(self._keys_url)

    async def initialize(self, kernel: Kernel) -> None:
        """Fetches the issuer's discovery document, every 10 s until it succeeds."""
        while not await self.discover():
            await kernel.sleep(RETRY_SECONDS, background=True)

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        try:
            parsed = jws.parse(token)
        except jws.JwsError:
            return self._foreign
        if parsed.claims.get("iss") != self.settings.issuer:
            return self._foreign
        return self._authenticate(parsed, now)

    async def _authenticate(self, token: jws.Token, now: int) -> Try:
        requests: list[str] = []
        try:
            await self._verify(token, now, requests)
            user = user_of(token.claims, self.settings.claims)
        except OidcError as error:
            return Try(
                self.name,
                "deny",
                str(error),
                detail={"asked": requests} if requests else {},
                source=SOURCE,
            )
        why = f'ID token of "{user.name}" by {self.settings.issuer}'
        detail = {"asked": requests} if requests else {}
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE)

    # -- the signature ----------------------------------------------------------------------------

    async def _verify(self, token: jws.Token, now: int, requests: list[str]) -> None:
        if not self._keys_url:
            requests += self._last_requests
            raise OidcError("oidc: authenticator not initialized")
        audiences = token.claims.get("aud") or []
        audiences = [audiences] if isinstance(audiences, str) else audiences
        expected = self.settings.audiences
        listed = f"[{' '.join(go_value(str(audience)) for audience in audiences)}]"
        if len(expected) == 1 and expected[0] not in audiences:
            problem = f"oidc: expected audience {go_value(expected[0])} got {listed}"
            raise OidcError(f"oidc: verify token: {problem}")
        _check_time(token.claims, now)
        allowed = self.settings.algorithms
        if token.algorithm not in allowed:
            listed_algorithms = " ".join(go_value(name) for name in allowed)
            raise OidcError(
                "oidc: verify token: oidc: malformed jwt: go-jose/go-jose: unexpected signature "
                f"algorithm {go_value(token.algorithm)}; expected [{listed_algorithms}]"
            )
        if not self._signed(token):
            await self._fetch_keys(requests)
            if not self._signed(token):
                raise OidcError(
                    "oidc: verify token: failed to verify signature: "
                    "failed to verify id token signature"
                )
        if not any(audience in audiences for audience in expected):
            quoted = " ".join(map(go_value, sorted(expected)))
            problem = f"oidc: expected audience in [{quoted}] got {listed}"
            raise OidcError(f"oidc: verify token: {problem}")

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
        """Fetches the discovery document; reports whether it succeeded."""
        requests: list[str] = []
        self._last_requests = requests
        expected = self.settings.issuer
        url = self.settings.discovery_url or expected.rstrip("/") + DISCOVERY
        try:
            document = await self._get(url, requests)
        except outbound.CallFailed as error:
            requests.append(str(error))
            return False
        actual = document.get("issuer")
        if actual != expected:
            requests.append(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {go_value(expected)} got {go_value(str(actual))}"
            )
            return False
        self._keys_url = str(document.get("jwks_uri") or "")
        return bool(self._keys_url)

    async def _fetch_keys(self, requests: list[str]) -> None:
        try:
            document = await self._get(self._keys_url, requests)
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

    async def _get(self, url: str, requests: list[str]) -> dict[str, Any]:
        call = outbound.Call(to=url, method="GET", ca_pem=self.settings.ca_pem)
        answer = await self._ask(call)
        requests.append(f"GET {url}: {answer.status}" + (f" by {answer.by}" if answer.by else ""))
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
        expiry, not_before = int(claims.get("exp") or 0), int(claims.get("nbf") or 0)
        expires_at = datetime.datetime.fromtimestamp(expiry, datetime.UTC)
        valid_from = datetime.datetime.fromtimestamp(not_before, datetime.UTC)
        current = datetime.datetime.fromtimestamp(second, datetime.UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise OidcError(
            "oidc: verify token: oidc: failed to unmarshal claims: times are no numbers"
        ) from error
    if expiry < second:
        problem = f"oidc: token is expired (Token Expiry: {expires_at:%Y-%m-%d %H:%M:%S} +0000 UTC)"
        raise OidcError(f"oidc: verify token: {problem}")
    if second + _NBF_LEEWAY_SECONDS < not_before:
        raise OidcError(
            f"oidc: verify token: oidc: current time {current:%Y-%m-%d %H:%M:%S} +0000 UTC before "
            f"the nbf (not before) time: {valid_from:%Y-%m-%d %H:%M:%S} +0000 UTC"
        )
