"""Decodes the metadata of resources embedded in custom resources.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/
{algorithm,coerce}.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.apiextensions.schema import paths
from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types.scheme import Unfit

# (metadata, its path) -> (decoded metadata, messages for unknown fields). Raises Unfit
DecodeMetadata = Callable[[Any, str], tuple[Object, list[str]]]


def has_embedded(node: Node | None) -> bool:
    """Whether anything below the root is an embedded resource."""
    if node is None:
        return False
    if node.embedded or has_embedded(node.items) or has_embedded(node.additional):
        return True
    return any(has_embedded(child) for child in node.properties.values())


def coerce(value: Any, node: Node | None, decode: DecodeMetadata) -> list[str]:
    """Decodes the metadata of embedded resources in place; returns messages for unknown fields."""
    unknown: list[str] = []
    _coerce(value, node, decode, "", unknown)
    return sorted(unknown)


def _coerce(
    value: Any, node: Node | None, decode: DecodeMetadata, path: str, unknown: list[str]
) -> None:
    if node is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            _coerce(item, node.items, decode, f"{path}[{index}]", unknown)
        return
    if not isinstance(value, dict):
        return
    for name in list(value):
        at = paths.child(path, name)
        if node.embedded and name in ("apiVersion", "kind"):
            if not isinstance(value[name], str):
                raise Unfit(str(errors.invalid_value(at, value[name], "must be a string")))
        elif node.embedded and name == "metadata":
            try:
                metadata, messages = decode(value[name], at)
            except Unfit as error:
                error_text = errors.invalid_value(at, value[name], str(error))
                raise Unfit(str(error_text)) from error
            if metadata.get("creationTimestamp") is None:
                metadata.pop("creationTimestamp", None)
            value[name] = metadata
            unknown += messages
        child = node.properties.get(name)
        if child is not None:
            _coerce(value[name], child, decode, at, unknown)
        elif node.additional is not None:
            _coerce(value[name], node.additional, decode, paths.key(path, name), unknown)
