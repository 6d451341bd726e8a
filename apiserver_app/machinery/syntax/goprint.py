"""JSON values as Go prints them once they are read into maps: fmt's %v, %s and %#v."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from apiserver_app.machinery import errors

_EXPONENT_MIN = 6  # of floats that are printed with one
INT64_MAX = (1 << 63) - 1
_VERB = re.compile(r"%[-+# 0]*[0-9]*(?:\.[0-9]*)?(.?)", re.DOTALL)
_MISSING = re.compile(r"%!(.)\(MISSING\)", re.DOTALL)


def plain(value: Any) -> str:
    """%v: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{plain(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(plain, value))}]"
    return value if isinstance(value, str) else "<nil>" if value is None else _scalar(value)


def text(value: Any) -> str:
    """%s: like %v, but what is no text is marked with its type."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(text, value))}]"
    if isinstance(value, str):
        return value
    if value is None:
        return "%!s(<nil>)"
    kind = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"
    return f"%!s({kind}={_scalar(value)})"


def syntax(value: Any) -> str:
    """%#v: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        inside = ", ".join(
            f"{errors.quoted(name)}:{_inside(value[name])}" for name in sorted(value)
        )
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_inside, value))}}}"
    return errors.quoted(value) if isinstance(value, str) else _scalar(value)


def formatted(text: str) -> str:
    """A text that is taken for a format without arguments."""

    def verb(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        return f"%!{match[1]}(MISSING)" if match[1] else "%!(NOVERB)"

    return _VERB.sub(verb, text) if "%" in text else text


def unformatted(text: str) -> str:
    """What was taken for a format, as it was before."""
    return _MISSING.sub(r"%\1", text).replace("%!(NOVERB)", "%") if "%!" in text else text


def as_float(value: Any) -> Any:
    """A value whose integers beyond int64 are floats, as Go reads them."""
    if isinstance(value, dict):
        return {name: as_float(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_float(item) for item in value]
    if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
        return float(value)
    return value


def _inside(value: Any) -> str:
    return "interface {}(nil)" if value is None else syntax(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "JSON has no other floats"
    point = len(digits) + exponent - 1
    if not any(digits) or -4 <= point < _EXPONENT_MIN:
        return f"{value:.0f}" if float(value).is_integer() else format(Decimal(repr(value)), "f")
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return f"{'-' * sign}{first}{'.' * bool(rest)}{rest}e{point:+03d}"
