"""CEL's own functions: conversions, sizes, texts, times, optionals and sets.

Models cel-go common/stdlib/standard.go, cel/library.go (optionals) and ext/sets.go.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import Any

from apiserver_app.cel import functions
from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, traversal
from apiserver_app.cel.library.regex import compiled
from apiserver_app.cel.values import (
    INT_MAX,
    INT_MIN,
    NANOS,
    NONE,
    TIME_MIN,
    UINT_MAX,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    checked_uint,
    contains,
    double_text,
    duration,
    timestamp,
)
from apiserver_app.machinery.releases import Release


def _size(value: Any) -> int:
    return len(value)


def _int(value: Any) -> int:
    if isinstance(value, float):
        if not INT_MIN < value < INT_MAX:
            raise EvaluationError("integer overflow")
        return int(value)
    if isinstance(value, str):
        return _whole(value, "int", INT_MIN, INT_MAX)
    if isinstance(value, Timestamp):
        return value.nanos // NANOS
    if isinstance(value, Duration):
        return value.nanos
    if value > INT_MAX:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint(value: Any) -> UInt:
    if isinstance(value, float):
        if not -1 < value < UINT_MAX:
            raise EvaluationError("unsigned integer overflow")
        return UInt(int(value))
    if isinstance(value, str):
        return UInt(_whole(value, "uint", 0, UINT_MAX))
    return checked_uint(int(value))


def _whole(text: str, kind: str, least: int, most: int) -> int:
    body = text[1:] if text[:1] in ("-", "+") and kind == "int" else text
    if body.isdigit() and body.isascii() and len(body) < 25 and least <= int(text) <= most:
        return int(text)
    name = "ParseInt" if kind == "int" else "ParseUint"
    why = "value out of range" if body.isdigit() and body.isascii() else "invalid syntax"
    raise EvaluationError(f'strconv.{name}: parsing "{text}": {why}')


def _double(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    try:
        if value != value.strip() or "_" in value:
            raise ValueError
        return float(value)
    except ValueError:
        raise EvaluationError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from None


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    return str(int(value)) if isinstance(value, int) else str(value)


_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise EvaluationError(f'strconv.ParseBool: parsing "{value}": invalid syntax')


def timestamp_of(value: Any) -> Timestamp:
    if isinstance(value, str):
        return timestamp(value)
    return value if isinstance(value, Timestamp) else Timestamp(value * NANOS)


def duration_of(value: Any) -> Duration:
    if isinstance(value, str):
        return duration(value)
    return value if isinstance(value, Duration) else Duration(value)


def _matches(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


# -- times --------------------------------------------------------------------------------------


def _zone(name: str) -> datetime.tzinfo:
    if name in ("", "UTC"):  # known without any time zone database
        return datetime.UTC
    if ":" in name:
        sign = -1 if name.startswith("-") else 1
        hours, _, minutes = name.lstrip("+-").partition(":")
        try:
            return datetime.timezone(
                sign * datetime.timedelta(hours=int(hours), minutes=int(minutes))
            )
        except ValueError:
            raise EvaluationError(f"unknown time zone {name}") from None
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise EvaluationError(f"unknown time zone {name}") from None


_PARTS: dict[str, Callable[[datetime.datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}


def _part(get: Callable[[datetime.datetime], int]) -> Callable[..., int]:
    def part(moment: Timestamp, zone: str = "UTC") -> int:
        try:
            return get(moment.moment(_zone(zone)))
        except OverflowError:
            raise EvaluationError("timestamp overflow") from None

    return part


def _truncated(unit: int) -> Callable[[Duration], int]:
    def count(value: Duration) -> int:
        whole = abs(value.nanos) // unit
        return whole if value.nanos >= 0 else -whole

    return count


# -- optionals and sets -------------------------------------------------------------------------


def _is_zero(value: Any) -> bool:
    if isinstance(value, Timestamp):
        return value.nanos == TIME_MIN
    if isinstance(value, Duration):
        return value.nanos == 0
    return not value


def _value(holder: Optional) -> Any:
    if not holder.has:
        raise EvaluationError("optional.none() dereference")
    return holder.value


def _set_contains(left: list[Any], right: list[Any]) -> bool:
    return all(contains(left, item) for item in right)


def _set_equivalent(left: list[Any], right: list[Any]) -> bool:
    return _set_contains(left, right) and _set_contains(right, left)


def _set_intersects(left: list[Any], right: list[Any]) -> bool:
    return any(contains(left, item) for item in right)


def _product(left: list[Any], right: list[Any], *result: Any) -> int:
    return 1 + len(left) * len(right)


def _both_products(left: list[Any], right: list[Any], *result: Any) -> int:
    return 1 + 2 * len(left) * len(right)


def _of_part(text: str, part: str, *result: Any) -> int:
    return traversal(part)


def _declare() -> None:
    for kind in ("string", "bytes", "list(A)", "map(A, B)"):
        declare(f"size({kind}) int", _size)
        declare(f"{kind}.size() int", _size)
    for kind in ("int", "uint", "double", "string", "timestamp", "duration"):
        declare(f"int({kind}) int", _int)
    for kind in ("int", "uint", "double", "string"):
        declare(f"uint({kind}) uint", _uint)
        declare(f"double({kind}) double", _double)
    for kind in ("string", "bool", "int", "uint", "double", "bytes", "timestamp", "duration"):
        declare(f"string({kind}) string", _string, traversal if kind == "bytes" else None)
    declare("bool(bool) bool", _bool)
    declare("bool(string) bool", _bool)
    declare("bytes(bytes) bytes", lambda value: value)
    declare("bytes(string) bytes", str.encode, traversal)
    declare("dyn(A) dyn", lambda value: value)
    declare("type(A) type(A)", lambda value: TypeValue(functions.type_name(value)))
    for kind in ("string", "int", "timestamp"):
        declare(f"timestamp({kind}) timestamp", timestamp_of)
    for kind in ("string", "int", "duration"):
        declare(f"duration({kind}) duration", duration_of)
    declare("string.contains(string) bool", lambda text, part: part in text, _contains_cost)
    declare("string.startsWith(string) bool", lambda text, part: text.startswith(part), _of_part)
    declare("string.endsWith(string) bool", lambda text, part: text.endswith(part), _of_part)
    declare("string.matches(string) bool", _matches, functions.matching)
    declare("matches(string, string) bool", _matches, functions.matching)
    for name, get in _PARTS.items():
        declare(f"timestamp.{name}() int", _part(get))
        declare(f"timestamp.{name}(string) int", _part(get))
    declare("timestamp.getMilliseconds() int", lambda moment: moment.nanos // 1_000_000 % 1000)
    declare(
        "timestamp.getMilliseconds(string) int",
        lambda moment, zone: moment.nanos // 1_000_000 % 1000,
    )
    declare("duration.getHours() int", _truncated(3600 * NANOS))
    declare("duration.getMinutes() int", _truncated(60 * NANOS))
    declare("duration.getSeconds() int", _truncated(NANOS))
    declare("duration.getMilliseconds() int", _truncated(1_000_000))
    _declare_optionals()
    for name, impl in _SETS.items():
        cost = _both_products if name == "equivalent" else _product
        declare(f"$sets.{name}(list(A), list(A)) bool", impl, cost, Release(29))


_SETS = {"contains": _set_contains, "equivalent": _set_equivalent, "intersects": _set_intersects}


def _declare_optionals() -> None:
    since = Release(28)
    declare("$optional.of(A) optional(A)", Optional, None, since)
    declare("$optional.none() optional(A)", lambda: NONE, None, since)
    declare(
        "$optional.ofNonZeroValue(A) optional(A)",
        lambda value: NONE if _is_zero(value) else Optional(value),
        None,
        since,
    )
    declare("optional(A).hasValue() bool", lambda holder: holder.has, None, since)
    declare("optional(A).value() A", _value, None, since)
    declare("optional(A).or(optional(A)) optional(A)", lambda value, other: value, None, since)
    declare("optional(A).orValue(A) A", lambda value, other: value.value, None, since)


def _contains_cost(text: str, part: str, *result: Any) -> int:
    return traversal(text) * traversal(part)


_declare()
