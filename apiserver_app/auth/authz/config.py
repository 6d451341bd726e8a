"""Builds the authorizers, in order, from flags or from an AuthorizationConfiguration.

Invalid configuration raises a ValueError with upstream's message: a start-up error.

Models kubernetes pkg/kubeapiserver/options/authorization.go, pkg/kubeapiserver/authorizer/config.go
and staging/src/k8s.io/apiserver/pkg/apis/apiserver/{validation,load}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apiserver_app import cel
from apiserver_app.auth import reviewing
from apiserver_app.auth.authz import union, webhook
from apiserver_app.auth.authz.abac import Abac
from apiserver_app.authprotocols import Authorizer
from apiserver_app.egress import kubeconfigs
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError, go_value
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.syntax import goduration, names

MODES = ("Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny")
DEFAULT_MODES = ("Node", "RBAC")
ALWAYS_FIRST = "PrivilegedGroup"
_AT_START_ONLY = ("Node", "ABAC", "RBAC")  # created once: they keep state
API_VERSIONS = tuple(
    f"apiserver.config.k8s.io/{version}" for version in ("v1alpha1", "v1beta1", "v1")
)
CONDITIONS_MAX = 64
TIMEOUT_SECONDS_MAX = 30
_FAILURES = {"NoOpinion": "noop", "Deny": "deny"}


class Options(msgspec.Struct, frozen=True):
    """The --authorization-* flags, with files as their texts."""

    modes: tuple[str, ...] = DEFAULT_MODES
    policy: str = ""
    policy_path: str = ""
    webhook: str = ""  # a kubeconfig
    webhook_version: str = "v1beta1"
    authorized_seconds: float = 300.0
    unauthorized_seconds: float = 30.0
    config: str = ""  # an AuthorizationConfiguration
    config_path: str = ""
    kubeconfigs: Mapping[str, str] = msgspec.field(default_factory=dict)  # those it names, by path
    started: tuple[str, ...] | None = None  # on a reload: the types at start-up


def build(options: Options, reader: Reader, transport: reviewing.Transport) -> union.Union:
    """Builds the union. Raises ValueError when the server may not start."""
    if options.config_path:
        return union.build(_structured(options, transport), reader)
    _check(options)
    modes: list[str | Authorizer] = []
    for mode in options.modes:
        if mode == "ABAC":
            modes.append(Abac(options.policy, options.policy_path))
        elif mode == "Webhook":
            settings = webhook.Settings(
                kubeconfigs.target(options.webhook),
                options.webhook_version,
                options.authorized_seconds,
                options.unauthorized_seconds,
            )
            modes.append(webhook.Webhook(settings, transport))
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


def _structured(options: Options, transport: reviewing.Transport) -> list[str | Authorizer]:
    if options.modes != DEFAULT_MODES or options.webhook:
        raise ValueError(
            "--authorization-config can not be specified when --authorization-mode or "
            "--authorization-webhook-* flags are defined"
        )
    config = load(options)
    problems: list[FieldError] = []
    conditions: dict[int, list[webhook.Condition]] = {}
    entries = config.get("authorizers") or []
    if not entries:
        text = "at least one authorization mode must be defined"
        problems.append(errors.required("authorizers", text))
    _check_authorizers(entries, options, conditions, problems)
    if problems:
        raise ValueError(errors.aggregate([str(problem) for problem in problems]))
    _check_types(entries, options.started)
    authorizers: list[str | Authorizer] = []
    for index, entry in enumerate(entries):
        if entry["type"] == "Webhook":
            settings = _settings(entry["webhook"], options, tuple(conditions[index]))
            authorizers.append(webhook.Webhook(settings, transport, f"Webhook {entry['name']}"))
        elif entry["type"] == "ABAC":
            if not options.policy_path:
                raise ValueError("open : no such file or directory")
            authorizers.append(Abac(options.policy, options.policy_path))
        else:
            authorizers.append(entry["type"])
    return authorizers


def _check_types(listed: list[Object], started: tuple[str, ...] | None) -> None:
    """Checks the names of authorizers other than webhooks, and what may change while the server
    runs."""
    types = [entry["type"] for entry in listed if entry["type"] != "Webhook"]
    problems = [
        f"expected name {entry['type'].lower()} for authorizer {entry['type']} "
        f"instead of {entry['name']}"
        for entry in listed
        if entry["type"] != "Webhook" and entry["name"] != entry["type"].lower()
    ]
    if started is not None:
        missing = sorted({kind for kind in started if kind != "Webhook"} - set(types))
        if missing:
            problems.append(f"missing required types: [{' '.join(missing)}]")
    if problems:
        raise ValueError(errors.aggregate(problems))
    for kind in types:
        if started is not None and kind in _AT_START_ONLY and kind not in started:
            raise ValueError(
                f"authorizer type {kind} is not allowed if it was not enabled at initial server "
                "startup"
            )


def load(options: Options) -> Object:
    """Parses the file. Raises ValueError."""
    import yaml  # only needed with a configuration

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
    entries: list[Any],
    options: Options,
    conditions: dict[int, list[webhook.Condition]],
    problems: list[FieldError],
) -> None:
    types: list[str] = []
    seen: list[str] = []
    for index, entry in enumerate(entries):
        path = f"authorizers[{index}]"
        kind, name = str(entry.get("type") or ""), str(entry.get("name") or "")
        if not kind:
            problems.append(errors.required(f"{path}.type"))
            continue
        if kind not in MODES:
            problems.append(errors.not_supported(f"{path}.type", kind, sorted(MODES)))
            continue
        if kind in types and kind != "Webhook":
            problems.append(errors.duplicate(f"{path}.type", kind))
            continue
        types.append(kind)
        if not name:
            problems.append(errors.required(f"{path}.name"))
        elif name in seen:
            problems.append(errors.duplicate(f"{path}.name", name))
        else:
            wrong = names.dns1123_subdomain_errors(name)
            if wrong:
                text = f"authorizer name is invalid: {', '.join(wrong)}"
                problems.append(errors.invalid_value(f"{path}.name", name, text))
        seen.append(name)
        hook = entry.get("webhook")
        if kind != "Webhook":
            if hook is not None:
                text = "may only be specified when type=Webhook"
                problems.append(errors.invalid_value(f"{path}.webhook", "non-null", text))
        elif hook is None:
            problems.append(errors.required(f"{path}.webhook", "required when type=Webhook"))
        else:
            _check_webhook(hook, path, options, problems)
            conditions[index] = _conditions(hook.get("matchConditions") or [], path, problems)


def _check_webhook(hook: Object, path: str, options: Options, problems: list[FieldError]) -> None:
    timeout = hook.get("timeout")
    if not timeout or not seconds(timeout):
        problems.append(errors.required(f"{path}.timeout"))
    elif not 0 < seconds(timeout) <= TIMEOUT_SECONDS_MAX:
        problems.append(errors.invalid_value(f"{path}.timeout", timeout, "must be > 0s and <= 30s"))
    version = hook.get("subjectAccessReviewVersion")
    if not version:
        problems.append(errors.required(f"{path}.subjectAccessReviewVersion"))
    elif version not in ("v1", "v1beta1"):
        where = f"{path}.subjectAccessReviewVersion"
        problems.append(errors.not_supported(where, version, ("v1", "v1beta1")))
    where = f"{path}.matchConditionSubjectAccessReviewVersion"
    matched = hook.get("matchConditionSubjectAccessReviewVersion")
    if not matched:
        if hook.get("matchConditions"):
            text = "required if match conditions are specified"
            problems.append(errors.required(where, text))
    elif matched != "v1":
        problems.append(errors.not_supported(where, matched, ("v1",)))
    policy = hook.get("failurePolicy")
    if not policy:
        problems.append(errors.required(f"{path}.failurePolicy"))
    elif policy not in _FAILURES:
        where = f"{path}.failurePolicy"
        problems.append(errors.not_supported(where, policy, tuple(_FAILURES)))
    info = hook.get("connectionInfo") or {}
    kind, file = info.get("type"), info.get("kubeConfigFile")
    where = f"{path}.connectionInfo"
    if not kind:
        problems.append(errors.required(f"{where}.type"))
    elif kind == "KubeConfigFile":
        if not file:
            problems.append(errors.required(f"{where}.kubeConfigFile"))
        elif not file.startswith("/"):
            text = "must be an absolute path"
            problems.append(errors.invalid_value(f"{where}.kubeConfigFile", file, text))
        elif file not in options.kubeconfigs:
            text = "error loading file"
            problems.append(errors.invalid_value(f"{where}.kubeConfigFile", file, text))
    else:
        kinds = ("InClusterConfig", "KubeConfigFile")
        problems.append(errors.not_supported(f"{where}.type", kind, kinds))


def _conditions(
    entries: list[Object], path: str, problems: list[FieldError]
) -> list[webhook.Condition]:
    if len(entries) > CONDITIONS_MAX:
        problems.append(errors.too_many(f"{path}.matchConditions", len(entries), CONDITIONS_MAX))
        return []
    conditions: list[webhook.Condition] = []
    seen: list[str] = []
    for index, entry in enumerate(entries):
        where = f"{path}.matchConditions[{index}].expression"
        expression = str(entry.get("expression") or "")
        if not expression.strip():
            problems.append(errors.required(where))
        elif expression in seen:
            problems.append(errors.duplicate(where, expression))
        else:
            seen.append(expression)
            try:
                conditions.append(_condition(expression))
            except cel.CompileError as error:
                problems.append(errors.invalid_value(where, expression, str(error)))
    return conditions


def _condition(expression: str) -> webhook.Condition:
    """Compiles a matchCondition over the spec of the review that would be sent."""
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
    authorized = seconds(hook.get("authorizedTTL") or "5m")
    unauthorized = seconds(hook.get("unauthorizedTTL") or "30s")
    return webhook.Settings(
        kubeconfigs.target(kubeconfig),
        hook["subjectAccessReviewVersion"],
        authorized if hook.get("cacheAuthorizedRequests", True) else 0.0,
        unauthorized if hook.get("cacheUnauthorizedRequests", True) else 0.0,
        seconds(hook["timeout"]),
        _FAILURES[hook["failurePolicy"]],
        conditions,
    )


def seconds(duration: str) -> float:
    """Converts a Go duration; text that is no duration counts as 0."""
    try:
        return goduration.parse(str(duration)) / goduration.SECOND
    except goduration.DurationError:
        return 0.0
