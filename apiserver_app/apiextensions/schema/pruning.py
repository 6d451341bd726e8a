"""Fields that the schema does not have go, and nulls where null is no value.

Everything here changes the value it is given: pass a fresh copy.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/
algorithm.go and defaulting/prunenulls.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.apiextensions.schema.structural import Node

META = ("apiVersion", "kind", "metadata")


def prune(value: Any, node: Node | None) -> list[str]:
    """Take away what the schema does not have; the paths of what went, sorted."""
    gone: list[str] = []
    _prune(value, node, "", gone)
    return sorted(gone)


def _prune(value: Any, node: Node | None, path: str, gone: list[str]) -> None:
    if isinstance(value, dict):
        if node is None:
            gone += [_below(path, name) for name in value]
            value.clear()
        else:
            _prune_fields(value, node, path, gone)
    elif isinstance(value, list):
        below = node.items if node is not None else None
        keeps = node is not None and node.preserves
        for index, item in enumerate(value):
            if not keeps:
                _prune(item, below, f"{path}[{index}]", gone)
            elif below is not None and isinstance(item, dict):
                _prune_fields(item, below, f"{path}[{index}]", gone, keeps=True)


def _prune_fields(
    value: dict[str, Any], node: Node, path: str, gone: list[str], keeps: bool = False
) -> None:
    keeps = keeps or node.preserves
    for name in list(value):
        if node.embedded and name in META:
            continue
        child = node.properties.get(name)
        if child is not None:
            _prune(value[name], child, _below(path, name), gone)
        elif node.additional is not None:
            _prune(value[name], node.additional, _below(path, name), gone)
        elif node.any_additional:
            if not keeps:
                _prune(value[name], None, _below(path, name), gone)
        elif not keeps:
            if name not in META or path:
                gone.append(_below(path, name))
            del value[name]


def prune_nulls(value: Any, node: Node | None) -> None:
    """Take away nulls of fields that are not nullable and have no default."""
    if isinstance(value, dict):
        for name in list(value):
            child = _child(node, name)
            if value[name] is None and child is not None:
                if not child.nullable and not child.has_default:
                    del value[name]
            else:
                prune_nulls(value[name], child)
    elif isinstance(value, list):
        for item in value:
            prune_nulls(item, node.items if node is not None else None)


def _child(node: Node | None, name: str) -> Node | None:
    if node is None:
        return None
    return node.properties.get(name) or node.additional


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
