"""Which flow schema a request falls under: the first by precedence that is about it.

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
    """The schemas in use, in their order."""

    def __init__(self) -> None:
        self._sorted: list[Object] = []

    def digest(self, schemas: Iterable[Object], levels: Collection[str]) -> None:
        """Take those that name a level there is; the mandatory ones are there in any case."""
        found = [one for one in schemas if level_of(one) in levels]
        found.sort(key=lambda one: (precedence(one), meta.name_of(one)))
        named = {meta.name_of(one) for one in found}
        if "exempt" not in named:
            found.insert(0, _EXEMPT)
        if "catch-all" not in named:
            found.append(_CATCH_ALL)
        self._sorted = found

    def match(self, user: User, call: Call) -> Object:
        for schema in self._sorted:
            for rule in schema["spec"].get("rules") or ():
                subjects = rule.get("subjects") or ()
                if any(_is_subject(one, user) for one in subjects) and _is_about(rule, call):
                    return schema
        return next(one for one in self._sorted if meta.name_of(one) == "catch-all")


def level_of(schema: Object) -> str:
    """The level it names; "" when it names none."""
    wanted = (schema.get("spec") or {}).get("priorityLevelConfiguration") or {}
    return str(wanted.get("name") or "")


def precedence(schema: Object) -> int:
    return int(schema["spec"].get("matchingPrecedence") or PRECEDENCE_DEFAULT)


_MASTERS = {"kind": "Group", "group": {"name": "system:masters"}}
_ALL = {
    "resourceRules": [{
        "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True,
        "namespaces": ["*"],
    }],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}  # fmt: skip
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


def _is_about(rule: Object, call: Call) -> bool:
    info = call.info
    if info is None:
        for one in rule.get("nonResourceRules") or ():
            if _holds(one.get("verbs") or (), call.verb) and any(
                path == "*"
                or path == call.path
                or (path.endswith("*") and call.path.startswith(path[:-1]))
                for path in one.get("nonResourceURLs") or ()
            ):
                return True
        return False
    for one in rule.get("resourceRules") or ():
        plural = f"{info.plural}/{call.subresource}" if call.subresource else info.plural
        if not (
            _holds(one.get("verbs") or (), call.verb)
            and _holds(one.get("apiGroups") or (), info.group)
            and _holds(one.get("resources") or (), plural)
        ):
            continue
        if not call.namespace:
            if one.get("clusterScope"):
                return True
        elif _holds(one.get("namespaces") or (), call.namespace):
            return True
    return False


def _holds(wanted: list[str] | tuple[str, ...], value: str) -> bool:
    return "*" in wanted or value in wanted
