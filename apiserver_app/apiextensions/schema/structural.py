"""A definition's schema as a tree of nodes, walked by pruning, defaulting and validation.

Built once per version of a definition. `build` refuses schemas that cannot become a tree, in
upstream's words; `structuralrules` has the other rules. Nodes are never changed afterwards.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{structural,
convert,unfold}.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver_app.apiextensions.schema import paths

Schema = Mapping[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
VALIDATIONS = "x-kubernetes-validations"

_UNSUPPORTED = tuple(
    """
    id $schema $ref patternProperties dependencies additionalItems definitions
    """.split()
)


class NotStructural(Exception):
    """The schema cannot become a tree of nodes; the message is upstream's."""


class Node:
    """A node of the schema. `source` is the schema itself, for keywords only validation reads."""

    __slots__ = (
        "additional",
        "any_additional",
        "default",
        "embedded",
        "has_default",
        "int_or_string",
        "items",
        "list_keys",
        "list_type",
        "map_type",
        "nullable",
        "preserves",
        "properties",
        "rules",
        "source",
        "type",
    )

    def __init__(self, source: Schema) -> None:
        self.source = source
        self.type: str = source.get("type") or ""
        self.nullable = bool(source.get("nullable"))
        self.preserves = bool(source.get(PRESERVE))
        self.embedded = bool(source.get(EMBEDDED))
        self.int_or_string = bool(source.get(INT_OR_STRING))
        self.list_type: str = source.get(LIST_TYPE) or ""
        self.list_keys: tuple[str, ...] = tuple(source.get(LIST_KEYS) or ())
        self.map_type: str = source.get(MAP_TYPE) or ""
        self.rules: tuple[Schema, ...] = tuple(source.get(VALIDATIONS) or ())
        self.default: Any = source.get("default")
        self.has_default = self.default is not None
        self.properties: dict[str, Node] = {}
        self.items: Node | None = None
        self.additional: Node | None = None
        self.any_additional = False  # additionalProperties without a schema


def below(value: Any, node: Node, path: str) -> Iterator[tuple[Any, Node, str]]:
    """The child values that have a schema, in order: (value, node, path)."""
    if isinstance(value, list):
        if node.items is not None:
            for index, item in enumerate(value):
                yield item, node.items, f"{path}[{index}]"
    elif isinstance(value, dict):
        for name, item in value.items():
            child = node.properties.get(name)
            if child is not None:
                yield item, child, paths.child(path, name)
            elif node.additional is not None:
                yield item, node.additional, paths.key(path, name)


def build(source: Schema) -> Node:
    """Builds the tree of a schema. Raises NotStructural."""
    for name in _UNSUPPORTED:
        if source.get(name):
            keyword = name if name != "$schema" else "schema"
            raise NotStructural(f"OpenAPIV3Schema '{keyword}' is not supported")
    if source.get(PRESERVE) is False:
        raise NotStructural(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
        )
    node = Node(source)
    items = source.get("items")
    if isinstance(items, list):
        raise NotStructural("OpenAPIV3Schema 'items' must be a schema, but is an array")
    if items is not None:
        node.items = build(items)
    properties = source.get("properties") or {}
    node.properties = {name: build(properties[name]) for name in sorted(properties)}
    additional = source.get("additionalProperties")
    if isinstance(additional, dict):
        node.additional = build(additional)
    elif additional is not None:
        node.any_additional = True
    return node


def has_default(source: Schema) -> bool:
    """Whether a schema has any default."""
    if source.get("default") is not None:
        return True
    parts = [source.get(name) for name in ("items", "additionalProperties", "not")]
    parts += (source.get("properties") or {}).values()
    for junctor in ("allOf", "anyOf", "oneOf"):
        parts += source.get(junctor) or ()
    return any(isinstance(part, dict) and has_default(part) for part in parts)


def as_root(node: Node) -> Node:
    """The same node marked as a resource: every custom resource has apiVersion, kind, metadata."""
    if node.embedded:
        return node
    root = Node(node.source)
    root.embedded = True
    root.properties, root.items = node.properties, node.items
    root.additional, root.any_additional = node.additional, node.any_additional
    return root


def has_rules(node: Node | None) -> bool:
    """Whether the node or any node below it has a rule."""
    if node is None:
        return False
    if node.rules or has_rules(node.items) or has_rules(node.additional):
        return True
    return any(has_rules(child) for child in node.properties.values())
