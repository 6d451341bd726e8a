"""ValidatingAdmissionPolicies and their bindings: what they match when they do not say.

Expressions are compiled elsewhere; here only defaults and presence.

Models kubernetes pkg/apis/admissionregistration/v1/defaults.go and
pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

_ACTIONS = ("Audit", "Deny", "Warn")


class ValidatingAdmissionPolicyStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("failurePolicy") is None:
            spec["failurePolicy"] = "Fail"
        if spec.get("matchConstraints") is not None:
            _default_match(spec["matchConstraints"])

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        if spec.get("matchConstraints") is None:
            found.append(errors.required("spec.matchConstraints"))
        elif not spec["matchConstraints"].get("resourceRules"):
            found.append(errors.required("spec.matchConstraints.resourceRules"))
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            text = "validations or auditAnnotations must contain at least one item"
            found.append(errors.required("spec.validations", text))
            found.append(errors.required("spec.auditAnnotations", text))
        for index, rule in enumerate(spec.get("validations") or ()):
            if not (rule.get("expression") or "").strip():
                path = f"spec.validations[{index}].expression"
                found.append(errors.required(path, "expression is not specified"))
        return found


class ValidatingAdmissionPolicyBindingStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("matchResources") is not None:
            _default_match(spec["matchResources"])

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        if not spec.get("policyName"):
            found.append(errors.required("spec.policyName"))
        actions = spec.get("validationActions") or ()
        if not actions:
            text = "at least one validation action is required"
            found.append(errors.required("spec.validationActions", text))
        for index, action in enumerate(actions):
            path = f"spec.validationActions[{index}]"
            if action not in _ACTIONS:
                found.append(errors.not_supported(path, action, _ACTIONS))
            if action in actions[:index]:
                found.append(errors.duplicate(path, action))
        return found


def _default_match(match: dict[str, Any]) -> None:
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            match[field] = {}
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field) or ():
            if rule.get("scope") is None:
                rule["scope"] = "*"
