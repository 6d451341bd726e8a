"""The macros over lists and maps: all, exists, map, filter and those with two variables.

The cost of an iteration is that of the loop into which upstream's parser expands the macro.

Models cel-go parser/macro.go, ext/comprehensions.go and interpreter/interpretable.go (evalFold).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from apiserver_app.cel.errors import CostExceeded, EvaluationError
from apiserver_app.cel.functions import NO_OVERLOAD


class Scope(Protocol):
    """The part of an evaluation that a fold uses."""

    names: dict[str, Any]
    cost: int

    def spend(self, cost: int) -> None: ...


Step = Callable[[Any], Any]
Names = tuple[str, ...]
_APPENDED = 12  # a list of one item, and its concatenation
_END = object()


def _rounds(env: Scope, ranged: Any, names: Names, cost: int) -> Iterator[Any]:
    """Sets the variables for each iteration; the caller restores the outer ones."""
    inner = env.names
    if isinstance(ranged, dict):
        for key in ranged:
            env.spend(cost)
            inner[names[0]] = key
            if len(names) > 1:
                inner[names[1]] = ranged[key]
            yield key
    elif isinstance(ranged, list):
        for index, item in enumerate(ranged):
            env.spend(cost)
            if len(names) > 1:
                inner[names[0]] = index
            inner[names[-1]] = item
            yield item
    else:
        raise EvaluationError(NO_OVERLOAD)


def decided(env: Any, steps: Iterable[Step], decisive: bool) -> bool:
    """Evaluates `||` when `decisive` is true, `&&` when it is false: that value wins over any
    error."""
    failed: EvaluationError | None = None
    for step in steps:
        try:
            value: object = step(env)
        except CostExceeded:
            raise
        except EvaluationError as error:
            failed = failed or error
            continue
        if value is decisive:
            return decisive
        if type(value) is not bool:
            failed = failed or EvaluationError(NO_OVERLOAD)
    if failed is not None:
        raise failed
    return not decisive


def _quantified(decisive: bool, cost: int) -> Callable[..., bool]:
    """Returns `all` or `exists`. `cost` is that of an iteration; all but one of it is the loop
    condition's."""

    def run(env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step) -> bool:
        env.spend(1)
        rounds = _rounds(env, ranged, names, cost)
        result = decided(env, (body for _ in rounds), decisive)
        if result is decisive and next(rounds, _END) is not _END:
            env.cost -= 1
        return result

    return run


def _test(env: Scope, step: Step) -> bool:
    value = step(env)
    if type(value) is not bool:
        raise EvaluationError(NO_OVERLOAD)
    return value


def _kept(env: Scope, ranged: Any, names: Names, keep: Step | None, cost: int) -> Iterator[Any]:
    """The rounds for which the condition holds. Each of these costs so much more."""
    for item in _rounds(env, ranged, names, 0):
        if keep is None or _test(env, keep):
            env.cost += cost
            yield item


def _exists_one(env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step) -> bool:
    env.spend(2)
    return sum(1 for _ in _kept(env, ranged, names, body, 2)) == 1


def _map(env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step) -> list[Any]:
    env.spend(1)
    return [body(env) for _ in _kept(env, ranged, names, keep, _APPENDED)]


def _filter(env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step) -> list[Any]:
    env.spend(1)
    return list(_kept(env, ranged, names, body, _APPENDED + 1))


def _transform_map(
    env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step
) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    env.spend(1)
    for _ in _kept(env, ranged, names, keep, 3):
        value = body(env)
        out[env.names[names[0]]] = value
    return out


def _transform_entry(
    env: Scope, ranged: Any, names: Names, keep: Step | None, body: Step
) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    env.spend(1)
    for _ in _kept(env, ranged, names, keep, 2):
        entry = body(env)
        if not isinstance(entry, dict):
            raise EvaluationError(NO_OVERLOAD)
        for key in entry:
            if key in out:
                raise EvaluationError(f"insert failed: key {key} already exists")
            out[key] = entry[key]
    return out


FOLDS: dict[str, Callable[..., Any]] = {
    "all": _quantified(False, 3),
    "exists": _quantified(True, 4),
    "existsOne": _exists_one,
    "map": _map,
    "filter": _filter,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}
