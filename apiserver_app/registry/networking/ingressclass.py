"""IngressClasses: which controller, and where its parameters are.

Models kubernetes pkg/apis/networking/v1/defaults.go and
pkg/apis/networking/validation/validation.go (ValidateIngressClass).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.networking import ingress
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks

CONTROLLER_LENGTH = 250
_SCOPES = ("Cluster", "Namespace")


class IngressClassStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj.get("spec") or {}
        controller = spec.get("controller") or ""
        if not controller:
            errs.append(errors.required("spec.controller"))
        else:
            if names.size(controller) > CONTROLLER_LENGTH:
                errs.append(errors.too_long("spec.controller", "", CONTROLLER_LENGTH))
            checks.domain_prefixed_path(controller, "spec.controller", errs)
        if spec.get("parameters") is not None:
            worded = not ctx.version.has("IngressClassesReworded")
            _parameters(spec["parameters"], "spec.parameters", worded, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        value = (obj.get("spec") or {}).get("controller") or ""
        if value != ((old.get("spec") or {}).get("controller") or ""):
            errs.append(errors.invalid_value("spec.controller", value, "field is immutable"))
        return errs


def _parameters(value: Mapping[str, Any], path: str, worded: bool, errs: list[FieldError]) -> None:
    ingress.local_reference(value, path, errs, worded=worded)
    scope, namespace = value.get("scope"), value.get("namespace")
    at = f"{path}.namespace"
    if scope not in _SCOPES:
        errs.append(errors.not_supported(f"{path}.scope", scope or "", _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            text = "`parameters.scope` is set to 'Cluster'"
            errs.append(errors.forbidden_value(at, text))
    elif namespace is None:
        errs.append(errors.required(at, "`parameters.scope` is set to 'Namespace'"))
    else:
        checks.named(namespace, at, names.dns1123_label_errors, errs)
