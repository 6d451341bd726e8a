"""Bearer tokens: the token authenticators in order, behind a cache of recent successes.

A token counts as known for TTL_SECONDS of virtual time after it was verified, so a deleted service
account is noticed that much later. The token itself is a key here and never part of an answer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken,
token/union and token/cache/cached_token_authenticator.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from apiserver_app.auth.protocols import TokenAuthenticator, Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go"
CACHE_SOURCE = (
    "staging/src/k8s.io/apiserver/pkg/authentication/token/cache/cached_token_authenticator.go"
)
TTL_SECONDS = 10
CACHE_LIMIT = 4096
_WEBSOCKET_PREFIX = "base64url.bearer.authorization.k8s.io."


class BearerTokens:
    """All authenticators that know tokens. Successes are remembered, refusals are not."""

    def __init__(
        self, authenticators: Sequence[TokenAuthenticator], ttl_seconds: int = TTL_SECONDS
    ) -> None:
        self.authenticators = tuple(authenticators)
        self._ttl = ttl_seconds * 1_000_000
        self._known: dict[str, tuple[int, User, Try]] = {}

    def authenticate_token(self, token: str, now: int) -> tuple[User | None, list[Try]]:
        """The user and who was asked; (None, ...) for a token nobody vouches for."""
        known = self._known.get(token)
        if known is not None and known[0] <= now < known[0] + self._ttl:
            return known[1], [known[2]]
        tries: list[Try] = []
        for authenticator in self.authenticators:
            answer = authenticator.authenticate_token(token, now)
            tries.append(answer)
            if answer.verdict == "allow" and answer.user is not None:
                self._remember(token, answer, now)
                return answer.user, tries
        tries.append(Try("BearerToken", "deny", "invalid bearer token", source=SOURCE))
        return None, tries

    def _remember(self, token: str, answer: Try, now: int) -> None:
        if not self._ttl or answer.user is None:
            return
        if len(self._known) >= CACHE_LIMIT:
            fresh = {key: old for key, old in self._known.items() if now < old[0] + self._ttl}
            self._known = fresh if len(fresh) < CACHE_LIMIT else {}
        hit = Try(
            "TokenCache",
            "allow",
            f'cache hit: {answer.name} knew "{answer.user.name}" less than {TTL_SECONDS} s ago',
            user=answer.user,
            detail={"cached": True, "authenticator": answer.name, "verified": now},
            source=CACHE_SOURCE,
        )
        self._known[token] = (now, answer.user, hit)


def websocket_token(protocols: Sequence[str]) -> tuple[str, list[str]]:
    """The token in a Sec-WebSocket-Protocol header, and the protocols without it.

    Browsers cannot set an Authorization header on a WebSocket. ValueError when it is malformed.
    Models staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go.
    """
    token = ""
    rest: list[str] = []
    for protocol in protocols:
        if not protocol.startswith(_WEBSOCKET_PREFIX):
            rest.append(protocol)
            continue
        if token:
            raise ValueError("multiple base64.bearer.authorization tokens specified")
        encoded = protocol[len(_WEBSOCKET_PREFIX) :]
        try:
            token = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ValueError("invalid base64.bearer.authorization token encoding") from error
    if token and not rest:
        raise ValueError("missing additional subprotocol")
    return token, rest
