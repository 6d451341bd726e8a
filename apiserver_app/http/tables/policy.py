"""Rows of who may do what: bindings, quotas, certificates, admission, flow control.

Models the print functions of kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.http.tables import cells, duration
from apiserver_app.machinery import conditions
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels


def binding(obj: Object, now: int) -> list[Any]:
    """A RoleBinding or ClusterRoleBinding."""
    role = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        if subject.get("kind") in subjects:
            subjects[subject["kind"]].append(name)
    return [
        cells.name(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(obj, now),
        *(", ".join(names) for names in subjects.values()),
    ]


def resource_quota(obj: Object, now: int) -> list[Any]:
    status = cells.part(obj, "status")
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        into = limits if name.startswith("limits.") else requests
        into.append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [cells.name(obj), ", ".join(requests), ", ".join(limits), cells.age(obj, now)]


def signing_request(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    seconds = spec.get("expirationSeconds")
    wanted = cells.NONE if seconds is None else duration.human(seconds * duration.SECOND)
    return [
        cells.name(obj),
        cells.age(obj, now),
        spec.get("signerName") or cells.NONE,
        spec.get("username", ""),
        wanted,
        _signing_status(cells.part(obj, "status")),
    ]


def trust_bundle(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), cells.part(obj, "spec").get("signerName") or cells.NONE]


def webhooks(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), len(obj.get("webhooks") or ()), cells.age(obj, now)]


def validating_policy(obj: Object, now: int) -> list[Any]:
    return _admission_policy(obj, "validations", now)


def mutating_policy(obj: Object, now: int) -> list[Any]:
    return _admission_policy(obj, "mutations", now)


def admission_binding(obj: Object, now: int) -> list[Any]:
    """The binding of a validating or mutating admission policy."""
    spec = cells.part(obj, "spec")
    parameter = spec.get("paramRef")
    shown = cells.UNSET
    if parameter is not None:
        if parameter.get("name"):
            shown = f"{parameter.get('namespace') or '*'}/{parameter['name']}"
        elif parameter.get("selector") is not None:
            shown = labels.go_struct(parameter["selector"])
    return [cells.name(obj), spec.get("policyName", ""), shown, cells.age(obj, now)]


def flow_schema(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    method = spec.get("distinguisherMethod")
    condition = conditions.find(cells.part(obj, "status"), "Dangling")
    dangling = "?" if condition is None else condition.get("status", "")
    return [
        cells.name(obj),
        cells.part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        cells.NONE if method is None else method.get("type", ""),
        cells.age(obj, now),
        dangling,
    ]


def flow_schema_order(obj: Object) -> tuple[int, str]:
    """Flow schemas are listed in the order in which they are tried."""
    return cells.part(obj, "spec").get("matchingPrecedence", 0), cells.name(obj)


def priority_level(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    limited = spec.get("limited")
    shares: Any = cells.NONE
    queues: list[Any] = [cells.NONE] * 3
    if limited is not None:
        shares = limited.get("nominalConcurrencyShares", 0)
        queuing = cells.part(limited, "limitResponse").get("queuing")
        if queuing is not None:
            queues = [queuing.get(field, 0) for field in ("queues", "handSize", "queueLengthLimit")]
    return [cells.name(obj), spec.get("type", ""), shares, *queues, cells.age(obj, now)]


def _admission_policy(obj: Object, rules: str, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    kind = spec.get("paramKind")
    shown = cells.UNSET
    if kind is not None:
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [cells.name(obj), len(spec.get(rules) or ()), shown, cells.age(obj, now)]


def _signing_status(status: Object) -> str:
    types = {condition.get("type") for condition in status.get("conditions") or ()}
    word = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        word += ",Failed"
    return f"{word},Issued" if status.get("certificate") else word
