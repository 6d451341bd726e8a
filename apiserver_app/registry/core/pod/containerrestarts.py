"""Validation of a container's own restart policy and rules, which only sidecars had until 1.35.

Models kubernetes pkg/apis/core/validation/validation.go (validateContainerRestartPolicy,
validateInitContainerRestartPolicy).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.apis.restartpolicy import RESTART_ALL
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release

Container = Mapping[str, Any]

_POLICIES = ("Always", "Never", "OnFailure")
_RULES_MAX, _CODES_MAX = 20, 255


def validate(
    container: Container, is_init: bool, path: str, release: Release, errs: list[FieldError]
) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if not release.has("ContainerRestartRules"):
        _sidecars_only(policy, is_init, f"{path}.restartPolicy", errs)
        return
    may_all = release.has("RestartAllContainersOnContainerExits")
    if is_init and policy == "Always" and not may_all:
        if rules:
            text = (
                "restartPolicyRules are not allowed for init containers with restart policy Always"
            )
            errs.append(errors.forbidden_value(f"{path}.restartPolicyRules", text))
        return
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            errs.append(errors.required(f"{path}.restartPolicy", text))
        if is_init or not rules:
            return
    elif policy not in _POLICIES:
        errs.append(errors.not_supported(f"{path}.restartPolicy", policy, _POLICIES))
    if len(rules) > _RULES_MAX:
        errs.append(errors.too_many(f"{path}.restartPolicyRules", len(rules), _RULES_MAX))
    actions = ("Restart", RESTART_ALL) if may_all else ("Restart",)
    for index, rule in enumerate(rules):
        _rule(rule, actions, f"{path}.restartPolicyRules[{index}]", errs)


def _sidecars_only(policy: str | None, is_init: bool, path: str, errs: list[FieldError]) -> None:
    if policy is None:
        return
    if not is_init:
        text = "may not be set for non-init containers"
        errs.append(errors.forbidden_value(path, text))
    elif policy != "Always":
        errs.append(errors.not_supported(path, policy, ("Always",)))


def _rule(rule: Container, actions: tuple[str, ...], path: str, errs: list[FieldError]) -> None:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    if action not in actions:
        errs.append(errors.not_supported(f"{path}.action", action, actions))
    if codes is None:
        errs.append(errors.required(f"{path}.exitCodes", "must be specified"))
        return
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        allowed = ("In", "NotIn")
        errs.append(errors.not_supported(f"{path}.exitCodes.operator", operator, allowed))
    if len(values) > _CODES_MAX:
        errs.append(errors.too_many(f"{path}.exitCodes.values", len(values), _CODES_MAX))
