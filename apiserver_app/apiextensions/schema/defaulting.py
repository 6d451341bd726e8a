"""Sets the schema's defaults for missing fields, and for nulls that the schema does not allow.

Changes its argument: pass a fresh copy. Defaults are copied, never shared.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/
algorithm.go.
"""

from __future__ import annotations

import copy
from typing import Any

from apiserver_app.apiextensions.schema.structural import Node


def default(value: Any, node: Node | None) -> None:
    """Sets the defaults of a value and of everything below it, in place."""
    if node is None:
        return
    if isinstance(value, dict):
        for name, child in node.properties.items():
            if child.has_default and _needs_default(value.get(name), name in value, child):
                value[name] = copy.deepcopy(child.default)
        for name in list(value):
            child_ = node.properties.get(name)
            if child_ is not None:
                default(value[name], child_)
            elif node.additional is not None:
                if _is_invalid_null(value[name], node.additional):
                    value[name] = copy.deepcopy(node.additional.default)
                default(value[name], node.additional)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            if _is_invalid_null(item, node.items):
                value[index] = copy.deepcopy(node.items.default)
            default(value[index], node.items)


def _needs_default(value: Any, exists: bool, node: Node) -> bool:
    return not exists or _is_invalid_null(value, node)


def _is_invalid_null(value: Any, node: Node) -> bool:
    return value is None and not node.nullable
