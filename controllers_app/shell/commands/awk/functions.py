"""The functions that awk has of its own.

Models busybox editors/awk.c (exec_builtin) and POSIX.1-2017, Utilities, awk (Functions).
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from apiserver_app.machinery.kernel import SECOND
from controllers_app.shell.commands.awk import parser
from controllers_app.shell.commands.awk.parser import Node
from controllers_app.shell.commands.awk.values import Field, Value, number
from controllers_app.shell.interpreter import Call
from controllers_app.shell.regex import Pattern

_MARK = re.compile(r"\\(&|\\)|&")
_RANDOM = 1 << 23  # numbers that a container's row has
_MATH: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
    "int": math.trunc,
}


class Program(Protocol):
    """What the functions ask of the program that calls them."""

    call: Call
    arrays: dict[str, dict[str, Value]]

    async def value(self, node: Node) -> Value: ...

    def string(self, value: Value) -> str: ...

    def text(self, name: str) -> str:
        """A variable as a text."""
        ...

    def record(self) -> str: ...

    async def cut(self, text: str, separator: str) -> list[str]: ...

    async def split(self, pattern: Pattern, text: str) -> list[str]: ...

    def matches(self, pattern: Pattern, text: str) -> AsyncIterator[Any]: ...

    async def pattern(self, node: Node) -> Pattern: ...

    async def formatted(self, values: list[Value]) -> str: ...

    async def bounded(self, text: str) -> str: ...

    async def set(self, target: Node, value: Value) -> None: ...


async def call(program: Program, name: str, given: list[Node]) -> Value:
    """The value of a call; `given` is not evaluated yet, since some name an array."""
    if name in ("split", "sub", "gsub", "match") and len(given) < 2:
        raise parser.failed(1, "Too few arguments")
    if name == "length" and given and given[0][0] == "variable":
        array = program.arrays.get(given[0][1])
        if array is not None:
            return float(len(array))
    if name == "split":
        return await _split(program, given)
    if name in ("sub", "gsub"):
        return await _substitute(program, given, all_=name == "gsub")
    if name == "match":
        return await _match(program, given)
    values = [await program.value(value) for value in given]
    if name in _MATH or name == "atan2":
        return _count(name, [number(value) for value in values])
    if name == "rand":
        return program.call.machine.random() % _RANDOM / _RANDOM
    if name == "systime":
        return float(program.call.runner.now // SECOND)
    if name in ("srand", "close", "fflush"):
        return 0.0
    if name == "sprintf":
        return await program.formatted(values)
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
    given = [program.string(value) for value in values]
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


async def _split(program: Program, given: list[Node]) -> Value:
    text, target = program.string(await program.value(given[0])), given[1]
    if target[0] != "variable":
        raise parser.failed(1, "Unexpected token")
    if len(given) < 3:
        parts = await program.cut(text, program.text("FS"))
    elif given[2][0] == "pattern":
        parts = await program.split(await program.pattern(given[2]), text) if text else []
    else:
        parts = await program.cut(text, program.string(await program.value(given[2])))
    array = program.arrays.setdefault(target[1], {})
    array.clear()
    program.call.hold(sum(map(len, parts)) + 150 * len(parts))
    array.update({str(at): Field(part) for at, part in enumerate(parts, 1)})
    return float(len(parts))


async def _substitute(program: Program, given: list[Node], *, all_: bool) -> Value:
    replacement = program.string(await program.value(given[1]))
    target: Node = given[2] if len(given) > 2 else ("field", ("constant", 0.0))

    before = program.string(await program.value(target))
    out, at, count = [], 0, 0
    size = len(before)
    async for matches in program.matches(await program.pattern(given[0]), before):
        text = before[matches.start() : matches.end()]
        made = _MARK.sub(lambda mark: mark[1] or text, replacement)  # noqa: B023
        out.append(before[at : matches.start()] + made)
        at = matches.end()
        size += len(made)
        await program.bounded(made)
        count += 1
        if not all_:
            break
    if count and target[0] in ("variable", "field", "index"):
        await program.set(target, await program.bounded("".join(out) + before[at:]))
    return float(count)


async def _match(program: Program, given: list[Node]) -> Value:
    text = program.string(await program.value(given[0]))
    pattern = await program.pattern(given[1])
    await program.call.work(pattern.cost(len(text)))
    match = pattern.search(text)
    start, length = (match.start() + 1, match.end() - match.start()) if match else (0, -1)
    await program.set(("variable", "RSTART"), float(start))
    await program.set(("variable", "RLENGTH"), float(length))
    return float(start)
