"""Strategic merge patches.

Lists are merged by the schema's patch strategy and merge key; a patch may contain the directives
$patch, $deleteFromPrimitiveList, $setElementOrder and $retainKeys. Neither the object nor the patch
is changed; the result shares every part that the patch did not touch.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import goprint
from apiserver_app.machinery.types.schema import Field, Schema

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"

_BAD_DELETE = "invalid patch format of primitive list"
_BAD_RETAIN = "invalid patch format of retainKeys"
_BAD_ORDER = "invalid patch format of setElementOrder list"
_LISTS_OF_LISTS = "lists of lists are not supported"
_BAD_REQUESTS = (_BAD_DELETE, _BAD_RETAIN, _BAD_ORDER)

# the struct, or the field whose values it holds; None where the schema ends
Where = Schema | Field | None


class PatchError(ValueError):
    """A patch that cannot be merged; the message is upstream's."""


def merge(obj: Object, patch: Any, schema: Schema) -> Object:
    """Applies a strategic merge patch. Raises 400 or 422."""
    if not isinstance(patch, dict):
        raise errors.bad_request("invalid JSON document")
    try:
        return _merge_maps(obj, patch, schema)
    except PatchError as error:
        message = str(error)
        if message in _BAD_REQUESTS:
            raise errors.bad_request(message) from error
        if message == _LISTS_OF_LISTS:
            message = "the server rejected our request due to an error in our request"
            raise errors.ApiError(422, "Invalid", message, details={}) from error
        raise errors.unclassified(message) from error


def merged_patch(original: Any, patch: Any) -> Any:
    """The patch without the nulls in what it adds, which merging drops."""
    if not isinstance(original, dict):
        return patch
    out = {}
    for key, value in patch.items():
        before = original.get(key)
        there = isinstance(before, list) or (isinstance(before, dict) and isinstance(value, dict))
        out[key] = merged_patch(before, value) if there else _without_nulls(value)
    return out


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _merge_maps(original: Object, patch: Object, where: Where) -> Object:
    if DIRECTIVE in patch:
        return _directed(patch)
    out = dict(original)
    if RETAIN_KEYS in patch:
        _retain(out, patch)
    done = _set_orders(out, patch, where)
    for key, value in patch.items():
        if key in done:
            continue
        if key.startswith(DELETE_FROM):
            _delete_from(out, _list_name(key, DELETE_FROM, _BAD_DELETE), value)
        elif value is None:
            out.pop(key, None)
        else:
            _merge_field(out, key, value, where)
    return out


