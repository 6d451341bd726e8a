"""Validation of resources embedded in custom resources: kind, apiVersion and metadata.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/
validation.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver_app.apiextensions.schema import paths, structural
from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import objectmeta

_EMPTY = "must not be empty"


def validate(value: Any, node: Node | None, path: str = "") -> list[FieldError]:
    """The errors of the resources embedded in a value."""
    errs: list[FieldError] = []
    if node is not None:
        _validate(value, node, path, errs)
    return errs


def _validate(value: Any, node: Node, path: str, errs: list[FieldError]) -> None:
    if node.embedded and isinstance(value, dict):
        _resource(value, path, errs)
    for item, child, at in structural.below(value, node, path):
        _validate(item, child, at, errs)


def _resource(value: dict[str, Any], path: str, errs: list[FieldError]) -> None:
    for name in ("apiVersion", "kind"):
        at = paths.child(path, name)
        text = value.get(name)
        if name not in value:
            errs.append(errors.required(at, _EMPTY))
        elif not isinstance(text, str):
            errs.append(errors.invalid_value(at, text, "must be a string"))
        elif not text:
            errs.append(errors.invalid_value(at, text, _EMPTY))
        elif name == "apiVersion" and text.count("/") > 1:
            message = f"unexpected GroupVersion string: {text}"
            errs.append(errors.invalid_value(at, text, message))
        elif name == "kind":
            messages = names.dns1035_label_errors(text.lower())
            if messages:
                message = f"may have mixed case, but should otherwise match: {','.join(messages)}"
                errs.append(errors.invalid_value(at, text, message))
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        named = {**metadata, "name": metadata.get("name") or "fakename"}
        namespaced = bool(metadata.get("namespace"))
        for err in objectmeta.validate_object_meta(
            {"metadata": named}, namespaced, objectmeta.path_segment
        ):
            errs.append(msgspec.structs.replace(err, field=paths.child(path, err.field)))
