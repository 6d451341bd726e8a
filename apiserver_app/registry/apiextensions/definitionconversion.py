"""Validation of a definition's conversion: none, or by a webhook.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go (validateCustomResourceConversion).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.admissionregistration import webhookclient
from apiserver_app.registry.validation import checks, pemblocks

_REVIEWS = ("v1", "v1beta1")


def validate(
    conversion: Mapping[str, Any], old: Object | None, path: str, errs: list[FieldError]
) -> None:
    """`old` is the stored definition, if any."""
    webhook = conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    checks.one_of(conversion.get("strategy"), f"{path}.strategy", ("None", "Webhook"), errs)
    if conversion.get("strategy") != "Webhook":
        message = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errs.append(errors.forbidden_value(f"{path}.webhookClientConfig", message))
        if versions:
            errs.append(errors.forbidden_value(f"{path}.conversionReviewVersions", message))
        return
    at = f"{path}.webhookClientConfig"
    if config is None:
        errs.append(errors.required(at, "required when strategy is set to Webhook"))
    else:
        webhookclient.validate(config, at, errs)
        _bundle(config, old, f"{at}.caBundle", errs)
    _reviews(versions, f"{path}.conversionReviewVersions", errs)


def _bundle(
    config: Mapping[str, Any], old: Object | None, path: str, errs: list[FieldError]
) -> None:
    """Refuses an invalid CA bundle, unless the stored definition already has an invalid one."""
    if old is None or not customresources.is_true(old, "Established"):
        return
    webhook = (old["spec"].get("conversion") or {}).get("webhook") or {}
    before = (webhook.get("clientConfig") or {}).get("caBundle") or ""
    if before and _bundle_error(before):
        return
    encoded = config.get("caBundle") or ""
    message = _bundle_error(encoded) if encoded else ""
    if message:
        printed = ", ".join(f"{byte:#x}" for byte in base64.b64decode(encoded))
        errs.append(errors.invalid_value(path, errors.GoText(f"[]byte{{{printed}}}"), message))


def _bundle_error(encoded: str) -> str:
    return pemblocks.authorities_error(base64.b64decode(encoded).decode("latin-1"))


def _reviews(versions: Sequence[str], path: str, errs: list[FieldError]) -> None:
    if not versions:
        errs.append(errors.required(path))
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errs.append(errors.invalid_value(f"{path}[{index}]", version, "duplicate version"))
            continue
        checks.named(version, f"{path}[{index}]", names.dns1035_label_errors, errs)
    if not any(version in _REVIEWS for version in versions):
        message = f"must include at least one of {', '.join(_REVIEWS)}"
        errs.append(errors.invalid_value(path, list(versions), message))
