"""awk: records, fields, patterns and what is done for them.

Numbers of the input are numbers when they are compared; a value that nobody set is both "" and 0.
rand() is the container's own row of numbers. What awkparse.py refuses is not there.

Models busybox editors/awk.c and POSIX.1-2017, Utilities, awk.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.awk import functions, parser
from controllers_app.shell.commands.awk.parser import Node, Rule
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
from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call
from controllers_app.shell.streams import OUTPUT_MAX

STATEMENTS_A_STEP = 500  # so much is done between two looks at the time
FIELDS_MAX, TEXT_MAX, ENTRIES_MAX = 4096, 1 << 18, 50_000
_FORMAT = re.compile(r"%%|%[-+ 0#]*(?:\d{1,4}|\*)?(?:\.(?:\d{1,3}|\*)?)?[a-zA-Z]")


class _Next(Exception):
    """Go on with the next record."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Exit(Exception):
    pass


async def awk(call: Call) -> int:
    """awk [-F sep] [-v name=value]... PROGRAM|-f FILE [FILE | name=value]..."""
    args, given, source = list(call.args), [], None
    while args and args[0].startswith("-") and len(args[0]) > 1:
        word = args.pop(0)
        if word == "--":
            break
        if word[1] not in "Fvf":
            raise CommandError(f"awk: unrecognized option: {word[1]}", 1)
        value = word[2:] or (args.pop(0) if args else "")
        if word[1] == "F":
            given.append(f"FS={value}")
        elif word[1] == "v":
            given.append(value)
        else:
            source = call.machine.read(call.path(value)).decode("utf-8", "replace")
    if source is None:
        if not args:
            raise CommandError(
                "awk: usage: awk [-v VAR=VAL] [-F SEP] [-f FILE] 'PROGRAM' [FILE]...", 1
            )
        source = args.pop(0)
    program = Program(call, parser.parse(source))
    for one in given:
        program.set_by(one)
    return await program.run(args)


