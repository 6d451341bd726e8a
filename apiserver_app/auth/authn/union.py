"""All authenticators in upstream's order: the first that knows the user decides.

A credential that was offered and is bad ends in 401 even though anonymous requests are allowed:
anonymous is asked only when nobody saw anything to refuse. Impersonation is not here; it is a
gate of its own behind this one, because it needs the authorizer.

Models kubernetes pkg/kubeapiserver/authenticator/config.go and
staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.auth.authn.anonymous import Anonymous
from apiserver_app.auth.authn.bearer import INVALID, BearerTokens, websocket_token
from apiserver_app.auth.authn.loopback import Loopback
from apiserver_app.auth.protocols import Authenticator, Try
from apiserver_app.machinery.meta import Credential, User

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
WEBSOCKET_SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/request/websocket/protocol.go"


class Union:
    """`anonymous` None means that a request without a credential is refused. Without any
    authenticator and without anonymous, authentication is off: requests go on as nobody."""

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
        """The configured authenticators in the order in which they are asked."""
        names = [one.name for one in self.authenticators]
        if self.tokens is not None:
            names += [one.name for one in self.tokens.authenticators]
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
        """The user with its groups, and everyone who was asked. None is a 401. Waits only when
        somebody outside the server has to be asked. `path` is what the request asks for."""
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
            user, asked = await self._ask_tokens(self.tokens, credential, now, audiences)
            tries += asked
            if user is not None:
                return _authenticated(user), tries
        # the loopback's own authenticator refuses every bearer token that is not the server's
        refused = refused or bool(credential.bearer) or any(one.verdict == "deny" for one in tries)
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
        """By the Authorization header, then by the WebSocket's protocol."""
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
                user, asked = await tokens.authenticate_token(token, now, audiences)
                tries += asked
        return user, tries


def refusal(tries: Sequence[Try]) -> str:
    """What went wrong, as the aggregate of upstream's unions says it."""
    said = dict.fromkeys([INVALID, *(one.why for one in tries if one.verdict == "deny")])
    return f"[{', '.join(said)}]" if len(said) > 1 else INVALID


def _authenticated(user: User) -> User:
    groups = user.groups
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return user
    return User(user.name, (*groups, AUTHENTICATED), user.uid, user.extra)
