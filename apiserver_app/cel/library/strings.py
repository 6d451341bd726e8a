"""Texts: the string extension.

Models cel-go ext/strings.go, ext/formatting.go (version 2, Kubernetes' since 1.29).
"""

from __future__ import annotations

import math
import re
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import NO_OVERLOAD, declare, size, traversal
from apiserver_app.cel.values import Optional, TypeValue, UInt, double_text

_WHITE = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009" \
         "\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip
_CLAUSE = re.compile(r"%(%|(?:\.(\d{1,3}))?([a-zA-Z]))")
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise EvaluationError(f"index out of range: {at}")
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        if part == "" and start == 0:
            return 0
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is None:
        return text.rfind(part)
    if not 0 <= last <= len(text):
        raise EvaluationError(f"index out of range: {last}")
    return text.rfind(part, 0, last + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, by: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if by == "":
        parts = list(text)
        if 0 < count < len(parts):
            parts = [*parts[: count - 1], "".join(parts[count - 1 :])]
        return parts
    return text.split(by, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if not 0 <= stop <= len(text):
        raise EvaluationError(f"index out of range: {stop}")
    if start > stop:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _join(parts: list[Any], by: str = "") -> str:
    if not all(type(part) is str for part in parts):
        raise EvaluationError(NO_OVERLOAD)
    return by.join(parts)


_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quote(text: str) -> str:
    return '"' + "".join(_QUOTED.get(char, char) for char in text) + '"'


# -- format -------------------------------------------------------------------------------------


def _format(text: str, args: list[Any]) -> str:
    given = iter(args)
    out: list[str] = []
    at = used = 0
    while at < len(text):
        mark = text.find("%", at)
        if mark < 0:
            break
        out.append(text[at:mark])
        match = _CLAUSE.match(text, mark)
        if match is None:
            raise EvaluationError(
                "unexpected end of string"
                if mark + 1 >= len(text)
                else f'unrecognized formatting clause "{text[mark + 1]}"'
            )
        at = match.end()
        if match.group(1) == "%":
            out.append("%")
            continue
        try:
            arg = next(given)
        except StopIteration:
            raise EvaluationError(f"index {used} out of range") from None
        used += 1
        precision = int(match.group(2)) if match.group(2) else 6
        out.append(_clause(match.group(3), arg, precision))
    out.append(text[at:])
    return "".join(out)


def _clause(clause: str, arg: Any, precision: int) -> str:
    number = isinstance(arg, (int, float)) and not isinstance(arg, bool)
    if clause == "s":
        return _shown(arg)
    if clause == "d" and number:
        return str(int(arg)) if isinstance(arg, int) else double_text(arg)
    if clause in ("f", "e") and number:
        value = float(arg)
        if math.isnan(value) or math.isinf(value):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
        return f"{value:.{precision}{clause}}"
    if clause == "b" and isinstance(arg, int):
        return f"{int(arg):b}"
    if clause == "o" and number and isinstance(arg, int):
        return f"{int(arg):o}"
    if clause in ("x", "X"):
        if isinstance(arg, (str, bytes)):
            digits = (arg.encode() if isinstance(arg, str) else arg).hex()
        elif number and isinstance(arg, int):
            digits = f"{int(arg):x}"
        else:
            raise _no_clause(clause)
        return digits.upper() if clause == "X" else digits
    if clause not in "sdfebox":
        raise EvaluationError(f'unrecognized formatting clause "{clause}"')
    raise _no_clause(clause)


_WORDS = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
}


def _no_clause(clause: str) -> EvaluationError:
    return EvaluationError(f"error during formatting: {_WORDS[clause]}")


def _shown(arg: Any) -> str:
    """What %s makes of a value."""
    if isinstance(arg, str):
        return arg
    if arg is None:
        return "null"
    if isinstance(arg, bool):
        return "true" if arg else "false"
    if isinstance(arg, bytes):
        return arg.decode("utf-8", "replace")
    if isinstance(arg, (UInt, int)):
        return str(int(arg))
    if isinstance(arg, float):
        return double_text(arg)
    if isinstance(arg, list):
        return "[" + ", ".join(map(_shown, arg)) + "]"
    if isinstance(arg, dict):
        shown = sorted((_shown(key), _shown(arg[key])) for key in arg)
        return "{" + ", ".join(f"{key}: {value}" for key, value in shown) + "}"
    if isinstance(arg, Optional):
        return f"optional({_shown(arg.value)})" if arg.has else "optional.none()"
    if isinstance(arg, TypeValue) or hasattr(arg, "nanos"):
        return str(arg)
    raise EvaluationError(
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, "
        f"doubles, maps, lists, types, durations, and timestamps, was given {type(arg).__name__}"
    )


def _whole_list(parts: list[Any], *rest: Any) -> int:
    return math.ceil(sum(1 + size(part) for part in parts) * 0.1) + 1


def _format_cost(text: str, args: list[Any], *rest: Any) -> int:
    return math.ceil((len(text) + sum(map(size, args))) * 0.1) + len(args)


def _product(text: str, part: str, *rest: Any) -> int:
    return math.ceil(len(text) * 0.1) * max(1, math.ceil(len(part) * 0.1))


def _replaced(text: str, old: str, new: str, *rest: Any) -> int:
    count = text.count(old) if len(new) > len(old) else 0
    return math.ceil((len(text) + count * len(new)) * 0.1) * 2


def _declare() -> None:
    member: dict[str, tuple[Any, Any]] = {
        "string.charAt(int) string": (_char_at, None),
        "string.indexOf(string) int": (_index_of, _product),
        "string.indexOf(string, int) int": (_index_of, _product),
        "string.lastIndexOf(string) int": (_last_index_of, _product),
        "string.lastIndexOf(string, int) int": (_last_index_of, _product),
        "string.lowerAscii() string": (lambda text: text.translate(_LOWER), traversal),
        "string.upperAscii() string": (lambda text: text.translate(_UPPER), traversal),
        "string.replace(string, string) string": (_replace, _replaced),
        "string.replace(string, string, int) string": (_replace, _replaced),
        "string.split(string) list(string)": (_split, traversal),
        "string.split(string, int) list(string)": (_split, traversal),
        "string.substring(int) string": (_substring, traversal),
        "string.substring(int, int) string": (_substring, traversal),
        "string.trim() string": (lambda text: text.strip(_WHITE), traversal),
        "list(string).join() string": (_join, _whole_list),
        "list(string).join(string) string": (_join, _whole_list),
    }
    for signature, (impl, cost) in member.items():
        declare(signature, impl, cost)
    declare("string.format(list(dyn)) string", _format, _format_cost, (1, 29))
    declare("$strings.quote(string) string", quote, traversal, (1, 29))


_declare()
