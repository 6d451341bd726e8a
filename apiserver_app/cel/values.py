"""The values of expressions.

Plain JSON values stand for themselves: dict, list, str, bool, None, float, int (whole numbers are
CEL's int). Types that JSON lacks have a class here. Nothing is copied or converted on the way in.

Models cel-go common/types.
"""

from __future__ import annotations

import base64
import datetime
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.machinery import meta
from apiserver_app.machinery.syntax import goduration

INT_MAX = (1 << 63) - 1
INT_MIN = -(1 << 63)
UINT_MAX = (1 << 64) - 1
NANOS = 1_000_000_000
TIME_MIN = -62135596800 * NANOS
_TIME_MAX = 253402300799 * NANOS + NANOS - 1
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


class UInt(int):
    """A CEL uint."""


class Duration:
    """A duration in nanoseconds."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        if not INT_MIN <= nanos <= INT_MAX:
            raise EvaluationError("duration overflow")
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nanos), NANOS)
        part = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if self.nanos < 0 else ''}{whole}{part}s"


class Timestamp:
    """Nanoseconds since 1970, in UTC; `offset` is its original zone's in seconds, used only for
    printing."""

    __slots__ = ("nanos", "offset")

    def __init__(self, nanos: int, offset: int = 0) -> None:
        self.offset = offset
        if not TIME_MIN <= nanos <= _TIME_MAX:
            raise EvaluationError("timestamp overflow")
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def moment(self, zone: datetime.tzinfo = datetime.UTC) -> datetime.datetime:
        seconds = self.nanos // NANOS
        return (meta.EPOCH + datetime.timedelta(seconds=seconds)).astimezone(zone)

    def __str__(self) -> str:
        rest = self.nanos % NANOS
        part = f".{rest:09d}".rstrip("0") if rest else ""
        seconds = self.offset
        moment = self.moment(datetime.timezone(datetime.timedelta(seconds=seconds)))
        hours, minutes = divmod(abs(seconds) // 60, 60)
        zone = f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}" if seconds else "Z"
        return f"{moment.year:04d}{moment.strftime('-%m-%dT%H:%M:%S')}{part}{zone}"


class TypeValue:
    """A type as a value: `type(1)`, `int`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class Optional:
    """An optional value; `NONE` is the missing one."""

    __slots__ = ("has", "value")

    def __init__(self, value: Any, has: bool = True) -> None:
        self.value = value
        self.has = has

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.has != other.has:
            return False
        return not self.has or equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash(self.has)


NONE = Optional(None, False)


class Message(dict[str, Any]):
    """A constructed object, `Object.spec{...}`; unset fields are absent."""

    def __init__(self, type_name: str) -> None:
        super().__init__()
        self.type_name = type_name


class Lazy(dict[str, Any]):
    """A map whose values are computed at their first use: `variables`."""

    def __init__(self, names: frozenset[str], resolve: Callable[[str], Any]) -> None:
        super().__init__()
        self.names = names
        self._resolve = resolve

    def __missing__(self, key: str) -> Any:
        if key not in self.names:
            raise KeyError(key)
        value = self[key] = self._resolve(key)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))


class SetList(list[Any]):
    """x-kubernetes-list-type: set. Equal in any order; `+` keeps existing items."""


class MapList(list[Any]):
    """x-kubernetes-list-type: map. Equal in any order; `+` replaces by key."""

    keys: tuple[str, ...] = ()

    def key_of(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.get(key) if isinstance(item, dict) else None for key in self.keys)


_PLAIN = frozenset((str, int, bool, bytes, type(None)))
_NUMBERS = (int, float)


