"""Computes the fields that a value sets and the fields in which two values differ, per type.

A type is compiled into a node. The fields that a struct with a given set of keys sets are computed
once and kept as a plan; equal results share one trie, so a thousand pods of one template cost one
set.

Models sigs.k8s.io/structured-merge-diff typed/{compare,helpers}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.fieldsets import LEAF, SELF, Trie
from apiserver_app.machinery.types.schema import LEAVES, ZEROS, Field, Schema

PLANS_MAX = 512  # plans cached per type
TRIES_MAX = 256  # results cached per plan

Change = tuple[Trie | None, Trie | None]  # (added or modified, removed)
Adder = Callable[[Any], Trie | None]

_SAME: Change = (None, None)
_ABSENT: Any = object()


class Node:
    """A type whose values are compared part by part."""

    def added(self, value: Any) -> Trie:
        """The fields that a new value sets: its own path and all below."""
        raise NotImplementedError

    def compare(self, old: Any, new: Any) -> Change:
        """The fields in which two values differ. Both exist, perhaps as null."""
        raise NotImplementedError


class _Plan:
    """The fields that a map with given keys sets; `parts` are children that depend on values."""

    __slots__ = ("children", "elements", "fixed", "memo", "parts")

    def __init__(
        self, names: tuple[str, ...], adders: Mapping[str, Adder | None], own: bool
    ) -> None:
        by_element = {fieldsets.field_element(name): name for name in names if name in adders}
        elements = fieldsets.ordered(list(by_element))
        self.parts = [
            (position, name, adder)
            for position, element in enumerate(elements, own)
            if (adder := adders[name := by_element[element]]) is not None
        ]
        self.elements = [SELF, *elements] if own else elements
        self.children: list[Trie | None] = [LEAF] * len(self.elements)
        self.fixed = self._trie(self.children) if not self.parts else None
        self.memo: dict[tuple[int, ...], Trie | None] = {}

    def trie(self, value: Object) -> Trie | None:
        if not self.parts:
            return self.fixed
        children = self.children.copy()
        for position, name, adder in self.parts:
            children[position] = adder(value[name])
        # the ids are valid while the memo holds the tries they belong to
        ids = tuple(map(id, children))
        try:
            return self.memo[ids]
        except KeyError:
            if len(self.memo) >= TRIES_MAX:
                self.memo.clear()
            made = self.memo[ids] = self._trie(children)
            return made

    def _trie(self, children: list[Trie | None]) -> Trie | None:
        pairs = zip(self.elements, children, strict=True)
        return {element: child for element, child in pairs if child is not None} or None


class _Map(Node):
    """A struct or a map: parts by name."""

    def __init__(self, item: Node | None = None) -> None:
        self._item = item
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def node(self, name: str) -> Node | None:
        """The node of a part; None if it is atomic."""
        return self._item

    def skips(self, name: str) -> bool:
        return False

    def added(self, value: Any) -> Trie:
        if not value:
            return LEAF
        plan = self._plans.get(tuple(value)) or self._plan(tuple(value))
        return plan.trie(value) or LEAF

    def _plan(self, names: tuple[str, ...]) -> _Plan:
        if len(self._plans) >= PLANS_MAX:
            self._plans.clear()
        adders: dict[str, Adder | None] = {}
        for name in names:
            if not self.skips(name):
                node = self.node(name)
                adders[name] = None if node is None else node.added
        plan = self._plans[names] = _Plan(names, adders, own=True)
        return plan

    def compare(self, old: Any, new: Any, skip: tuple[str, ...] = ()) -> Change:
        if not old and not new:
            return _SAME if old == new else (LEAF, None)
        old, new = old or LEAF, new or LEAF
        changed: Trie = {}
        removed: Trie = {}
        for name, value in new.items():
            was = old.get(name, _ABSENT)
            if was is value or was == value or name in skip or self.skips(name):
                continue
            element = f"f:{name}"
            node = self.node(name)
            if node is None:
                changed[element] = LEAF
            elif was is _ABSENT:
                changed[element] = node.added(value)
            else:
                _note(changed, removed, element, node.compare(was, value))
        for name, was in old.items():
            if name not in new and name not in skip and not self.skips(name):
                node = self.node(name)
                removed[f"f:{name}"] = LEAF if node is None else node.added(was)
        return _change(changed, removed)


class _Struct(_Map):
    """A struct whose fields are compiled at first use."""

    def __init__(self, shapes: Shapes, schema: Schema, skipped: frozenset[str]) -> None:
        super().__init__()
        self._shapes = shapes
        self._schema = schema
        self._skipped = skipped
        self._nodes: dict[str, Node | None] = {}

    def node(self, name: str) -> Node | None:
        try:
            return self._nodes[name]
        except KeyError:
            field = self._schema.field(name)
            node = _RAW if field is None else self._shapes.node(field)
            if field is not None:
                self._nodes[name] = node
            return node

    def skips(self, name: str) -> bool:
        return name in self._skipped


class _Raw(_Map):
    """A value without a schema: its maps are compared key by key, all else is atomic."""

    def node(self, name: str) -> Node | None:
        return self

    def added(self, value: Any) -> Trie:
        if not isinstance(value, dict) or not value:
            return LEAF
        pairs = ((fieldsets.field_element(name), self.added(item)) for name, item in value.items())
        return fieldsets.in_order({SELF: LEAF, **dict(pairs)})

    def compare(self, old: Any, new: Any, skip: tuple[str, ...] = ()) -> Change:
        if isinstance(old, dict) and isinstance(new, dict):
            return super().compare(old, new, skip)
        if old == new:
            return _SAME
        changed = self.added(new)
        removed = _without_self(self.added(old))
        if old is None:
            changed = _without_self(changed) or LEAF
        return changed, removed


class NoKey(Exception):
    """An item has none of the fields that identify it, so its fields belong to nobody."""


class KeyedList(Node):
    """A list whose items are identified by key fields, or in a set by their value."""

    def __init__(self, field: Field, item: Node | None = None) -> None:
        names = field.list_keys
        self._names = tuple(sorted(names))
        self._defaults = field.key_defaults if names else {}
        self._only = names[0] if len(names) == 1 else ""
        self._item = item
        self._memo: dict[tuple[Any, ...], Trie] = {}

    def added(self, value: Any) -> Trie:
        if not value:
            return LEAF
        item_node = self._item
        children: dict[str, Trie] = {}
        for item in value:
            element = self.element(item)
            if element in children:
                children[element] = LEAF  # duplicates are owned as one element
            else:
                children[element] = LEAF if item_node is None else item_node.added(item)
        ids = (*children, *map(id, children.values()))
        try:
            return self._memo[ids]
        except KeyError:
            if len(self._memo) >= TRIES_MAX:
                self._memo.clear()
            made = self._memo[ids] = fieldsets.in_order({SELF: LEAF, **children})
            return made

    def element(self, item: Any) -> str:
        """The path element of an item."""
        if self._only:
            value = item.get(self._only, _ABSENT) if isinstance(item, dict) else _ABSENT
            if value is not _ABSENT:
                return fieldsets.key_element(self._names, value)
        elif not self._names:
            return fieldsets.value_element(item)
        pairs = [
            (name, value)
            for name in self._names
            if (value := self._key_value(item, name)) is not None
        ]
        if not pairs:
            raise NoKey
        return fieldsets.key_element(
            tuple(name for name, _ in pairs), *(value for _, value in pairs)
        )

    def _key_value(self, item: Any, name: str) -> Any:
        return item.get(name, self._defaults.get(name)) if isinstance(item, dict) else None

    def compare(self, old: Any, new: Any) -> Change:
        if not old and not new:
            return _SAME if old == new else (LEAF, None)
        was, now = self._indexed(old), self._indexed(new)
        changed: Trie = {}
        removed: Trie = {}
        for element, items in now.items():
            before = was.get(element, ())
            if before == items:
                continue
            if len(items) > 1:
                self._duplicated(changed, removed, element, before)
            elif len(before) > 1:
                changed[element] = self._added(items[0])
                removed[element] = LEAF
            elif not before:
                changed[element] = self._added(items[0])
            elif self._item is None:
                changed[element] = LEAF
            else:
                _note(changed, removed, element, self._item.compare(before[0], items[0]))
        for element, items in was.items():
            if element not in now:
                removed[element] = self._added(items[0]) if len(items) == 1 else LEAF
        return _change(changed, removed)

    def _duplicated(
        self, changed: Trie, removed: Trie, element: str, before: tuple[Any, ...]
    ) -> None:
        changed[element] = LEAF
        if len(before) == 1:
            removed[element] = self._added(before[0])

    def _added(self, item: Any) -> Trie:
        return LEAF if self._item is None else self._item.added(item)

    def _indexed(self, items: Any) -> dict[str, tuple[Any, ...]]:
        out: dict[str, tuple[Any, ...]] = {}
        for item in items or ():
            element = self.element(item)
            out[element] = (*out[element], item) if element in out else (item,)
        return out


def _note(changed: Trie, removed: Trie, element: str, change: Change) -> None:
    if change[0] is not None:
        changed[element] = change[0]
    if change[1] is not None:
        removed[element] = change[1]


def _change(changed: Trie, removed: Trie) -> Change:
    return (
        fieldsets.in_order(changed) if changed else None,
        fieldsets.in_order(removed) if removed else None,
    )


def _without_self(trie: Trie) -> Trie | None:
    if SELF not in trie:
        return trie or None
    return {element: child for element, child in trie.items() if element != SELF} or None


_RAW = _Raw()

# never owned by anybody
_TYPE_META = frozenset(("apiVersion", "kind"))
METADATA = frozenset(
    """
    name namespace creationTimestamp selfLink uid clusterName generation managedFields
    resourceVersion
    """.split()
)


class Shapes:
    """The nodes of one object's type. `of(schema)` keeps one per schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._structs: dict[str, _Struct] = {}
        self._root = _Struct(self, schema, _TYPE_META)
        metadata = schema.field("metadata")
        if metadata is not None and metadata.schema is not None:
            self._root._nodes["metadata"] = _Struct(self, metadata.schema, METADATA)
        self.zero = zero(schema)
        self._created: dict[tuple[str, ...], _Created] = {}

    def created(self, obj: Object, skip: tuple[str, ...] = ()) -> Trie | None:
        """The fields that a new object sets beyond those of an empty object of its type."""
        try:
            creator = self._created[skip]
        except KeyError:
            creator = self._created[skip] = _Created(self._root, self.zero, skip)
        return creator.added(obj)

    def compare(self, old: Object, new: Object, skip: tuple[str, ...] = ()) -> Change:
        """The fields in which two objects differ, except for the fields `skip`."""
        return self._root.compare(old, new, skip)

    def node(self, field: Field) -> Node | None:
        """The node of a field's type; None if it is atomic."""
        if field.atomic:
            return None
        if field.kind == "struct":
            schema = field.schema
            if schema is None:
                return _RAW
            if field.definition not in self._structs:
                self._structs[field.definition] = _Struct(self, schema, frozenset())
            return self._structs[field.definition]
        if field.kind == "raw":  # a Go type that reads JSON itself is one value
            return None if field.format in LEAVES else _RAW
        if field.kind not in ("map", "list") or field.item is None:
            return None
        item = self.node(field.item)
        return _Map(item) if field.kind == "map" else KeyedList(field, item)


