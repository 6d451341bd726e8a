"""Parsed expressions. Macros are nodes of their own (`Fold`, `Bind`), not spelled-out loops.

Models cel-go common/ast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Node:
    at: int  # offset in the source, where findings about it are drawn


@dataclass(slots=True)
class Const(Node):
    value: Any


@dataclass(slots=True)
class Ident(Node):
    name: str


@dataclass(slots=True)
class Select(Node):
    """`a.b`, `a.?b`, and `has(a.b)` when `test`."""

    operand: Node
    field: str
    test: bool = False
    optional: bool = False


@dataclass(slots=True)
class Call(Node):
    """Operators too, under cel-go's names: `_+_`, `_[_]`, `_?_:_`, `_&&_` (any number of terms)."""

    name: str
    target: Node | None
    args: list[Node]


@dataclass(slots=True)
class ListNode(Node):
    items: list[tuple[Node, bool]]  # (item, whether it is `?item`)


@dataclass(slots=True)
class MapNode(Node):
    entries: list[tuple[Node, Node, bool]]


@dataclass(slots=True)
class Struct(Node):
    name: str
    fields: list[tuple[int, str, Node, bool]]


@dataclass(slots=True)
class Fold(Node):
    """A macro over a list or map. kind: all, exists, existsOne, map, filter, transformList, ..."""

    kind: str
    range: Node
    names: list[str]  # one variable, or two
    filter: Node | None
    body: Node


@dataclass(slots=True)
class Bind(Node):
    """`value.optMap(name, body)` and `optFlatMap`: the kind says which."""

    kind: str
    name: str
    value: Node
    body: Node
