"""Classifies a request: the first matching flow schema by precedence.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/rule.go and
pkg/apis/flowcontrol/bootstrap/default.go (the mandatory ones).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from apiserver_app.handlers.call import Call
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, User

SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"
LEVELS = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
PRECEDENCE_DEFAULT = 1000


class Schemas:
    """The schemas in use, by precedence."""

    def __init__(self) -> None:
        self._sorted: list[Object] = []
        self._users: frozenset[str] = frozenset()

    def digest(self, schemas: Iterable[Object], levels: Collection[str]) -> None:
        """Takes the schemas whose level exists; the mandatory ones always exist."""
        usable = [schema for schema in schemas if level_of(schema) in levels]
        usable.sort(key=lambda schema: (precedence(schema), meta.name_of(schema)))
        names = {meta.name_of(schema) for schema in usable}
        if "exempt" not in names:
            usable.insert(0, _EXEMPT)
        if "catch-all" not in names:
            usable.append(_CATCH_ALL)
        self._sorted = usable
        self._users = frozenset(
            (subject.get("user") or {}).get("name", "")
            for schema in usable
            for rule in schema["spec"].get("rules") or ()
            for subject in rule.get("subjects") or ()
            if subject.get("kind") == "User"
        )

    def names(self, user: str) -> bool:
        """Whether a schema may mean just this user, whatever the groups."""
        return user in self._users or user.startswith("system:serviceaccount:")

    def match(self, user: User, call: Call) -> Object:
        for schema in self._sorted:
            for rule in schema["spec"].get("rules") or ():
                subjects = rule.get("subjects") or ()
                if any(_is_subject(subject, user) for subject in subjects) and _matches_rule(
                    rule, call
                ):
                    return schema
        return next(schema for schema in self._sorted if meta.name_of(schema) == "catch-all")


def level_of(schema: Object) -> str:
    """Returns the name of the schema's level, or ""."""
    ref = (schema.get("spec") or {}).get("priorityLevelConfiguration") or {}
    return str(ref.get("name") or "")


def precedence(schema: Object) -> int:
    return int(schema["spec"].get("matchingPrecedence") or PRECEDENCE_DEFAULT)


_MASTERS = {"kind": "Group", "group": {"name": "system:masters"}}
_ALL = {
    "resourceRules": [
        {
            "verbs": ["*"],
            "apiGroups": ["*"],
            "resources": ["*"],
            "clusterScope": True,
            "namespaces": ["*"],
        }
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_EXEMPT: Object = {
    "metadata": {"name": "exempt"},
    "spec": {
        "matchingPrecedence": 1,
        "priorityLevelConfiguration": {"name": "exempt"},
        "rules": [{"subjects": [_MASTERS], **_ALL}],
    },
}
_CATCH_ALL: Object = {
    "metadata": {"name": "catch-all"},
    "spec": {
        "matchingPrecedence": 10_000,
        "priorityLevelConfiguration": {"name": "catch-all"},
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [],
    },
}


def _is_subject(subject: Object, user: User) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        name = (subject.get("user") or {}).get("name")
        return name in ("*", user.name)
    if kind == "Group":
        name = (subject.get("group") or {}).get("name")
        return name == "*" or name in user.groups
    if kind == "ServiceAccount":
        account = subject.get("serviceAccount") or {}
        prefix = f"system:serviceaccount:{account.get('namespace', '')}:"
        if account.get("name") == "*":
            return user.name.startswith(prefix)
        return user.name == f"{prefix}{account.get('name', '')}"
    return False


def _matches_rule(rule: Object, call: Call) -> bool:
    info = call.info
    if info is None:
        for entry in rule.get("nonResourceRules") or ():
            if _contains(entry.get("verbs") or (), call.verb) and any(
                path == "*"
                or path == call.path
                or (path.endswith("*") and call.path.startswith(path[:-1]))
                for path in entry.get("nonResourceURLs") or ()
            ):
                return True
        return False
    for entry in rule.get("resourceRules") or ():
        plural = f"{info.plural}/{call.subresource}" if call.subresource else info.plural
        if not (
            _contains(entry.get("verbs") or (), call.verb)
            and _contains(entry.get("apiGroups") or (), info.group)
            and _contains(entry.get("resources") or (), plural)
        ):
            continue
        if not call.namespace:
            if entry.get("clusterScope"):
                return True
        elif _contains(entry.get("namespaces") or (), call.namespace):
            return True
    return False


def _contains(patterns: list[str] | tuple[str, ...], value: str) -> bool:
    return "*" in patterns or value in patterns
