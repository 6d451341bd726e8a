"""`string.format`: what its clauses make of values, and what is wrong with a call that is written
out.

Numbers of `%f` and `%e` are written as in American English, as upstream's printer writes them.

Models cel-go ext/formatting.go (Kubernetes' version 2 of the string extension).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, type_name
from apiserver_app.cel.syntax.tree import ListNode, MapNode, Node
from apiserver_app.cel.types import Type
from apiserver_app.cel.values import Duration, Timestamp, double_text
from apiserver_app.machinery.errors import quoted
from apiserver_app.machinery.releases import Release

PRECISION_MAX = 1000  # upstream has no bound but memory
_DEFAULT_PRECISION = 6
_EXPONENT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")

_TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_INTEGERS = ("int", "uint")
_SHOWN = (*_INTEGERS, "double", "bool", "string", "bytes", "type", "null_type", *_TIMES)
# what a clause takes, and the message for anything else
_TAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "s": (
        (*_SHOWN, "list", "map"),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps",
    ),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (("double", "string"), "fixed-point clause can only be used on doubles"),
    "e": (("double", "string"), "scientific clause can only be used on doubles"),
    "b": ((*_INTEGERS, "bool"), "only integers and bools can be formatted as binary"),
    "x": (
        (*_INTEGERS, "string", "bytes"),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
_TAKES["X"] = _TAKES["x"]
_FAILED = "error during formatting: "


class Clause(NamedTuple):
    verb: str
    precision: int


def parts(text: str) -> Iterator[str | Clause]:
    """What stands between clauses, and the clauses. Raises EvaluationError where one is wrong,
    which is after its argument was asked for."""
    at = 0
    while at < len(text):
        mark = text.find("%", at)
        if mark < 0:
            break
        yield text[at:mark]
        if text.startswith("%%", mark):
            yield "%"
            at = mark + 2
            continue
        yield Clause("", 0)
        if mark + 1 >= len(text):
            raise EvaluationError("unexpected end of string")
        precision, at = _precision(text, mark + 1)
        if text[at] not in _TAKES:
            raise _unparsed(f'unrecognized formatting clause "{text[at]}"')
        yield Clause(text[at], precision)
        at += 1
    yield text[at:]


def _precision(text: str, at: int) -> tuple[int, int]:
    if text[at] != ".":
        return _DEFAULT_PRECISION, at
    head = "error while parsing precision: "
    match = re.compile(r"[0-9]*").match(text, at + 1)
    assert match is not None
    if match.end() == len(text):
        raise _unparsed(f"{head}could not find end of precision specifier")
    digits = match.group()
    if not digits:
        raise _unparsed(
            f'{head}error while converting precision to integer: strconv.Atoi: parsing "": '
            "invalid syntax"
        )
    if len(digits) > 18 or int(digits) > PRECISION_MAX:
        raise _unparsed(
            f"{head}precision {digits} exceeds maximum allowed precision {PRECISION_MAX}"
        )
    return int(digits), match.end()


def _unparsed(why: str) -> EvaluationError:
    return EvaluationError(f"could not parse formatting clause: {why}")


def _format(text: str, args: list[Any]) -> str:
    out: list[str] = []
    used = 0
    for part in parts(text):
        if isinstance(part, str):
            out.append(part)
        elif not part.verb:
            if used >= len(args):
                raise EvaluationError(f"index {used} out of range")
        else:
            out.append(_clause(part, args[used]))
            used += 1
    return "".join(out)


def _clause(clause: Clause, arg: Any) -> str:
    kind = type_name(arg)
    takes, wrong = _TAKES[clause.verb]
    odd = kind == "string" and clause.verb in "fe" and arg not in _NOT_FINITE
    if kind not in takes or odd:
        raise EvaluationError(f"{_FAILED}{wrong}, was given {kind}")
    return _WRITERS[clause.verb](arg, clause.precision)


def _number(arg: Any, precision: int, write: Callable[[float, int], str]) -> str:
    value = float(arg)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return write(value, precision)


def _scientific(value: float, precision: int) -> str:
    """Always six digits: what should be the precision is upstream's width."""
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    power = exponent.lstrip("+").translate(_EXPONENT)
    text = f"{mantissa}×10{power}"
    return text if precision == _DEFAULT_PRECISION else text.rjust(precision)


