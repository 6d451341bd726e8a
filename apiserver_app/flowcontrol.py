"""API priority and fairness: which flow schema and priority level a request falls under.

Classification follows the FlowSchema objects of the cluster, in order of their precedence. Seats
and queues are not modelled yet: every request is served at once.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/{apf_filter,rule}.go.
"""

from __future__ import annotations

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.cluster import Flow
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"
LEVELS = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
CACHE_MAX = 4096


class Classifier:
    """Answers from the watch cache; remembers answers until a schema changes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._schemas: list[Object] = []
        self._generation = (-1, -1)
        self._known: dict[tuple[object, ...], Flow] = {}

    def classify(self, user: User, call: Call) -> Flow:
        generation = (self._reader.generation(SCHEMAS), self._reader.generation(LEVELS))
        if generation != self._generation:
            self._schemas = sorted(
                [one for one in self._reader.list(SCHEMAS) if one.get("spec")],
                key=lambda schema: (
                    schema["spec"].get("matchingPrecedence", 1000), meta.name_of(schema),
                ),
            )  # fmt: skip
            self._known.clear()
            self._generation = generation
        info = call.info
        resource = (info.group, info.plural) if info else ("", call.path)
        key = (user.name, user.groups, call.verb, resource, bool(info), call.namespace)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= CACHE_MAX:
                self._known.clear()
            found = self._known[key] = self._match(user, call)
        return found

    def _match(self, user: User, call: Call) -> Flow:
        for schema in self._schemas:
            for rule in schema["spec"].get("rules") or ():
                subjects = rule.get("subjects") or ()
                if any(_is_subject(one, user) for one in subjects) and _is_about(rule, call):
                    return self._flow(schema)
        return Flow("", "", {"word": "served", "why": "no flow schema matches"})

    def _flow(self, schema: Object) -> Flow:
        wanted = schema["spec"].get("priorityLevelConfiguration") or {}
        level_name = str(wanted.get("name", ""))
        level = self._reader.get(LEVELS, "", level_name)
        level_uid = meta.uid_of(level) if level else ""
        name = meta.name_of(schema)
        detail = {"word": level_name, "flowSchema": name, "priorityLevel": level_name}
        return Flow(meta.uid_of(schema), level_uid, detail)


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
