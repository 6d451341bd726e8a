"""The functions that awk has of its own.

Models busybox editors/awk.c (exec_builtin) and POSIX.1-2017, Utilities, awk (Functions).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Protocol

from apiserver_app.machinery.kernel import SECOND
from controllers_app.shell.commands.awk import parser
from controllers_app.shell.commands.awk.parser import Node
from controllers_app.shell.commands.awk.values import Field, Value, number
from controllers_app.shell.interpreter import Call

_RANDOM = 1 << 23  # numbers that a container's row has
_MATH: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "exp": math.exp, "sqrt": math.sqrt, "log": math.log,
    "int": math.trunc,
}  # fmt: skip


class Program(Protocol):
    """What the functions ask of the program that calls them."""

    call: Call
    arrays: dict[str, dict[str, Value]]

    def value(self, node: Node) -> Value: ...

    def string(self, value: Value) -> str: ...

    def text(self, name: str) -> str:
        """A variable as a text."""
        ...

    def record(self) -> str: ...

    def cut(self, text: str, separator: str) -> list[str]: ...

    def pattern(self, node: Node) -> re.Pattern[str]: ...

    def formatted(self, values: list[Value]) -> str: ...

    def set(self, target: Node, value: Value) -> None: ...


def call(program: Program, name: str, given: list[Node]) -> Value:
    """The value of a call; `given` is not evaluated yet, since some name an array."""
    if name in ("split", "sub", "gsub", "match") and len(given) < 2:
        raise parser.failed(1, "Too few arguments")
    if name == "length" and given and given[0][0] == "variable":
        array = program.arrays.get(given[0][1])
        if array is not None:
            return float(len(array))
    if name == "split":
        return _split(program, given)
    if name in ("sub", "gsub"):
        return _substitute(program, given, all_=name == "gsub")
    if name == "match":
        return _match(program, given)
    values = [program.value(one) for one in given]
    if name in _MATH or name == "atan2":
        return _count(name, [number(one) for one in values])
    if name == "rand":
        return program.call.machine.random() % _RANDOM / _RANDOM
    if name == "systime":
        return float(program.call.runner.now // SECOND)
    if name in ("srand", "close", "fflush"):
        return 0.0
    if name == "sprintf":
        return program.formatted(values)
    return _text(program, name, values)


def _count(name: str, numbers: list[float]) -> Value:
    if len(numbers) < (2 if name == "atan2" else 1):
        raise parser.failed(1, "Too few arguments")
    try:
        if name == "atan2":
            return math.atan2(*numbers[:2])
        return float(_MATH[name](numbers[0]))
    except (ValueError, OverflowError):
        return math.nan


def _text(program: Program, name: str, values: list[Value]) -> Value:
    given = [program.string(one) for one in values]
    if name == "length":
        return float(len(given[0] if given else program.record()))
    if not given or (name in ("index", "substr") and len(given) < 2):
        raise parser.failed(1, "Too few arguments")
    if name == "index":
        return float(given[0].find(given[1]) + 1)
    if name == "substr":
        first = round(number(values[1]))
        end = first + round(number(values[2])) if len(values) > 2 else len(given[0]) + 1
        return given[0][max(first, 1) - 1 : max(end, 1) - 1]
    return given[0].upper() if name == "toupper" else given[0].lower()


def _split(program: Program, given: list[Node]) -> Value:
    text, target = program.string(program.value(given[0])), given[1]
    if target[0] != "variable":
        raise parser.failed(1, "Unexpected token")
    if len(given) < 3:
        parts = program.cut(text, program.text("FS"))
    elif given[2][0] == "pattern":
        parts = program.pattern(given[2]).split(text) if text else []
    else:
        parts = program.cut(text, program.string(program.value(given[2])))
    array = program.arrays.setdefault(target[1], {})
    array.clear()
    array.update({str(at): Field(part) for at, part in enumerate(parts, 1)})
    return float(len(parts))


def _substitute(program: Program, given: list[Node], *, all_: bool) -> Value:
    replacement = program.string(program.value(given[1]))
    target: Node = given[2] if len(given) > 2 else ("field", ("constant", 0.0))

    def put(found: re.Match[str]) -> str:
        return re.sub(r"\\(&|\\)|&", lambda mark: mark[1] if mark[1] else found[0], replacement)

    before = program.string(program.value(target))
    after, count = program.pattern(given[0]).subn(put, before, 0 if all_ else 1)
    if count and target[0] in ("variable", "field", "index"):
        program.set(target, after)
    return float(count)


def _match(program: Program, given: list[Node]) -> Value:
    found = program.pattern(given[1]).search(program.string(program.value(given[0])))
    start, length = (found.start() + 1, found.end() - found.start()) if found else (0, -1)
    program.set(("variable", "RSTART"), float(start))
    program.set(("variable", "RLENGTH"), float(length))
    return float(start)
