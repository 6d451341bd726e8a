"""The interfaces of authenticators and authorizers, what they are asked and what they answer.

Whoever wants to know whether something is allowed (the authorization gate, admission plugins,
expressions, impersonation) asks one `Authorization` about one `Attributes`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/authenticator/interfaces.go and
pkg/authorization/authorizer/interfaces.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, NamedTuple, Protocol

import msgspec

from apiserver_app.machinery.meta import Credential, User

EVER = 1 << 62  # µs: a moment that does not come


class Try(msgspec.Struct, frozen=True):
    """One authenticator's or authorizer's answer, as the page shows it.

    verdict: allow (user known, or request allowed), deny (refused), skip (not applicable),
    noop (no opinion). `why` is one sentence; `detail` is data for the inspector.
    """

    name: str
    verdict: str
    why: str = ""
    user: User | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
    source: str = ""  # upstream file
    reason: str = ""  # an authorizer's reason in upstream's words; often empty there too
    error: str = ""  # why it could not decide
    audiences: tuple[str, ...] = ()  # the requested audiences that the token is valid for
    # of an authenticator's allow: until when (µs) the same credential gets the same answer
    until: int = 0
    # of an authorizer: whether it says so of every object of the resource in the namespace,
    # whatever the name, until one of the resources changes that the authorizers rest on
    general: bool = False


# immediate, or awaited when a remote service has to be asked
Answer = Try | Awaitable[Try]


class Attributes(NamedTuple):  # one is made for each request, which costs less of a tuple
    """What a request asks for. Non-resource requests have only verb and path."""

    user: User
    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""  # plural; "" for a non-resource request
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    fields: str = ""  # the fieldSelector of a list or watch, as sent
    labels: str = ""  # its labelSelector, as sent

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


class Decision(NamedTuple):
    """The authorizers' combined answer. verdict: allow, deny or noop (none had an opinion).

    `reason` is upstream's text: it goes into the audit log and the 403's message.
    """

    verdict: str
    reason: str
    tries: tuple[Try, ...]
    error: str = ""  # why authorizers could not decide

    @property
    def allowed(self) -> bool:
        return self.verdict == "allow"


class Authenticator(Protocol):
    name: str

    def authenticate(self, credential: Credential, now: int) -> Try:
        """Answers allow with a user, skip for a credential of another kind, deny for a bad one.
        `now` is µs since 1970."""
        ...


class TokenAuthenticator(Protocol):
    """Authenticates one kind of bearer token. Its answers never contain the token."""

    name: str
    # does not check audiences: its tokens are valid for the API server's own
    audience_agnostic: bool

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        """Answers allow with a user, skip for a token of another kind, deny for a bad one."""
        ...


class Rules(NamedTuple):
    """The rules that apply to a user, as far as an authorizer knows. `error` says what is
    missing."""

    resources: list[Any]
    paths: list[Any]
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    name: str

    def authorize(self, attributes: Attributes) -> Try | Awaitable[Try]:
        """Answers allow, deny or noop; awaitable when a remote service has to be asked. `why` is
        for people, `reason` is upstream's text."""
        ...

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Returns the user's rules for SelfSubjectRulesReview."""
        ...


class Authorization(Protocol):
    """All authorizers of an API server together."""

    async def authorize(self, attributes: Attributes) -> Decision: ...
