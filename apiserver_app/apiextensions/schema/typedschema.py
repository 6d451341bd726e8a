"""Converts the schema for server-side apply and managedFields: fields, list keys, atomic parts.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder and
kube-openapi pkg/schemaconv.
"""

from __future__ import annotations

from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.machinery.types.schema import Field, Schema

_SCALARS = ("string", "integer", "number", "boolean")


def schema(
    node: Node, definition: str, kind: str, metadata: Field, *, resets_status: bool
) -> Schema:
    """The schema of a custom resource; `metadata` is the field that every kind has."""
    out = _struct(node, definition, metadata, root=True)
    out.name = kind
    out.resets_status = resets_status
    return out


def _struct(node: Node, definition: str, metadata: Field, root: bool = False) -> Schema:
    fields: dict[str, Field] = {}
    if root or node.embedded:
        fields["apiVersion"] = Field("apiVersion", "string")
        fields["kind"] = Field("kind", "string")
        fields["metadata"] = metadata
    required = node.source.get("required") or ()
    for name, child in node.properties.items():
        if name not in fields:
            fields[name] = _field(name, child, f"{definition}.{name}", metadata)
            fields[name].required = name in required
    name = definition.rsplit(".", 1)[-1]
    return Schema(
        definition,
        name,
        fields,
        node.map_type == "atomic",
        open=node.preserves or node.any_additional,
    )


def _field(name: str, node: Node, definition: str, metadata: Field) -> Field:
    if node.int_or_string:
        return Field(name, "intorstring")
    if node.type in _SCALARS:
        out = Field(name, node.type, format=str(node.source.get("format") or ""))
        if isinstance(node.default, str):
            out.default = node.default
        return out
    if node.type == "array" and node.items is not None:
        item = _field("", node.items, f"{definition}[]", metadata)
        return Field(
            name,
            "list",
            item=item,
            list_type=node.list_type,
            list_keys=node.list_keys,
            atomic=node.list_type in ("", "atomic"),
        )
    if node.properties or node.embedded:
        made = _struct(node, definition, metadata)
        return Field(name, "struct", definition, atomic=made.atomic, _lookup=lambda _: made)
    if node.additional is not None:
        item = _field("", node.additional, f"{definition}{{}}", metadata)
        return Field(name, "map", item=item, atomic=node.map_type == "atomic")
    return Field(name, "raw", atomic=node.map_type == "atomic")
