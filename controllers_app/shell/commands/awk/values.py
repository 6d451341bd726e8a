"""Values of awk: numbers, texts, texts of the input that count as numbers, and nothing. Pure.

Models POSIX.1-2017, Utilities, awk (Expressions in awk).
"""

from __future__ import annotations

import math
import re

from controllers_app.shell.commands.awk import parser

_NUMBER = re.compile(r"\s*[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][-+]?\d{1,3})?")
Value = float | str | None


class Field(str):
    """A text of the input: if it looks like a number, it compares as one."""


def truth(value: Value) -> bool:
    number = numeric(value)
    return bool(value) if number is None else bool(number)


def number(value: Value) -> float:
    """What a value counts as: a text by the number it begins with."""
    if isinstance(value, str):
        match = _NUMBER.match(value)
        return float(match[0]) if match else 0.0
    return value or 0.0


def numeric(value: Value) -> float | None:
    """The number that a value is compared as; None when it is a text."""
    if isinstance(value, Field):
        match = _NUMBER.fullmatch(value.strip())
        return float(match[0]) if match else None
    if isinstance(value, str):
        return None
    return value or 0.0


def counted(operator: str, left: float, right: float) -> float:
    if operator in "/%" and not right:
        raise parser.failed(1, "Division by zero")
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator == "/":
        return left / right
    if operator == "%":
        return math.fmod(left, right)
    power = left**right if left or right >= 0 else math.inf
    return power if isinstance(power, float) else math.nan


def shown(form: str, value: float) -> str:
    """A number by a format of printf."""
    kind = form[-1:]
    if kind in "diuxXo":
        if not math.isfinite(value):
            return str(value)
        return (form[:-1] + ("d" if kind in "iu" else kind)) % int(value)
    return form % value if kind in "fFeEgG" else form
