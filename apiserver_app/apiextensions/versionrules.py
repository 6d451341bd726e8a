"""What must hold of a definition's versions: columns, subresources, selectable fields, warnings,
and how they are converted.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apiextensions import fieldpaths, schemarules, structural
from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError

SELECTABLE_MAX = 8
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_REVIEWS = ("v1", "v1beta1")

Found = list[FieldError]


def validate(
    version: Mapping[str, Any], path: str, release: str, *, unchanged: bool = False
) -> list[FieldError]:
    """What is wrong with one version. `release` is the version of Kubernetes, `unchanged` whether
    its schema is stored already."""
    found: Found = []
    _warning(version, f"{path}.deprecationWarning", found)
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    subresources = version.get("subresources") or {}
    if schema is not None:
        found += schemarules.validate(
            schema, f"{path}.schema", has_status=subresources.get("status") is not None,
            version=release, unchanged=unchanged,
        )  # fmt: skip
    if subresources.get("scale") is not None:
        _scale(subresources["scale"], f"{path}.subresources", found)
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        _column(column, f"{path}.additionalPrinterColumns[{index}]", found)
    if version.get("selectableFields"):
        _selectable(version["selectableFields"], schema, f"{path}.selectableFields", found)
    return found


def _warning(version: Mapping[str, Any], at: str, found: Found) -> None:
    text = version.get("deprecationWarning")
    if text is None:
        return
    if not version.get("deprecated"):
        found.append(errors.invalid_value(at, text, "can only be set for deprecated versions"))
        return
    if len(text.encode()) > 256:
        found.append(errors.invalid_value(at, text, "must be <= 256 characters long"))
    if not text:
        found.append(errors.invalid_value(at, text, "must not be an empty string"))
    for index, char in enumerate(text):
        if not char.isprintable():
            why = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {len(text[:index].encode())}"
            )
            found.append(errors.invalid_value(at, text, why))
            break


def _scale(scale: Mapping[str, Any], path: str, found: Found) -> None:
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        value, at = scale.get(name) or "", f"{path}.scale.{name}"
        if not value:
            if name != "labelSelectorPath":
                found.append(errors.required(at))
        elif not value.startswith("."):
            why = "must be a simple json path starting with ."
            found.append(errors.invalid_value(at, value, why))
        elif not value.startswith(roots):
            where = "either .spec or .status" if len(roots) > 1 else roots[0][:-1]
            why = f"should be a json path under {where}"
            found.append(errors.invalid_value(at, value, why))


def _column(column: Mapping[str, Any], path: str, found: Found) -> None:
    if not column.get("name"):
        found.append(errors.required(f"{path}.name"))
    type_, form = column.get("type") or "", column.get("format") or ""
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not type_:
        found.append(errors.required(f"{path}.type", types))
    elif type_ not in _COLUMN_TYPES:
        found.append(errors.invalid_value(f"{path}.type", type_, types))
    if form and form not in _COLUMN_FORMATS:
        formats = f"must be one of {','.join(_COLUMN_FORMATS)}"
        found.append(errors.invalid_value(f"{path}.format", form, formats))
    where = column.get("jsonPath") or ""
    if not where:
        found.append(errors.required(f"{path}.JSONPath"))
    elif not where.startswith("."):
        why = "must be a simple json path starting with ."
        found.append(errors.invalid_value(f"{path}.JSONPath", where, why))


def _selectable(fields: Sequence[Mapping[str, Any]], schema: Any, path: str, found: Found) -> None:
    if schema is None:
        why = "selectableFields may only be set when version.schema.openAPIV3Schema is not included"
        found.append(errors.invalid_value(path, "", why))
        return
    try:
        node = structural.build(schema)
    except structural.NotStructural:
        return  # which is told of already
    seen: set[str] = set()
    for index, one in enumerate(fields):
        text, at = one.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not text:
            found.append(errors.required(at))
            continue
        led = fieldpaths.resolve(text, node, arrays=False)
        if led.node is None:
            why = f"is an invalid path: {led.why}"
            found.append(errors.invalid_value(at, text, why))
            continue
        if led.path.split(".")[0] == "metadata":
            why = "must not point to fields in metadata"
            found.append(errors.invalid_value(at, text, why))
        if led.node.type not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
                "strings with formats are allowed."
            )
            found.append(errors.invalid_value(at, text, why))
        if led.path in seen:
            found.append(errors.duplicate(at, text))
        seen.add(led.path)
    if len(seen) > SELECTABLE_MAX:
        found.append(errors.too_many(path, len(seen), SELECTABLE_MAX))


def conversion(given: Mapping[str, Any], path: str, found: Found) -> None:
    """How versions are converted: not at all, or by a webhook that is named."""
    strategy, webhook = given.get("strategy") or "", given.get("webhook")
    if not strategy:
        found.append(errors.required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        found.append(errors.not_supported(f"{path}.strategy", strategy, ("None", "Webhook")))
    config_path = f"{path}.webhookClientConfig"
    config = (webhook or {}).get("clientConfig")
    versions = (webhook or {}).get("conversionReviewVersions") or []
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if config is not None:
            found.append(errors.forbidden_value(config_path, why))
        if versions:
            found.append(errors.forbidden_value(f"{path}.conversionReviewVersions", why))
        return
    if config is None:
        found.append(errors.required(config_path, "required when strategy is set to Webhook"))
    elif (config.get("url") is None) == (config.get("service") is None):
        found.append(errors.required(config_path, "exactly one of url or service is required"))
    elif config.get("service") is not None:
        for name in ("name", "namespace"):
            if not config["service"].get(name):
                text = f"service {name} is required"
                found.append(errors.required(f"{config_path}.service.{name}", text))
    elif not config["url"].startswith("https://"):
        why = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        found.append(errors.invalid_value(f"{config_path}.url", config["url"].split(":")[0], why))
    _reviews(versions, f"{path}.conversionReviewVersions", found)


def _reviews(versions: Sequence[str], path: str, found: Found) -> None:
    if not versions:
        found.append(errors.required(path))
        return
    for index, one in enumerate(versions):
        if one in versions[:index]:
            found.append(errors.invalid_value(f"{path}[{index}]", one, "duplicate version"))
            continue
        for text in names.dns1035_label_errors(one):
            found.append(errors.invalid_value(f"{path}[{index}]", one, text))
    if not any(one in _REVIEWS for one in versions):
        why = f"must include at least one of {', '.join(_REVIEWS)}"
        found.append(errors.invalid_value(path, list(versions), why))
