"""Validating and mutating admission policies and their bindings.

Models kubernetes pkg/apis/admissionregistration/v1/defaults.go and
pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.cel.environment import Environment
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.admissionregistration import policyrules, webhookconfiguration
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, conditions, objectmeta, selectors

ANNOTATIONS_MAX = 20
VALUE_BYTES_MAX = 5 * 1024
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
# nothing is left to change of what is deleted
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_EMPTY = "validations or auditAnnotations must contain at least one item"


class _PolicyStrategy(Strategy):
    """What both kinds of policies have in common."""

    counts_generation = True
    unconditional_update = False
    changes = False  # whether the policy changes what it matches

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
        errs: list[FieldError] = []
        spec = obj["spec"]
        failure = spec.get("failurePolicy")
        if failure not in ("Fail", "Ignore"):
            allowed = ("Fail", "Ignore")
            errs.append(errors.not_supported("spec.failurePolicy", failure, allowed))
        if spec.get("paramKind") is not None:
            policyrules.param_kind(spec["paramKind"], "spec.paramKind", errs)
        match = spec.get("matchConstraints")
        if match is None:
            errs.append(errors.required("spec.matchConstraints"))
        else:
            _match(match, "spec.matchConstraints", errs)
            if not match.get("resourceRules"):
                errs.append(errors.required("spec.matchConstraints.resourceRules"))
            if self.changes:
                _mutable(match, "spec.matchConstraints", errs)
        asked = spec.get("matchConditions") or ()
        if asked:
            alone = Environment(ctx.version, params=spec.get("paramKind") is not None)
            policyrules.match_conditions(asked, alone, "spec.matchConditions", errs)
        given = spec.get("variables") or ()
        environment = Environment(
            ctx.version,
            params=spec.get("paramKind") is not None,
            variables=given if given or self.changes else None,
            patches=self.changes,
        )
        policyrules.variables(given, environment, "spec.variables", errs)
        self.expressions(obj, environment, errs)
        return errs

    def expressions(self, obj: Object, environment: Environment, errs: list[FieldError]) -> None:
        """What the policy does with what it matches."""

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj) if obj.get("spec") != old.get("spec") else []


class ValidatingAdmissionPolicyStrategy(_PolicyStrategy):
    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        obj["status"] = {}

    def expressions(self, obj: Object, environment: Environment, errs: list[FieldError]) -> None:
        spec = obj["spec"]
        if not spec.get("validations") and not spec.get("auditAnnotations"):
            errs.append(errors.required("spec.validations", _EMPTY))
            errs.append(errors.required("spec.auditAnnotations", _EMPTY))
            return
        for index, rule in enumerate(spec.get("validations") or ()):
            _validation(rule, environment, f"spec.validations[{index}]", errs)
        annotations = spec.get("auditAnnotations") or ()
        if len(annotations) > ANNOTATIONS_MAX:
            text = f"must not have more than {ANNOTATIONS_MAX} auditAnnotations"
            errs.append(
                errors.invalid_value("spec.auditAnnotations", _annotations_text(annotations), text)
            )
        seen: set[str] = set()
        for index, annotation in enumerate(annotations):
            path, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
            _annotation(obj["metadata"].get("name") or "", annotation, environment, path, errs)
            if key in seen:
                errs.append(errors.duplicate(f"{path}.key", key))
            seen.add(key)

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status = obj.get("status") or {}
        checking = status.get("typeChecking") or {}
        for index, warning in enumerate(checking.get("expressionWarnings") or ()):
            path = f"status.typeChecking.expressionWarnings[{index}]"
            if not warning.get("warning"):
                errs.append(errors.required(f"{path}.warning"))
            if not (warning.get("fieldRef") or "").strip():
                errs.append(errors.required(f"{path}.fieldRef"))
        conditions.validate(status.get("conditions") or (), "status.conditions", errs)
        return errs


class MutatingAdmissionPolicyStrategy(_PolicyStrategy):
    changes = True

    def expressions(self, obj: Object, environment: Environment, errs: list[FieldError]) -> None:
        spec = obj["spec"]
        mutations = spec.get("mutations") or ()
        if not mutations:
            text = "mutations must contain at least one item"
            errs.append(errors.required("spec.mutations", text))
        for index, mutation in enumerate(mutations):
            _mutation(mutation, environment, f"spec.mutations[{index}]", errs)
        allowed = ("IfNeeded", "Never")
        again = spec.get("reinvocationPolicy")
        checks.one_of(again, "spec.reinvocationPolicy", allowed, errs)


class _BindingStrategy(Strategy):
    counts_generation = True
    unconditional_update = False
    resources_path = "spec.matchResources"

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        if spec.get("matchResources") is not None:
            _default_match(spec["matchResources"])

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        policy = spec.get("policyName") or ""
        if not policy:
            errs.append(errors.required("spec.policyName"))
        else:
            for message in names.dns1123_subdomain_errors(policy):
                errs.append(errors.invalid_value("spec.policyName", policy, message))
        if spec.get("paramRef") is not None:
            policyrules.param_ref(spec["paramRef"], "spec.paramRef", errs)
        if spec.get("matchResources") is not None:
            _match(spec["matchResources"], self.resources_path, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)


class ValidatingAdmissionPolicyBindingStrategy(_BindingStrategy):
    resources_path = "spec.matchResources"

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs = super().validate(ctx, obj)
        given = obj["spec"].get("validationActions") or ()
        policyrules.actions(given, "spec.validationActions", errs)
        return errs


class MutatingAdmissionPolicyBindingStrategy(_BindingStrategy):
    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs = super().validate(ctx, obj)
        if obj["spec"].get("matchResources") is not None:
            _mutable(obj["spec"]["matchResources"], self.resources_path, errs)
        return errs


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


def _match(match: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    policy = match.get("matchPolicy")
    if policy not in ("Equivalent", "Exact"):
        allowed = ("Equivalent", "Exact")
        errs.append(errors.not_supported(f"{path}.matchPolicy", policy, allowed))
    for field in ("namespaceSelector", "objectSelector"):
        selectors.validate(match.get(field), f"{path}.{field}", errs)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            listed = rule.get("resourceNames") or ()
            for position, name in enumerate(listed):
                for message in objectmeta.path_segment(name, False):
                    errs.append(
                        errors.invalid_value(f"{at}.resourceNames[{position}]", name, message)
                    )
                if name in listed[:position]:
                    errs.append(errors.duplicate(f"{at}.resourceNames[{position}]", name))
            webhookconfiguration.validate_rule(rule, at, errs)


def _mutable(match: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Told of at the list's path, without the rule's and the operation's number."""
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                at = f"{path}.resourceRules.operations"
                errs.append(errors.not_supported(at, operation, _MUTABLE))


