"""Bearer tokens: the token authenticators in order, behind a cache of recent successes.

A verified token stays cached for a TTL of virtual time, so a deleted service account is noticed
that much later. The token is only a cache key, never part of an answer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/{bearertoken,websocket},
token/union, token/cache/cached_token_authenticator.go and authenticator/audagnostic.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec

from apiserver_app.authprotocols import TokenAuthenticator, Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go"
CACHE_SOURCE = (
    "staging/src/k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go"
)
SUCCESS_SECONDS, FAILURE_SECONDS = 10.0, 0.0
CACHE_LIMIT = 4096
INVALID = "invalid bearer token"
WEBSOCKET_PREFIX = "base64url.bearer.authorization.k8s.io."

Result = tuple[User | None, list[Try]]


class TokenCache:
    """Recent verdicts on tokens. Bounded; a TTL of 0 seconds caches nothing."""

    def __init__(self, success_seconds: float, failure_seconds: float) -> None:
        self.success_seconds = success_seconds
        self.failure_seconds = failure_seconds
        self._known: dict[tuple[str, tuple[str, ...]], tuple[int, int, Try]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, token: str, audiences: tuple[str, ...], now: int) -> Try | None:
        known = self._known.get((token, audiences))
        return known[2] if known is not None and known[0] <= now < known[1] else None

    def put(self, token: str, audiences: tuple[str, ...], now: int, answer: Try) -> None:
        good = answer.verdict == "allow" and answer.user is not None
        seconds = self.success_seconds if good else self.failure_seconds
        if not seconds:
            return
        if len(self._known) >= CACHE_LIMIT:
            unexpired = {key: entry for key, entry in self._known.items() if now < entry[1]}
            self._known = unexpired if len(unexpired) < CACHE_LIMIT else {}
        until = now + int(seconds * 1_000_000)
        verdict = f'{answer.name} knew "{answer.user.name}"' if answer.user else answer.why
        hit = Try(
            "TokenCache",
            answer.verdict,
            f"cache hit: {verdict} less than {seconds:g} s ago",
            user=answer.user,
            detail={"cached": True, "authenticator": answer.name, "verified": now},
            source=CACHE_SOURCE,
            audiences=answer.audiences,
            until=until - 1,
        )
        self._known[token, audiences] = (now, until, hit)


class BearerTokens:
    """The token authenticators in order, behind one cache."""

    def __init__(
        self, authenticators: Sequence[TokenAuthenticator], audiences: Sequence[str] = ()
    ) -> None:
        self.authenticators = tuple(authenticators)
        self.audiences = tuple(audiences)
        self.cache = TokenCache(SUCCESS_SECONDS, FAILURE_SECONDS)

    def replace(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        """Replaces the authenticators; cached answers stay valid."""
        self.authenticators = tuple(authenticators)

    async def authenticate_token(
        self, token: str, now: int, audiences: tuple[str, ...] | None = None
    ) -> Result:
        """Returns the user (None when no authenticator knows the token) and every answer.
        `audiences` are the accepted ones, the API server's own when None."""
        accepted = self.audiences if audiences is None else audiences
        cached = self.cache.get(token, accepted, now)
        if cached is not None:
            return cached.user, [cached]
        tries: list[Try] = []
        for authenticator in self.authenticators:
            answer = await self._ask(authenticator, token, now, accepted)
            tries.append(answer)
            if answer.verdict == "allow" and answer.user is not None:
                self.cache.put(token, accepted, now, answer)
                return answer.user, tries
        refusal = Try("BearerToken", "deny", INVALID, source=SOURCE)
        tries.append(refusal)
        self.cache.put(token, accepted, now, refusal)
        return None, tries

    async def _ask(
        self, authenticator: TokenAuthenticator, token: str, now: int, accepted: tuple[str, ...]
    ) -> Try:
        """Returns one authenticator's answer, with the audiences its token is valid for."""
        shared = tuple(audience for audience in accepted if audience in self.audiences)
        if authenticator.audience_agnostic and accepted and not shared:
            return Try(authenticator.name, "skip", "knows tokens for the API server only")
        answer = authenticator.authenticate_token(token, now, accepted)
        if not isinstance(answer, Try):
            answer = await answer
        if authenticator.audience_agnostic and answer.user is not None:
            answer = msgspec.structs.replace(answer, audiences=shared)
        return answer


def websocket_token(protocols: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the token in a Sec-WebSocket-Protocol header, and the other protocols.

    Browsers cannot set an Authorization header on a WebSocket. ValueError when it is malformed.
    Models staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go.
    """
    token = ""
    others: list[str] = []
    for protocol in protocols:
        if not protocol.startswith(WEBSOCKET_PREFIX):
            others.append(protocol)
            continue
        if token:
            raise ValueError("multiple base64.bearer.authorization tokens specified")
        encoded = protocol[len(WEBSOCKET_PREFIX) :]
        try:
            token = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("invalid base64.bearer.authorization token encoding") from error
    if token and not others:
        raise ValueError("missing additional subprotocol")
    return token, others
