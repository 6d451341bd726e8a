"""Flow schemas and priority levels: what is filled in, and what cannot be.

Models kubernetes pkg/apis/flowcontrol/v1/defaults.go and
pkg/apis/flowcontrol/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.registry.strategy import Context, Strategy

PRECEDENCE, PRECEDENCE_MAX = 1000, 10_000
SHARES, QUEUES, HAND, LENGTH = 30, 64, 8, 50
QUEUES_MAX = 10_000_000
EXEMPT = "exempt"
_LIMITS = (("queues", QUEUES), ("handSize", HAND), ("queueLengthLimit", LENGTH))


class FlowSchemaStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = PRECEDENCE

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        spec: dict[str, Any] = obj.get("spec") or {}
        found: list[FieldError] = []
        value = spec.get("matchingPrecedence") or 0
        path = "spec.matchingPrecedence"
        if value <= 0:
            found.append(errors.invalid_value(path, value, "must be a positive value"))
        if value > PRECEDENCE_MAX:
            text = f"must not be greater than {PRECEDENCE_MAX}"
            found.append(errors.invalid_value(path, value, text))
        if value == 1 and name_of(obj) != EXEMPT:
            text = "only the schema named 'exempt' may have matchingPrecedence 1"
            found.append(errors.invalid_value(path, value, text))
        method = spec.get("distinguisherMethod")
        if method is not None and method.get("type") not in ("ByUser", "ByNamespace"):
            allowed = ("ByNamespace", "ByUser")
            path = "spec.distinguisherMethod"
            found.append(errors.not_supported(path, method.get("type") or "", allowed))
        if not (spec.get("priorityLevelConfiguration") or {}).get("name"):
            path = "spec.priorityLevelConfiguration.name"
            found.append(errors.required(path, "must reference a priority level"))
        for index, rule in enumerate(spec.get("rules") or ()):
            path = f"spec.rules[{index}]"
            if not rule.get("subjects"):
                text = "subjects must contain at least one value"
                found.append(errors.required(f"{path}.subjects", text))
            if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
                text = "at least one of resourceRules and nonResourceRules has to be non-empty"
                found.append(errors.required(path, text))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)


class PriorityLevelStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        exempt, limited = spec.get("exempt"), spec.get("limited")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        if limited is None:
            return
        if self.info.version == "v1" or "assuredConcurrencyShares" not in limited:
            limited.setdefault("nominalConcurrencyShares", SHARES)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for name, value in _LIMITS:
                if not queuing.get(name):
                    queuing[name] = value

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        spec: dict[str, Any] = obj.get("spec") or {}
        kind, limited = spec.get("type") or "", spec.get("limited")
        if kind == "Exempt":
            if limited is None:
                return []
            text = "must be nil if the type is not Limited"
            return [errors.forbidden_value("spec.limited", text)]
        if kind != "Limited":
            return [errors.not_supported("spec.type", kind, ("Exempt", "Limited"))]
        if limited is None:
            text = "must not be empty when type is Limited"
            return [errors.required("spec.limited", text)]
        return _limited(limited)

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)


def _limited(limited: dict[str, Any]) -> list[FieldError]:
    found: list[FieldError] = []
    path = "spec.limited"
    shares = limited.get("nominalConcurrencyShares", 0)
    if shares < 0:
        text = "must be a non-negative integer"
        found.append(errors.invalid_value(f"{path}.nominalConcurrencyShares", shares, text))
    response = limited.get("limitResponse") or {}
    queuing = response.get("queuing")
    path = f"{path}.limitResponse"
    if response.get("type") == "Reject":
        if queuing is not None:
            text = "must be nil if limited.limitResponse.type is not Limited"
            found.append(errors.forbidden_value(f"{path}.queuing", text))
    elif response.get("type") != "Queue":
        value = response.get("type") or ""
        found.append(errors.not_supported(f"{path}.type", value, ("Queue", "Reject")))
    elif queuing is None:
        text = "must not be empty if limited.limitResponse.type is Limited"
        found.append(errors.required(f"{path}.queuing", text))
    else:
        found += _queuing(queuing, f"{path}.queuing")
    return found


def _queuing(queuing: dict[str, Any], path: str) -> list[FieldError]:
    found = [
        errors.invalid_value(f"{path}.{name}", queuing[name], "must be positive")
        for name in ("queueLengthLimit", "queues", "handSize")
        if queuing.get(name, 1) <= 0
    ]
    queues, hand = queuing.get("queues", QUEUES), queuing.get("handSize", HAND)
    if queues > QUEUES_MAX:
        text = f"must not be greater than {QUEUES_MAX}"
        found.append(errors.invalid_value(f"{path}.queues", queues, text))
    if hand > queues:
        text = f"should not be greater than queues ({queues})"
        found.append(errors.invalid_value(f"{path}.handSize", hand, text))
    return found