def _validation(
    rule: Mapping[str, Any], environment: Environment, path: str, errs: list[FieldError]
) -> None:
    text = rule.get("expression") or ""
    if not text.strip():
        errs.append(errors.required(f"{path}.expression", policyrules.UNSPECIFIED))
    else:
        compiled = environment.compile(text, ("bool",))
        policyrules.expression(compiled, f"{path}.expression", errs)
    by = rule.get("messageExpression") or ""
    if by and not by.strip():
        wrong = "must be non-empty if specified"
        errs.append(errors.invalid_value(f"{path}.messageExpression", by, wrong))
    elif by:
        compiled = environment.compile(by, ("string",), authorizer=False)
        policyrules.expression(compiled, f"{path}.messageExpression", errs)
    message = rule.get("message") or ""
    if message and not message.strip():
        wrong = "message must be non-empty if specified"
        errs.append(errors.invalid_value(f"{path}.message", message, wrong))
    elif any(char in message.strip() for char in "\r\n"):
        wrong = "message must not contain line breaks"
        errs.append(errors.invalid_value(f"{path}.message", message, wrong))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errs.append(errors.not_supported(f"{path}.reason", reason, _REASONS))


def _annotation(
    policy: str,
    annotation: Mapping[str, Any],
    environment: Environment,
    path: str,
    errs: list[FieldError],
) -> None:
    key, text = annotation.get("key") or "", annotation.get("valueExpression") or ""
    if not policy:
        message = "requires metadata.name be non-empty"
        errs.append(errors.invalid_value(f"{path}.key", key, message))
    else:
        name = f"{policy}/{key}"
        for message in names.qualified_name_errors(name):
            errs.append(errors.invalid_value(f"{path}.key", name, message))
    if not text.strip():
        message = "valueExpression is not specified"
        errs.append(errors.required(f"{path}.valueExpression", message))
        return
    if names.size(text.strip()) > VALUE_BYTES_MAX:
        message = f"must not exceed {VALUE_BYTES_MAX} bytes in length"
        errs.append(errors.required(f"{path}.valueExpression", message))
        return
    compiled = environment.compile(text.strip(), ("string", "null"))
    if compiled.error:
        errs.append(errors.invalid_value(f"{path}.valueExpression", text, compiled.error))


def _annotations_text(annotations: Sequence[Mapping[str, Any]]) -> errors.GoText:
    printed = ", ".join(
        f"admissionregistration.AuditAnnotation{{Key:{errors.go_value(each.get('key') or '')}, "
        f"ValueExpression:{errors.go_value(each.get('valueExpression') or '')}}}"
        for each in annotations
    )
    return errors.GoText(f"[]admissionregistration.AuditAnnotation{{{printed}}}")


_PATCHES = {
    "ApplyConfiguration": ("applyConfiguration", "Object"),
    "JSONPatch": ("jsonPatch", "list(JSONPatch)"),
}


def _mutation(
    mutation: Mapping[str, Any], environment: Environment, path: str, errs: list[FieldError]
) -> None:
    kind = mutation.get("patchType") or ""
    if kind not in _PATCHES:
        checks.one_of(kind, f"{path}.patchType", sorted(_PATCHES), errs)
        return
    field, wanted = _PATCHES[kind]
    text = ((mutation.get(field) or {}).get("expression") or "").strip()
    if mutation.get(field) is None:
        message = f"must be specified when patchType is {kind}"
        errs.append(errors.required(f"{path}.{field}", message))
    elif not text:
        errs.append(errors.required(f"{path}.{field}.expression"))
    else:
        compiled = environment.compile(text, (wanted,))
        policyrules.expression(compiled, f"{path}.{field}.expression", errs)
    for other, (its, _) in _PATCHES.items():
        if other != kind and mutation.get(its) is not None:
            message = f"must not be specified when patchType is {kind}"
            errs.append(errors.invalid_value(f"{path}.{its}", f"{{{its}}}", message))
