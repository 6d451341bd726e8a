"""What policies and webhooks have in common: expressions, match conditions, rules, parameters.

Expressions are compiled as they will be evaluated; a finding is upstream's text with the position.

Models kubernetes pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.cel.environment import Compiled, Environment
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import objectmeta, selectors

CONDITIONS_MAX = 64
UNSPECIFIED = "expression is not specified"
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_RESERVED = frozenset(
    """
    true false null in as break const continue else for function if import let loop package
    namespace return var void while
    """.split()
)
_ACTIONS = ("Audit", "Deny", "Warn")

Values = Mapping[str, Any]


def expression(compiled: Compiled, path: str, errs: list[FieldError]) -> None:
    """The compiler's finding, if it has one."""
    if compiled.error:
        errs.append(errors.invalid_value(path, compiled.text, compiled.error))


def match_conditions(
    conditions: Sequence[Values], environment: Environment, path: str, errs: list[FieldError]
) -> None:
    if len(conditions) > CONDITIONS_MAX:
        errs.append(errors.too_many(path, len(conditions), CONDITIONS_MAX))
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name") or ""
        text = (condition.get("expression") or "").strip()
        if not text:
            errs.append(errors.required(f"{at}.expression"))
        else:
            expression(environment.compile(text, ("bool",)), f"{at}.expression", errs)
        if not name:
            errs.append(errors.required(f"{at}.name"))
            continue
        for message in names.qualified_name_errors(name):
            errs.append(errors.invalid_value(f"{at}.name", name, message))
        if name in seen:
            errs.append(errors.duplicate(f"{at}.name", name))
        seen.add(name)


def variables(
    given: Sequence[Values], environment: Environment, path: str, errs: list[FieldError]
) -> None:
    for index, variable in enumerate(given):
        at, name = f"{path}[{index}]", variable.get("name") or ""
        if not name.strip():
            errs.append(errors.required(f"{at}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            text = "name is not a valid CEL identifier"
            errs.append(errors.invalid_value(f"{at}.name", name, text))
        if not (variable.get("expression") or "").strip():
            errs.append(errors.required(f"{at}.expression", UNSPECIFIED))
        elif name in environment.variables:
            expression(environment.variables[name], f"{at}.expression", errs)


def param_kind(kind: Values, path: str, errs: list[FieldError]) -> None:
    api, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not api:
        errs.append(errors.required(f"{path}.apiVersion"))
    elif api.count("/") > 1:
        text = f"unexpected GroupVersion string: {api}"
        errs.append(errors.invalid_value(f"{path}.apiVersion", api, text))
    else:
        group, _, version = api.rpartition("/")
        messages = names.dns1123_subdomain_errors(group) if group else []
        if messages:
            errs.append(errors.invalid_value(f"{path}.apiVersion", group, ",".join(messages)))
        messages = names.dns1035_label_errors(version)
        if not version:
            text = "version must be specified"
            errs.append(errors.invalid_value(f"{path}.apiVersion", api, text))
        elif messages:
            errs.append(errors.invalid_value(f"{path}.apiVersion", version, ",".join(messages)))
    if not name:
        errs.append(errors.required(f"{path}.kind"))
    elif messages := names.dns1035_label_errors(name.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(messages)}"
        errs.append(errors.invalid_value(f"{path}.kind", name, text))


def param_ref(ref: Values, path: str, errs: list[FieldError]) -> None:
    name, selector = ref.get("name") or "", ref.get("selector")
    exclusive = "name and selector are mutually exclusive"
    for message in objectmeta.path_segment(name, False):
        errs.append(errors.invalid_value(f"{path}.name", name, message))
    if name and selector is not None:
        errs.append(errors.forbidden_value(f"{path}.name", exclusive))
    if selector is not None:
        selectors.validate(selector, f"{path}.selector", errs)
        if name:
            errs.append(errors.forbidden_value(f"{path}.selector", exclusive))
    elif not name:
        errs.append(errors.required(path, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    at = f"{path}.parameterNotFoundAction"
    if not action:
        errs.append(errors.required(at))
    elif action not in ("Allow", "Deny"):
        errs.append(errors.not_supported(at, action, ("Deny", "Allow")))


def actions(given: Sequence[str], path: str, errs: list[FieldError]) -> None:
    for index, action in enumerate(given):
        at = f"{path}[{index}]"
        if action not in _ACTIONS:
            errs.append(errors.not_supported(at, action, _ACTIONS))
        if action in given[:index]:
            errs.append(errors.duplicate(at, action))
    if "Deny" in given and "Warn" in given:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        printed = go_words("ValidationAction", given)
        errs.append(errors.invalid_value(path, printed, text))
    if not given:
        errs.append(errors.required(path, "at least one validation action is required"))


def go_words(kind: str, words: Sequence[str]) -> errors.GoText:
    """A list of words that have a type of their own, as Go prints it."""
    printed = ", ".join(map(errors.go_value, words))
    return errors.GoText(f"[]admissionregistration.{kind}{{{printed}}}")
