"""Nobody grants more than they hold: what stands between a writer of roles and their storage.

A role may be written by who holds all its rules or may `escalate` it; a binding by who holds all
rules of its role or may `bind` it. Members of system:masters may do both.

Models kubernetes pkg/registry/rbac/escalation_check.go, pkg/registry/rbac/*/policybased/storage.go
and pkg/registry/rbac/validation/{rule,policy_compact}.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app import authprotocols as auth
from apiserver_app.auth.authz.always import MASTERS
from apiserver_app.auth.authz.rules import Rule
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object

GROUP = "rbac.authorization.k8s.io"
_BINDINGS = {"RoleBinding", "ClusterRoleBinding"}
_PLURALS = {"Role": "roles", "ClusterRole": "clusterroles"}
_EVERYTHING: tuple[Object, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_AGGREGATES = "must have cluster-admin privileges to use the aggregationRule"
_FIELDS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)
_FOR_COLLECTION = ("ownerReferences", "finalizers", "managedFields")


async def check(request: Request) -> str:
    """Why it may be granted, in a word; 403 when it may not, "" when nothing is granted."""
    info, obj, old = request.info, request.obj, request.old
    request.gate = "authorization"
    if MASTERS in request.user.groups:
        return f"group {MASTERS} may grant everything"
    if old is not None and _is_same(obj, old):
        return "grants what it granted"
    if info.kind in _BINDINGS:
        return await _binding(request)
    if await _may(request, "escalate", info.plural, request.name):
        return f"may escalate {info.plural}"
    _confirm(request, obj.get("rules") or ())
    if info.kind == "ClusterRole" and any(
        (role or {}).get("aggregationRule") for role in (obj, old)
    ):
        if _missing(request, _EVERYTHING)[0]:
            raise _forbidden(request, _AGGREGATES)
    return "holds every rule of it"


async def _binding(request: Request) -> str:
    obj = request.obj
    ref = obj.get("roleRef") or {}
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    plural = _PLURALS.get(kind)
    if plural is None:  # no such role: validation says so
        return ""
    if ref.get("apiGroup") == GROUP and await _may(request, "bind", plural, name):
        return f"may bind {kind} {name}"
    rules = request.cluster.access.authorization.rbac.role_rules(kind, name, request.namespace)
    if rules is None:
        raise errors.not_found(GROUP, plural, name)
    _confirm(request, [rule.raw for rule in rules])
    return f"holds every rule of {kind} {name}"


async def _may(request: Request, verb: str, plural: str, name: str) -> bool:
    where = (GROUP, "*", plural, "", request.namespace, name)
    asked = auth.Attributes(request.user, verb, "", *where)
    return (await request.cluster.access.authorization.authorize(asked)).allowed


def _confirm(request: Request, rules: Sequence[Object]) -> None:
    missing, failures = _missing(request, rules)
    if not missing:
        return
    user = request.user
    groups = " ".join(map(go_value, user.groups))
    shown = "\n".join(sorted({_compact(rule) for rule in _gathered(missing)}))
    message = (
        f"user {go_value(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions "
        f"not currently held:\n{shown}"
    )
    if failures:
        message += f"; resolution errors: [{errors.aggregate(failures)}]"
    raise _forbidden(request, message)


def _forbidden(request: Request, why: str) -> errors.ApiError:
    info = request.info
    return errors.forbidden(info.group, info.plural, meta.name_of(request.obj), why)


def _missing(request: Request, rules: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """What of the rules the user does not hold, one verb on one resource each."""
    grants, failures = request.cluster.access.authorization.rbac.current_grants(
        request.user, request.namespace
    )
    held = [rule for grant in grants for rule in grant.rules]
    parts = [part for rule in rules for part in _parts(rule)]
    return [part for part in parts if not any(_covers(rule, part) for rule in held)], failures


def _parts(rule: Object) -> list[Object]:
    """Equal rules of one verb, one resource and one name each."""
    out: list[Object] = []
    verbs = rule.get("verbs") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                part: Object = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                for name in rule.get("resourceNames") or ():
                    out.append({**part, "resourceNames": [name]})
                if not rule.get("resourceNames"):
                    out.append(part)
    for url in rule.get("nonResourceURLs") or ():
        out += [{"nonResourceURLs": [url], "verbs": [verb]} for verb in verbs]
    return out


def _covers(rule: Rule, part: Object) -> bool:
    verb = part["verbs"][0]
    if rule.verbs is not None and verb not in rule.verbs:
        return False
    urls = part.get("nonResourceURLs")
    if urls:
        return rule.on_path(urls[0])
    resource = part["resources"][0]
    if rule.groups is not None and part["apiGroups"][0] not in rule.groups:
        return False
    if not rule.on(resource, resource.partition("/")[2]):
        return False
    return rule.names is None or set(part.get("resourceNames") or ("",)) <= rule.names


def _gathered(parts: Sequence[Object]) -> list[Object]:
    """Parts on the same resource as one rule with all their verbs."""
    out: list[Object] = []
    simple: dict[tuple[str, str], Object] = {}
    for part in parts:
        if part.get("nonResourceURLs") or part.get("resourceNames"):
            out.append(part)
            continue
        key = (part["apiGroups"][0], part["resources"][0])
        known = simple.get(key)
        if known is None:
            simple[key] = {**part, "verbs": list(part["verbs"])}
        else:
            known["verbs"] += part["verbs"]
    return out + list(simple.values())


def _compact(rule: Object) -> str:
    parts = [
        f"{title}:[{' '.join(map(go_value, rule[field]))}]"
        for field, title in _FIELDS
        if rule.get(field)
    ]
    return "{" + ", ".join(parts) + "}"


def _is_same(obj: Object, old: Object) -> bool:
    """Whether only what the garbage collector needs has changed."""
    return _stripped(obj) == _stripped(old)


def _stripped(obj: Object) -> dict[str, Any]:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _FOR_COLLECTION}
    return {**obj, "metadata": metadata}
