"""Quantities, semantic versions and `jsonpatch.escapeKey`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/{quantity,semverlib,jsonpatch}.go.
"""

from __future__ import annotations

import re
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, traversal
from apiserver_app.cel.values import INT_MAX, INT_MIN
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import quantity
from apiserver_app.machinery.syntax.quantity import Quantity

_NUMBER = r"(?:0|[1-9]\d*)"
_SEMVER = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z.\-]+))?(?:\+([0-9A-Za-z.\-]+))?",
    re.ASCII,
)
_DIGITS_MAX = 20  # of an unsigned number of 64 bits
_NORMAL = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:-[0-9A-Za-z.\-]+)?(?:\+.*)?)", re.ASCII)


class Amount:
    """A quantity as a value."""

    cel_type = "kubernetes.Quantity"
    __slots__ = ("quantity",)

    def __init__(self, value: Quantity) -> None:
        self.quantity = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.quantity == other.quantity

    def __hash__(self) -> int:
        return hash(self.quantity)

    def __str__(self) -> str:
        return str(self.quantity)


def _quantity(text: str) -> Amount:
    try:
        return Amount(quantity.parse(text))
    except quantity.QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except quantity.QuantityError:
        return False
    return True


def _is_integer(amount: Amount) -> bool:
    number = amount.quantity
    return (
        number.compare(quantity.from_value(number.scaled(0))) == 0
        and INT_MIN <= number.scaled(0) <= INT_MAX
    )


def _as_integer(amount: Amount) -> int:
    if not _is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.quantity.scaled(0)


def _as_double(amount: Amount) -> float:
    number = amount.quantity
    try:
        return (
            float(number.value * 10**number.scale)
            if number.scale >= 0
            else number.value / 10**-number.scale
        )
    except OverflowError:
        return float("inf") if number.value > 0 else float("-inf")


def _compare(left: Amount, right: Amount) -> int:
    return left.quantity.compare(right.quantity)


class Semver:
    cel_type = "kubernetes.Semver"
    __slots__ = ("numbers", "pre", "text")

    def __init__(self, numbers: tuple[int, int, int], pre: tuple[str, ...], text: str) -> None:
        self.numbers = numbers
        self.pre = pre
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and _semver_compare(self, other) == 0

    def __hash__(self) -> int:
        return hash((self.numbers, self.pre))

    def __str__(self) -> str:
        return self.text


def _semver(text: str, normalize: bool = False) -> Semver:
    if normalize:
        text = _normal(text)
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise EvaluationError(_semver_error(text))
    major, minor, patch, pre, _ = match.groups()
    parts = tuple((pre or "").split(".")) if pre else ()
    if any(not part or (part.isdigit() and len(part) > 1 and part[0] == "0") for part in parts):
        raise EvaluationError("Numeric PreRelease version must not contain leading zeroes")
    for part in parts:
        if part.isdigit():
            _number(part)
    return Semver((_number(major), _number(minor), _number(patch)), parts, text)


def _number(text: str) -> int:
    if len(text) > _DIGITS_MAX or int(text) >= 1 << 64:
        raise EvaluationError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _semver_error(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < 2:
        return "No Major.Minor.Patch elements found"
    return "Invalid character(s) found in version number"


def _normal(text: str) -> str:
    """Without a leading v and leading zeros, with all three numbers."""
    match = _NORMAL.fullmatch(text)
    if match is None:
        return text
    major, minor, patch, rest = match.groups()
    numbers = ((number or "").lstrip("0") or "0" for number in (major, minor, patch))
    return f"{'.'.join(numbers)}{rest}"


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _semver_compare(left: Semver, right: Semver) -> int:
    mine, its = _order(left), _order(right)
    return (mine > its) - (mine < its)


def _order(version: Semver) -> tuple[Any, ...]:
    pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in version.pre)
    return (*version.numbers, not version.pre, pre)


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def _declare() -> None:
    since = Release(28)
    members: dict[str, Any] = {
        "isGreaterThan(quantity) bool": lambda value, other: _compare(value, other) > 0,
        "isLessThan(quantity) bool": lambda value, other: _compare(value, other) < 0,
        "compareTo(quantity) int": _compare,
        "asApproximateFloat() double": _as_double,
        "asInteger() int": _as_integer,
        "isInteger() bool": _is_integer,
        "sign() int": lambda value: (value.quantity.value > 0) - (value.quantity.value < 0),
        "add(quantity) quantity": lambda value, other: Amount(value.quantity + other.quantity),
        "add(int) quantity": lambda value, by: Amount(value.quantity + quantity.from_value(by)),
        "sub(quantity) quantity": lambda value, other: Amount(value.quantity - other.quantity),
        "sub(int) quantity": lambda value, by: Amount(value.quantity - quantity.from_value(by)),
    }
    declare("quantity(string) quantity", _quantity, traversal, since)
    declare("isQuantity(string) bool", _is_quantity, traversal, since)
    for signature, impl in members.items():
        declare(f"quantity.{signature}", impl, None, since)
    since = Release(34)  # introduced with 1.33: new expressions compile as in the release before
    versions: dict[str, Any] = {
        "isGreaterThan(semver) bool": lambda value, other: _semver_compare(value, other) > 0,
        "isLessThan(semver) bool": lambda value, other: _semver_compare(value, other) < 0,
        "compareTo(semver) int": _semver_compare,
        "major() int": lambda value: value.numbers[0],
        "minor() int": lambda value: value.numbers[1],
        "patch() int": lambda value: value.numbers[2],
    }
    for word, impl in (("semver", _semver), ("isSemver", _is_semver)):
        result = "bool" if word == "isSemver" else "semver"
        declare(f"{word}(string) {result}", impl, traversal, since)
        declare(f"{word}(string, bool) {result}", impl, traversal, since)
    for signature, impl in versions.items():
        declare(f"semver.{signature}", impl, None, since)
    declare("$jsonpatch.escapeKey(string) string", _escape_key, traversal, Release(32))


_declare()
