"""Lists: sums, extremes, order and places.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/lists.go and cel-go ext/lists.go.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from apiserver_app.cel import operators
from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, items
from apiserver_app.cel.values import Duration, contains, equal
from apiserver_app.machinery.releases import Release

RANGE_MAX = 1_000_000
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NEW = Release(34)


def _is_sorted(given: list[Any]) -> bool:
    return all(
        operators.compare(left, right) in (-1, 0) for left, right in itertools.pairwise(given)
    )


def _sum(given: list[Any]) -> Any:
    if not given:
        return 0
    total = given[0]
    for item in given[1:]:
        total = operators.add(total, item)
    return total


def _sum_doubles(given: list[Any]) -> Any:
    return _sum(given) if given else 0.0


def _sum_durations(given: list[Any]) -> Any:
    return _sum(given) if given else Duration(0)


def _extreme(word: str, sign: int) -> Any:
    def extreme(given: list[Any]) -> Any:
        if not given:
            raise EvaluationError(f"{word} called on empty list")
        best = given[0]
        for item in given[1:]:
            if operators.compare(item, best) == sign:
                best = item
        return best

    return extreme


def _index_of(given: list[Any], wanted: Any) -> int:
    for index, item in enumerate(given):
        if equal(item, wanted):
            return index
    return -1


def _last_index_of(given: list[Any], wanted: Any) -> int:
    for index in range(len(given) - 1, -1, -1):
        if equal(given[index], wanted):
            return index
    return -1


def _includes(given: list[Any], wanted: Any) -> bool:
    return contains(given, wanted)


# -- cel-go's list extension --------------------------------------------------------------------


def _slice(given: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        word = f"cannot slice({start}, {end}), negative indexes not supported"
        raise EvaluationError(word)
    if start > end:
        raise EvaluationError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if end > len(given):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(given)}")
    return list(given[start:end])


def _flatten(given: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    if depth == 0:
        return list(given)
    out: list[Any] = []
    for item in given:
        if isinstance(item, list):
            out += _flatten(item, depth - 1)
        else:
            out.append(item)
    return out


def _range(count: int) -> list[int]:
    if count > RANGE_MAX:
        raise EvaluationError(f"lists.range({count}): list size is too large")
    return list(range(count))


def _distinct(given: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in given:
        if not contains(out, item):
            out.append(item)
    return out


def _sort(given: list[Any]) -> list[Any]:
    kinds = {type(item) for item in given}
    if len(kinds) > 1:
        raise EvaluationError("list elements must have the same type")
    return sorted(given, key=functools.cmp_to_key(operators.compare))


_MADE = 11  # the call, and the list it makes


def _made(given: list[Any], *rest: Any) -> int:
    return _MADE + len(given)


def _ranged(count: int) -> int:
    return _MADE + max(0, count)


def _sliced(given: list[Any], start: int, end: int) -> int:
    return _MADE + max(0, end - start)


def _flattened(given: list[Any], depth: int = 1) -> int:
    return _MADE + len(_flatten(given, depth))


def _compared(given: list[Any]) -> int:
    """Each item with each, twice."""
    count = len(given)
    return _MADE + count + count * max(0, 2 * count - 1)


def _declare() -> None:
    for kind in _COMPARABLE:
        declare(f"list({kind}).isSorted() bool", _is_sorted, items)
        declare(f"list({kind}).max() {kind}", _extreme("max", 1), items)
        declare(f"list({kind}).min() {kind}", _extreme("min", -1), items)
    for kind, impl in (
        ("int", _sum),
        ("uint", _sum),
        ("double", _sum_doubles),
        ("duration", _sum_durations),
    ):
        declare(f"list({kind}).sum() {kind}", impl, items)
    declare("list(A).indexOf(A) int", _index_of, items)
    declare("list(A).lastIndexOf(A) int", _last_index_of, items)
    declare("list(A).includes(A) bool", _includes, items, Release(37))
    declare("list(A).slice(int, int) list(A)", _slice, _sliced, _NEW)
    declare("list(A).flatten() list(dyn)", _flatten, _flattened, _NEW)
    declare("list(A).flatten(int) list(dyn)", _flatten, _flattened, _NEW)
    declare("$lists.range(int) list(int)", _range, _ranged, _NEW)
    declare("list(A).distinct() list(A)", _distinct, _compared, _NEW)
    declare("list(A).reverse() list(A)", lambda given: given[::-1], _made, _NEW)
    for kind in _COMPARABLE:
        declare(f"list({kind}).sort() list({kind})", _sort, _compared, _NEW)


_declare()