class Program:
    """One run of a program."""

    def __init__(self, call: Call, rules: list[Rule]) -> None:
        self.call = call
        self._rules = rules
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
        self._inside: set[int] = set()  # ranges that have begun
        self._files: dict[str, list[str]] = {}  # that are written
        self._done = 0
        self._code = 0

    def set_by(self, text: str) -> None:
        """name=value, as on the command line."""
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise CommandError(f"awk: can't assign {text}", 1)
        self._variables[name] = Field(parser.unescaped(value))

    async def run(self, paths: list[str]) -> int:
        try:
            try:
                await self._all("BEGIN")
                if any(rule.pattern != "BEGIN" for rule in self._rules):
                    await self._read(paths)
            except _Exit:
                pass
            if not self._code or any(rule.pattern == "END" for rule in self._rules):
                await self._all("END")
        except _Exit:
            pass
        except (_Next, _Break, _Continue):
            raise parser.failed(1, "Unexpected token") from None
        except (OverflowError, ZeroDivisionError, RecursionError):
            raise parser.failed(1, "Division by zero") from None
        for path, parts in self._files.items():
            data = "".join(parts).encode("utf-8", "surrogateescape")
            self.call.machine.write(self.call.path(path), data, self.call.runner.now)
        return self._code

    async def _all(self, which: str) -> None:
        for rule in self._rules:
            if rule.pattern == which and rule.body is not None:
                await self._do(rule.body)

    # -- records --------------------------------------------------------------------------------

    async def _read(self, paths: list[str]) -> None:
        any_file = False
        for path in paths:
            if re.match(r"[A-Za-z_]\w*=", path):
                self.set_by(path)
                continue
            any_file = True
            try:
                data = None if path == "-" else self.call.machine.read(self.call.path(path))
            except FileError as error:
                self.call.io.err(f"awk: {path}: {error}\n".encode("utf-8", "surrogateescape"))
                self._code = 2
                continue
            self._variables.update(FILENAME=path, FNR=0.0)
            await self._match_all(data)
        if not any_file:
            await self._match_all(None)

    async def _match_all(self, data: bytes | None) -> None:
        async for record in self._records(data):
            self._take(record)
            self._variables["NR"] = number(self._variables["NR"]) + 1
            self._variables["FNR"] = number(self._variables["FNR"]) + 1
            await self._step()
            try:
                for at, rule in enumerate(self._rules):
                    if rule.pattern in ("BEGIN", "END") or not self._holds(at, rule.pattern):
                        continue
                    if rule.body is None:
                        self.call.out(self.record() + self.text("ORS"))
                    else:
                        await self._do(rule.body)
            except _Next:
                pass

    async def _records(self, data: bytes | None) -> AsyncIterator[str]:
        """Lines as they come; with another RS, when all has come."""
        separator = self.text("RS")
        if data is None and separator == "\n":
            while line := await self.call.io.stdin.line():
                yield line.decode("utf-8", "surrogateescape").removesuffix("\n")
            return
        whole = data if data is not None else await self.call.io.stdin.all()
        text = whole.decode("utf-8", "surrogateescape")
        if separator == "":
            parts = re.split(r"\n\n+", text.strip("\n"))
        elif len(separator) == 1:
            parts = text.removesuffix(separator).split(separator)
        else:
            parts = self._regex(separator).split(text)
        for part in parts if text else ():
            yield part

    def _take(self, record: str) -> None:
        """A new $0."""
        self._line, self._stale = record, False
        self._fields = [Field(one) for one in self.cut(record, self.text("FS"))]

    def cut(self, text: str, separator: str) -> list[str]:
        if separator == " ":
            return text.split()[:FIELDS_MAX]
        if not text:
            return []
        if len(separator) == 1 and separator not in "\\":
            return text.split(separator)[:FIELDS_MAX]
        if not separator:
            return list(text)[:FIELDS_MAX]
        return [one or "" for one in self._regex(separator).split(text)][:FIELDS_MAX]

    def record(self) -> str:
        if self._stale:
            self._line = self.text("OFS").join(self.string(one) for one in self._fields)
            self._stale = False
        return self._line

    def _holds(self, at: int, pattern: Any) -> bool:
        if pattern is None:
            return True
        if not isinstance(pattern, list):
            return truth(self.value(pattern))
        if at not in self._inside and not truth(self.value(pattern[0])):
            return False
        self._inside.add(at)
        if truth(self.value(pattern[1])):
            self._inside.discard(at)
        return True

    # -- statements -----------------------------------------------------------------------------

    async def _step(self) -> None:
        self._done += 1
        if self._done % STATEMENTS_A_STEP == 0:
            await self.call.runner.step()

    async def _do(self, node: Node) -> None:
        await self._step()
        kind = node[0]
        if kind == "block":
            for one in node[1]:
                await self._do(one)
        elif kind == "expression":
            self.value(node[1])
        elif kind in ("print", "printf"):
            self._print(*node)
        elif kind == "if":
            await self._do(node[2] if truth(self.value(node[1])) else node[3])
        elif kind in ("for", "do", "each"):
            await self._loop(node)
        elif kind == "delete":
            array = self.arrays.setdefault(node[1], {})
            if node[2] is None:
                array.clear()
            else:
                array.pop(self._key(node[2]), None)
        elif kind == "exit":
            if node[1] is not None:
                self._code = int(number(self.value(node[1]))) & 255
            raise _Exit
        else:
            raise {"next": _Next, "break": _Break, "continue": _Continue}[kind]

    async def _loop(self, node: Node) -> None:
        if node[0] == "each":
            for key in list(self.arrays.get(node[2], {})):
                self._variables[node[1]] = Field(key)
                if not await self._round(node[3]):
                    return
        elif node[0] == "do":
            while await self._round(node[1]) and truth(self.value(node[2])):
                pass
        else:
            _, first, condition, step, body = node
            if first is not None:
                await self._do(first)
            while condition is None or truth(self.value(condition)):
                if not await self._round(body):
                    return
                if step is not None:
                    await self._do(step)

    async def _round(self, body: Node) -> bool:
        """One round of a loop; False when it ends the loop."""
        await self._step()
        try:
            await self._do(body)
        except _Continue:
            pass
        except _Break:
            return False
        return True

    def _print(self, kind: str, given: list[Node], where: Node | None) -> None:
        values = [self.value(one) for one in given]
        if kind == "printf":
            text = self.formatted(values)
        elif values:
            text = self.text("OFS").join(self.string(one, "OFMT") for one in values)
            text += self.text("ORS")
        else:
            text = self.record() + self.text("ORS")
        path = "" if where is None else self.string(self.value(where[1]))
        if path in ("", "/dev/stdout"):
            self.call.out(text)
        elif path == "/dev/stderr":
            self.call.io.err(text.encode("utf-8", "surrogateescape"))
        else:
            self._write(path, text, appends=where is not None and where[0] == ">>")

    def _write(self, path: str, text: str, *, appends: bool) -> None:
        parts = self._files.get(path)
        if parts is None:
            parts = self._files[path] = []
            if appends and self.call.machine.look(self.call.path(path)) is not None:
                old = self.call.machine.read(self.call.path(path))
                parts.append(old.decode("utf-8", "surrogateescape"))
        parts.append(text)
        if sum(map(len, parts[-64:])) > OUTPUT_MAX or len(parts) > filters.LINES_MAX:
            raise CommandError("awk: write error: No space left on device", 1)

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
        return shown(str(self._variables[form]), value)

    def value(self, node: Node) -> Value:
        kind = node[0]
        if kind == "constant":
            return node[1]  # type: ignore[no-any-return]
        if kind == "variable":
            return self._get(node[1])
        if kind == "field":
            return self._field(int(number(self.value(node[1]))))
        if kind == "group":
            found = [self.value(one) for one in node[1]]
            return (
                found[0] if len(found) == 1 else self.text("SUBSEP").join(map(self.string, found))
            )
        handler: Callable[[Node], Value] = getattr(self, f"_on_{kind}")
        return handler(node)

    def _get(self, name: str) -> Value:
        if name == "NF":
            return float(len(self._fields))
        return self._variables.get(name)

    def _field(self, at: int) -> Value:
        if at < 0:
            raise parser.failed(1, "Access to negative field")
        if not at:
            return Field(self.record())
        return self._fields[at - 1] if at <= len(self._fields) else None

    def _key(self, subscripts: list[Node]) -> str:
        found = [self.string(self.value(one)) for one in subscripts]
        return found[0] if len(found) == 1 else self.text("SUBSEP").join(found)

    def set(self, target: Node, value: Value) -> None:
        if isinstance(value, str) and len(value) > TEXT_MAX:
            raise CommandError("awk: out of memory", 1)
        if target[0] == "variable" and target[1] == "NF":
            wanted = max(0, min(int(number(value)), FIELDS_MAX))
            self._fields = (self._fields + [""] * wanted)[:wanted]
            self._stale = True
        elif target[0] == "variable":
            self._variables[target[1]] = value
        elif target[0] == "index":
            array = self.arrays.setdefault(target[1], {})
            key = self._key(target[2])
            if key not in array and len(array) >= ENTRIES_MAX:
                raise CommandError("awk: out of memory", 1)
            array[key] = value
        else:
            at = int(number(self.value(target[1])))
            if at == 0:
                self._take(self.string(value))
                return
            if not 0 < at <= FIELDS_MAX:
                raise parser.failed(1, "Access to negative field")
            self._fields += [""] * (at - len(self._fields))
            self._fields[at - 1] = value
            self._stale = True

    def _regex(self, text: str) -> re.Pattern[str]:
        return _compiled(text)

    def pattern(self, node: Node) -> re.Pattern[str]:
        return self._regex(node[1] if node[0] == "pattern" else self.string(self.value(node)))

    def _on_index(self, node: Node) -> Value:
        return self.arrays.setdefault(node[1], {}).setdefault(self._key(node[2]), None)

    def _on_pattern(self, node: Node) -> Value:
        return float(self._regex(node[1]).search(self.record()) is not None)

    def _on_matches(self, node: Node) -> Value:
        text = self.string(self.value(node[2]))
        return float((self.pattern(node[3]).search(text) is not None) == node[1])

    def _on_in(self, node: Node) -> Value:
        return float(self._key(node[1]) in self.arrays.get(node[2], {}))

    def _on_or(self, node: Node) -> Value:
        return float(truth(self.value(node[1])) or truth(self.value(node[2])))

    def _on_and(self, node: Node) -> Value:
        return float(truth(self.value(node[1])) and truth(self.value(node[2])))

    def _on_not(self, node: Node) -> Value:
        return float(not truth(self.value(node[2])))

    def _on_sign(self, node: Node) -> Value:
        found = number(self.value(node[2]))
        return -found if node[1] == "-" else found

    def _on_choose(self, node: Node) -> Value:
        return self.value(node[2] if truth(self.value(node[1])) else node[3])

    def _on_join(self, node: Node) -> Value:
        return self.string(self.value(node[1])) + self.string(self.value(node[2]))

    def _on_count(self, node: Node) -> Value:
        return counted(node[1], number(self.value(node[2])), number(self.value(node[3])))

    def _on_compare(self, node: Node) -> Value:
        left, right = self.value(node[2]), self.value(node[3])
        one: Any = numeric(left)
        other: Any = numeric(right)
        if one is None or other is None:
            one, other = self.string(left), self.string(right)
        return float(
            {"<": one < other, "<=": one <= other, "==": one == other, "!=": one != other,
             ">": one > other, ">=": one >= other}[node[1]]
        )  # fmt: skip

    def _on_assign(self, node: Node) -> Value:
        value = self.value(node[3])
        if node[1]:
            value = counted(node[1], number(self.value(node[2])), number(value))
        self.set(node[2], value)
        return value

    def _on_step(self, node: Node) -> Value:
        before = number(self.value(node[3]))
        after = before + (1 if node[1] == "+" else -1)
        self.set(node[3], after)
        return after if node[2] else before

    def _on_call(self, node: Node) -> Value:
        return functions.call(self, node[1], node[2])

    def formatted(self, values: list[Value]) -> str:
        """printf: the first value says how the others are shown."""
        if not values:
            raise parser.failed(1, "Not enough arguments")
        rest = iter(values[1:])
        return _FORMAT.sub(lambda found: self._piece(found[0], rest), self.string(values[0]))

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


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> re.Pattern[str]:
    return filters.compiled(filters.regex(text, extended=True))
