"""Operators: their signatures, and what they do.

Models cel-go common/stdlib/standard.go and common/types (Add, Compare and so on).
"""

from __future__ import annotations

import math
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import NO_OVERLOAD, TRAVERSAL, declare, size
from apiserver_app.cel.values import (
    INT_MAX,
    INT_MIN,
    Duration,
    Optional,
    Timestamp,
    UInt,
    amounts,
    checked,
    checked_uint,
    contains,
    equal,
    plus,
)
from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release


def _wrong() -> EvaluationError:
    return EvaluationError(NO_OVERLOAD)


def add(one: Any, other: Any) -> Any:
    kind, its = type(one), type(other)
    if kind is its:
        if kind is int:
            return checked(one + other)
        if kind in (str, float, bytes):
            return one + other
        if kind is UInt:
            return checked_uint(int(one) + int(other))
        if kind is Duration:
            return Duration(one.nanos + other.nanos)
    if isinstance(one, list) and isinstance(other, list):
        return plus(one, other)
    if kind is Timestamp and its is Duration:
        return Timestamp(one.nanos + other.nanos, one.offset)
    if kind is Duration and its is Timestamp:
        return Timestamp(one.nanos + other.nanos, other.offset)
    raise _wrong()


def subtract(one: Any, other: Any) -> Any:
    kind, its = type(one), type(other)
    if kind is its:
        if kind is int:
            return checked(one - other)
        if kind is float:
            return one - other
        if kind is UInt:
            return checked_uint(int(one) - int(other))
        if kind in (Duration, Timestamp):
            return Duration(one.nanos - other.nanos)
    if kind is Timestamp and its is Duration:
        return Timestamp(one.nanos - other.nanos, one.offset)
    raise _wrong()


def multiply(one: Any, other: Any) -> Any:
    kind = type(one)
    if kind is type(other):
        if kind is int:
            return checked(one * other)
        if kind is float:
            return one * other
        if kind is UInt:
            return checked_uint(int(one) * int(other))
    raise _wrong()


def divide(one: Any, other: Any) -> Any:
    kind = type(one)
    if kind is type(other):
        if kind is float:
            return _divide_doubles(one, other)
        if kind in (int, UInt):
            if other == 0:
                raise EvaluationError("division by zero")
            quotient = abs(int(one)) // abs(int(other))
            if kind is UInt:
                return UInt(quotient)
            return checked(quotient if (one < 0) == (other < 0) else -quotient)
    raise _wrong()


def _divide_doubles(one: float, other: float) -> float:
    if other:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.inf if (one > 0) == (math.copysign(1, other) > 0) else -math.inf


def modulo(one: Any, other: Any) -> Any:
    kind = type(one)
    if kind is type(other) and kind in (int, UInt):
        if other == 0:
            raise EvaluationError("modulus by zero")
        if one == INT_MIN and other == -1:
            raise EvaluationError("integer overflow")
        rest = abs(int(one)) % abs(int(other))
        return UInt(rest) if kind is UInt else (-rest if one < 0 else rest)
    raise _wrong()


def negate(one: Any) -> Any:
    if type(one) is int:
        if one == INT_MIN:
            raise EvaluationError("integer overflow")
        return -one
    if type(one) is float:
        return -one
    raise _wrong()


def compare(one: Any, other: Any) -> int:
    """-1, 0, 1, or 2 when there is no order (NaN)."""
    kind, its = type(one), type(other)
    if kind in (int, float, UInt) and its in (int, float, UInt):
        if kind is not its:
            one, other = amounts(one, other)
        if one != one or other != other:
            return 2
        return int(one > other) - int(one < other)
    if kind is its:
        if kind in (str, bytes, bool):
            return int(one > other) - int(one < other)
        if kind in (Duration, Timestamp):
            return int(one.nanos > other.nanos) - int(one.nanos < other.nanos)
    raise _wrong()


def less(one: Any, other: Any) -> bool:
    return compare(one, other) == -1


def less_equal(one: Any, other: Any) -> bool:
    return compare(one, other) in (-1, 0)


def greater(one: Any, other: Any) -> bool:
    return compare(one, other) == 1


def greater_equal(one: Any, other: Any) -> bool:
    return compare(one, other) in (1, 0)


def unequal(one: Any, other: Any) -> bool:
    return not equal(one, other)


def is_in(one: Any, other: Any) -> bool:
    if isinstance(other, list):
        return contains(other, one)
    if isinstance(other, dict):
        return _key(one) in other
    raise _wrong()


def invert(one: Any) -> bool:
    if type(one) is not bool:
        raise _wrong()
    return not one


def _key(index: Any) -> Any:
    """What a map is asked for; a whole double is the key of that amount."""
    if isinstance(index, (str, int)):
        return index
    if type(index) is float and index.is_integer() and INT_MIN <= index <= INT_MAX:
        return int(index)
    if type(index) is float:
        return object()
    raise EvaluationError("unsupported key type")


def index(holder: Any, at: Any) -> Any:
    """`holder[at]`."""
    if isinstance(holder, dict):
        try:
            return holder[_key(at)]
        except KeyError:
            raise EvaluationError(f"no such key: {at}") from None
    if isinstance(holder, list):
        if type(at) is float and at.is_integer():
            at = int(at)
        if isinstance(at, bool) or not isinstance(at, int):
            raise EvaluationError("unsupported index type in list")
        if not 0 <= at < len(holder):
            raise EvaluationError(f"index out of bounds: {at}")
        return holder[at]
    if type(holder) is Optional:
        return index_optional(holder, at)
    raise _wrong()


