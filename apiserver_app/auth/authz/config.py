"""From flags, or from an AuthorizationConfiguration, to the authorizers in their order.

What cannot be used is a ValueError with upstream's sentence: a start-up error.

Models kubernetes pkg/kubeapiserver/options/authorization.go, pkg/kubeapiserver/authorizer/config.go
and staging/src/k8s.io/apiserver/pkg/apis/apiserver/{validation,load}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver_app import cel
from apiserver_app.auth import reviewing
from apiserver_app.auth.authz import union, webhook
from apiserver_app.auth.authz.abac import Abac
from apiserver_app.auth.protocols import Authorizer
from apiserver_app.egress import kubeconfigs
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError, go_value
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.syntax import goduration, names

MODES = ("Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny")
DEFAULT_MODES = ("Node", "RBAC")
ALWAYS_FIRST = "PrivilegedGroup"
_AT_START_ONLY = ("Node", "ABAC", "RBAC")  # what these keep is made once
API_VERSIONS = tuple(f"apiserver.config.k8s.io/{one}" for one in ("v1alpha1", "v1beta1", "v1"))
CONDITIONS_MAX = 64
TIMEOUT_SECONDS_MAX = 30
_FAILURES = {"NoOpinion": "noop", "Deny": "deny"}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags --authorization-*, files as their texts."""

    modes: tuple[str, ...] = DEFAULT_MODES
    policy: str = ""
    policy_path: str = ""
    webhook: str = ""  # a kubeconfig
    webhook_version: str = "v1beta1"
    authorized_seconds: float = 300.0
    unauthorized_seconds: float = 30.0
    config: str = ""  # an AuthorizationConfiguration
    config_path: str = ""
    kubeconfigs: Mapping[str, str] = field(default_factory=dict)  # that it names
    started: tuple[str, ...] | None = None  # types the server began with, of a file read again


def build(options: Options, reader: Reader, world: reviewing.World) -> union.Union:
    """The union. ValueError says why the server does not start."""
    if options.config_path:
        return union.build(_structured(options, world), reader)
    _check(options)
    modes: list[str | Authorizer] = []
    for mode in options.modes:
        if mode == "ABAC":
            modes.append(Abac(options.policy, options.policy_path))
        elif mode == "Webhook":
            settings = webhook.Settings(
                kubeconfigs.target(options.webhook), options.webhook_version,
                options.authorized_seconds, options.unauthorized_seconds,
            )  # fmt: skip
            modes.append(webhook.Webhook(settings, world))
        else:
            modes.append(mode)
    return union.build(modes, reader)


def _check(options: Options) -> None:
    modes = options.modes
    if "ABAC" in modes and not options.policy_path:
        raise ValueError("authorization-mode ABAC's authorization policy file not passed")
    if "Webhook" in modes and not options.webhook:
        raise ValueError("authorization-mode Webhook's authorization config file not passed")
    if options.policy_path and "ABAC" not in modes:
        raise ValueError("cannot specify --authorization-policy-file without mode ABAC")
    if options.webhook and "Webhook" not in modes:
        raise ValueError("cannot specify --authorization-webhook-config-file without mode Webhook")
    if len(set(modes)) != len(modes):
        quoted = " ".join(map(go_value, modes))
        raise ValueError(f"authorization-mode [{quoted}] has mode specified more than once")
    if "Webhook" in modes and options.webhook_version not in ("v1", "v1beta1"):
        raise ValueError(
            f'unsupported webhook authorizer version "{options.webhook_version}", '
            'supported versions are "v1" and "v1beta1"'
        )


# -- an AuthorizationConfiguration ---------------------------------------------------------------


