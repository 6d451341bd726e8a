"""awk: records, fields, patterns and what is done for them.

Numbers of the input are numbers when they are compared; a value that nobody set is both "" and 0.
rand() is the container's own row of numbers. What parser.py refuses is not there.

Models busybox editors/awk.c and POSIX.1-2017, Utilities, awk.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from controllers_app.shell.commands import filters
from controllers_app.shell.commands.awk import parser
from controllers_app.shell.commands.awk.expressions import Expressions, joined, size_of
from controllers_app.shell.commands.awk.parser import Node, Rule
from controllers_app.shell.commands.awk.values import Field, number, truth
from controllers_app.shell.exits import CommandError
from controllers_app.shell.expansion import LETTERS
from controllers_app.shell.filesystem import FileError
from controllers_app.shell.interpreter import Call

STATEMENT = 3  # operations
_PARAGRAPHS = re.compile(r"\n\n+")


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
    for assignment in given:
        program.set_by(assignment)
    return await program.run(args)


class Program(Expressions):
    """One run of a program."""

    def __init__(self, call: Call, rules: list[Rule]) -> None:
        super().__init__(call)
        self._rules = rules
        self._inside: set[int] = set()  # ranges that have begun
        self._files: dict[str, list[str]] = {}  # that are written
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
            await self._take(record)
            self._variables["NR"] = number(self._variables["NR"]) + 1
            self._variables["FNR"] = number(self._variables["FNR"]) + 1
            await self._step()
            try:
                for at, rule in enumerate(self._rules):
                    if rule.pattern in ("BEGIN", "END") or not await self._holds(at, rule.pattern):
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
                await self.call.work(len(line) // LETTERS)
                yield line.decode("utf-8", "surrogateescape").removesuffix("\n")
            return
        whole = data if data is not None else await filters.whole(self.call)
        if separator == "\n":
            async for batch in filters.batches(self.call, whole):
                for record in batch:
                    yield record
            return
        text = whole.decode("utf-8", "surrogateescape")
        self.call.hold(2 * len(text) + filters.LINE_BYTES * text.count(separator or "\n"))
        await self.call.work(len(text) // 4)
        if separator == "":
            parts = _PARAGRAPHS.split(text.strip("\n"))
        elif len(separator) == 1:
            parts = text.removesuffix(separator).split(separator)
        else:
            parts = await self.split(self._regex(separator), text)
        for part in parts if text else ():
            yield part

    async def _holds(self, at: int, pattern: Any) -> bool:
        if pattern is None:
            return True
        if not isinstance(pattern, list):
            return truth(await self.value(pattern))
        if at not in self._inside and not truth(await self.value(pattern[0])):
            return False
        self._inside.add(at)
        if truth(await self.value(pattern[1])):
            self._inside.discard(at)
        return True

    # -- statements -----------------------------------------------------------------------------

    async def _step(self) -> None:
        await self.call.work(STATEMENT)

    async def _do(self, node: Node) -> None:
        await self._step()
        kind = node[0]
        if kind == "block":
            for statement in node[1]:
                await self._do(statement)
        elif kind == "expression":
            await self.value(node[1])
        elif kind in ("print", "printf"):
            await self._print(*node)
        elif kind == "if":
            await self._do(node[2] if truth(await self.value(node[1])) else node[3])
        elif kind in ("for", "do", "each"):
            await self._loop(node)
        elif kind == "delete":
            array = self.arrays.setdefault(node[1], {})
            gone = list(array) if node[2] is None else [await self._key(node[2])]
            for key in gone:
                if key in array:
                    self.call.hold(-size_of(array.pop(key)))
        elif kind == "exit":
            if node[1] is not None:
                self._code = int(number(await self.value(node[1]))) & 255
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
            while await self._round(node[1]) and truth(await self.value(node[2])):
                pass
        else:
            _, first, condition, step, body = node
            if first is not None:
                await self._do(first)
            while condition is None or truth(await self.value(condition)):
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

    async def _print(self, kind: str, given: list[Node], where: Node | None) -> None:
        values = [await self.value(argument) for argument in given]
        if kind == "printf":
            text = await self.formatted(values)
        elif values:
            text = joined(self.text("OFS"), [self.string(value, "OFMT") for value in values])
            text += self.text("ORS")
        else:
            text = self.record() + self.text("ORS")
        await self.call.work(len(text) // LETTERS)
        path = "" if where is None else self.string(await self.value(where[1]))
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
        self.call.hold(len(text) + filters.LINE_BYTES)
        parts.append(text)
