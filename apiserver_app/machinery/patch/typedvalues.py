"""Typed values and field sets: validate, merge, list and remove fields.

Only server-side apply needs these; they walk a schema and are too slow for every request.
Arguments are never changed.

Models sigs.k8s.io/structured-merge-diff typed/{validate,merge,tofieldset,remove}.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import goprint
from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.fieldsets import LEAF, SELF, Trie
from apiserver_app.machinery.types.fieldshapes import KeyedList
from apiserver_app.machinery.types.schema import LEAVES, Field, Schema

ITEMS_MAX = 5_000  # of lists whose items have owners; upstream limits only the body's size
_RAW = Field("", "raw")
_ABSENT: Any = object()
_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "bytes": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
}
_UNTYPED = ("quantity", "time", "microtime")  # strings with a format; the decoder checks the rest


def root(schema: Schema) -> Field:
    """The type of an entire object, as a field."""
    return Field("", "struct", schema.definition, _lookup=lambda _: schema)


def owned_items(field: Field, value: Any) -> int:
    """How many items the lists have whose items have owners; not counted further than ITEMS_MAX."""
    count, left = 0, [(field, value)]
    while left:
        field, value = left.pop()
        if field.atomic:
            continue
        if isinstance(value, dict):
            parts = ((part(field, name), item) for name, item in value.items())
        elif isinstance(value, list) and field.kind == "list":
            count += len(value)
            if count > ITEMS_MAX:
                break
            parts = ((field.item or _RAW, item) for item in value)
        else:
            continue
        left += [part for part in parts if isinstance(part[1], (dict, list))]
    return count


# -- check ----------------------------------------------------------------------------------------


def findings(field: Field, value: Any) -> list[str]:
    """The errors of a value under its type, in upstream's words."""
    errs: list[str] = []
    _check(field, value, "", errs)
    return errs


def _check(field: Field, value: Any, path: str, errs: list[str]) -> None:
    if value is None or field.kind == "raw":
        return
    if field.kind in ("struct", "map"):
        if not isinstance(value, dict):
            text = f"expected map, got &{{{goprint.plain(value)}}}"
            errs.append(_at(path, goprint.formatted(text)))
            return
        for name, item in sorted(value.items()):
            if not _declares(field, name) and not (field.schema and field.schema.open):
                errs.append(_at(f"{path}.{name}", "field not declared in schema"))
                return
            _check(part(field, name), item, f"{path}.{name}", errs)
    elif field.kind == "list":
        if isinstance(value, list):
            _check_items(field, value, path, errs)
        else:
            text = f"expected list, got &{{{goprint.plain(value)}}}"
            errs.append(_at(path, goprint.formatted(text)))
    else:
        _check_scalar(field, value, path, errs)


def _check_items(field: Field, items: list[Any], path: str, errs: list[str]) -> None:
    seen: set[str] = set()
    item_field = field.item or _RAW
    for index, item in enumerate(items):
        at = f"[{index}]"
        if not field.atomic:
            message = _wrong_key(field, item)
            if message:
                errs.append(_at(path, f"element {index}: {message}"))
                return
            at = _item_text(field, item)
            if at in seen:
                errs.append(_at(path, f"duplicate entries for key {at}"))
            seen.add(at)
        _check(item_field, item, path + at, errs)


def _item_text(field: Field, item: Any) -> str:
    """The path of an item in its list; a key that is no scalar is refused where it is checked."""
    keys = {name: item.get(name) for name in sorted(field.list_keys)}
    if not any(isinstance(value, (dict, list)) for value in keys.values()):
        return fieldsets.path_text((KeyedList(field).element(item),))
    defaults = field.key_defaults
    pairs = (f"{name}={_text(item.get(name, defaults.get(name)))}" for name in keys)
    return f"[{','.join(pairs)}]"


def _text(value: Any) -> str:
    """A value as upstream prints it in a path (value.ToString)."""
    if isinstance(value, dict):
        return "".join(f"{name}={_text(item)}" for name, item in sorted(value.items()))
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return fieldsets.go_json(value)


def _wrong_key(field: Field, item: Any) -> str:
    """The error of an item with invalid keys; empty if they are valid."""
    with_ = "with" if field.list_keys else "without"
    if not field.list_keys:
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        if isinstance(item, list):
            return "not supported: associative list with lists as elements"
        return f"associative list {with_} keys has an element that's an explicit null" * (
            item is None
        )
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    defaults = field.key_defaults
    for name in field.list_keys:
        if name not in item and name not in defaults:
            return (
                "associative list with keys has an element that omits key field "
                f"{errors.quoted(name)} (and doesn't have default value)"
            )
    return ""


def _check_scalar(field: Field, value: Any, path: str, errs: list[str]) -> None:
    expected = _SCALARS.get(field.kind)
    is_bool = isinstance(value, bool)
    if field.kind in _UNTYPED:
        if isinstance(value, (dict, list)):
            errs.append(_at(path, f"expected any scalar, got &{{{goprint.plain(value)}}}"))
    elif expected is None or (isinstance(value, expected) and is_bool == (field.kind == "boolean")):
        return
    elif field.kind in ("integer", "number"):
        errs.append(_at(path, f"expected numeric (int or float), got {_go_type(value)}"))
    elif field.kind == "boolean":
        errs.append(_at(path, f"expected boolean, got &{{{goprint.plain(value)}}}"))
    else:
        printed = f"&value.valueUnstructured{{Value:{goprint.syntax(value)}}}"
        errs.append(_at(path, f"expected string, got {printed}"))


