"""Roles and ClusterRoles: rules that say something, and only what their scope allows.

Models kubernetes pkg/apis/rbac/validation/validation.go and pkg/registry/rbac/role/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta, selectors


class RoleStrategy(Strategy):
    """Both kinds: whether URLs may be named depends on the scope."""

    name_rule = staticmethod(objectmeta.path_segment)
    create_on_update = True

    def default(self, obj: Object) -> None:
        obj.setdefault("rules", None)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        for index, rule in enumerate(obj.get("rules") or ()):
            _rule(rule, self.info.namespaced, f"rules[{index}]", errs)
        rule = obj.get("aggregationRule")
        if rule is not None:
            _aggregation(rule.get("clusterRoleSelectors") or (), errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)


def _aggregation(items: Sequence[Mapping[str, Any]], errs: list[FieldError]) -> None:
    path = "aggregationRule.clusterRoleSelectors"
    if not items:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errs.append(errors.required(path, text))
    for index, selector in enumerate(items):
        before = len(errs)
        selectors.validate(selector, f"{path}[{index}]", errs)
        if len(errs) != before:
            text = "invalid label selector."
            errs.append(errors.invalid_value(f"{path}[{index}]", None, text))


def _rule(rule: Mapping[str, Any], namespaced: bool, path: str, errs: list[FieldError]) -> None:
    if not rule.get("verbs"):
        text = "verbs must contain at least one value"
        errs.append(errors.required(f"{path}.verbs", text))
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            errs.append(errors.invalid_value(f"{path}.nonResourceURLs", list(urls), text))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errs.append(errors.invalid_value(f"{path}.nonResourceURLs", list(urls), text))
        return
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        errs.append(errors.required(f"{path}.apiGroups", text))
    if not rule.get("resources"):
        text = "resource rules must supply at least one resource"
        errs.append(errors.required(f"{path}.resources", text))
