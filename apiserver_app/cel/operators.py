"""Operators: signatures and implementations.

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


def _no_overload() -> EvaluationError:
    return EvaluationError(NO_OVERLOAD)


def add(left: Any, right: Any) -> Any:
    kind, its = type(left), type(right)
    if kind is its:
        if kind is int:
            return checked(left + right)
        if kind in (str, float, bytes):
            return left + right
        if kind is UInt:
            return checked_uint(int(left) + int(right))
        if kind is Duration:
            return Duration(left.nanos + right.nanos)
    if isinstance(left, list) and isinstance(right, list):
        return plus(left, right)
    if kind is Timestamp and its is Duration:
        return Timestamp(left.nanos + right.nanos, left.offset)
    if kind is Duration and its is Timestamp:
        return Timestamp(left.nanos + right.nanos, right.offset)
    raise _no_overload()


def subtract(left: Any, right: Any) -> Any:
    kind, its = type(left), type(right)
    if kind is its:
        if kind is int:
            return checked(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return checked_uint(int(left) - int(right))
        if kind in (Duration, Timestamp):
            return Duration(left.nanos - right.nanos)
    if kind is Timestamp and its is Duration:
        return Timestamp(left.nanos - right.nanos, left.offset)
    raise _no_overload()


def multiply(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return checked(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return checked_uint(int(left) * int(right))
    raise _no_overload()


def divide(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is float:
            return _divide_doubles(left, right)
        if kind in (int, UInt):
            if right == 0:
                raise EvaluationError("division by zero")
            quotient = abs(int(left)) // abs(int(right))
            if kind is UInt:
                return UInt(quotient)
            return checked(quotient if (left < 0) == (right < 0) else -quotient)
    raise _no_overload()


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.inf if (left > 0) == (math.copysign(1, right) > 0) else -math.inf


def modulo(left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and kind in (int, UInt):
        if right == 0:
            raise EvaluationError("modulus by zero")
        if left == INT_MIN and right == -1:
            raise EvaluationError("integer overflow")
        rest = abs(int(left)) % abs(int(right))
        return UInt(rest) if kind is UInt else (-rest if left < 0 else rest)
    raise _no_overload()


def negate(value: Any) -> Any:
    if type(value) is int:
        if value == INT_MIN:
            raise EvaluationError("integer overflow")
        return -value
    if type(value) is float:
        return -value
    raise _no_overload()


def compare(left: Any, right: Any) -> int:
    """Returns -1, 0 or 1; 2 when unordered (NaN)."""
    kind, its = type(left), type(right)
    if kind in (int, float, UInt) and its in (int, float, UInt):
        if kind is not its:
            left, right = amounts(left, right)
        if left != left or right != right:
            return 2
        return int(left > right) - int(left < right)
    if kind is its:
        if kind in (str, bytes, bool):
            return int(left > right) - int(left < right)
        if kind in (Duration, Timestamp):
            return int(left.nanos > right.nanos) - int(left.nanos < right.nanos)
    raise _no_overload()


def less(left: Any, right: Any) -> bool:
    return compare(left, right) == -1


def less_equal(left: Any, right: Any) -> bool:
    return compare(left, right) in (-1, 0)


def greater(left: Any, right: Any) -> bool:
    return compare(left, right) == 1


def greater_equal(left: Any, right: Any) -> bool:
    return compare(left, right) in (1, 0)


def unequal(left: Any, right: Any) -> bool:
    return not equal(left, right)


def is_in(left: Any, right: Any) -> bool:
    if isinstance(right, list):
        return contains(right, left)
    if isinstance(right, dict):
        return _key(left) in right
    raise _no_overload()


def invert(value: Any) -> bool:
    if type(value) is not bool:
        raise _no_overload()
    return not value


def _key(index: Any) -> Any:
    """Converts an index to a map key; a whole double counts as the int of its value."""
    if isinstance(index, (str, int)):
        return index
    if type(index) is float and index.is_integer() and INT_MIN <= index <= INT_MAX:
        return int(index)
    if type(index) is float:
        return object()
    raise EvaluationError("unsupported key type")


def index(container: Any, key: Any) -> Any:
    """`container[key]`."""
    if isinstance(container, dict):
        try:
            return container[_key(key)]
        except KeyError:
            raise EvaluationError(f"no such key: {key}") from None
    if isinstance(container, list):
        if type(key) is float and key.is_integer():
            key = int(key)
        if isinstance(key, bool) or not isinstance(key, int):
            raise EvaluationError("unsupported index type in list")
        if not 0 <= key < len(container):
            raise EvaluationError(f"index out of bounds: {key}")
        return container[key]
    if type(container) is Optional:
        return index_optional(container, key)
    raise _no_overload()


def index_optional(container: Any, at: Any) -> Optional:
    """`container[?at]`."""
    if type(container) is Optional:
        return index_optional(container.value, at) if container.has else container
    if isinstance(container, dict):
        key = _key(at)
        return Optional(container[key]) if key in container else Optional(None, False)
    if isinstance(container, list):
        if isinstance(at, bool) or not isinstance(at, (int, float)):
            raise EvaluationError("unsupported index type in list")
        inside = 0 <= at < len(container) and at == int(at)
        return Optional(container[int(at)]) if inside else Optional(None, False)
    raise _no_overload()


def field(container: Any, name: str) -> Any:
    """`container.name`."""
    if isinstance(container, dict):
        try:
            return container[name]
        except KeyError:
            raise EvaluationError(f"no such key: {name}") from None
    if type(container) is Optional:
        return field_optional(container, name)
    if isinstance(container, list):
        raise EvaluationError("unsupported index type in list")
    raise EvaluationError(f"no such key: {name}")


def field_optional(container: Any, name: str) -> Optional:
    """`container.?name`."""
    if type(container) is Optional:
        return field_optional(container.value, name) if container.has else container
    if isinstance(container, dict):
        return Optional(container[name]) if name in container else Optional(None, False)
    raise EvaluationError(f"no such key: {name}")


def has_field(container: Any, name: str) -> bool:
    """`has(container.name)`."""
    if isinstance(container, dict):
        return name in container
    if type(container) is Optional:
        return container.has and has_field(container.value, name)
    if isinstance(container, list):
        raise EvaluationError("unsupported index type in list")
    return False


# -- signatures and costs -----------------------------------------------------------------------


def _both(left: Any, right: Any, result: Any) -> int:
    return (
        math.ceil((size(left) + size(right)) * TRAVERSAL) if isinstance(left, (str, bytes)) else 1
    )


def _smaller(left: Any, right: Any, result: Any) -> int:
    if isinstance(left, (str, bytes, list, dict)):
        return math.ceil(min(size(left), size(right)) * TRAVERSAL)
    return 1


def _contained(left: Any, right: Any, result: Any) -> int:
    return size(right) if isinstance(right, list) else 1


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
            for other_kind in ("int", "uint", "double"):
                since = releases.ALWAYS if kind == other_kind else Release(28)
                declare(f"{name}({kind}, {other_kind}) bool", impl, None, since)
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

# called directly, without overload resolution
DIRECT: dict[str, Any] = {
    **{name: impl for name, (impl, _) in _ARITHMETIC.items()},
    **_ORDER,
    "-_": negate,
    "!_": invert,
    "_==_": equal,
    "_!=_": unequal,
    "@in": is_in,
    "_[_]": index,
    "_[?_]": index_optional,
}
COSTS: dict[str, Any] = {
    "_+_": _both,
    "_==_": _smaller,
    "_!=_": _smaller,
    "@in": _contained,
    **dict.fromkeys(_ORDER, _smaller),
}
