"""Quantities: exact amounts with a suffix, such as `500m`, `1.5Gi` or `2e3`.

An amount is `value` times ten to the power of `scale`, both whole numbers, so every sum is exact.
Nothing smaller than a nano exists: what is written smaller is rounded away from zero. Texts are
parsed once and kept in bounded caches. Never uses floating point.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/resource/{quantity,amount,suffix}.go.
"""

from __future__ import annotations

import functools
import re

QUANTITIES_CACHED_MAX = 8192

DECIMAL_EXPONENT, BINARY_SI, DECIMAL_SI = "DecimalExponent", "BinarySI", "DecimalSI"

FORMAT_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NUMERIC_WRONG = "unable to parse numeric part of quantity"
SUFFIX_WRONG = "unable to parse quantity's suffix"

NANO = -9
MILLI = -3
EXPONENT_MAX = 1000  # an exponent or a text beyond it only serves to exhaust memory

_INT64_MAX = (1 << 63) - 1
_INT64_DIGITS = 18
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: name for name, exponent in _DECIMAL.items()}
_BINARY_NAMES = {0: "", **{exponent: name for name, exponent in _BINARY.items()}}

_scan = re.compile(
    r"(?P<sign>[+-]?)(?P<zeros>0*)(?P<whole>[0-9]*)(?P<point>\.?)(?P<part>[0-9]*)"
    r"(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)",
    re.ASCII,
).fullmatch
_is_exponent = re.compile(r"[eE][+-]?[0-9]+", re.ASCII).fullmatch


class QuantityError(ValueError):
    """A text that is no quantity; the message is upstream's."""


class Quantity:
    """An amount and how it likes to be written. Never changes.

    `text` is what it was written as when that counts as canonical, else empty. `is_decimal` says
    that upstream keeps it as an arbitrary decimal, not as a scaled int64.
    """

    __slots__ = ("format", "is_decimal", "scale", "text", "value")

    def __init__(
        self, value: int, scale: int, format_: str, text: str = "", is_decimal: bool = False
    ) -> None:
        self.value = value
        self.scale = scale
        self.format = format_
        self.text = text
        self.is_decimal = is_decimal

    def scaled(self, scale: int) -> int:
        """The amount in units of ten to the power of `scale`, rounded away from zero."""
        shift = self.scale - scale
        if shift >= 0:
            return self.value * _power(shift)
        return _divide_up(self.value, _power(-shift))

    @property
    def is_zero(self) -> bool:
        return self.value == 0

    def __add__(self, other: Quantity) -> Quantity:
        return self._plus(other.value, other)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(-other.value, other)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.value * factor, self.scale, self.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.value, self.scale, self.format)

    def _plus(self, value: int, other: Quantity) -> Quantity:
        """A sum; zero takes over the other's format."""
        if self.value == 0:
            return Quantity(value, other.scale, other.format)
        if value == 0:
            return Quantity(self.value, self.scale, self.format)
        scale = min(self.scale, other.scale)
        mine = self.value * _power(self.scale - scale)
        return Quantity(mine + value * _power(other.scale - scale), scale, self.format)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1."""
        scale = min(self.scale, other.scale)
        mine = self.value * _power(self.scale - scale)
        theirs = other.value * _power(other.scale - scale)
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __hash__(self) -> int:
        return hash(_without_factors(self.value, self.scale, 10))

    def __str__(self) -> str:
        return self.text or self._canonical()

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        """No fraction, the largest suffix that leaves none; binary only where it is exact."""
        if self.value == 0:
            return "0"
        if self.format == BINARY_SI:
            whole, rest = divmod(self.value * 10 ** max(self.scale, 0), 10 ** max(-self.scale, 0))
            if rest == 0 and not -1024 < whole < 1024:
                whole, times = _without_factors(whole, 0, 1024)
                return f"{whole}{_BINARY_NAMES.get(10 * times, '')}"
        number, exponent = _without_factors(self.value, self.scale, 10)
        number *= 10 ** (exponent % 3)
        exponent -= exponent % 3
        if self.format == DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_NAMES.get(exponent, '')}"


ZERO = Quantity(0, 0, DECIMAL_SI, "0")


@functools.lru_cache(maxsize=QUANTITIES_CACHED_MAX)
def parse(text: str) -> Quantity:
    """A quantity from its text. Raises QuantityError."""
    if not text:
        raise QuantityError(FORMAT_WRONG)
    if text == "0":
        return ZERO
    match = _scan(text)
    if match is None:
        raise QuantityError(FORMAT_WRONG)
    if len(text) > EXPONENT_MAX:
        raise QuantityError(NUMERIC_WRONG)
    sign, zeros, whole, point, part, suffix = match.groups()
    if not whole and not point and not zeros and suffix[:1] in ("+", "-"):
        raise QuantityError(FORMAT_WRONG)
    base, exponent, format_ = _interpret(suffix)
    whole = whole or "0"
    sign_ = -1 if sign == "-" else 1
    quick = _quick(sign_, whole, part, base, exponent, format_, text)
    return quick or _exact(sign_, whole, part, base, exponent, format_)


def canonical(value: str | float) -> str:
    """A quantity as it is stored and shown: its text, or the canonical form of its amount."""
    return _canonical(value if isinstance(value, str) else _number_text(value))


def value(text: str | float) -> int:
    """The whole units of a quantity, rounded up."""
    return _scaled(text if isinstance(text, str) else _number_text(text), 0)


def milli_value(text: str | float) -> int:
    """The thousandths of a quantity, rounded up."""
    return _scaled(text if isinstance(text, str) else _number_text(text), MILLI)


def from_value(value: int) -> Quantity:
    return Quantity(value, 0, DECIMAL_SI)


def from_milli(value: int, format_: str = DECIMAL_SI) -> Quantity:
    return Quantity(value, MILLI, format_)


@functools.lru_cache(maxsize=QUANTITIES_CACHED_MAX)
def _canonical(text: str) -> str:
    return str(parse(text.strip()))


@functools.lru_cache(maxsize=QUANTITIES_CACHED_MAX)
def _scaled(text: str, scale: int) -> int:
    return parse(text.strip()).scaled(scale)


def _number_text(number: float) -> str:
    """A JSON number as it was most likely written."""
    return str(number)


def _interpret(suffix: str) -> tuple[int, int, str]:
    """(base, exponent, format) of a suffix."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], BINARY_SI
    if _is_exponent(suffix):
        exponent = int(suffix[1:]) if len(suffix) < 20 else EXPONENT_MAX + 1
        if exponent <= EXPONENT_MAX:
            return 10, max(exponent, -EXPONENT_MAX), DECIMAL_EXPONENT
    raise QuantityError(SUFFIX_WRONG)