def equal(left: Any, right: Any) -> bool:
    """CEL's `==`: numbers compare by value whatever their type, other types are never equal to each
    other."""
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        return bool(left == right)
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        if isinstance(left, bool) != isinstance(right, bool):
            return False
        left, right = amounts(left, right)
        return bool(left == right)
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        return all(key in right and equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        if isinstance(left, (SetList, MapList)) or isinstance(right, (SetList, MapList)):
            return _same_items(left, right)
        return all(map(equal, left, right))
    return kind is type(right) and bool(left == right)


def amounts(left: float, right: float) -> tuple[float, float]:
    """Converts two numbers for comparison: an int becomes a double when the other is one."""
    if isinstance(left, float) != isinstance(right, float):
        return float(left), float(right)
    return left, right


def _same_items(left: list[Any], right: list[Any]) -> bool:
    if isinstance(left, SetList) or isinstance(right, SetList):
        return all(contains(right, item) for item in left)
    holder = left if isinstance(left, MapList) else right
    assert isinstance(holder, MapList)
    return all(
        any(holder.key_of(item) == holder.key_of(its) and equal(item, its) for its in right)
        for item in left
    )


def contains(items: list[Any], item: Any) -> bool:
    if type(item) is str:
        return item in items
    return any(equal(item, other) for other in items)


def plus(left: list[Any], right: list[Any]) -> list[Any]:
    """Concatenates lists; sets and maps of the API are merged."""
    if isinstance(left, SetList):
        joined: list[Any] = SetList(left)
        joined += [item for item in right if not contains(left, item)]
        return joined
    if isinstance(left, MapList):
        return _merged(left, right)
    return [*left, *right]


def _merged(left: MapList, right: list[Any]) -> MapList:
    merged = MapList(left)
    merged.keys = left.keys
    places = {repr(left.key_of(item)): index for index, item in enumerate(left)}
    for item in right:
        index = places.get(repr(left.key_of(item)))
        if index is None:
            merged.append(item)
        else:
            merged[index] = item
    return merged


def checked(number: int) -> int:
    """Returns an int result; raises on overflow of 64 bits."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvaluationError("integer overflow")


def checked_uint(number: int) -> UInt:
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise EvaluationError("unsigned integer overflow")


def timestamp(text: str) -> Timestamp:
    """Parses RFC 3339. Raises EvaluationError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise EvaluationError("invalid timestamp")
    year, month, day, hour, minute, second, part, zone = match.groups()
    try:
        moment = datetime.datetime(
            int(year),
            int(month),
            int(day),
            int(hour),
            int(minute),
            int(second),
            tzinfo=datetime.UTC,
        )
    except ValueError:
        raise EvaluationError("invalid timestamp") from None
    delta = moment - meta.EPOCH
    seconds = delta.days * 86_400 + delta.seconds
    offset = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 24 or minutes > 60:
            raise EvaluationError("invalid timestamp")
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    nanos = int((part or "")[:9].ljust(9, "0"))
    return Timestamp((seconds - offset) * NANOS + nanos, offset)


def duration(text: str) -> Duration:
    """Parses Go durations: `1h30m`, `-2.5s`. Raises EvaluationError."""
    try:
        return Duration(goduration.parse(text))
    except goduration.DurationError:
        raise EvaluationError(f'time: invalid duration "{text}"') from None


def double_text(value: float) -> str:
    """Formats a double as Go's shortest %g."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    mantissa, _, power = text.partition("e")
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).strip("0") or "0"
    first = len(whole.lstrip("0")) or -(len(part) - len(part.lstrip("0")))
    exponent = int(power or 0) + (first - 1 if value else 0)
    if -4 <= exponent < 6:
        text = f"{value:f}" if power else text
        return text.removesuffix(".0")
    sign = "-" if value < 0 else ""
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


_KEYS = {int: "types.Int", bool: "types.Bool", UInt: "types.Uint"}


def plain(value: Any) -> Any:
    """Converts a value to JSON: strings for times, base64 for bytes, None for a missing optional.
    Raises EvaluationError for values without a JSON form."""
    kind = type(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind in _PLAIN:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise EvaluationError(f"json: unsupported value: {double_text(value)}")
        return value
    if isinstance(value, dict):
        return {_name(key): plain(value[key]) for key in value}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Optional):
        return plain(value.value)
    if isinstance(value, UInt):
        return int(value)
    return str(value)


def _name(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise EvaluationError(f'map key "{key}" is of type {_KEYS[type(key)]}, not string')
