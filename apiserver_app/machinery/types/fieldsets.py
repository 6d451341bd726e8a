"""Sets of fields in the wire format of fieldsV1: tries of path elements.

`{"f:spec": {"f:replicas": {}}}` holds .spec.replicas. A child that is empty, or that has a ".", is
itself in the set; the empty set is None. Tries are never changed once made, so they are shared
freely: between managers, between objects, with what clients see.

Models sigs.k8s.io/structured-merge-diff fieldpath/{set,element,serialize}.go.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

Trie = dict[str, Any]

ELEMENTS_CACHED_MAX = 16_384

SELF = "."
LEAF: Trie = {}

_NOT_IN_JSON = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def union(first: Trie | None, second: Trie | None) -> Trie | None:
    """The union; `first` itself if it contains all of `second`."""
    if first is None or second is None or first is second:
        return second if first is None else first
    return _union(first, second)


def _union(first: Trie, second: Trie) -> Trie:
    if not second:
        return first if not first or SELF in first else {SELF: LEAF, **first}
    if not first:
        return second if SELF in second else {SELF: LEAF, **second}
    out = first
    grows = False
    for key, theirs in second.items():
        mine = first.get(key)
        if mine is None:
            joined = theirs
            grows = True
        elif mine is theirs or key == SELF:
            continue
        else:
            joined = _union(mine, theirs)
            if joined is mine:
                continue
        if out is first:
            out = dict(first)
        out[key] = joined
    return in_order(out) if grows else out


def subtract(first: Trie | None, second: Trie | None) -> Trie | None:
    """The difference. A parent may stay without its children, and they without it."""
    if first is None or second is None:
        return first
    return _subtract(first, second)


def _subtract(first: Trie, second: Trie) -> Trie | None:
    if first is second:
        return None
    if not first:  # a member without children
        return None if not second or SELF in second else first
    if not second:
        if SELF not in first:
            return first
        return {key: child for key, child in first.items() if key != SELF} or None
    out = first
    for key, theirs in second.items():
        mine = first.get(key)
        if mine is None:
            continue
        rest = None if key == SELF else _subtract(mine, theirs)
        if rest is mine:
            continue
        if out is first:
            out = dict(first)
        if rest is None:
            del out[key]
        else:
            out[key] = rest
    if out is first:
        return first
    if not out:
        return None
    return LEAF if len(out) == 1 and SELF in out else out


def intersect(first: Trie | None, second: Trie | None) -> Trie | None:
    """The intersection."""
    if first is None or second is None:
        return None
    return _intersect(first, second)


def _intersect(first: Trie, second: Trie) -> Trie | None:
    if first is second:
        return first
    member = is_member(first) and is_member(second)
    out: Trie = {}
    for key, mine in first.items():
        theirs = second.get(key)
        if theirs is not None and key != SELF:
            both = _intersect(mine, theirs)
            if both is not None:
                out[key] = both
    if not out:
        return LEAF if member else None
    return {SELF: LEAF, **out} if member else out


def is_member(trie: Trie) -> bool:
    """Whether the node itself is in the set, not only its children."""
    return not trie or SELF in trie


def has(trie: Trie | None, path: tuple[str, ...]) -> bool:
    for element in path:
        if trie is None:
            return False
        trie = trie.get(element)
    return trie is not None and is_member(trie)


def paths(trie: Trie | None) -> Iterator[tuple[str, ...]]:
    """All members, each level before the levels below it."""
    if trie is not None:
        yield from _paths(trie, ())


def _paths(trie: Trie, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    children = [(key, child) for key, child in trie.items() if key != SELF]
    for key, child in children:
        if is_member(child):
            yield (*prefix, key)
    for key, child in children:
        if child:
            yield from _paths(child, (*prefix, key))


def path_text(path: tuple[str, ...]) -> str:
    """A path as upstream prints it: `.spec.containers[name="a"].image`."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        pairs = (f"{name}={_as_it_is(value)}" for name, value in json.loads(rest).items())
        return f"[{','.join(pairs)}]"
    return f"[={_as_it_is(json.loads(rest))}]" if kind == "v" else f"[{rest}]"


def in_order(trie: Trie) -> Trie:
    """The trie in wire order: itself, fields, keys, values, indexes."""
    keys = list(trie)
    sorted_keys = ordered(keys)
    return trie if keys == sorted_keys else {key: trie[key] for key in sorted_keys}


def ordered(keys: list[str]) -> list[str]:
    """Path elements sorted as upstream sorts them: numbers inside keys count as numbers."""
    if len(keys) < 2:
        return keys
    out = sorted(keys)
    return out if out[-1][0] in "f." else sorted(out, key=_rank)


@functools.lru_cache(maxsize=ELEMENTS_CACHED_MAX)
def _rank(element: str) -> tuple[Any, ...]:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return 1, rest
    if kind == "k":
        pairs = sorted(json.loads(rest).items())
        return 2, tuple((name, *_value_rank(value)) for name, value in pairs)
    if kind == "v":
        return 3, _value_rank(json.loads(rest))
    return (4, int(rest)) if kind == "i" else (0, 0)


def _value_rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, str(value))


@functools.lru_cache(maxsize=ELEMENTS_CACHED_MAX)
def field_element(name: str) -> str:
    return f"f:{name}"


@functools.lru_cache(maxsize=ELEMENTS_CACHED_MAX, typed=True)
def key_element(names: tuple[str, ...], *values: Any) -> str:
    """The element of a list's item with these key fields; names in order."""
    pairs = ",".join(
        f"{go_json(name)}:{go_json(value)}" for name, value in zip(names, values, strict=True)
    )
    return f"k:{{{pairs}}}"


@functools.lru_cache(maxsize=ELEMENTS_CACHED_MAX, typed=True)
def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{go_json(value)}"


def go_json(value: Any, *, sort_keys: bool = False) -> str:
    """JSON as Go's encoder writes it."""
    return (_sorted if sort_keys else _as_it_is)(value).translate(_NOT_IN_JSON)


_as_it_is, _sorted = (
    json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=each).encode
    for each in (False, True)
)