def _go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    return "bool" if isinstance(value, bool) else "string"


def _at(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message


# -- merge ----------------------------------------------------------------------------------------


def merge(field: Field, old: Any, new: Any) -> Any:
    """Merges the new value into the old one; list items are in the new one's order."""
    if _has_parts(field, old) and _has_parts(field, new):
        if not new:
            return old if old else new
        out = dict(old or LEAF)
        for name, value in new.items():
            was = out.get(name, _ABSENT)
            out[name] = value if was is _ABSENT else merge(part(field, name), was, value)
        return out
    if field.kind == "list" and not field.atomic:
        return _merge_items(field, old or [], new) if new else (old or new)
    return new


def _merge_items(field: Field, old: list[Any], new: list[Any]) -> list[Any]:
    keyed = KeyedList(field)
    left = [(keyed.element(item), item) for item in old]
    right = [(keyed.element(item), item) for item in new]
    mine = dict(right)
    theirs: dict[str, Any] = {}
    for element, item in left:
        theirs[element] = _ABSENT if element in theirs else item
    shared: Iterator[str] = (element for element, _ in right if element in theirs)
    next_shared = next(shared, None)
    out: list[Any] = []
    taken: set[str] = set()
    at = to = 0
    while at < len(left) or to < len(right):
        if at < len(left):
            element, item = left[at]
            if element not in mine:
                out.append(item)
                at += 1
                continue
            ahead = to < len(right) and element != right[to][0]
            if ahead and next_shared is not None and element != next_shared:
                at += 1  # it comes where the new order has it
                continue
            if not ahead or element in taken:
                at += 1
        if to < len(right):
            element, item = right[to]
            was = theirs.get(element, _ABSENT)
            out.append(item if was is _ABSENT else merge(field.item or _RAW, was, item))
            taken.add(element)
            to += 1
            if element == next_shared:
                next_shared = next(shared, None)
    return out


# -- sets -----------------------------------------------------------------------------------------


def to_set(field: Field, value: Any) -> Trie | None:
    """The field set of a value: leaves and items, without the structs around them."""
    if _has_parts(field, value):
        return _set_of_parts(field, value or LEAF)
    if field.kind == "list" and not field.atomic:
        return _set_of_items(field, value or [])
    return LEAF


def _set_of_parts(field: Field, value: Object) -> Trie | None:
    out: Trie = {}
    for name, item in value.items():
        named = to_set(part(field, name), item)
        if item is None or item == {} or field.kind != "struct" or not _declares(field, name):
            named = _with_self(named)
        if named is not None:
            out[fieldsets.field_element(name)] = named
    return fieldsets.in_order(out) if out else None


def _set_of_items(field: Field, items: list[Any]) -> Trie | None:
    keyed = KeyedList(field)
    out: Trie = {}
    for item in items:
        element = keyed.element(item)
        out[element] = LEAF if element in out else _with_self(to_set(field.item or _RAW, item))
    return fieldsets.in_order(out) if out else None


def _with_self(trie: Trie | None) -> Trie:
    if not trie:
        return LEAF
    return trie if SELF in trie else {SELF: LEAF, **trie}


def with_named_fields(field: Field, trie: Trie | None) -> Trie | None:
    """The set and all declared fields on the way to its members."""
    if not trie:
        return trie
    out: Trie = {}
    for element, child in trie.items():
        kind, _, name = element.partition(":")
        if kind == "f":
            grown = with_named_fields(part(field, name), child)
            declared = field.kind == "struct" and _declares(field, name)
            out[element] = _with_self(grown) if declared else grown
        elif kind == "k" and field.kind == "list":
            out[element] = with_named_fields(field.item or _RAW, child)
        else:
            out[element] = child
    return out


def without(field: Field, value: Any, removed: Trie | None) -> Any:
    """A value without the fields and items of a set; None when nothing is left of it."""
    if not removed:
        return value
    if isinstance(value, dict):
        if field.atomic:
            return None
        out = {}
        for name, item in value.items():
            below = removed.get(fieldsets.field_element(name))
            if below is None:
                out[name] = item
            elif not fieldsets.is_member(below):
                out[name] = without(part(field, name), item, below)
        return out or None
    if not isinstance(value, list):
        return value
    if field.atomic or field.kind != "list":
        return None
    keyed = KeyedList(field)
    kept = []
    for item in value:
        below = removed.get(keyed.element(item))
        if below is None:
            kept.append(item)
        elif not fieldsets.is_member(below):
            kept.append(without(field.item or _RAW, item, below))
    return kept or None


# -- types ----------------------------------------------------------------------------------------


def part(field: Field, name: str) -> Field:
    """The type of a struct's field or of a map's value."""
    if field.kind == "struct" and field.schema is not None:
        return field.schema.field(name) or _RAW
    return field.item or _RAW if field.kind == "map" else _RAW


def _declares(field: Field, name: str) -> bool:
    if field.kind != "struct" or field.schema is None:
        return True
    return name in field.schema.fields


def _has_parts(field: Field, value: Any) -> bool:
    """Whether a value is taken part by part: a struct or map that is not atomic, or its null."""
    if field.kind == "raw":
        return isinstance(value, dict) and field.format not in LEAVES
    return (
        field.kind in ("struct", "map")
        and not field.atomic
        and (value is None or isinstance(value, dict))
    )
