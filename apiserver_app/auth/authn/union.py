"""The authenticators in upstream's order: the first that knows the user decides.

A bad credential ends in 401 even where anonymous requests are allowed: anonymous is asked only when
no authenticator refused. Impersonation is a later gate, because it needs the authorizer.

Models kubernetes pkg/kubeapiserver/authenticator/config.go and
staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.auth.authn.anonymous import Anonymous
from apiserver_app.auth.authn.bearer import INVALID, BearerTokens, websocket_token
from apiserver_app.auth.authn.loopback import Loopback
from apiserver_app.authprotocols import Authenticator, Try
from apiserver_app.machinery.meta import Credential, User

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
WEBSOCKET_SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go"


class Union:
    """Without `anonymous` a request without a credential is refused. Without any authenticator
    either, authentication is off: requests continue without a user."""

    def __init__(
        self,
        authenticators: Sequence[Authenticator],
        tokens: BearerTokens | None = None,
        anonymous: Anonymous | None = None,
        loopback: Loopback | None = None,
    ) -> None:
        self.authenticators = tuple(authenticators)
        self.tokens = tokens
        self.anonymous = anonymous
        self.loopback = loopback or Loopback()

    @property
    def names(self) -> list[str]:
        """Returns the names of the configured authenticators in order."""
        names = [authenticator.name for authenticator in self.authenticators]
        if self.tokens is not None:
            names += [authenticator.name for authenticator in self.tokens.authenticators]
        return [*names, self.anonymous.name] if self.anonymous else names

    @property
    def disabled(self) -> bool:
        return not self.authenticators and self.tokens is None and self.anonymous is None

    async def authenticate(
        self,
        credential: Credential,
        now: int,
        audiences: tuple[str, ...] | None = None,
        path: str = "",
    ) -> tuple[User | None, list[Try]]:
        """Returns the user with its groups (None is a 401), and every answer. Waits only when an
        external service has to be asked. `path` is the request's."""
        own = self.loopback.authenticate(credential.bearer)
        if own is not None:
            return own.user and _authenticated(own.user), [own]
        tries: list[Try] = []
        refused = False
        for authenticator in self.authenticators:
            answer = authenticator.authenticate(credential, now)
            tries.append(answer)
            if answer.verdict == "allow" and answer.user is not None:
                return _authenticated(answer.user), tries
            refused = refused or answer.verdict == "deny"
        if self.tokens is not None and (credential.bearer or credential.protocols):
            user, token_tries = await self._ask_tokens(self.tokens, credential, now, audiences)
            tries += token_tries
            if user is not None:
                return _authenticated(user), tries
        # the loopback's own authenticator refuses every bearer token that is not the server's
        refused = (
            refused
            or bool(credential.bearer)
            or any(attempt.verdict == "deny" for attempt in tries)
        )
        if refused or self.anonymous is None:
            return None, tries
        answer = self.anonymous.authenticate(path)
        tries.append(answer)
        return answer.user, tries

    async def _ask_tokens(
        self,
        tokens: BearerTokens,
        credential: Credential,
        now: int,
        audiences: tuple[str, ...] | None,
    ) -> tuple[User | None, list[Try]]:
        """Tries the token of the Authorization header, then the WebSocket protocol's."""
        user: User | None = None
        tries: list[Try] = []
        if credential.bearer:
            user, tries = await tokens.authenticate_token(credential.bearer, now, audiences)
        if user is None and credential.protocols:
            try:
                token, _ = websocket_token(credential.protocols)
            except ValueError as error:
                return None, [*tries, Try("WebSocket", "deny", str(error), source=WEBSOCKET_SOURCE)]
            if token:
                user, more = await tokens.authenticate_token(token, now, audiences)
                tries += more
        return user, tries


def refusal(tries: Sequence[Try]) -> str:
    """Returns what went wrong, worded as the aggregate of upstream's unions."""
    reasons = dict.fromkeys(
        [INVALID, *(attempt.why for attempt in tries if attempt.verdict == "deny")]
    )
    return f"[{', '.join(reasons)}]" if len(reasons) > 1 else INVALID


def _authenticated(user: User) -> User:
    groups = user.groups
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return user
    return User(user.name, (*groups, AUTHENTICATED), user.uid, user.extra)