def _structured(options: Options, world: reviewing.World) -> list[str | Authorizer]:
    if options.modes != DEFAULT_MODES or options.webhook:
        raise ValueError(
            "--authorization-config can not be specified when --authorization-mode or "
            "--authorization-webhook-* flags are defined"
        )
    config = load(options)
    found: list[FieldError] = []
    conditions: dict[int, list[webhook.Condition]] = {}
    listed = config.get("authorizers") or []
    if not listed:
        text = "at least one authorization mode must be defined"
        found.append(errors.required("authorizers", text))
    _check_authorizers(listed, options, conditions, found)
    if found:
        raise ValueError(errors.aggregate([str(one) for one in found]))
    _check_types(listed, options.started)
    out: list[str | Authorizer] = []
    for index, one in enumerate(listed):
        if one["type"] == "Webhook":
            settings = _settings(one["webhook"], options, tuple(conditions[index]))
            out.append(webhook.Webhook(settings, world, f"Webhook {one['name']}"))
        elif one["type"] == "ABAC":
            if not options.policy_path:
                raise ValueError("open : no such file or directory")
            out.append(Abac(options.policy, options.policy_path))
        else:
            out.append(one["type"])
    return out


def _check_types(listed: list[Object], started: tuple[str, ...] | None) -> None:
    """Names of those who are no webhooks, and what may change while the server runs."""
    types = [one["type"] for one in listed if one["type"] != "Webhook"]
    wrong = [
        f"expected name {one['type'].lower()} for authorizer {one['type']} instead of {one['name']}"
        for one in listed
        if one["type"] != "Webhook" and one["name"] != one["type"].lower()
    ]
    if started is not None:
        missing = sorted({one for one in started if one != "Webhook"} - set(types))
        if missing:
            wrong.append(f"missing required types: [{' '.join(missing)}]")
    if wrong:
        raise ValueError(errors.aggregate(wrong))
    for one in types:
        if started is not None and one in _AT_START_ONLY and one not in started:
            raise ValueError(
                f"authorizer type {one} is not allowed if it was not enabled at initial server "
                "startup"
            )


def load(options: Options) -> Object:
    """The file's object. Raises ValueError."""
    import yaml  # only who has a configuration needs it

    try:
        config = yaml.safe_load(options.config)
    except yaml.YAMLError as error:
        problem = str(error).replace("\n", " ")
        raise ValueError(f"failed to load AuthorizationConfiguration: {problem}") from error
    version = config.get("apiVersion") if isinstance(config, dict) else ""
    kind = config.get("kind") if isinstance(config, dict) else ""
    if not isinstance(config, dict) or version not in API_VERSIONS:
        raise ValueError(
            f'failed to load AuthorizationConfiguration from file "{options.config_path}": '
            f'no kind "{kind}" is registered for version "{version}"'
        )
    if kind != "AuthorizationConfiguration":
        raise ValueError(
            f'failed to load AuthorizationConfiguration from file "{options.config_path}": '
            f"expected AuthorizationConfiguration, got {kind}"
        )
    return config


def _check_authorizers(
    listed: list[Any],
    options: Options,
    conditions: dict[int, list[webhook.Condition]],
    found: list[FieldError],
) -> None:
    types: list[str] = []
    seen: list[str] = []
    for index, one in enumerate(listed):
        path = f"authorizers[{index}]"
        kind, name = str(one.get("type") or ""), str(one.get("name") or "")
        if not kind:
            found.append(errors.required(f"{path}.type"))
            continue
        if kind not in MODES:
            found.append(errors.not_supported(f"{path}.type", kind, sorted(MODES)))
            continue
        if kind in types and kind != "Webhook":
            found.append(errors.duplicate(f"{path}.type", kind))
            continue
        types.append(kind)
        if not name:
            found.append(errors.required(f"{path}.name"))
        elif name in seen:
            found.append(errors.duplicate(f"{path}.name", name))
        else:
            wrong = names.dns1123_subdomain_errors(name)
            if wrong:
                text = f"authorizer name is invalid: {', '.join(wrong)}"
                found.append(errors.invalid_value(f"{path}.name", name, text))
        seen.append(name)
        hook = one.get("webhook")
        if kind != "Webhook":
            if hook is not None:
                text = "may only be specified when type=Webhook"
                found.append(errors.invalid_value(f"{path}.webhook", "non-null", text))
        elif hook is None:
            found.append(errors.required(f"{path}.webhook", "required when type=Webhook"))
        else:
            _check_webhook(hook, path, options, found)
            conditions[index] = _conditions(hook.get("matchConditions") or [], path, found)


