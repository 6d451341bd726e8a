"""Validation of a pod's scheduling constraints: affinity, tolerations, topology spread, gates.

Models kubernetes pkg/apis/core/validation/validation.go (validateAffinity,
ValidateTolerations, validateTopologySpreadConstraints).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks, selectors

Term = Mapping[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = "must be in the range 1-100"
_plain_keys = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def tolerations(items: Sequence[Term], path: str, release: Release, errs: list[FieldError]) -> None:
    for index, item in enumerate(items):
        key, operator = item.get("key") or "", item.get("operator") or ""
        value, effect = item.get("value") or "", item.get("effect") or ""
        if key in _plain_keys and operator == "Exists" and not value and effect == "NoExecute":
            continue
        at = f"{path}[{index}]"
        if key:
            checks.named(key, f"{at}.key", names.qualified_name_errors, errs)
        elif operator != "Exists":
            text = (
                "operator must be Exists when `key` is empty, "
                'which means "match all values and all keys"'
            )
            errs.append(errors.invalid_value(f"{at}.operator", operator, text))
        if item.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errs.append(errors.invalid_value(f"{at}.effect", effect, text))
        if operator in ("", "Equal"):
            messages = names.label_value_errors(value)
            if messages:
                errs.append(errors.invalid_value(f"{at}.operator", value, ";".join(messages)))
        elif operator == "Exists":
            if value:
                text = "value must be empty when `operator` is 'Exists'"
                errs.append(errors.invalid_value(f"{at}.operator", value, text))
        else:
            compares = operator in ("Lt", "Gt") and release.has("TolerationsKnowComparisons")
            allowed = ("Equal", "Exists", "Lt", "Gt") if compares else ("Equal", "Exists")
            errs.append(errors.not_supported(f"{at}.operator", operator, allowed))
        if effect and effect not in EFFECTS:
            errs.append(errors.not_supported(f"{at}.effect", effect, EFFECTS))


def taints(items: Sequence[Term], path: str, errs: list[FieldError]) -> None:
    """Validates a node's taints; a pair of key and effect must be unique."""
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate(items):
        at = f"{path}[{index}]"
        key, value, effect = (item.get(name) or "" for name in ("key", "value", "effect"))
        checks.named(key, f"{at}.key", names.qualified_name_errors, errs)
        messages = names.label_value_errors(value)
        if messages:
            errs.append(errors.invalid_value(f"{at}.value", value, ";".join(messages)))
        checks.one_of(effect, f"{at}.effect", EFFECTS, errs)
        if (key, effect) in seen:
            printed = errors.GoText(
                f"core.Taint{{Key:{errors.go_value(key)}, Value:{errors.go_value(value)}, "
                f"Effect:{errors.go_value(effect)}, TimeAdded:<nil>}}"
            )
            text = "taints must be unique by key and effect pair"
            errs.append(FieldError("FieldValueDuplicate", at, printed, text))
        seen.add((key, effect))


def affinity(value: Term, path: str, release: Release, errs: list[FieldError]) -> None:
    node = value.get("nodeAffinity")
    if node:
        at = f"{path}.nodeAffinity"
        if node.get(_REQUIRED) is not None:
            strict = release.has("NodeAffinityValuesValidated")
            node_selector(node[_REQUIRED], f"{at}.{_REQUIRED}", errs, strict=strict)
        for index, term in enumerate(node.get(_PREFERRED) or ()):
            _weight(term, f"{at}.{_PREFERRED}[{index}]", errs)
            preference = term.get("preference") or {}
            _node_term(preference, f"{at}.{_PREFERRED}[{index}].preference", False, errs)
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = value.get(kind)
        if not rules:
            continue
        at = f"{path}.{kind}"
        for index, term in enumerate(rules.get(_REQUIRED) or ()):
            _pod_term(term, f"{at}.{_REQUIRED}[{index}]", errs)
        for index, term in enumerate(rules.get(_PREFERRED) or ()):
            _weight(term, f"{at}.{_PREFERRED}[{index}]", errs)
            inner = term.get("podAffinityTerm") or {}
            _pod_term(inner, f"{at}.{_PREFERRED}[{index}].podAffinityTerm", errs)