def _directed(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise PatchError(
        f"unknown patch type: {goprint.text(directive)} in map: {goprint.plain(patch)}"
    )


def _retain(out: Object, patch: Object) -> None:
    """Drop every key that the directive does not name."""
    kept = patch[RETAIN_KEYS]
    if not isinstance(kept, list):
        raise PatchError(_BAD_RETAIN)
    for key, value in patch.items():
        if value is None or key == RETAIN_KEYS or key.startswith((DELETE_FROM, SET_ORDER)):
            continue
        if key not in kept:
            raise PatchError(_BAD_RETAIN)
    for key in [key for key in out if key not in kept]:
        del out[key]


def _merge_field(out: Object, key: str, value: Any, where: Where) -> None:
    old = out.get(key)
    if isinstance(old, dict) and isinstance(value, dict):
        field = _field(where, key)
        out[key] = value if _strategy(field) == "replace" else _merge_maps(old, value, field)
    elif isinstance(old, list) and isinstance(value, list):
        out[key] = _merge_lists(old, value, _field(where, key))
    else:
        new = _cleaned(value)
        if new is _DROPPED:
            out.pop(key, None)
        else:
            out[key] = new


def _delete_from(out: Object, key: str, values: Any) -> None:
    old = out.get(key)
    if isinstance(old, list) and isinstance(values, list):
        out[key] = [item for item in old if item not in values]


def _set_orders(out: Object, patch: Object, where: Where) -> set[str]:
    """Merges and orders the lists with an order directive; returns their keys in the patch."""
    done = {RETAIN_KEYS}
    for directive, order in patch.items():
        if not directive.startswith(SET_ORDER):
            continue
        done.add(directive)
        if not isinstance(order, list):
            raise PatchError(_bad_type("[]interface {}", order))
        key = _list_name(directive, SET_ORDER, _BAD_ORDER)
        old, new = out.get(key), patch.get(key)
        for items in (old, new):
            if items is not None and not isinstance(items, list):
                raise PatchError(_bad_type("[]interface {}", items))
        field = _field(where, key)
        merge_key = field.merge_key if field is not None else ""
        _check_order(new or [], order, merge_key)
        if key in patch:
            done.add(key)
        if old is None and new is None:
            continue
        if new is None:
            merged: list[Any] = old or []
        elif old is None:
            merged = _cleaned(new)
        else:
            merged = _merge_lists(old, new, field)
        kind = _kind_of(old or [], new or [])
        if kind is None:
            raise PatchError("no elements in any of the given slices")
        out[key] = _ordered(merged, order, old or [], merge_key if kind is dict else "")
    return done


def _merge_lists(original: list[Any], patch: list[Any], field: Field | None) -> list[Any]:
    if _strategy(field) != "merge":
        return patch
    assert field is not None, "only a field has a strategy"
    kind = _kind_of(original, patch)
    if kind is None:
        return original
    if kind is not dict:
        both = original + [item for item in patch if item not in original]
        return _ordered(both, patch, original, "")
    if not field.merge_key:
        raise PatchError("cannot merge lists without merge key for struct")
    original, patch = _special_elements(original, patch, field.merge_key)
    merged = _merge_elements(original, patch, field)
    return _ordered(merged, patch, original, field.merge_key)


def _special_elements(
    original: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[Any]]:
    """(original, patch) after applying and removing the elements with directives."""
    plain: list[Any] = []
    replaces = False
    for element in patch:
        directive = element.get(DIRECTIVE)
        if DIRECTIVE not in element:
            plain.append(element)
        elif directive == "delete":
            gone = _key_of(element, key)
            original = [item for item in original if item.get(key) != gone]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch")
        else:
            raise PatchError(
                f"unknown patch type: {goprint.text(directive)} in map: {goprint.plain(element)}"
            )
    return (plain, []) if replaces else (original, plain)


def _merge_elements(original: list[Any], patch: list[Any], field: Field) -> list[Any]:
    merged, key = list(original), field.merge_key
    if not patch:
        return merged
    for at, item in enumerate(merged):
        if not isinstance(item, dict):
            raise PatchError(f"value for key {at} is not a map")
    places = _Positions([item.get(key) for item in merged])
    for element in patch:
        value = _key_of(element, key)
        at = places.of(value)
        if at < 0:
            places.add(value, len(merged))
            merged.append(element)
        else:
            merged[at] = _merge_maps(merged[at], element, field.item)
    return merged


class _Positions:
    """An index of the first position of each value in a list, as lists can be long."""

    __slots__ = ("_first", "_others")

    def __init__(self, values: Sequence[Any]) -> None:
        self._first: dict[Any, int] = {}
        self._others: list[tuple[Any, int]] = []  # what has no hash
        try:  # of equal ones the first is kept
            self._first = dict(zip(reversed(values), range(len(values) - 1, -1, -1), strict=True))
        except TypeError:
            for at, value in enumerate(values):
                self.add(value, at)

    def add(self, value: Any, at: int) -> None:
        try:
            self._first.setdefault(value, at)
        except TypeError:
            self._others.append((value, at))

    def of(self, value: Any) -> int:
        """-1 when it is not there."""
        try:
            return self._first.get(value, -1)
        except TypeError:
            return next((at for other, at in self._others if other == value), -1)


def _ordered(merged: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """Elements named in `order` in that order, the others put among them as they stood before."""
    places = _Positions(_values(order, key))
    named: list[tuple[int, Any, Any]] = []
    unnamed: list[tuple[Any, Any]] = []
    for value, item in zip(_values(merged, key), merged, strict=True):
        place = places.of(value)
        if place >= 0:
            named.append((place, item, value))
        else:
            unnamed.append((value, item))
    named.sort(key=_first)
    if not unnamed:
        return [item for _, item, _ in named]
    server_places = _Positions(_values(server_order, key))
    others = [(server_places.of(value), item) for value, item in unnamed]
    others.sort(key=_first)
    out: list[Any] = []
    at = 0
    for place, item in others:
        # before the first named element that stood after it
        while at < len(named) and not (0 <= place < server_places.of(named[at][2])):
            out.append(named[at][1])
            at += 1
        out.append(item)
    return out + [item for _, item, _ in named[at:]]


_first = operator.itemgetter(0)


def _values(items: list[Any], key: str) -> list[Any]:
    """What the items are told apart by."""
    if not key:
        return items
    try:
        return [item[key] for item in items]
    except (KeyError, TypeError):
        return [_key_of(item, key) for item in items]


def _key_of(element: Any, key: str) -> Any:
    if not isinstance(element, dict):
        raise PatchError(_bad_type("map[string]interface {}", element))
    if key not in element:
        raise PatchError(
            f"map: {goprint.plain(element)} does not contain declared merge key: {key}"
        )
    return element[key]


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The patch's elements must stand in the order list, in the same order."""
    if not patch or not order:
        return
    wanted = patch
    if key:
        wanted = [item for item in patch if not _is_directed(item)]
    left = iter(_values(order, key))
    for value in _values(wanted, key):
        for other in left:
            if other == value:
                break
        else:
            raise PatchError(
                f"The order in patch list:\n{goprint.plain(patch)}\n "
                f"doesn't match {SET_ORDER} list:\n{goprint.plain(order)}\n"
            )


def _is_directed(item: Any) -> bool:
    return isinstance(item, dict) and DIRECTIVE in item


def _kind_of(*lists: list[Any]) -> type | None:
    """The one type of all elements; None when there is no element."""
    kind: type | None = None
    for items in lists:
        for item in items:
            if kind is None:
                kind = type(item)
                if kind is list:
                    raise PatchError(_LISTS_OF_LISTS)
            elif type(item) is not kind:
                shown = " ".join(map(goprint.plain, lists))
                raise PatchError(f"list element types are not identical: [{shown}]")
    return kind


def _list_name(key: str, prefix: str, message: str) -> str:
    start, slash, name = key.partition("/")
    if start != prefix or not slash:
        raise PatchError(message)
    return name


def _field(where: Where, name: str) -> Field | None:
    """The field of that name; None below what the schema describes."""
    if isinstance(where, Field):
        if where.kind == "map":
            return where.item
        if where.format == "runtime.RawExtension":
            raise PatchError(
                f'unable to find api field in struct RawExtension for the json field "{name}"'
            )
        if where.kind != "struct":
            return None
        where = where.schema
    if where is None:
        return None
    field = where.field(name)
    if field is None:
        raise PatchError(
            f'unable to find api field in struct {where.name} for the json field "{name}"'
        )
    return field


def _strategy(field: Field | None) -> str:
    """merge, replace or nothing; retainKeys only matters to clients."""
    if field is None:
        return ""
    for word in field.patch_strategies:
        if word != "retainKeys":
            return word
    return ""


_DROPPED: Any = object()


def _cleaned(value: Any) -> Any:
    """A new value without nulls and without what carries a directive."""
    if isinstance(value, dict):
        if value.get(DIRECTIVE) is not None:
            return _DROPPED
        out = {}
        for name, item in value.items():
            if item is not None and (kept := _cleaned(item)) is not _DROPPED:
                out[name] = kept
        return out
    if isinstance(value, list):
        return [kept for item in value if (kept := _cleaned(item)) is not _DROPPED]
    return value


def _bad_type(expected: str, value: Any) -> str:
    if isinstance(value, dict):
        word = "map[string]interface {}"
    elif isinstance(value, list):
        word = "[]interface {}"
    else:
        words = {str: "string", bool: "bool", int: "int64", float: "float64"}
        word = words.get(type(value), "%!s(<nil>)")
    return f"expected a {expected}, but received a {word}"
