"""What an authenticator and an authorizer are, and the answers they give.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/authenticator/interfaces.go and
pkg/authorization/authorizer/interfaces.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from apiserver_app.machinery.meta import Credential, User


@dataclass(frozen=True, slots=True)
class Try:
    """One authenticator's or authorizer's answer, as the page shows it.

    verdict: allow (it knows the user / allows), deny (refused), skip (nothing here for it),
    noop (no opinion). `why` is one sentence; `detail` is data for the inspector.
    """

    name: str
    verdict: str
    why: str = ""
    user: User | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    source: str = ""  # upstream file
    reason: str = ""  # an authorizer's reason, worded as upstream does; often empty there too
    error: str = ""  # why it could not make up its mind
    audiences: tuple[str, ...] = ()  # those a token is good for, of the ones it was asked for


# at once, or after somebody else was asked
Answer = Try | Awaitable[Try]


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for. Non-resource requests have only verb and path."""

    user: User
    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""  # plural; "" for a non-resource request
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    fields: str = ""  # the fieldSelector of a list or watch, as it was sent
    labels: str = ""  # and its labelSelector

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the authorizers together said. verdict: allow, deny or noop (nobody had an opinion).

    `reason` is upstream's text: it goes into the audit log and into the sentence of a refusal.
    """

    verdict: str
    reason: str
    tries: tuple[Try, ...]
    error: str = ""  # what kept authorizers from an opinion

    @property
    def allowed(self) -> bool:
        return self.verdict == "allow"


class Authenticator(Protocol):
    name: str

    def authenticate(self, credential: Credential, now: int) -> Try:
        """allow with a user, skip when the credential is none of its business, deny on a bad one.
        `now` is µs since 1970."""
        ...


class TokenAuthenticator(Protocol):
    """Knows bearer tokens of one sort. Never puts the token into what it answers."""

    name: str
    # it knows nothing of audiences: its tokens are good for the API server's own
    audience_agnostic: bool

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        """allow with a user, skip when the token is not of this sort, deny on a bad one."""
        ...


class Rules(NamedTuple):
    """What somebody may do, as far as an authorizer can tell. `error` says why not further."""

    resources: list[Any]
    paths: list[Any]
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    name: str

    def authorize(self, attributes: Attributes) -> Try | Awaitable[Try]:
        """allow, deny or noop. `why` of the Try is for people, `reason` is upstream's text.
        Who has to ask somebody else gives what is to be awaited."""
        ...

    def rules_for(self, user: User, namespace: str) -> Rules:
        """For SelfSubjectRulesReview."""
        ...
