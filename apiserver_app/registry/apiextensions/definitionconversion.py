"""How a definition's versions are converted: not at all, or by a webhook that is named.

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
    given: Mapping[str, Any], old: Object | None, path: str, errs: list[FieldError]
) -> None:
    """`old` is the definition that is there already."""
    webhook = given.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    checks.one_of(given.get("strategy"), f"{path}.strategy", ("None", "Webhook"), errs)
    if given.get("strategy") != "Webhook":
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
    """A definition that serves needs certificates, unless it had none that are any."""
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
    for index, one in enumerate(versions):
        if one in versions[:index]:
            errs.append(errors.invalid_value(f"{path}[{index}]", one, "duplicate version"))
            continue
        checks.named(one, f"{path}[{index}]", names.dns1035_label_errors, errs)
    if not any(one in _REVIEWS for one in versions):
        message = f"must include at least one of {', '.join(_REVIEWS)}"
        errs.append(errors.invalid_value(path, list(versions), message))
