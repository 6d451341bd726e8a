"""The configured authorizers in their order: the first with an opinion decides.

Models kubernetes pkg/kubeapiserver/authorizer/config.go, reload.go and
staging/src/k8s.io/apiserver/pkg/authorization/union/union.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.auth.authz.always import AlwaysAllow, AlwaysDeny, PrivilegedGroup
from apiserver_app.auth.authz.node import NodeAuthorizer
from apiserver_app.auth.authz.rbac import Rbac
from apiserver_app.auth.protocols import Attributes, Authorizer, Decision, Try
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

_NOT_SIMULATED = ("ABAC", "Webhook")


def build(modes: Sequence[str], reader: Reader) -> Union:
    """The union for --authorization-mode. ValueError when the modes are not usable."""
    if not modes:
        raise ValueError("at least one authorization mode must be passed")
    authorizers: list[Authorizer] = [PrivilegedGroup()]
    for mode in modes:
        if mode == "Node":
            authorizers.append(NodeAuthorizer(reader))
        elif mode == "RBAC":
            authorizers.append(Rbac(reader))
        elif mode == "AlwaysAllow":
            authorizers.append(AlwaysAllow())
        elif mode == "AlwaysDeny":
            authorizers.append(AlwaysDeny())
        elif mode in _NOT_SIMULATED:
            raise ValueError(f"authorization mode {mode} is not simulated")
        else:
            raise ValueError(f"unknown authorization mode {mode} specified")
    return Union(authorizers)


class Union:
    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self.authorizers = tuple(authorizers)

    @property
    def names(self) -> list[str]:
        return [authorizer.name for authorizer in self.authorizers]

    def authorize(self, attributes: Attributes) -> Decision:
        """allow and deny end the walk; without either the verdict is noop, which is a refusal."""
        tries: list[Try] = []
        for authorizer in self.authorizers:
            answer = authorizer.authorize(attributes)
            tries.append(answer)
            if answer.verdict != "noop":
                return Decision(answer.verdict, _reasons(tries), tuple(tries))
        return Decision("noop", _reasons(tries), tuple(tries))

    def allows(self, user: User, verb: str, group: str, resource: str, name: str) -> bool:
        """Whether the user may do this to a cluster-scoped, possibly virtual resource."""
        return self.authorize(Attributes(user, verb, "", group, "*", resource, name=name)).allowed

    def rules_for(self, user: User, namespace: str) -> tuple[list[Object], list[Object], bool]:
        """(resourceRules, nonResourceRules, incomplete), each authorizer's behind the other's."""
        resource_rules: list[Object] = []
        path_rules: list[Object] = []
        incomplete = False
        for authorizer in self.authorizers:
            resources, paths, partial = authorizer.rules_for(user, namespace)
            resource_rules += resources
            path_rules += paths
            incomplete = incomplete or partial
        return resource_rules, path_rules, incomplete


def _reasons(tries: Sequence[Try]) -> str:
    """An opinion's own reason; without an opinion, everyone's."""
    if tries[-1].verdict != "noop":
        return tries[-1].reason
    return "\n".join(answer.reason for answer in tries if answer.reason)