def _hex(arg: Any, precision: int) -> str:
    if isinstance(arg, (str, bytes)):
        return (arg.encode() if isinstance(arg, str) else arg).hex()
    return f"{int(arg):x}"


_WRITERS: dict[str, Callable[[Any, int], str]] = {
    "s": lambda arg, precision: shown(arg),
    "d": lambda arg, precision: str(int(arg)),
    "f": lambda arg, precision: _number(
        arg, precision, lambda value, digits: f"{value:,.{digits}f}"
    ),
    "e": lambda arg, precision: _number(arg, precision, _scientific),
    "b": lambda arg, precision: f"{int(arg):b}",
    "x": _hex,
    "X": lambda arg, precision: _hex(arg, precision).upper(),
    "o": lambda arg, precision: f"{int(arg):o}",
}


def shown(arg: Any) -> str:
    """What %s makes of a value that it takes."""
    if arg is None:
        return "null"
    if isinstance(arg, bool):
        return "true" if arg else "false"
    if isinstance(arg, bytes):
        try:
            return arg.decode()
        except UnicodeDecodeError:
            why = '"invalid UTF-8 in bytes, cannot convert to string"'
            raise EvaluationError(f"{_FAILED}could not convert argument {why} to string") from None
    if isinstance(arg, int):
        return str(int(arg))
    if isinstance(arg, float):
        return double_text(arg)
    if isinstance(arg, list):
        return "[" + ", ".join(map(_literal, arg)) + "]"
    if isinstance(arg, dict):
        pairs = sorted(((_key(key), _literal(arg[key])) for key in arg), key=lambda pair: pair[0])
        return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"
    return str(arg)


def _key(key: Any) -> str:
    if type_name(key) not in ("string", "bool", "int", "uint"):
        raise EvaluationError(
            f"{_FAILED}no formatting function for map key of type {type_name(key)}"
        )
    return _literal(key)


def _literal(arg: Any) -> str:
    """A value inside of a list or map, as one would write it."""
    kind = type_name(arg)
    if kind not in _TAKES["s"][0]:
        raise EvaluationError(f"{_FAILED}no formatting function for {kind}")
    if isinstance(arg, str):
        return quoted(arg)
    if isinstance(arg, bytes):
        return "b" + quoted(shown(arg))
    if isinstance(arg, float):
        return f"{arg:.6f}" if math.isfinite(arg) else f'"{double_text(arg)}"'
    if isinstance(arg, (Timestamp, Duration)):
        return f"{'timestamp' if isinstance(arg, Timestamp) else 'duration'}({quoted(str(arg))})"
    return shown(arg)


# -- calls that are written out -----------------------------------------------------------------


def issue(text: str, args: Sequence[Node], kinds: Mapping[int, Type]) -> tuple[int, str] | None:
    """What can never be right with `text.format([args])`: which argument it is about (-1 for the
    call), and the words."""
    used = 0
    try:
        for part in parts(text):
            if isinstance(part, str):
                continue
            if part.verb:
                wrong = _misfit(part, args[used], kinds)
                if wrong:
                    return used, wrong
                used += 1
            elif used >= len(args):
                return -1, f"index {used} out of range"
    except EvaluationError as error:
        return -1, str(error)
    if used < len(args):
        text = f"(expected {used}, got {len(args)})"
        return -1, f"too many arguments supplied to string.format {text}"
    return None


def _misfit(clause: Clause, arg: Node, kinds: Mapping[int, Type]) -> str:
    takes, wrong = _TAKES[clause.verb]
    for node in _inside(arg) if clause.verb == "s" else (arg,):
        name = kinds[id(node)].name
        if name not in (*takes, "dyn", "*error*"):
            return f"{_FAILED}{wrong}, was given {name}"
    return ""


def _inside(node: Node) -> Iterator[Node]:
    """A value, and what is in it when it is a list or a map that is written out."""
    yield node
    if isinstance(node, (ListNode, MapNode)):
        for child in node.children():
            yield from _inside(child)


def _cost(text: str, *rest: Any) -> int:
    return math.ceil(len(text) * 0.1)


declare("string.format(list(dyn)) string", _format, _cost, Release(29))
