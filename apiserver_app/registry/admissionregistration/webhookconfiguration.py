"""Mutating and validating webhook configurations: the webhooks' defaults, and what they must say.

Models kubernetes pkg/apis/admissionregistration/v1/defaults.go and
pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apis import qualifiednames
from apiserver_app.cel.environment import Environment
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.admissionregistration import policyrules, webhookclient
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import selectors

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_NO_EFFECTS = ("None", "NoneOnDryRun")
_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")


class WebhookConfigurationStrategy(Strategy):
    """Both kinds: only mutating webhooks can be called again. What once was legal may stay."""

    unconditional_update = False
    effects: Sequence[str] = _NO_EFFECTS  # those a webhook may have
    twins = False  # whether webhooks may have the same name

    def default(self, obj: Object) -> None:
        for webhook in obj.get("webhooks") or ():
            _default(webhook, self.info.kind == "MutatingWebhookConfiguration")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        changed = obj.get("webhooks") != old.get("webhooks")
        obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + changed

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return self._findings(ctx, obj, self.effects, self.twins)

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        before: list[Mapping[str, Any]] = old.get("webhooks") or []
        quiet = all(webhook.get("sideEffects") in _NO_EFFECTS for webhook in before)
        unique = len({webhook.get("name") for webhook in before}) == len(before)
        effects = self.effects if quiet else _EFFECTS
        return self._findings(ctx, obj, effects, self.twins or not unique)

    def _findings(
        self, ctx: Context, obj: Object, effects: Sequence[str], twins: bool
    ) -> list[FieldError]:
        errs: list[FieldError] = []
        seen: set[str] = set()
        for index, webhook in enumerate(obj.get("webhooks") or ()):
            name, path = webhook.get("name") or "", f"webhooks[{index}]"
            _webhook(webhook, effects, path, errs)
            conditions = webhook.get("matchConditions")
            if conditions:
                at = f"{path}.matchConditions"
                policyrules.match_conditions(conditions, Environment(ctx.version), at, errs)
            _review_versions(
                webhook.get("admissionReviewVersions") or (),
                f"{path}.admissionReviewVersions",
                errs,
            )
            if name and name in seen and not twins:
                errs.append(errors.duplicate(f"{path}.name", name))
            seen.add(name)
        return errs


class OldWebhookConfigurationStrategy(WebhookConfigurationStrategy):
    """As v1beta1 had them: they may change things elsewhere, and share a name."""

    effects = _EFFECTS
    twins = True


def _default(webhook: dict[str, Any], mutating: bool) -> None:
    for field, value in (
        ("failurePolicy", "Fail"),
        ("matchPolicy", "Equivalent"),
        ("timeoutSeconds", 10),
    ):
        if webhook.get(field) is None:
            webhook[field] = value
    for field in ("namespaceSelector", "objectSelector", "clientConfig"):
        if webhook.get(field) is None:
            webhook[field] = {}
    if mutating and webhook.get("reinvocationPolicy") is None:
        webhook["reinvocationPolicy"] = "Never"
    service = webhook["clientConfig"].get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443
    for rule in webhook.get("rules") or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"
    gofields.arrange(webhook, "admissionregistration.v1.MutatingWebhook")


def _webhook(
    webhook: Mapping[str, Any], allowed_effects: Sequence[str], path: str, errs: list[FieldError]
) -> None:
    qualifiednames.validate(webhook.get("name") or "", f"{path}.name", errs)
    for index, rule in enumerate(webhook.get("rules") or ()):
        validate_rule(rule, f"{path}.rules[{index}]", errs)
    for field, allowed in (
        ("failurePolicy", ("Fail", "Ignore")),
        ("matchPolicy", ("Equivalent", "Exact")),
    ):
        value = webhook.get(field)
        if value is not None and value not in allowed:
            errs.append(errors.not_supported(f"{path}.{field}", value, allowed))
    effects = webhook.get("sideEffects")
    if effects is None:
        words = ", ".join(allowed_effects)
        errs.append(errors.required(f"{path}.sideEffects", f"must specify one of {words}"))
    elif effects not in allowed_effects:
        errs.append(errors.not_supported(f"{path}.sideEffects", effects, allowed_effects))
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        text = "the timeout value must be between 1 and 30 seconds"
        errs.append(errors.invalid_value(f"{path}.timeoutSeconds", seconds, text))
    for field in ("namespaceSelector", "objectSelector"):
        selectors.validate(webhook.get(field), f"{path}.{field}", errs)
    again = webhook.get("reinvocationPolicy")
    if again is not None and again not in ("IfNeeded", "Never"):
        policies = ("IfNeeded", "Never")
        errs.append(errors.not_supported(f"{path}.reinvocationPolicy", again, policies))
    webhookclient.validate(webhook.get("clientConfig") or {}, f"{path}.clientConfig", errs)


def validate_rule(rule: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    operations = rule.get("operations") or ()
    if not operations:
        errs.append(errors.required(f"{path}.operations"))
    if len(operations) > 1 and "*" in operations:
        printed = policyrules.go_words("OperationType", operations)
        text = "if '*' is present, must not specify other operations"
        errs.append(errors.invalid_value(f"{path}.operations", printed, text))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            at = f"{path}.operations[{index}]"
            errs.append(errors.not_supported(at, operation, _OPERATIONS))
    for field in ("apiGroups", "apiVersions", "resources"):
        values = rule.get(field) or ()
        if not values:
            errs.append(errors.required(f"{path}.{field}"))
        if field != "resources" and len(values) > 1 and "*" in values:
            word = "groups" if field == "apiGroups" else "versions"
            text = f"if '*' is present, must not specify other API {word}"
            errs.append(errors.invalid_value(f"{path}.{field}", list(values), text))
        for index, value in enumerate(values if field == "apiVersions" else ()):
            if not value:
                errs.append(errors.required(f"{path}.{field}[{index}]"))
    _resources(rule.get("resources") or (), f"{path}.resources", errs)
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        errs.append(errors.not_supported(f"{path}.scope", scope, _SCOPES))


def _resources(values: Sequence[str], path: str, errs: list[FieldError]) -> None:
    all_subresources: set[str] = set()
    of_all_resources: set[str] = set()
    plain = False
    for index, value in enumerate(values):
        if not value:
            errs.append(errors.required(f"{path}[{index}]"))
            continue
        resource, slash, subresource = value.partition("/")
        if not slash:
            plain = value != "*"
            continue
        if resource in all_subresources:
            text = f"if '{resource}/*' is present, must not specify {value}"
            errs.append(errors.invalid_value(f"{path}[{index}]", value, text))
        if subresource in of_all_resources:
            text = f"if '*/{subresource}' is present, must not specify {value}"
            errs.append(errors.invalid_value(f"{path}[{index}]", value, text))
        if subresource == "*":
            all_subresources.add(resource)
        if resource == "*":
            of_all_resources.add(subresource)
    if len(values) > 1 and "*/*" in values:
        text = "if '*/*' is present, must not specify other resources"
        errs.append(errors.invalid_value(path, list(values), text))
    if "*" in values and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        errs.append(errors.invalid_value(path, list(values), text))


def _review_versions(versions: Sequence[str], path: str, errs: list[FieldError]) -> None:
    if not versions:
        text = "must specify one of v1, v1beta1"
        errs.append(errors.required(path, text))
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errs.append(errors.invalid_value(f"{path}[{index}]", version, "duplicate version"))
            continue
        for message in names.dns1035_label_errors(version):
            errs.append(errors.invalid_value(f"{path}[{index}]", version, message))
    if not {"v1", "v1beta1"} & set(versions):
        text = "must include at least one of v1, v1beta1"
        errs.append(errors.invalid_value(path, list(versions), text))