def _check_webhook(hook: Object, path: str, options: Options, found: list[FieldError]) -> None:
    timeout = hook.get("timeout")
    if not timeout or not seconds(timeout):
        found.append(errors.required(f"{path}.timeout"))
    elif not 0 < seconds(timeout) <= TIMEOUT_SECONDS_MAX:
        found.append(errors.invalid_value(f"{path}.timeout", timeout, "must be > 0s and <= 30s"))
    version = hook.get("subjectAccessReviewVersion")
    if not version:
        found.append(errors.required(f"{path}.subjectAccessReviewVersion"))
    elif version not in ("v1", "v1beta1"):
        where = f"{path}.subjectAccessReviewVersion"
        found.append(errors.not_supported(where, version, ("v1", "v1beta1")))
    where = f"{path}.matchConditionSubjectAccessReviewVersion"
    matched = hook.get("matchConditionSubjectAccessReviewVersion")
    if not matched:
        if hook.get("matchConditions"):
            text = "required if match conditions are specified"
            found.append(errors.required(where, text))
    elif matched != "v1":
        found.append(errors.not_supported(where, matched, ("v1",)))
    policy = hook.get("failurePolicy")
    if not policy:
        found.append(errors.required(f"{path}.failurePolicy"))
    elif policy not in _FAILURES:
        where = f"{path}.failurePolicy"
        found.append(errors.not_supported(where, policy, tuple(_FAILURES)))
    info = hook.get("connectionInfo") or {}
    kind, file = info.get("type"), info.get("kubeConfigFile")
    where = f"{path}.connectionInfo"
    if not kind:
        found.append(errors.required(f"{where}.type"))
    elif kind == "KubeConfigFile":
        if not file:
            found.append(errors.required(f"{where}.kubeConfigFile"))
        elif not file.startswith("/"):
            text = "must be an absolute path"
            found.append(errors.invalid_value(f"{where}.kubeConfigFile", file, text))
        elif file not in options.kubeconfigs:
            text = "error loading file"
            found.append(errors.invalid_value(f"{where}.kubeConfigFile", file, text))
    else:
        kinds = ("InClusterConfig", "KubeConfigFile")
        found.append(errors.not_supported(f"{where}.type", kind, kinds))


def _conditions(
    listed: list[Object], path: str, found: list[FieldError]
) -> list[webhook.Condition]:
    if len(listed) > CONDITIONS_MAX:
        found.append(errors.too_many(f"{path}.matchConditions", len(listed), CONDITIONS_MAX))
        return []
    out: list[webhook.Condition] = []
    seen: list[str] = []
    for index, one in enumerate(listed):
        where = f"{path}.matchConditions[{index}].expression"
        expression = str(one.get("expression") or "")
        if not expression.strip():
            found.append(errors.required(where))
        elif expression in seen:
            found.append(errors.duplicate(where, expression))
        else:
            seen.append(expression)
            try:
                out.append(_condition(expression))
            except cel.CompileError as error:
                found.append(errors.invalid_value(where, expression, str(error)))
    return out


def _condition(expression: str) -> webhook.Condition:
    """Whether a webhook is asked, by the spec of the review it would get."""
    program = cel.compile(expression, ["request"], wants=("bool",))

    def holds(review: Object) -> bool:
        try:
            return bool(program({"request": review}))
        except cel.EvaluationError as error:
            raise ValueError(
                f"cel evaluation error: expression '{expression}' resulted in error: {error}"
            ) from error

    return holds


def _settings(
    hook: Object, options: Options, conditions: tuple[webhook.Condition, ...]
) -> webhook.Settings:
    kubeconfig = options.kubeconfigs[hook["connectionInfo"]["kubeConfigFile"]]
    allowed = seconds(hook.get("authorizedTTL") or "5m")
    refused = seconds(hook.get("unauthorizedTTL") or "30s")
    return webhook.Settings(
        kubeconfigs.target(kubeconfig),
        hook["subjectAccessReviewVersion"],
        allowed if hook.get("cacheAuthorizedRequests", True) else 0.0,
        refused if hook.get("cacheUnauthorizedRequests", True) else 0.0,
        seconds(hook["timeout"]),
        _FAILURES[hook["failurePolicy"]],
        conditions,
    )


def seconds(duration: str) -> float:
    """Of a Go duration; 0 for a text that is none."""
    try:
        return goduration.parse(str(duration)) / goduration.SECOND
    except goduration.DurationError:
        return 0.0