def node_selector(
    selector: Term, path: str, errs: list[FieldError], *, strict: bool = True
) -> None:
    """`strict`: its values must be those of labels."""
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        text = "must have at least one node selector term"
        errs.append(errors.required(f"{path}.nodeSelectorTerms", text))
    for index, term in enumerate(terms or ()):
        _node_term(term, f"{path}.nodeSelectorTerms[{index}]", strict, errs)


def spread_constraints(items: Sequence[Term], path: str, errs: list[FieldError]) -> None:
    last = {
        (constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")): index
        for index, constraint in enumerate(items)
    }
    for index, item in enumerate(items):
        at = f"{path}[{index}]"
        skew = item.get("maxSkew") or 0
        if skew <= 0:
            text = "must be greater than zero"
            errs.append(errors.invalid_value(f"{at}.maxSkew", skew, text))
        key, action = item.get("topologyKey") or "", item.get("whenUnsatisfiable") or ""
        if not key:
            errs.append(errors.required(f"{at}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            allowed = ("DoNotSchedule", "ScheduleAnyway")
            errs.append(errors.not_supported(f"{at}.whenUnsatisfiable", action, allowed))
        if last.get((key, action), 0) > index:
            pair = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errs.append(errors.duplicate(pair, f"{{{key}, {action}}}"))
        _min_domains(item, action, f"{at}.minDomains", errs)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = item.get(field)
            if policy is not None and policy not in ("Honor", "Ignore"):
                errs.append(errors.not_supported(f"{at}.{field}", policy, ("Honor", "Ignore")))
        _label_keys(item, at, errs)
        selectors.validate(item.get("labelSelector"), f"{at}.labelSelector", errs)


def gates(items: Sequence[Term], path: str, errs: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        name = item.get("name") or ""
        checks.named(name, f"{path}[{index}]", names.qualified_name_errors, errs)
        if name in seen:
            errs.append(errors.duplicate(f"{path}[{index}]", name))
        seen.add(name)


# -- inside -------------------------------------------------------------------------------------


def _weight(term: Term, path: str, errs: list[FieldError]) -> None:
    weight = term.get("weight") or 0
    if not 0 < weight <= 100:
        errs.append(errors.invalid_value(f"{path}.weight", weight, _WEIGHT))


def _node_term(term: Term, path: str, strict: bool, errs: list[FieldError]) -> None:
    for index, rule in enumerate(term.get("matchExpressions") or ()):
        _node_rule(rule, f"{path}.matchExpressions[{index}]", strict, errs)
    for index, rule in enumerate(term.get("matchFields") or ()):
        _field_rule(rule, f"{path}.matchFields[{index}]", errs)


def _node_rule(rule: Term, path: str, strict: bool, errs: list[FieldError]) -> None:
    values = rule.get("values") or ()
    if rule.get("operator") not in ("Gt", "Lt"):
        selectors.operator(rule, path, errs)
    elif len(values) != 1:
        text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        errs.append(errors.required(f"{path}.values", text))
    checks.named(rule.get("key") or "", f"{path}.key", names.qualified_name_errors, errs)
    if strict:
        for index, value in enumerate(values):
            checks.named(value, f"{path}.values[{index}]", names.label_value_errors, errs)


def _field_rule(rule: Term, path: str, errs: list[FieldError]) -> None:
    operator, values = rule.get("operator") or "", rule.get("values") or ()
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            errs.append(errors.required(f"{path}.values", text))
    else:
        text = "not a valid selector operator"
        errs.append(errors.invalid_value(f"{path}.operator", operator, text))
    key = rule.get("key") or ""
    if key != "metadata.name":
        text = "not a valid field selector key"
        errs.append(errors.invalid_value(f"{path}.key", key, text))
        return
    for index, value in enumerate(values):
        checks.named(value, f"{path}.values[{index}]", names.dns1123_subdomain_errors, errs)


def _pod_term(term: Term, path: str, errs: list[FieldError]) -> None:
    selectors.validate(term.get("labelSelector"), f"{path}.labelSelector", errs)
    selectors.validate(term.get("namespaceSelector"), f"{path}.namespaceSelector", errs)
    for name in term.get("namespaces") or ():
        checks.named(name, f"{path}.namespace", names.dns1123_label_errors, errs)
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(field) or ()
        if keys and term.get("labelSelector") is None:
            text = "must not be specified when labelSelector is not set"
            errs.append(errors.forbidden_value(f"{path}.{field}", text))
            continue
        for index, key in enumerate(keys):
            checks.named(key, f"{path}.{field}[{index}]", names.qualified_name_errors, errs)
    _repeated_label_keys(term, path, errs)
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if key in (term.get("mismatchLabelKeys") or ()):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errs.append(errors.invalid_value(f"{path}.matchLabelKeys[{index}]", key, text))
    key = term.get("topologyKey") or ""
    if not key:
        errs.append(errors.required(f"{path}.topologyKey", "can not be empty"))
    checks.named(key, f"{path}.topologyKey", names.qualified_name_errors, errs)


def _repeated_label_keys(term: Term, path: str, errs: list[FieldError]) -> None:
    """Keys that a pod's selector names beside the requirement made of them."""
    keys = term.get("matchLabelKeys") or []
    selector = term.get("labelSelector") or {}
    used = set(selector.get("matchLabels") or ())
    for rule in selector.get("matchExpressions") or ():
        key = rule.get("key")
        if key in keys and key in used:
            text = "exists in both matchLabelKeys and labelSelector"
            errs.append(errors.invalid_value(f"{path}[{keys.index(key)}]", key, text))
        used.add(key)


def with_label_keys(affinity: Object, labels: Mapping[str, str]) -> Object:
    """A new pod's affinity with matchLabelKeys and mismatchLabelKeys as requirements of the
    selectors they stand beside."""
    out = dict(affinity)
    for kind in ("podAffinity", "podAntiAffinity"):
        if not affinity.get(kind):
            continue
        terms = out[kind] = dict(affinity[kind])
        if terms.get(_REQUIRED):
            terms[_REQUIRED] = [_with_label_keys(term, labels) for term in terms[_REQUIRED]]
        if terms.get(_PREFERRED):
            terms[_PREFERRED] = [
                {**term, "podAffinityTerm": _with_label_keys(term["podAffinityTerm"], labels)}
                for term in terms[_PREFERRED]
            ]
    return out


def _with_label_keys(term: Object, labels: Mapping[str, str]) -> Object:
    selector = term.get("labelSelector")
    if selector is None:
        return term
    made = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if not made:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *made]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}


def _min_domains(item: Term, action: str, path: str, errs: list[FieldError]) -> None:
    value = item.get("minDomains")
    if value is None:
        return
    if value <= 0:
        errs.append(errors.invalid_value(path, value, "must be greater than zero"))
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errs.append(errors.invalid_value(path, value, text))


def _label_keys(item: Term, path: str, errs: list[FieldError]) -> None:
    keys = item.get("matchLabelKeys") or ()
    if not keys:
        return
    selector = item.get("labelSelector")
    if selector is None:
        text = "must not be specified when labelSelector is not set"
        errs.append(errors.forbidden_value(f"{path}.matchLabelKeys", text))
        selector = {}
    used = set(selector.get("matchLabels") or ())
    used |= {rule.get("key") for rule in selector.get("matchExpressions") or ()}
    for index, key in enumerate(keys):
        at = f"{path}.matchLabelKeys[{index}]"
        checks.named(key, at, names.qualified_name_errors, errs)
        if key in used:
            text = "exists in both matchLabelKeys and labelSelector"
            errs.append(errors.invalid_value(at, key, text))