def index_optional(holder: Any, at: Any) -> Optional:
    """`holder[?at]`."""
    if type(holder) is Optional:
        return index_optional(holder.value, at) if holder.has else holder
    if isinstance(holder, dict):
        key = _key(at)
        return Optional(holder[key]) if key in holder else Optional(None, False)
    if isinstance(holder, list):
        if isinstance(at, bool) or not isinstance(at, (int, float)):
            raise EvaluationError("unsupported index type in list")
        inside = 0 <= at < len(holder) and at == int(at)
        return Optional(holder[int(at)]) if inside else Optional(None, False)
    raise _wrong()


def field(holder: Any, name: str) -> Any:
    """`holder.name`."""
    if isinstance(holder, dict):
        try:
            return holder[name]
        except KeyError:
            raise EvaluationError(f"no such key: {name}") from None
    if type(holder) is Optional:
        return field_optional(holder, name)
    if isinstance(holder, list):
        raise EvaluationError("unsupported index type in list")
    raise EvaluationError(f"no such key: {name}")


def field_optional(holder: Any, name: str) -> Optional:
    """`holder.?name`."""
    if type(holder) is Optional:
        return field_optional(holder.value, name) if holder.has else holder
    if isinstance(holder, dict):
        return Optional(holder[name]) if name in holder else Optional(None, False)
    raise EvaluationError(f"no such key: {name}")


def has_field(holder: Any, name: str) -> bool:
    """`has(holder.name)`."""
    if isinstance(holder, dict):
        return name in holder
    if type(holder) is Optional:
        return holder.has and has_field(holder.value, name)
    if isinstance(holder, list):
        raise EvaluationError("unsupported index type in list")
    return False


# -- signatures and costs -----------------------------------------------------------------------


def _both(one: Any, other: Any, result: Any) -> int:
    return math.ceil((size(one) + size(other)) * TRAVERSAL) if isinstance(one, (str, bytes)) else 1


def _smaller(one: Any, other: Any, result: Any) -> int:
    if isinstance(one, (str, bytes, list, dict)):
        return math.ceil(min(size(one), size(other)) * TRAVERSAL)
    return 1


def _contained(one: Any, other: Any, result: Any) -> int:
    return size(other) if isinstance(other, list) else 1


_ARITHMETIC = {
    "_+_": (add, "int uint double string bytes list(A) duration"),
    "_-_": (subtract, "int uint double duration"),
    "_*_": (multiply, "int uint double"),
    "_/_": (divide, "int uint double"),
    "_%_": (modulo, "int uint"),
}
_ORDER = {"_<_": less, "_<=_": less_equal, "_>_": greater, "_>=_": greater_equal}


def _declare() -> None:
    for name, (impl, kinds) in _ARITHMETIC.items():
        for kind in kinds.split():
            declare(f"{name}({kind}, {kind}) {kind}", impl, _both if name == "_+_" else None)
    declare("_+_(timestamp, duration) timestamp", add)
    declare("_+_(duration, timestamp) timestamp", add)
    declare("_-_(timestamp, duration) timestamp", subtract)
    declare("_-_(timestamp, timestamp) duration", subtract)
    for name, impl in _ORDER.items():
        for kind in ("bool", "string", "bytes", "timestamp", "duration"):
            declare(f"{name}({kind}, {kind}) bool", impl, _smaller)
        for kind in ("int", "uint", "double"):
            for other in ("int", "uint", "double"):
                since = releases.ALWAYS if kind == other else Release(28)
                declare(f"{name}({kind}, {other}) bool", impl, None, since)
    for kind in ("int", "double"):
        declare(f"-_({kind}) {kind}", negate)
    declare("!_(bool) bool", invert)
    declare("_==_(A, A) bool", equal, _smaller)
    declare("_!=_(A, A) bool", unequal, _smaller)
    declare("@in(A, list(A)) bool", is_in, _contained)
    declare("@in(A, map(A, B)) bool", is_in)
    declare("_[_](list(A), int) A", index)
    declare("_[_](map(A, B), A) B", index)
    declare("_[_](optional(list(A)), int) optional(A)", index)
    declare("_[_](optional(map(A, B)), A) optional(B)", index)
    declare("_[?_](list(A), int) optional(A)", index_optional)
    declare("_[?_](map(A, B), A) optional(B)", index_optional)
    declare("_[?_](optional(list(A)), int) optional(A)", index_optional)
    declare("_[?_](optional(map(A, B)), A) optional(B)", index_optional)
    declare("_?_:_(bool, A, A) A", lambda *given: None)


_declare()

# evaluated directly, without looking for an overload
DIRECT: dict[str, Any] = {
    **{name: impl for name, (impl, _) in _ARITHMETIC.items()},
    **_ORDER,
    "-_": negate, "!_": invert, "_==_": equal, "_!=_": unequal, "@in": is_in, "_[_]": index,
    "_[?_]": index_optional,
}  # fmt: skip
COSTS: dict[str, Any] = {
    "_+_": _both, "_==_": _smaller, "_!=_": _smaller, "@in": _contained,
    **dict.fromkeys(_ORDER, _smaller),
}  # fmt: skip
