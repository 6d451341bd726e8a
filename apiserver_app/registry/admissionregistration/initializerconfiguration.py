"""InitializerConfigurations: which initializers new objects of which resources wait for.

Models kubernetes pkg/registry/admissionregistration/initializerconfiguration/strategy.go and
pkg/apis/admissionregistration/validation/validation.go (ValidateInitializerConfiguration) of 1.12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.apis import qualifiednames
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

_WORDS = {"apiGroups": "API groups", "apiVersions": "API versions", "resources": "resources"}


class InitializerConfigurationStrategy(Strategy):
    unconditional_update = False

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        changed = obj.get("initializers") != old.get("initializers")
        obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + changed

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        for index, initializer in enumerate(obj.get("initializers") or ()):
            path = f"initializers[{index}]"
            qualifiednames.validate(initializer.get("name") or "", f"{path}.name", errs)
            for place, rule in enumerate(initializer.get("rules") or ()):
                _rule(rule, f"{path}.rules[{place}]", errs)
        return errs


def _rule(rule: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    for field, words in _WORDS.items():
        values, at = rule.get(field) or [], f"{path}.{field}"
        if not values:
            errs.append(errors.required(at))
        alone = errors.invalid_value(
            at, list(values), f"if '*' is present, must not specify other {words}"
        )
        if len(values) > 1 and "*" in values and field != "resources":
            errs.append(alone)
        for index, value in enumerate(values if field != "apiGroups" else ()):
            if not value:
                errs.append(errors.required(f"{at}[{index}]"))
            if field == "resources" and "/" in value:
                text = "must not specify subresources"
                errs.append(errors.invalid_value(at, list(values), text))
        if len(values) > 1 and "*" in values and field == "resources":
            errs.append(alone)
