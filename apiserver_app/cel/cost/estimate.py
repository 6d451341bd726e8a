"""What an expression may cost at worst, before anybody has written a value for it.

Every part of a checked tree has a cost, and a size where it can have one: literals their own,
places of a schema the bound that stands there, what functions make what follows from their
arguments. Macros cost what the loops would that cel-go makes of them.

Models cel-go checker/cost.go and kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/cost.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver_app.cel.cost.intervals import FREE, ONE, UNKNOWN, ZERO, Interval
from apiserver_app.cel.cost.table import NOMINAL, TRAVERSAL, CallCost, known_cost
from apiserver_app.cel.syntax.tree import (
    Bind,
    Call,
    Const,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Node,
    Select,
    Struct,
    Visitor,
)
from apiserver_app.cel.types import DYN, Type

LIST, MAP, STRUCT = Interval(10, 10), Interval(30, 30), Interval(40, 40)
_SCALARS = frozenset(
    ("bool", "int", "uint", "double", "google.protobuf.Timestamp", "google.protobuf.Duration")
)
_TEXTS = ("string", "bytes")
_COMPARED = frozenset(("_<_", "_<=_", "_>_", "_>=_"))

Path = tuple[str, ...]
SizeAt = Callable[[Path], int | None]


class Entry(NamedTuple):
    """The sizes of what is in a list or map that an expression makes."""

    kind: str
    key: Interval
    value: Interval


class _Local(NamedTuple):
    """A variable of a macro."""

    path: Path
    size: Interval | None
    entry: Entry | None = None


class Coster(Visitor[Interval]):
    """`types` has the type of each node by identity, `size_at` the bound of a place."""

    def __init__(self, types: Mapping[int, Type], size_at: SizeAt) -> None:
        self._types = types
        self._size_at = size_at
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Interval] = {}
        self._entries: dict[int, Entry] = {}
        self._locals: dict[str, list[_Local]] = {}

    # -- names, fields, literals ----------------------------------------------------------------

    def visit_const(self, node: Const) -> Interval:
        value: Any = node.value
        self._has(node, len(value) if isinstance(value, (str, bytes)) else 1)
        return FREE

    def visit_ident(self, node: Ident) -> Interval:
        held = self._local(node.name)
        self._paths[id(node)] = held.path if held else (node.name,)
        return ONE

    def visit_select(self, node: Select) -> Interval:
        operand = node.operand.accept(self)
        if node.test:
            return operand
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        kind = self._type(node.operand)
        counted = kind.name == "map" or kind.fields is not None
        return operand + ONE if counted or node.optional else operand

    def visit_list(self, node: ListNode) -> Interval:
        total, item = LIST, Interval(UNKNOWN.most, 0) if node.items else ZERO
        for element, _ in node.items:
            total += element.accept(self)
            item = item.union(self.size(element))
        self._entries[id(node)] = Entry("list", ONE, item)
        self._has(node, len(node.items))
        return total

    def visit_map(self, node: MapNode) -> Interval:
        start = Interval(UNKNOWN.most, 0) if node.entries else ZERO
        total, key_size, value_size = MAP, start, start
        for key, value, _ in node.entries:
            total += key.accept(self) + value.accept(self)
            key_size, value_size = (
                key_size.union(self.size(key)),
                value_size.union(self.size(value)),
            )
        self._entries[id(node)] = Entry("map", key_size, value_size)
        self._has(node, len(node.entries))
        return total

    def visit_struct(self, node: Struct) -> Interval:
        return sum((value.accept(self) for value in node.children()), STRUCT)

    def _has(self, node: Node, count: int) -> None:
        self._sizes[id(node)] = Interval(count, count)

    # -- calls ----------------------------------------------------------------------------------

    def visit_call(self, node: Call) -> Interval:
        args = [argument.accept(self) for argument in node.args]
        arguments = sum(args, ZERO)
        if node.name == "dyn" and node.target is None and len(args) == 1:
            self._copy(node, node.args[0])
            return ONE + arguments
        target = node.target.accept(self) if node.target is not None else ZERO
        if node.name in ("_&&_", "_||_"):
            return Interval(args[0].least, arguments.most)
        if node.name == "_?_:_":
            return self._conditional(node, args)
        if node.name in ("_[_]", "_[?_]"):
            return self._index(node) + arguments
        known = known_cost(self, node)
        if known is not None:
            return self._take(node, known) + target + arguments
        costs = [self._take(node, overload) for overload in self._overloads(node)]
        least, most = min(cost.least for cost in costs), max(cost.most for cost in costs)
        return Interval(least, most) + target + arguments

    def _take(self, node: Call, cost: CallCost) -> Interval:
        if cost.size is not None:
            before = self._sizes.get(id(node))
            self._sizes[id(node)] = cost.size if before is None else before.union(cost.size)
        return cost.cost

    def _conditional(self, node: Call, args: list[Interval]) -> Interval:
        yes, no = node.args[1], node.args[2]
        self._sizes[id(node)] = self.size(yes).union(self.size(no))
        joined = _joined(self._entry(yes), self._entry(no))
        if joined is not None:
            self._entries[id(node)] = joined
        return args[0] + args[1].union(args[2])

    def _index(self, node: Call) -> Interval:
        container = node.args[0]
        entry = self._entry(container)
        names = {"list": ("@items",), "map": ("@values",)}
        for name in names.get(self._type(container).name, ("@items", "@values")):
            self._paths[id(node)] = (*self._path(container), name)
        if entry is not None:
            self._sizes[id(node)] = entry.value
        return ONE

    def _overloads(self, node: Call) -> list[CallCost]:
        """The costs of all overloads that may be meant."""
        name, args = node.name, node.args
        kinds = [self._type(argument).name for argument in args]
        if name == "_+_" and len(args) == 2:
            return self._sums(node, kinds)
        if name in ("_==_", "_!=_"):
            return [CallCost(self._compared(args))]
        if name in _COMPARED:
            texts = [CallCost(self._compared(args))]
            if any(kind in _TEXTS for kind in kinds):
                return texts
            return [*texts, NOMINAL] if set(kinds) == {"dyn"} else [NOMINAL]
        if name == "@in" and len(args) == 2:
            listed = CallCost(self.size(args[1]))
            return {"list": [listed], "map": [NOMINAL]}.get(kinds[1], [listed, NOMINAL])
        return self._texts(node, kinds)

    def _texts(self, node: Call, kinds: list[str]) -> list[CallCost]:
        name, args = node.name, node.args
        if node.target is not None and len(args) == 1:
            given, size = self.size(node.target), self.size(args[0])
            if name in ("startsWith", "endsWith"):
                return [CallCost(size.times(TRAVERSAL))]
            if name == "matches":
                return [CallCost((given + ONE).times(TRAVERSAL).by(size.times(0.25)))]
            if name == "contains":
                return [CallCost(given.times(TRAVERSAL).by(size.times(TRAVERSAL)))]
            if name == "format":
                return [CallCost(given.times(TRAVERSAL))]
        if node.target is None and len(args) == 1:
            size = self.size(args[0])
            if name == "bytes" and kinds[0] == "string":
                return [CallCost(size.times(TRAVERSAL), size.scaled(1, 4))]
            if name == "string" and kinds[0] == "bytes":
                return [CallCost(size.times(TRAVERSAL), Interval(size.least // 4, size.most))]
            if name == "strings.quote":
                return [CallCost(size.times(TRAVERSAL), size.scaled(1, 2) + Interval(2, 2))]
        return [NOMINAL]

    def _sums(self, node: Call, kinds: list[str]) -> list[CallCost]:
        left, right = node.args
        known = {kind for kind in kinds if kind != "dyn"}
        size = self.size(left) + self.size(right)
        sizes: list[CallCost] = []
        if not known or known & set(_TEXTS):
            sizes.append(CallCost(size.times(TRAVERSAL), size))
        if not known or "list" in known:
            sizes.append(CallCost(ONE, size))
            joined = _joined(self._entry(left), self._entry(right))
            if joined is not None:
                self._entries[id(node)] = joined
        if not known or not known & {*_TEXTS, "list"}:
            sizes.append(NOMINAL)
        return sizes

    def _compared(self, args: Sequence[Node]) -> Interval:
        most = min(self.size(argument).most for argument in args)
        return Interval(min(1, most), most).times(TRAVERSAL)

    # -- macros ---------------------------------------------------------------------------------

    def visit_fold(self, node: Fold) -> Interval:
        total = node.range.accept(self)
        held = self._iterated(node)
        for name, local in held:
            self._locals.setdefault(name, []).append(local)
        filtered = node.filter.accept(self) if node.filter is not None else None
        body = node.body.accept(self)
        value = self.size(node.body) if node.kind != "filter" else held[0][1].size or UNKNOWN
        if node.kind == "filter" and held[0][1].size is None:
            value = self._at(held[0][1].path) or UNKNOWN
        for name, _ in held:
            self._locals[name].pop()
        count = self.size(node.range)
        before, step = _loop(node.kind, body, filtered)
        if node.kind in ("all", "exists", "existsOne"):
            self._sizes[id(node)] = ONE
        else:
            self._sizes[id(node)] = count
            kind = "map" if node.kind.startswith("transformMap") else "list"
            self._entries[id(node)] = Entry(kind, ONE, Interval(0, value.most))
        return total + before + count.by(step)

    def _iterated(self, node: Fold) -> list[tuple[str, _Local]]:
        """The variables of the macro, and where they come from."""
        entry, path = self._entry(node.range), self._path(node.range)
        kind = entry.kind if entry is not None else self._type(node.range).name
        listed = kind == "list"
        key, value = (entry.key, entry.value) if entry is not None else (None, None)
        keys = _Local((*path, "@indices" if listed else "@keys"), key)
        values = _Local((*path, "@items" if listed else "@values"), value)
        if len(node.names) == 1:
            return [(node.names[0], values if listed else keys)]
        return [(node.names[0], keys), (node.names[1], values)]

    def visit_bind(self, node: Bind) -> Interval:
        """`value.hasValue() ? optional.of(body) : optional.none()`, with the value bound."""
        value = node.value.accept(self)
        local = _Local(self._path(node.value), self.known_size(node.value))
        self._locals.setdefault(node.name, []).append(local)
        body = node.body.accept(self)
        self._locals[node.name].pop()
        asked = value + ONE
        then = LIST + asked + body + (ONE if node.kind == "optMap" else ZERO)
        return asked + then.union(ONE)

    # -- sizes ----------------------------------------------------------------------------------

    def size(self, node: Node) -> Interval:
        return self.known_size(node) or UNKNOWN

    def known_size(self, node: Node) -> Interval | None:
        size = self._sizes.get(id(node))
        if size is not None:
            return size
        size = self._at(self._path(node))
        if size is not None:
            return size
        kind = self._type(node)
        if kind.name == "optional_type" and kind.params:
            kind = kind.params[0]
        if kind.name in _SCALARS:
            return ONE
        held = self._local(node.name) if isinstance(node, Ident) else None
        return held.size if held else None

    def item(self, node: Node) -> tuple[Type, Interval] | None:
        """The type and size of the items of a list; None when it is no list."""
        kind = self._type(node)
        if not kind.params:
            return None
        path = self._path(node)
        size = self._at((*path, "@items")) if path else None
        return kind.params[0], size or UNKNOWN

    def type_of(self, node: Node) -> Type:
        return self._type(node)

    def _at(self, path: Path) -> Interval | None:
        bound = self._size_at(path[1:]) if path else None
        return None if bound is None else Interval(0, bound)

    def _entry(self, node: Node) -> Entry | None:
        entry = self._entries.get(id(node))
        if entry is None and isinstance(node, Ident):
            held = self._local(node.name)
            return held.entry if held else None
        return entry

    def _copy(self, to: Node, source: Node) -> None:
        size, entry = self.known_size(source), self._entry(source)
        if size is not None:
            self._sizes[id(to)] = size
        if entry is not None:
            self._entries[id(to)] = entry

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident):
            held = self._local(node.name)
            if held is not None:
                return held.path
        return self._paths.get(id(node), ())

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _type(self, node: Node) -> Type:
        return self._types.get(id(node), DYN)


def _loop(kind: str, body: Interval, filtered: Interval | None) -> tuple[Interval, Interval]:
    """What a macro costs once, and what each of its turns does."""
    if kind == "all":  # every turn looks at the result, twice
        return ONE, Interval(3, (body + Interval(3, 3)).most)
    if kind == "exists":
        return ONE, Interval(4, (body + Interval(4, 4)).most)
    if kind == "existsOne":
        return Interval(2, 2), body + Interval(1, 2)
    made = ONE + ONE + LIST
    if kind == "filter":
        return LIST + ONE, body + ONE.union(made + ONE)
    start = MAP if kind.startswith("transformMap") else LIST
    step = made + body if start is LIST else Interval(3, 3) + body
    if filtered is not None:
        step = filtered + ONE.union(step)
    return start + ONE, step


def _joined(left: Entry | None, right: Entry | None) -> Entry | None:
    if left is None or right is None:
        return None
    return Entry(left.kind, left.key.union(right.key), left.value.union(right.value))


def shown_factor(cost: int, limit: int) -> str:
    """By how much a budget is exceeded, as upstream says it."""
    factor = cost / limit
    if factor > 100:
        return "more than 100x"
    return f"{factor:f}x" if factor < 1.5 else f"{math.floor(factor * 10 + 0.5) / 10:.1f}x"
