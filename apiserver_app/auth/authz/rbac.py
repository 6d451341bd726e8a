"""RBAC: decides by roles and bindings, read from the watch cache.

Allows or has no opinion; never denies. Rules are compiled once per role version. Answers are
cached until any role or binding changes, which the Reader's generations show.

Models kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from apiserver_app.auth.authz.rules import (
    Rule,
    combined,
    compile_rules,
    smallest_role,
    smallest_rule,
)
from apiserver_app.authprotocols import Attributes, Rules, Try
from apiserver_app.machinery import memos, meta
from apiserver_app.machinery.errors import aggregate, go_value
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

SOURCE = "plugin/pkg/auth/authorizer/rbac/rbac.go"
API = "rbac.authorization.k8s.io"
KINDS = tuple(
    f"{plural}.{API}" for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
)
_CLUSTER_ROLES, _CLUSTER_BINDINGS, _ROLES, _BINDINGS = KINDS
_CACHE_LIMIT = 32_768
_RESOURCE_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_FIELDS = ("verbs", "nonResourceURLs")
_FOR_PEOPLE = ("view", "edit", "admin")
_READ = {"from": "cache", "etcd": 0}  # a Reader never reads from etcd


class Grant(NamedTuple):
    """A binding that applies to a user, through one of its subjects."""

    kind: str  # RoleBinding or ClusterRoleBinding
    binding: Object
    subject: Object
    rules: tuple[Rule, ...]

    def describe(self) -> str:
        """Describes the source of a rule as upstream prints it."""
        ref = self.binding["roleRef"]
        name, namespace = meta.name_of(self.binding), meta.namespace_of(self.binding)
        full = f"{name}/{namespace}" if namespace else name
        return (
            f"{self.kind} {go_value(full)} of {ref['kind']} {go_value(ref['name'])} "
            f"to {_describe_subject(self.subject, namespace)}"
        )

    def data(self) -> dict[str, Any]:
        ref, subject = self.binding["roleRef"], self.subject
        out: dict[str, Any] = {
            "binding": {"kind": self.kind, "name": meta.name_of(self.binding)},
            "role": {"kind": ref["kind"], "name": ref["name"]},
            "subject": _select_fields(subject, ("kind", "name", "namespace")),
        }
        if meta.namespace_of(self.binding):
            out["binding"]["namespace"] = meta.namespace_of(self.binding)
        return out


# rules that may allow a verb on a resource: (resource names or None for any, the answer)
_Candidates = tuple[tuple[frozenset[str] | None, Try], ...]


class Rbac:
    name = "RBAC"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._stamp: tuple[int, ...] = ()
        self._grants: dict[tuple[Any, ...], tuple[list[Grant], list[str]]] = {}
        self._answers: dict[tuple[Any, ...], _Candidates] = {}
        # keyed by the ids of a grant and a rule, which _grants keeps alive
        self._allowed: dict[tuple[int, int, bool], Try] = {}
        self._compiled: dict[tuple[str, str, str], tuple[Object, tuple[Rule, ...]]] = {}

    def authorize(self, attributes: Attributes) -> Try:
        """Allows by the first matching rule in upstream's order: cluster bindings, then the
        namespace's."""
        self._refresh()
        user = attributes.user
        key = (
            user.name,
            user.groups,
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            attributes.namespace,
            "" if attributes.resource else attributes.path,
        )
        candidates = self._answers.get(key)
        if candidates is None:
            memos.make_room(self._answers, _CACHE_LIMIT)
            candidates = self._answers[key] = self._candidates(attributes)
        for names, answer in candidates:
            if names is None or attributes.name in names:
                return answer
        return self._explain(attributes)

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Returns every rule that applies to the user, as SelfSubjectRulesReview shows them."""
        self._refresh()
        resource_rules: list[Object] = []
        path_rules: list[Object] = []
        grants, failures = self.grants(user, namespace)
        for grant in grants:
            for rule in grant.rules:
                raw = rule.raw
                if raw.get("resources"):
                    resource_rules.append(_select_fields(raw, _RESOURCE_FIELDS))
                if raw.get("nonResourceURLs"):
                    path_rules.append(_select_fields(raw, _PATH_FIELDS))
        return Rules(resource_rules, path_rules, False, aggregate(failures))

    def grants(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        """Returns the bindings that apply, and upstream's errors about missing roles."""
        key = (user.name, user.groups, namespace)
        resolved = self._grants.get(key)
        if resolved is None:
            if len(self._grants) >= _CACHE_LIMIT:
                self._forget()
            resolved = self._grants[key] = self._resolve(user, namespace)
        return resolved

    def _refresh(self) -> None:
        generation = self.reader.generation
        stamp = (
            generation(_CLUSTER_ROLES),
            generation(_CLUSTER_BINDINGS),
            generation(_ROLES),
            generation(_BINDINGS),
        )
        if stamp != self._stamp:
            self._stamp = stamp
            self._forget()

    def _forget(self) -> None:
        self._grants.clear()
        self._answers.clear()
        self._allowed.clear()

    def _candidates(self, attributes: Attributes) -> _Candidates:
        grants, _ = self.grants(attributes.user, attributes.namespace)
        out: list[tuple[frozenset[str] | None, Try]] = []
        for grant in grants:
            for rule in grant.rules:
                if not _matches(rule, attributes):
                    continue
                names = rule.names if attributes.is_resource else None
                general = names is None and not out
                out.append((names, self._allow(grant, rule, general=general)))
                if names is None:
                    return tuple(out)
        return tuple(out)

    def _allow(self, grant: Grant, rule: Rule, *, general: bool) -> Try:
        key = (id(grant), id(rule), general)
        answer = self._allowed.get(key)
        if answer is None:
            reason = f"RBAC: allowed by {grant.describe()}"
            detail = {**grant.data(), "rule": rule.raw, "read": _READ}
            answer = Try(
                self.name,
                "allow",
                reason,
                detail=detail,
                source=SOURCE,
                reason=reason,
                general=general,
            )
            self._allowed[key] = answer
        return answer

    def _explain(self, attributes: Attributes) -> Try:
        grants, failures = self.grants(attributes.user, attributes.namespace)
        bindings = []
        for grant in grants:
            data = grant.data()
            closest = min(grant.rules, key=lambda rule: len(rule.missing(attributes)), default=None)
            if closest is not None:
                data["closest"] = {"rule": closest.raw, "missing": closest.missing(attributes)}
            bindings.append(data)
        detail = {
            "bindings": bindings,
            "smallest_rule": smallest_rule(attributes),
            "smallest_role": smallest_role(attributes),
            "read": _READ,
        }
        role_name = self._smallest_default_role(attributes)
        if role_name:
            detail["role_that_would_do"] = role_name
        target = combined(attributes) if attributes.is_resource else attributes.path
        why = f"no rule of {len(grants)} bindings allows {attributes.verb} {target}"
        if not grants:
            why = f'no binding applies to "{attributes.user.name}"'
        reason = f"RBAC: {aggregate(failures)}" if failures else ""
        return Try(self.name, "noop", why, detail=detail, source=SOURCE, reason=reason)

    def _smallest_default_role(self, attributes: Attributes) -> str:
        """Returns the least user-facing default role that allows the request; "" when none does."""
        for name in _FOR_PEOPLE:
            for rule in self._rules("ClusterRole", name, "") or ():
                if _matches(rule, attributes) and (
                    rule.names is None or attributes.name in rule.names
                ):
                    return name
        return ""

    def current_grants(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        """Returns the bindings that apply now, and errors about others."""
        self._refresh()
        return self.grants(user, namespace)

    def role_rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        """Returns the rules of a role that a binding in `namespace` names; None when it is
        missing."""
        self._refresh()
        return self._rules(kind, name, namespace)

    def _resolve(self, user: User, namespace: str) -> tuple[list[Grant], list[str]]:
        grants: list[Grant] = []
        failures: list[str] = []
        cluster = self.reader.list(_CLUSTER_BINDINGS)
        self._collect("ClusterRoleBinding", cluster, user, "", grants, failures)
        if namespace:
            local = self.reader.list(_BINDINGS, namespace)
            self._collect("RoleBinding", local, user, namespace, grants, failures)
        return grants, failures

    def _collect(
        self,
        kind: str,
        bindings: Iterable[Object],
        user: User,
        namespace: str,
        grants: list[Grant],
        failures: list[str],
    ) -> None:
        for binding in bindings:
            subject = _subject_of(user, binding.get("subjects") or (), namespace)
            if subject is None:
                continue
            ref = binding["roleRef"]
            rules = self._rules(ref["kind"], ref["name"], namespace)
            if rules is None:
                failures.append(f"{ref['kind'].lower()}.{API} {go_value(ref['name'])} not found")
            else:
                grants.append(Grant(kind, binding, subject, rules))

    def _rules(self, kind: str, name: str, namespace: str) -> tuple[Rule, ...] | None:
        role_namespace = "" if kind == "ClusterRole" else namespace
        resource = _CLUSTER_ROLES if kind == "ClusterRole" else _ROLES
        role = self.reader.get(resource, role_namespace, name)
        if role is None:
            self._compiled.pop((kind, role_namespace, name), None)
            return None
        cached = self._compiled.get((kind, role_namespace, name))
        if cached is None or cached[0] is not role:
            cached = (role, compile_rules(role.get("rules")))
            self._compiled[kind, role_namespace, name] = cached
        return cached[1]


def _select_fields(raw: Object, fields: Iterable[str]) -> Object:
    return {field: raw[field] for field in fields if raw.get(field)}


def _matches(rule: Rule, attributes: Attributes) -> bool:
    if not attributes.is_resource:
        return rule.covers_path(attributes.verb, attributes.path)
    return rule.covers(
        attributes.verb, attributes.group, combined(attributes), attributes.subresource
    )


def _subject_of(user: User, subjects: Iterable[Object], namespace: str) -> Object | None:
    """Returns the first subject that matches this user."""
    for subject in subjects:
        kind, name = subject["kind"], subject["name"]
        if kind == "User":
            if name == user.name:
                return subject
        elif kind == "Group":
            if name in user.groups:
                return subject
        elif kind == "ServiceAccount":
            account_namespace = subject.get("namespace") or namespace
            if (
                account_namespace
                and user.name == f"system:serviceaccount:{account_namespace}:{name}"
            ):
                return subject
    return None


def _describe_subject(subject: Object, namespace: str) -> str:
    name = str(subject["name"])
    if subject["kind"] == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f"{subject['kind']} {go_value(name)}"
