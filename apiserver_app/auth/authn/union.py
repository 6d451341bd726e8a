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
from apiserver_app.auth.authn.bearer import BearerTokens
from apiserver_app.auth.protocols import Authenticator, Try
from apiserver_app.machinery.meta import Credential, User

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"


class Union:
    """`anonymous` None means that a request without a credential is refused."""

    def __init__(
        self,
        authenticators: Sequence[Authenticator],
        tokens: BearerTokens | None = None,
        anonymous: Anonymous | None = None,
    ) -> None:
        self.authenticators = tuple(authenticators)
        self.tokens = tokens
        self.anonymous = anonymous

    @property
    def names(self) -> list[str]:
        """The configured authenticators in the order in which they are asked."""
        names = [one.name for one in self.authenticators]
        if self.tokens is not None:
            names += [one.name for one in self.tokens.authenticators]
        return [*names, self.anonymous.name] if self.anonymous else names

    def authenticate(self, credential: Credential, now: int) -> tuple[User | None, list[Try]]:
        """The user with its groups, and everyone who was asked. None is a 401."""
        tries: list[Try] = []
        refused = False
        for authenticator in self.authenticators:
            answer = authenticator.authenticate(credential, now)
            tries.append(answer)
            if answer.verdict == "allow" and answer.user is not None:
                return _authenticated(answer.user), tries
            refused = refused or answer.verdict == "deny"
        if credential.bearer and self.tokens is not None:
            user, asked = self.tokens.authenticate_token(credential.bearer, now)
            tries += asked
            if user is not None:
                return _authenticated(user), tries
            refused = True
        if refused or self.anonymous is None:
            return None, tries
        answer = self.anonymous.authenticate(credential, now)
        tries.append(answer)
        return answer.user, tries


def _authenticated(user: User) -> User:
    groups = user.groups
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return user
    return User(user.name, (*groups, AUTHENTICATED), user.uid, user.extra)
