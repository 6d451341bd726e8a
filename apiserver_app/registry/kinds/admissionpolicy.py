"""Validating and mutating admission policies and their bindings.

Models kubernetes pkg/apis/admissionregistration/v1/defaults.go and
pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.cel.environment import Environment
from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.kinds import policyrules, selectors, webhookconfiguration
from apiserver_app.registry.strategy import Context, Strategy

ANNOTATIONS_MAX = 20
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_EMPTY = "validations or auditAnnotations must contain at least one item"


class _PolicyStrategy(Strategy):
    """What both kinds of policies have in common."""

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

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        failure = spec.get("failurePolicy")
        if failure not in ("Fail", "Ignore"):
            allowed = ("Fail", "Ignore")
            found.append(errors.not_supported("spec.failurePolicy", failure, allowed))
        if spec.get("paramKind") is not None:
            policyrules.param_kind(spec["paramKind"], "spec.paramKind", found)
        match = spec.get("matchConstraints")
        if match is None:
            found.append(errors.required("spec.matchConstraints"))
        else:
            _match(match, "spec.matchConstraints", found)
            if not match.get("resourceRules"):
                found.append(errors.required("spec.matchConstraints.resourceRules"))
        conditions = spec.get("matchConditions") or ()
        if conditions:
            alone = Environment(ctx.version, params=spec.get("paramKind") is not None)
            policyrules.match_conditions(conditions, alone, "spec.matchConditions", found)
        environment = Environment(
            ctx.version, params=spec.get("paramKind") is not None,
            variables=spec.get("variables") or None, patches=self.info.kind.startswith("Mutating"),
        )  # fmt: skip
        given = spec.get("variables") or ()
        policyrules.variables(given, environment, "spec.variables", found)
        self.expressions(obj, environment, found)
        return found

    def expressions(self, obj: Object, environment: Environment, found: list[FieldError]) -> None:
        """What the policy does with what it matches."""

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj) if obj.get("spec") != old.get("spec") else []


class ValidatingAdmissionPolicyStrategy(_PolicyStrategy):
    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        obj["status"] = {}

    def expressions(self, obj: Object, environment: Environment, found: list[FieldError]) -> None:
        spec = obj["spec"]
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            found.append(errors.required("spec.validations", _EMPTY))
            found.append(errors.required("spec.auditAnnotations", _EMPTY))
            return
        for index, rule in enumerate(spec.get("validations") or ()):
            _validation(rule, environment, f"spec.validations[{index}]", found)
        annotations = spec.get("auditAnnotations") or ()
        if len(annotations) > ANNOTATIONS_MAX:
            text = f"must not have more than {ANNOTATIONS_MAX} auditAnnotations"
            value = errors.GoText("[]admissionregistration.AuditAnnotation{...}")
            found.append(errors.invalid_value("spec.auditAnnotations", value, text))
        seen: set[str] = set()
        for index, one in enumerate(annotations):
            path, key = f"spec.auditAnnotations[{index}]", one.get("key") or ""
            _annotation(obj["metadata"].get("name") or "", one, environment, path, found)
            if key in seen:
                found.append(errors.duplicate(f"{path}.key", key))
            seen.add(key)


class MutatingAdmissionPolicyStrategy(_PolicyStrategy):
    def default(self, obj: Object) -> None:
        super().default(obj)
        if obj["spec"].get("reinvocationPolicy") is None:
            obj["spec"]["reinvocationPolicy"] = "Never"

    def expressions(self, obj: Object, environment: Environment, found: list[FieldError]) -> None:
        spec = obj["spec"]
        mutations = spec.get("mutations") or ()
        if not mutations:
            text = "mutations must contain at least one item"
            found.append(errors.required("spec.mutations", text))
        for index, one in enumerate(mutations):
            _mutation(one, environment, f"spec.mutations[{index}]", found)
        again = spec.get("reinvocationPolicy")
        if again not in ("IfNeeded", "Never"):
            allowed = ("IfNeeded", "Never")
            found.append(errors.not_supported("spec.reinvocationPolicy", again, allowed))


class _BindingStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("matchResources") is not None:
            _default_match(spec["matchResources"])

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        policy = spec.get("policyName") or ""
        if not policy:
            found.append(errors.required("spec.policyName"))
        else:
            for wrong in names.dns1123_subdomain_errors(policy):
                found.append(errors.invalid_value("spec.policyName", policy, wrong))
        if spec.get("paramRef") is not None:
            policyrules.param_ref(spec["paramRef"], "spec.paramRef", found)
        if spec.get("matchResources") is not None:
            _match(spec["matchResources"], "spec.matchResouces", found)  # upstream's spelling
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)


class ValidatingAdmissionPolicyBindingStrategy(_BindingStrategy):
    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found = super().validate(ctx, obj)
        given = obj["spec"].get("validationActions") or ()
        policyrules.actions(given, "spec.validationActions", found)
        return found


class MutatingAdmissionPolicyBindingStrategy(_BindingStrategy):
    pass


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


def _match(match: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    policy = match.get("matchPolicy")
    if policy not in ("Equivalent", "Exact"):
        allowed = ("Equivalent", "Exact")
        found.append(errors.not_supported(f"{path}.matchPolicy", policy, allowed))
    for field in ("namespaceSelector", "objectSelector"):
        selectors.validate(match.get(field), f"{path}.{field}", found)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            listed = rule.get("resourceNames") or ()
            for place, name in enumerate(listed):
                if name in listed[:place]:
                    found.append(errors.duplicate(f"{at}.resourceNames[{place}]", name))
            webhookconfiguration.validate_rule(rule, at, found)


def _validation(
    rule: Mapping[str, Any], environment: Environment, path: str, found: list[FieldError]
) -> None:
    text = rule.get("expression") or ""
    if not text.strip():
        found.append(errors.required(f"{path}.expression", policyrules.UNSPECIFIED))
    else:
        compiled = environment.compile(text, ("bool",))
        policyrules.expression(compiled, f"{path}.expression", found)
    by = rule.get("messageExpression") or ""
    if by and not by.strip():
        wrong = "must be non-empty if specified"
        found.append(errors.invalid_value(f"{path}.messageExpression", by, wrong))
    elif by:
        compiled = environment.compile(by, ("string",), authorizer=False)
        policyrules.expression(compiled, f"{path}.messageExpression", found)
    message = rule.get("message") or ""
    if message and not message.strip():
        wrong = "message must be non-empty if specified"
        found.append(errors.invalid_value(f"{path}.message", message, wrong))
    elif any(char in message.strip() for char in "\r\n"):
        wrong = "message must not contain line breaks"
        found.append(errors.invalid_value(f"{path}.message", message, wrong))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        found.append(errors.not_supported(f"{path}.reason", reason, _REASONS))


def _annotation(
    policy: str,
    one: Mapping[str, Any],
    environment: Environment,
    path: str,
    found: list[FieldError],
) -> None:
    key, text = one.get("key") or "", one.get("valueExpression") or ""
    if not policy:
        wrong = "requires metadata.name be non-empty"
        found.append(errors.invalid_value(f"{path}.key", key, wrong))
    else:
        name = f"{policy}/{key}"
        for wrong in names.qualified_name_errors(name):
            found.append(errors.invalid_value(f"{path}.key", name, wrong))
    if not text.strip():
        wrong = "valueExpression is not specified"
        found.append(errors.required(f"{path}.valueExpression", wrong))
        return
    compiled = environment.compile(text, ("string", "null"))
    policyrules.expression(compiled, f"{path}.valueExpression", found)


_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "Object"),
    "JSONPatch": ("jsonPatch", "list(JSONPatch)"),
}


def _mutation(
    one: Mapping[str, Any], environment: Environment, path: str, found: list[FieldError]
) -> None:
    kind = one.get("patchType") or ""
    if kind not in _PATCHES:
        found.append(errors.not_supported(f"{path}.patchType", kind, sorted(_PATCHES)))
        return
    field, wanted = _PATCHES[kind]
    for other, (its, _) in _PATCHES.items():
        if other != kind and one.get(its) is not None:
            wrong = f"must not be specified when patchType is {kind}"
            found.append(errors.forbidden_value(f"{path}.{its}", wrong))
    text = (one.get(field) or {}).get("expression") or ""
    if one.get(field) is None:
        wrong = f"must be specified when patchType is {kind}"
        found.append(errors.required(f"{path}.{field}", wrong))
    elif not text.strip():
        at = f"{path}.{field}.expression"
        found.append(errors.required(at, policyrules.UNSPECIFIED))
    else:
        compiled = environment.compile(text, (wanted,))
        policyrules.expression(compiled, f"{path}.{field}.expression", found)