def _quick(
    sign: int, whole: str, part: str, base: int, exponent: int, format_: str, text: str
) -> Quantity | None:
    """What upstream keeps as a scaled int64; the text is kept when it counts as canonical."""
    if base == 10:
        room = _INT64_DIGITS - len(whole) - len(part)
        scale = exponent - len(part)
        factor = 1
    else:
        room = 15 - len(whole) - 3 * exponent // 10 - 1 if not part else -1
        scale = 0
        factor = 1 << exponent
    if room < 0 or scale < NANO:
        return None
    digits = whole + part
    number = int(digits)
    amount = number * factor
    if amount > _INT64_MAX:
        return None
    if base == 2:
        keeps = bool(number & 7)
    else:
        keeps = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(sign * amount, scale, format_, text if keeps else "")


def _exact(sign: int, whole: str, part: str, base: int, exponent: int, format_: str) -> Quantity:
    """The long way: rounded up to nanos, and capped where upstream caps."""
    number = int(whole + part)
    scale = -len(part)
    if base == 10:
        scale += exponent
    else:
        number <<= exponent
    if scale < NANO:
        number, scale = _divide_up(number, 10 ** (NANO - scale)), NANO
    if base == 2:
        unit = 10**-scale
        if number > _INT64_MAX * unit:
            number, scale = _INT64_MAX, 0
        elif 0 < number < unit:
            format_ = DECIMAL_SI
    return Quantity(sign * number, scale, format_, is_decimal=True)


def _power(exponent: int) -> int:
    """Ten to a power that is not negative."""
    return int(10**exponent)


def _divide_up(number: int, divisor: int) -> int:
    """A quotient rounded away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def _without_factors(number: int, exponent: int, base: int) -> tuple[int, int]:
    """(number, exponent) with all factors of the base moved into the exponent."""
    if number == 0:
        return 0, 0
    while number % base == 0:
        number //= base
        exponent += 1
    return number, exponent
