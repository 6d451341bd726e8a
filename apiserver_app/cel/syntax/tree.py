"""Parsed expressions. Macros are nodes of their own (`Fold`, `Bind`), not spelled-out loops.

What differs by the type of a node is a `Visitor`, which a node sends on to the one method for it:
`node.accept(visitor)`. What is asked of any node stands in `walk` and `children`.

Models cel-go common/ast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Visitor(ABC, Generic[T]):
    """What becomes of each type of node; whether what is below is visited, each decides."""

    @abstractmethod
    def visit_const(self, node: Const) -> T: ...

    @abstractmethod
    def visit_ident(self, node: Ident) -> T: ...

    @abstractmethod
    def visit_select(self, node: Select) -> T: ...

    @abstractmethod
    def visit_call(self, node: Call) -> T: ...

    @abstractmethod
    def visit_list(self, node: ListNode) -> T: ...

    @abstractmethod
    def visit_map(self, node: MapNode) -> T: ...

    @abstractmethod
    def visit_struct(self, node: Struct) -> T: ...

    @abstractmethod
    def visit_fold(self, node: Fold) -> T: ...

    @abstractmethod
    def visit_bind(self, node: Bind) -> T: ...


@dataclass(slots=True)
class Node(ABC):
    at: int  # offset in the source, where findings about it are drawn

    @abstractmethod
    def accept(self, visitor: Visitor[T]) -> T:
        """What the visitor makes of this type of node."""

    def children(self) -> Sequence[Node]:
        return ()

    def qualified(self) -> str:
        """`a.b.c` as a text when the node is nothing but names; else empty."""
        return ""


@dataclass(slots=True)
class Const(Node):
    value: Any

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_const(self)


@dataclass(slots=True)
class Ident(Node):
    name: str

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_ident(self)

    def qualified(self) -> str:
        return self.name


@dataclass(slots=True)
class Select(Node):
    """`a.b`, `a.?b`, and `has(a.b)` when `test`."""

    operand: Node
    field: str
    test: bool = False
    optional: bool = False

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_select(self)

    def children(self) -> Sequence[Node]:
        return (self.operand,)

    def qualified(self) -> str:
        if self.test or self.optional:
            return ""
        inner = self.operand.qualified()
        return f"{inner}.{self.field}" if inner else ""


@dataclass(slots=True)
class Call(Node):
    """Operators too, under cel-go's names: `_+_`, `_[_]`, `_?_:_`, `_&&_` (any number of terms)."""

    name: str
    target: Node | None
    args: list[Node]

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_call(self)

    def children(self) -> Sequence[Node]:
        return self.args if self.target is None else (self.target, *self.args)


@dataclass(slots=True)
class ListNode(Node):
    items: list[tuple[Node, bool]]  # (item, whether it is `?item`)

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_list(self)

    def children(self) -> Sequence[Node]:
        return [item for item, _ in self.items]


@dataclass(slots=True)
class MapNode(Node):
    entries: list[tuple[Node, Node, bool]]

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_map(self)

    def children(self) -> Sequence[Node]:
        return [part for key, value, _ in self.entries for part in (key, value)]


@dataclass(slots=True)
class Struct(Node):
    name: str
    fields: list[tuple[int, str, Node, bool]]

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_struct(self)

    def children(self) -> Sequence[Node]:
        return [value for _, _, value, _ in self.fields]


@dataclass(slots=True)
class Fold(Node):
    """A macro over a list or map. kind: all, exists, existsOne, map, filter, transformList, ..."""

    kind: str
    range: Node
    names: list[str]  # one variable, or two
    filter: Node | None
    body: Node

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_fold(self)

    def children(self) -> Sequence[Node]:
        return [part for part in (self.range, self.filter, self.body) if part is not None]


@dataclass(slots=True)
class Bind(Node):
    """`value.optMap(name, body)` and `optFlatMap`: the kind says which."""

    kind: str
    name: str
    value: Node
    body: Node

    def accept(self, visitor: Visitor[T]) -> T:
        return visitor.visit_bind(self)

    def children(self) -> Sequence[Node]:
        return (self.value, self.body)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, in the order of the source."""
    yield node
    for child in node.children():
        yield from walk(child)
