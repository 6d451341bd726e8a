"""Bearer tokens: the token authenticators in order, behind a cache of recent successes.

A token counts as known for TTL_SECONDS of virtual time after it was verified, so a deleted service
account is noticed that much later. The token itself is a key here and never part of an answer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/{bearertoken,websocket},
token/union, token/cache/cached_token_authenticator.go and authenticator/audagnostic.go.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from collections.abc import Sequence

from apiserver_app.auth.protocols import TokenAuthenticator, Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go"
CACHE_SOURCE = (
    "staging/src/k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go"
)
SUCCESS_SECONDS, FAILURE_SECONDS = 10.0, 0.0
CACHE_LIMIT = 4096
INVALID = "invalid bearer token"
WEBSOCKET_PREFIX = "base64url.bearer.authorization.k8s.io."

Asked = tuple[User | None, list[Try]]


class TokenCache:
    """What was found out about tokens a short while ago. Bounded; 0 seconds remember nothing."""

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
            fresh = {key: old for key, old in self._known.items() if now < old[1]}
            self._known = fresh if len(fresh) < CACHE_LIMIT else {}
        found = f'{answer.name} knew "{answer.user.name}"' if answer.user else answer.why
        hit = Try(
            "TokenCache",
            answer.verdict,
            f"cache hit: {found} less than {seconds:g} s ago",
            user=answer.user,
            detail={"cached": True, "authenticator": answer.name, "verified": now},
            source=CACHE_SOURCE,
            audiences=answer.audiences,
        )
        self._known[token, audiences] = (now, now + int(seconds * 1_000_000), hit)


class BearerTokens:
    """All authenticators that know tokens, in order, behind one cache."""

    def __init__(
        self,
        authenticators: Sequence[TokenAuthenticator],
        success_seconds: float = SUCCESS_SECONDS,
        failure_seconds: float = FAILURE_SECONDS,
        audiences: Sequence[str] = (),
    ) -> None:
        self.authenticators = tuple(authenticators)
        self.audiences = tuple(audiences)
        self.cache = TokenCache(success_seconds, failure_seconds)

    def replace(self, authenticators: Sequence[TokenAuthenticator]) -> None:
        """Ask these from now on; what was found out a moment ago still counts."""
        self.authenticators = tuple(authenticators)

    async def authenticate_token(
        self, token: str, now: int, audiences: tuple[str, ...] | None = None
    ) -> Asked:
        """The user and who was asked; (None, ...) for a token nobody vouches for. `audiences` are
        those that count, the API server's own when None."""
        wanted = self.audiences if audiences is None else audiences
        known = self.cache.get(token, wanted, now)
        if known is not None:
            return known.user, [known]
        tries: list[Try] = []
        for authenticator in self.authenticators:
            answer = await self._ask(authenticator, token, now, wanted)
            tries.append(answer)
            if answer.verdict == "allow" and answer.user is not None:
                self.cache.put(token, wanted, now, answer)
                return answer.user, tries
        refusal = Try("BearerToken", "deny", INVALID, source=SOURCE)
        tries.append(refusal)
        self.cache.put(token, wanted, now, refusal)
        return None, tries

    async def _ask(
        self, authenticator: TokenAuthenticator, token: str, now: int, wanted: tuple[str, ...]
    ) -> Try:
        """One authenticator's answer, with the audiences its token is good for."""
        both = tuple(one for one in wanted if one in self.audiences)
        if authenticator.audience_agnostic and wanted and not both:
            return Try(authenticator.name, "skip", "knows tokens for the API server only")
        answer = authenticator.authenticate_token(token, now, wanted)
        if not isinstance(answer, Try):
            answer = await answer
        if authenticator.audience_agnostic and answer.user is not None:
            answer = dataclasses.replace(answer, audiences=both)
        return answer


def websocket_token(protocols: Sequence[str]) -> tuple[str, list[str]]:
    """The token in a Sec-WebSocket-Protocol header, and the protocols without it.

    Browsers cannot set an Authorization header on a WebSocket. ValueError when it is malformed.
    Models staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go.
    """
    token = ""
    rest: list[str] = []
    for protocol in protocols:
        if not protocol.startswith(WEBSOCKET_PREFIX):
            rest.append(protocol)
            continue
        if token:
            raise ValueError("multiple base64.bearer.authorization tokens specified")
        encoded = protocol[len(WEBSOCKET_PREFIX) :]
        try:
            token = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("invalid base64.bearer.authorization token encoding") from error
    if token and not rest:
        raise ValueError("missing additional subprotocol")
    return token, rest
