"""ResourceQuotas: hard limits by resource, within scopes that never change.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateResourceQuota) and
pkg/registry/core/resourcequota/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import gosyntax

_SCOPES = tuple(
    """
    Terminating NotTerminating BestEffort NotBestEffort PriorityClass CrossNamespacePodAffinity
    VolumeAttributesClass
    """.split()
)
_EXISTS_ONLY = (*_SCOPES[:4], "CrossNamespacePodAffinity")
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_POD_RESOURCES = frozenset(
    """
    pods cpu memory requests.cpu requests.memory limits.cpu limits.memory
    """.split()
)

_OF_SCOPE = {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}


class ResourceQuotaStrategy(Strategy):
    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("hard"):
            resources.canonicalize(spec["hard"])
        if obj.get("status") is None:
            obj["status"] = {}
        gofields.arrange(obj, "core.v1.ResourceQuota")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        _amounts(spec.get("hard") or {}, "spec.hard", errs)
        known = _SCOPES if ctx.version.has("VolumeAttributesClassScope") else _SCOPES[:-1]
        _scopes(spec, known, errs)
        _selector(spec, "spec.scopeSelector.matchExpressions", known, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = self.validate(ctx, obj)
        scopes = obj["spec"].get("scopes") or ()
        if set(scopes) != set(old["spec"].get("scopes") or ()):
            printed = _scopes_text(scopes)
            errs.append(errors.invalid_value("spec.scopes", printed, "field is immutable"))
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        for field in ("hard", "used"):
            _amounts((obj.get("status") or {}).get(field) or {}, f"status.{field}", errs)
        return errs


def _amounts(amounts: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    for name, value in amounts.items():
        resources.quota_name(name, f"{path}[{name}]", errs)
        resources.quantity(name, value, f"{path}[{name}]", errs)


def _scopes(spec: Mapping[str, Any], known: Sequence[str], errs: list[FieldError]) -> None:
    scopes = spec.get("scopes") or ()
    if not scopes:
        return
    printed = _scopes_text(scopes)
    for scope in scopes:
        if scope not in known:
            errs.append(errors.invalid_value("spec.scopes", printed, "unsupported scope"))
            continue
        _applied(scope, spec, "spec.scopes", printed, errs)
    for first, other in _CONFLICTS:
        if first in scopes and other in scopes:
            errs.append(errors.invalid_value("spec.scopes", printed, "conflicting scopes"))


def _applied(
    scope: str, spec: Mapping[str, Any], path: str, printed: Any, errs: list[FieldError]
) -> None:
    """Most scopes are of pods, and count what pods use; one is of claims."""
    allowed = _OF_SCOPE.get(scope, _POD_RESOURCES)
    for name in sorted(spec.get("hard") or ()):
        if resources.is_standard_quota(name) and name not in allowed:
            text = "unsupported scope applied to resource"
            errs.append(errors.invalid_value(path, printed, text))


def _selector(
    spec: Mapping[str, Any], path: str, known: Sequence[str], errs: list[FieldError]
) -> None:
    rules = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not rules:
        return
    printed = errors.GoText(f"core.ScopeSelector{{MatchExpressions:{_rules_text(rules)}}}")
    for rule in rules:
        scope = rule.get("scopeName") or ""
        if scope not in known:
            errs.append(errors.invalid_value(f"{path}.scopeName", scope, "unsupported scope"))
        else:
            _applied(scope, spec, path, printed, errs)
        _rule(rule, path, errs)
    scopes = {rule.get("scopeName") for rule in rules}
    for first, other in _CONFLICTS:
        if first in scopes and other in scopes:
            text = _scopes_text(spec.get("scopes") or ())
            errs.append(errors.invalid_value(path, text, "conflicting scopes"))


def _rules_text(rules: Sequence[Mapping[str, Any]]) -> str:
    inner = ", ".join(
        f"core.ScopedResourceSelectorRequirement{{ScopeName:"
        f"{errors.go_value(rule.get('scopeName') or '')}, Operator:"
        f"{errors.go_value(rule.get('operator') or '')}, Values:"
        f"{errors.go_value(gosyntax.strings(rule.get('values')))}}}"
        for rule in rules
    )
    return f"[]core.ScopedResourceSelectorRequirement{{{inner}}}"


def _rule(rule: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    scope, operator = rule.get("scopeName") or "", rule.get("operator") or ""
    values = rule.get("values") or ()
    if scope in _EXISTS_ONLY and operator != "Exists":
        text = (
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
        )
        errs.append(errors.invalid_value(f"{path}.operator", operator, text))
    if operator in ("In", "NotIn"):
        if not values:
            text = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            errs.append(errors.required(f"{path}.values", text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            errs.append(errors.invalid_value(f"{path}.values", list(values), text))
    else:
        text = "not a valid selector operator"
        errs.append(errors.invalid_value(f"{path}.operator", operator, text))


def _scopes_text(scopes: Any) -> errors.GoText:
    if not scopes:
        return errors.GoText("[]core.ResourceQuotaScope(nil)")
    inner = ", ".join(map(errors.go_value, scopes))
    return errors.GoText(f"[]core.ResourceQuotaScope{{{inner}}}")
