"""Asking the authorizers from an expression: `authorizer.group('apps').resource('deployments')...`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare
from apiserver_app.machinery.meta import User
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names

Ask = Callable[[Attributes], Decision]  # answers at once

CHECK_COST = 350_000
_ANY_VERSION = "*"  # expressions name a group and a resource


class Authorizer:
    cel_type = "kubernetes.authorization.Authorizer"

    def __init__(self, user: User, ask: Ask) -> None:
        self.user = user
        self.ask = ask

    def resource(
        self, group: str, resource: str, subresource: str, namespace: str, name: str
    ) -> ResourceCheck:
        """`authorizer.requestResource`: what the request itself is about."""
        asked = Attributes(
            self.user, "", "", group, _ANY_VERSION, resource, subresource, namespace, name
        )
        return ResourceCheck(asked, self.ask)


class _Checking:
    def __init__(self, asked: Attributes, ask: Ask) -> None:
        self.asked = asked
        self.ask = ask


class PathCheck(_Checking):
    cel_type = "kubernetes.authorization.PathCheck"


class GroupCheck(_Checking):
    cel_type = "kubernetes.authorization.GroupCheck"


class ResourceCheck(_Checking):
    cel_type = "kubernetes.authorization.ResourceCheck"


class DecisionValue:
    cel_type = "kubernetes.authorization.Decision"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(Attributes(authorizer.user, "", path), authorizer.ask)


def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(Attributes(authorizer.user, "", group=group), authorizer.ask)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if names.dns1123_subdomain_errors(name):
        raise EvaluationError("Invalid service account name")
    if names.dns1123_label_errors(namespace):
        raise EvaluationError("Invalid service account namespace")
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    user = User(f"system:serviceaccount:{namespace}:{name}", groups)
    return Authorizer(user, authorizer.ask)


def _resource(group: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    asked = group.asked._replace(resource=resource, version=_ANY_VERSION)
    return ResourceCheck(asked, group.ask)


def _narrowed(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrow(check: ResourceCheck, value: str) -> ResourceCheck:
        given: dict[str, Any] = {field: value}
        return ResourceCheck(check.asked._replace(**given), check.ask)

    return narrow


def _check(checking: _Checking, verb: str) -> DecisionValue:
    return DecisionValue(checking.ask(checking.asked._replace(verb=verb)))


def _check_cost(*given: object) -> int:
    return CHECK_COST


def _declare() -> None:
    since = Release(27)
    declare("authorizer.path(string) pathCheck", _path, None, since)
    declare("authorizer.group(string) groupCheck", _group, None, since)
    declare("authorizer.serviceAccount(string, string) authorizer", _service_account, None, since)
    declare("groupCheck.resource(string) resourceCheck", _resource, None, since)
    for field in ("subresource", "namespace", "name"):
        declare(f"resourceCheck.{field}(string) resourceCheck", _narrowed(field), None, since)
    for word, field in (("fieldSelector", "fields"), ("labelSelector", "labels")):
        declare(f"resourceCheck.{word}(string) resourceCheck", _narrowed(field), None, Release(31))
    declare("pathCheck.check(string) decision", _check, _check_cost, since)
    declare("resourceCheck.check(string) decision", _check, _check_cost, since)
    answers = {
        "errored() bool": lambda value: bool(value.decision.error),
        "error() string": lambda value: value.decision.error,
        "allowed() bool": lambda value: value.decision.allowed,
        "reason() string": lambda value: value.decision.reason,
    }
    for signature, impl in answers.items():
        declare(f"decision.{signature}", impl, None, since)


_declare()
