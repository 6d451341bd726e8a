"""Resolves field paths such as `.spec.replicas` or `.spec.labels['a.b']` in a schema.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/
validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver_app.apiextensions.schema import paths
from apiserver_app.apiextensions.schema.structural import Node

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|.")


class Target(NamedTuple):
    """The node to which a path leads; if it leads nowhere, `why` is the reason."""

    path: str
    node: Node | None
    why: str = ""


def resolve(text: str, node: Node, *, arrays: bool = True) -> Target:
    """Follows a path from a node of the schema. `arrays` allows `['key']`."""
    tokens = _TOKEN.findall(text)
    position, path = 0, ""
    while position < len(tokens):
        token = tokens[position]
        step = tokens[position + 1] if position + 1 < len(tokens) else ""
        if token == "[":
            if not arrays:
                return Target("", None, "array notation is not allowed")
            if not step:
                return Target("", None, "unexpected end of JSON path")
            if len(step) < 2 or step[0] != "'" or step[-1] != "'":
                return Target("", None, f"expected single quoted string but got {step}")
            if tokens[position + 2 : position + 3] != ["]"]:
                return Target("", None, "unexpected end of JSON path")
            name, position = re.sub(r"\\(.)", r"\1", step[1:-1]), position + 3
        elif token == ".":
            if not step:
                return Target("", None, "unexpected end of JSON path")
            if step in ".[]":
                return Target("", None, f"expected identifier but got {step}")
            name, position = step, position + 2
        else:
            return Target("", None, f"expected [ or . but got: {token}")
        below = node.properties.get(name)
        if below is not None:
            path = paths.child(path, name)
        elif not node.properties and node.additional is not None and token == "[":
            below, path = node.additional, paths.key(path, name)
        else:
            return Target("", None, "does not refer to a valid field")
        node = below
    return Target(path, node)
