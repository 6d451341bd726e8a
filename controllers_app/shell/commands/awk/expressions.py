"""awk: the record, its fields, variables, and what expressions give.

Models busybox editors/awk.c and POSIX.1-2017, Utilities, awk (Expressions in awk).
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any

from controllers_app.shell import regex
from controllers_app.shell.commands.awk import functions, parser
from controllers_app.shell.commands.awk.parser import Node
from controllers_app.shell.commands.awk.values import (
    Field,
    Value,
    counted,
    number,
    numeric,
    shown,
    truth,
)
from controllers_app.shell.exits import CommandError
from controllers_app.shell.expansion import LETTERS
from controllers_app.shell.interpreter import Call
from controllers_app.shell.regex import Pattern

MATCHES_A_TURN = 20
FIELDS_MAX, TEXT_MAX, ENTRIES_MAX = 4096, 1 << 17, 50_000
ENTRY_BYTES = 150
_FORMAT = re.compile(r"%%|%[-+ 0#]*(?:\d{1,4}|\*)?(?:\.(?:\d{1,3}|\*)?)?[a-zA-Z]")


class Expressions:
    """The values of a program that runs. Long work is cut into pieces."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._variables: dict[str, Value] = {
            "FS": " ", "OFS": " ", "ORS": "\n", "RS": "\n", "NR": 0.0, "FNR": 0.0, "SUBSEP": "\x1c",
            "FILENAME": "", "CONVFMT": "%.6g", "OFMT": "%.6g", "RSTART": 0.0, "RLENGTH": -1.0,
        }  # fmt: skip
        self.arrays: dict[str, dict[str, Value]] = {
            "ENVIRON": {key: Field(text) for key, text in call.shell.environment().items()}
        }
        self._line = ""
        self._fields: list[Value] = []
        self._stale = False  # $0 is to be made of the fields

    async def _take(self, record: str) -> None:
        """A new $0."""
        self._line, self._stale = record, False
        cut = await self.cut(record, self.text("FS"))
        self._fields = [Field(item) for item in cut]

    async def cut(self, text: str, separator: str) -> list[str]:
        await self.call.work(1 + len(text) // LETTERS)
        if separator == " ":
            return text.split(None, FIELDS_MAX)[:FIELDS_MAX]
        if not text:
            return []
        if len(separator) == 1 and separator not in "\\":
            return text.split(separator, FIELDS_MAX)[:FIELDS_MAX]
        if not separator:
            return list(text[:FIELDS_MAX])
        return await self.split(self._regex(separator), text)

    async def split(self, pattern: Pattern, text: str) -> list[str]:
        out: list[str] = []
        at = 0
        async for match in self.matches(pattern, text):
            out.append(text[at : match.start()])
            at = match.end()
            if len(out) >= FIELDS_MAX:
                return out
        return [*out, text[at:]]

    async def matches(self, pattern: Pattern, text: str) -> AsyncIterator[Any]:
        """All matches, some at a time."""
        await self.call.work(pattern.cost(len(text)))
        for at, match in enumerate(pattern.finditer(text), 1):
            yield match
            if at % MATCHES_A_TURN == 0:
                await self.call.work(MATCHES_A_TURN * pattern.cost(len(text) - match.end()))

    def record(self) -> str:
        if self._stale:
            self._line = joined(self.text("OFS"), map(self.string, self._fields))
            self._stale = False
        return self._line

    # -- values ---------------------------------------------------------------------------------

    def text(self, name: str) -> str:
        return self.string(self._variables.get(name))

    def string(self, value: Value, form: str = "CONVFMT") -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if math.isfinite(value) and value == int(value) and abs(value) < 1e16:
            return str(int(value))
        text = str(self._variables[form])
        return shown(text if _FORMAT.fullmatch(text) else "%.6g", value)

    async def value(self, node: Node) -> Value:
        kind = node[0]
        if kind == "constant":
            return node[1]  # type: ignore[no-any-return]
        if kind == "variable":
            return self._get(node[1])
        if kind == "field":
            return await self._field(int(number(await self.value(node[1]))))
        if kind == "group":
            values = [await self.value(part) for part in node[1]]
            return (
                values[0]
                if len(values) == 1
                else joined(self.text("SUBSEP"), map(self.string, values))
            )
        handler: Callable[[Node], Awaitable[Value]] = getattr(self, f"_on_{kind}")
        return await handler(node)

    def _get(self, name: str) -> Value:
        if name == "NF":
            return float(len(self._fields))
        return self._variables.get(name)

    async def _field(self, at: int) -> Value:
        if at < 0:
            raise parser.failed(1, "Access to negative field")
        if not at:
            return Field(self.record())
        return self._fields[at - 1] if at <= len(self._fields) else None

    async def _key(self, subscripts: list[Node]) -> str:
        keys = [self.string(await self.value(subscript)) for subscript in subscripts]
        return keys[0] if len(keys) == 1 else joined(self.text("SUBSEP"), keys)

    async def set(self, target: Node, value: Value) -> None:
        if isinstance(value, str) and len(value) > TEXT_MAX:
            raise CommandError("awk: out of memory", 1)
        if target[0] == "variable" and target[1] == "NF":
            wanted = max(0, min(int(number(value)), FIELDS_MAX))
            self._fields = (self._fields + [""] * wanted)[:wanted]
            self._stale = True
        elif target[0] == "variable":
            before = self._variables.get(target[1])
            self.call.hold(size_of(value) - size_of(before))
            self._variables[target[1]] = value
        elif target[0] == "index":
            array, key = await self._entry(target)
            self.call.hold(size_of(value) - size_of(array[key]))
            array[key] = value
        else:
            at = int(number(await self.value(target[1])))
            if at == 0:
                await self._take(self.string(value))
                return
            if not 0 < at <= FIELDS_MAX:
                raise parser.failed(1, "Access to negative field")
            self._fields += [""] * (at - len(self._fields))
            self._fields[at - 1] = value
            self._stale = True

    def _regex(self, text: str) -> Pattern:
        return _compiled(text)

    async def pattern(self, node: Node) -> Pattern:
        return self._regex(node[1] if node[0] == "pattern" else self.string(await self.value(node)))

    async def _on_index(self, node: Node) -> Value:
        array, key = await self._entry(node)
        return array[key]

    async def _entry(self, node: Node) -> tuple[dict[str, Value], str]:
        """An array and the key of an entry of it, which is there from now on."""
        array = self.arrays.setdefault(node[1], {})
        key = await self._key(node[2])
        if key not in array:
            if len(array) >= ENTRIES_MAX:
                raise CommandError("awk: out of memory", 1)
            self.call.hold(size_of(None) + len(key))
            array[key] = None
        return array, key

    async def _on_pattern(self, node: Node) -> Value:
        return float(await self._search(self._regex(node[1]), self.record()))

    async def _on_matches(self, node: Node) -> Value:
        text = self.string(await self.value(node[2]))
        return float((await self._search(await self.pattern(node[3]), text)) == node[1])

    async def _search(self, pattern: Pattern, text: str) -> bool:
        await self.call.work(pattern.cost(len(text)))
        return pattern.search(text) is not None

    async def _on_in(self, node: Node) -> Value:
        return float(await self._key(node[1]) in self.arrays.get(node[2], {}))

    async def _on_or(self, node: Node) -> Value:
        return float(truth(await self.value(node[1])) or truth(await self.value(node[2])))

    async def _on_and(self, node: Node) -> Value:
        return float(truth(await self.value(node[1])) and truth(await self.value(node[2])))

    async def _on_not(self, node: Node) -> Value:
        return float(not truth(await self.value(node[2])))

    async def _on_sign(self, node: Node) -> Value:
        amount = number(await self.value(node[2]))
        return -amount if node[1] == "-" else amount

    async def _on_choose(self, node: Node) -> Value:
        return await self.value(node[2] if truth(await self.value(node[1])) else node[3])

    async def _on_join(self, node: Node) -> Value:
        left, right = self.string(await self.value(node[1])), self.string(await self.value(node[2]))
        return await self.bounded(left + right)

    async def bounded(self, text: str) -> str:
        """A text that was made, unless it is too long."""
        if len(text) > TEXT_MAX:
            raise CommandError("awk: out of memory", 1)
        if len(text) > LETTERS:
            await self.call.work(len(text) // LETTERS)
        return text

    async def _on_count(self, node: Node) -> Value:
        return counted(
            node[1], number(await self.value(node[2])), number(await self.value(node[3]))
        )

    async def _on_compare(self, node: Node) -> Value:
        left, right = await self.value(node[2]), await self.value(node[3])
        first: Any = numeric(left)
        other: Any = numeric(right)
        if first is None or other is None:
            first, other = self.string(left), self.string(right)
        return float(
            {
                "<": first < other,
                "<=": first <= other,
                "==": first == other,
                "!=": first != other,
                ">": first > other,
                ">=": first >= other,
            }[node[1]]
        )

    async def _on_assign(self, node: Node) -> Value:
        value = await self.value(node[3])
        if node[1]:
            value = counted(node[1], number(await self.value(node[2])), number(value))
        await self.set(node[2], value)
        return value

    async def _on_step(self, node: Node) -> Value:
        before = number(await self.value(node[3]))
        after = before + (1 if node[1] == "+" else -1)
        await self.set(node[3], after)
        return after if node[2] else before

    async def _on_call(self, node: Node) -> Value:
        return await functions.call(self, node[1], node[2])

    async def formatted(self, values: list[Value]) -> str:
        """printf: the first value says how the others are shown."""
        if not values:
            raise parser.failed(1, "Not enough arguments")
        rest = iter(values[1:])
        form, out, at, size = self.string(values[0]), [], 0, 0
        for match in _FORMAT.finditer(form):
            piece = form[at : match.start()] + self._piece(match[0], rest)
            out.append(piece)
            at = match.end()
            size += len(piece)
            await self.call.work(1 + len(piece) // LETTERS)
            if size > TEXT_MAX:
                raise CommandError("awk: out of memory", 1)
        return "".join(out) + form[at:]

    def _piece(self, piece: str, rest: Iterator[Value]) -> str:
        if piece == "%%":
            return "%"
        while "*" in piece:
            piece = piece.replace("*", str(int(number(next(rest, None))) % 1000), 1)
        value = next(rest, None)
        if piece[-1] == "s":
            return piece % self.string(value)
        if piece[-1] == "c":
            letter = self.string(value)[:1]
            if isinstance(value, float):
                letter = chr(int(value) & 0x10FFFF)
            return (piece[:-1] + "s") % letter
        return shown(piece, number(value))


def size_of(value: Value) -> int:
    """Bytes that an entry of an array takes."""
    return ENTRY_BYTES + (len(value) if isinstance(value, str) else 0)


def joined(between: str, texts: Iterable[str]) -> str:
    """One text of many. Raises CommandError when it is too long."""
    parts = list(texts)
    if sum(map(len, parts)) + len(between) * len(parts) > TEXT_MAX:
        raise CommandError("awk: out of memory", 1)
    return between.join(parts)


def _compiled(text: str) -> Pattern:
    try:
        return regex.posix(text, extended=True)
    except CommandError as error:
        raise CommandError(f"awk: {error}", 1) from None
