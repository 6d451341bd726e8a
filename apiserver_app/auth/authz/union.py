"""The configured authorizers in order: the first with an opinion decides.

Models kubernetes pkg/kubeapiserver/authorizer/reload.go and
staging/src/k8s.io/apiserver/pkg/authorization/union/union.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.auth.authz.always import AlwaysAllow, AlwaysDeny, PrivilegedGroup
from apiserver_app.auth.authz.node import NodeAuthorizer
from apiserver_app.auth.authz.rbac import KINDS, Rbac
from apiserver_app.authprotocols import Attributes, Authorizer, Decision, Rules, Try
from apiserver_app.machinery.errors import aggregate
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

NO_MODE = "at least one authorization mode must be passed"


def build(modes: Sequence[str | Authorizer], reader: Reader) -> Union:
    """Builds the union of modes by name and of already built authorizers. Raises ValueError when
    they are not usable."""
    if not modes:
        raise ValueError(NO_MODE)
    authorizers: list[Authorizer] = [PrivilegedGroup()]
    for mode in modes:
        authorizers.append(_authorizer(mode, reader) if isinstance(mode, str) else mode)
    rbac = (authorizer for authorizer in authorizers if isinstance(authorizer, Rbac))
    return Union(authorizers, next(rbac, None) or Rbac(reader))


def _authorizer(mode: str, reader: Reader) -> Authorizer:
    if mode == "Node":
        return NodeAuthorizer(reader)
    if mode == "RBAC":
        return Rbac(reader)
    if mode == "AlwaysAllow":
        return AlwaysAllow()
    if mode == "AlwaysDeny":
        return AlwaysDeny()
    raise ValueError(f"unknown authorization mode {mode} specified")


# whose changes may change what is decided: general answers hold in between
RESTS_ON = KINDS


class Union:
    """`rbac` resolves roles even where RBAC is not a mode: users may not grant more than they
    hold."""

    def __init__(self, authorizers: Sequence[Authorizer], rbac: Rbac) -> None:
        self.authorizers = tuple(authorizers)
        self.rbac = rbac
        self.generation = 0  # grows when the authorizers are replaced

    def replace(self, other: Union) -> None:
        """Takes over the other's authorizers, so that holders of this union see a reload."""
        self.authorizers, self.rbac = other.authorizers, other.rbac
        self.generation += 1

    @property
    def names(self) -> list[str]:
        return [authorizer.name for authorizer in self.authorizers]

    async def authorize(self, attributes: Attributes) -> Decision:
        """Stops at the first allow or deny; without either the verdict is noop, which refuses."""
        tries: list[Try] = []
        for authorizer in self.authorizers:
            answer = authorizer.authorize(attributes)
            if not isinstance(answer, Try):
                answer = await answer
            tries.append(answer)
            if answer.verdict != "noop":
                return Decision(answer.verdict, answer.reason, tuple(tries), answer.error)
        reasons = "\n".join(answer.reason for answer in tries if answer.reason)
        failed = [answer.error for answer in tries if answer.error]
        return Decision("noop", reasons, tuple(tries), aggregate(failed))

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Concatenates the rules of all authorizers."""
        resource_rules: list[Object] = []
        path_rules: list[Object] = []
        incomplete = False
        failed: list[str] = []
        for authorizer in self.authorizers:
            rules = authorizer.rules_for(user, namespace)
            resource_rules += rules.resources
            path_rules += rules.paths
            incomplete = incomplete or rules.incomplete
            if rules.error:
                failed.append(rules.error)
        return Rules(resource_rules, path_rules, incomplete, aggregate(failed))
