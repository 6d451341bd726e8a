"""Drops fields that the schema does not know, and nulls it does not allow.

Every function changes its argument: pass a fresh copy.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/
algorithm.go and defaulting/prunenulls.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.apiextensions.schema.structural import Node

META = ("apiVersion", "kind", "metadata")


def prune(value: Any, node: Node | None) -> list[str]:
    """Drops fields that the schema does not know; returns their paths, sorted."""
    pruned: list[str] = []
    _prune(value, node, "", pruned)
    return sorted(pruned)


def _prune(value: Any, node: Node | None, path: str, pruned: list[str]) -> None:
    if isinstance(value, dict):
        if node is None:
            pruned += [_child_path(path, name) for name in value]
            value.clear()
        else:
            _prune_fields(value, node, path, pruned)
    elif isinstance(value, list):
        item_node = node.items if node is not None else None
        keeps = node is not None and node.preserves
        for index, item in enumerate(value):
            if not keeps:
                _prune(item, item_node, f"{path}[{index}]", pruned)
            elif item_node is not None and isinstance(item, dict):
                _prune_fields(item, item_node, f"{path}[{index}]", pruned, keeps=True)


def _prune_fields(
    value: dict[str, Any], node: Node, path: str, pruned: list[str], keeps: bool = False
) -> None:
    keeps = keeps or node.preserves
    for name in list(value):
        if node.embedded and name in META:
            continue
        child = node.properties.get(name)
        if child is not None:
            _prune(value[name], child, _child_path(path, name), pruned)
        elif node.additional is not None:
            _prune(value[name], node.additional, _child_path(path, name), pruned)
        elif node.any_additional:
            if not keeps:
                _prune(value[name], None, _child_path(path, name), pruned)
        elif not keeps:
            if name not in META or path:
                pruned.append(_child_path(path, name))
            del value[name]


def prune_nulls(value: Any, node: Node | None) -> None:
    """Drops nulls of fields that are not nullable and have no default."""
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


def _child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
