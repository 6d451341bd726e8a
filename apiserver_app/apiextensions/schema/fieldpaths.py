"""Paths that definitions write: `.spec.replicas`, `.spec.labels['a.b']`, followed in the schema.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/
validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver_app.apiextensions.schema import paths
from apiserver_app.apiextensions.schema.structural import Node

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|.")


class Found(NamedTuple):
    """Where a path leads; without a node it leads nowhere, and `why` says so."""

    path: str
    node: Node | None
    why: str = ""


def resolve(text: str, node: Node, *, arrays: bool = True) -> Found:
    """Follow a path from a place of the schema. `arrays` allows `['key']`."""
    tokens = _TOKEN.findall(text)
    at, path = 0, ""
    while at < len(tokens):
        token = tokens[at]
        step = tokens[at + 1] if at + 1 < len(tokens) else ""
        if token == "[":
            if not arrays:
                return Found("", None, "array notation is not allowed")
            if not step:
                return Found("", None, "unexpected end of JSON path")
            if len(step) < 2 or step[0] != "'" or step[-1] != "'":
                return Found("", None, f"expected single quoted string but got {step}")
            if tokens[at + 2 : at + 3] != ["]"]:
                return Found("", None, "unexpected end of JSON path")
            name, at = re.sub(r"\\(.)", r"\1", step[1:-1]), at + 3
        elif token == ".":
            if not step:
                return Found("", None, "unexpected end of JSON path")
            if step in ".[]":
                return Found("", None, f"expected identifier but got {step}")
            name, at = step, at + 2
        else:
            return Found("", None, f"expected [ or . but got: {token}")
        below = node.properties.get(name)
        if below is not None:
            path = paths.child(path, name)
        elif not node.properties and node.additional is not None and token == "[":
            below, path = node.additional, paths.key(path, name)
        else:
            return Found("", None, "does not refer to a valid field")
        node = below
    return Found(path, node)