class _Created:
    """The fields set by a struct whose empty value already has some fields."""

    def __init__(self, node: _Map, empty: Object, skip: tuple[str, ...] = ()) -> None:
        self._node = node
        self._empty = empty
        self._skip = skip
        self._plans: dict[tuple[str, ...], _Plan] = {}

    def added(self, value: Any) -> Trie | None:
        names = tuple(value)
        plan = self._plans.get(names)
        if plan is None:
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            adders = {
                name: self._adder(name)
                for name in names
                if name not in self._skip and not self._node.skips(name)
            }
            plan = self._plans[names] = _Plan(names, adders, own=False)
        return plan.trie(value)

    def _adder(self, name: str) -> Adder | None:
        node = self._node.node(name)
        if name not in self._empty:
            return None if node is None else node.added
        empty = self._empty[name]
        if node is None:
            return lambda value: None if value == empty else LEAF
        if empty and isinstance(node, _Map):
            return _Created(node, empty).added
        return _Filled(node, empty).added


class _Filled:
    """The fields that a value sets in place of an empty one."""

    def __init__(self, node: Node, empty: Any) -> None:
        self._node = node
        self._empty = empty
        self._memo: dict[int, tuple[Trie, Trie | None]] = {}

    def added(self, value: Any) -> Trie | None:
        if not value:
            return None if value == self._empty else LEAF
        trie = self._node.added(value)
        result = self._memo.get(id(trie))
        if result is None:
            if len(self._memo) >= TRIES_MAX:
                self._memo.clear()
            result = self._memo[id(trie)] = (trie, _without_self(trie))
        return result[1]


def zero(schema: Schema) -> Object:
    """The object that Go writes for an empty struct of the type."""
    out: Object = {}
    for name, field in schema.fields.items():
        go = field.go
        if go is None or not go.always or not go.known:
            continue
        if field.kind == "struct" and not go.pointer:
            out[name] = {} if field.schema is None else zero(field.schema)
        else:
            out[name] = None if go.pointer else ZEROS.get(field.kind)
    return out


def of(schema: Schema) -> Shapes:
    """The shapes of a schema, which must be the same object each time."""
    try:
        return _known[id(schema)]
    except KeyError:
        made = _known[id(schema)] = Shapes(schema)
        return made


def forget(schema: Schema) -> None:
    """Drops a schema that is no longer used, as when a definition changed."""
    _known.pop(id(schema), None)


_known: dict[int, Shapes] = {}  # by id; a Shapes keeps its schema alive
