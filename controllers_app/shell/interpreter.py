"""The shell itself: runs a tree of commands against a container's inside, in virtual time.

A text is expanded, redirected and run as POSIX has it; the commands of a pipeline run beside each
other (`jobs.py`). Programs that the image has not are not found.

Models busybox shell/ash.c and POSIX.1-2017, Shell Command Language.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from controllers_app.shell import arithmetic, globbing, jobs, syntax
from controllers_app.shell.exits import Break, CommandError, Exit, OutputFull, Return
from controllers_app.shell.expansion import LETTERS, Words
from controllers_app.shell.filesystem import File, FileError, Folder, joined
from controllers_app.shell.jobs import Job
from controllers_app.shell.machine import Machine
from controllers_app.shell.streams import Io, Kept, Runner, Sink, Taken
from controllers_app.shell.syntax import Compound, Redirect, ShellSyntaxError, Simple

DEPTH_MAX = 16  # of shells in shells and functions in functions
COPIED = 4000  # bytes that an operation copies
PIECE = 8 * 1024  # bytes that are written at once
LETTER = 8  # operations that reading a letter of a program takes


class Call(msgspec.Struct):
    """One command as it is run: its words without its name, its streams, its shell."""

    name: str
    args: list[str]
    io: Io
    shell: Shell

    @property
    def machine(self) -> Machine:
        return self.shell.machine

    @property
    def runner(self) -> Runner:
        return self.shell.runner

    def out(self, text: str) -> None:
        self.io.out(text.encode("utf-8", "surrogateescape"))

    def err(self, text: str) -> None:
        self.io.err(f"{self.name}: {text}\n".encode("utf-8", "surrogateescape"))

    async def work(self, operations: int) -> None:
        """The command has done so much, or is about to."""
        await self.shell.runner.work(operations)

    async def write(self, data: bytes) -> None:
        """Much output, in pieces."""
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            self.io.out(piece)
            await self.work(len(piece) // LETTERS + piece.count(b"\n"))

    def hold(self, size: int) -> None:
        """Allocates memory until the command ends."""
        self.shell.hold(size)

    def path(self, text: str) -> str:
        return joined(self.shell.cwd, text)


Run = Callable[[Call], Awaitable[int]]


@dataclass(slots=True)
class Shell(Words):
    """One shell: variables, folder, functions."""

    machine: Machine
    runner: Runner
    variables: dict[str, str]
    cwd: str = "/"
    args: list[str] = field(default_factory=list)
    name: str = "sh"
    depth: int = 0
    code: int = 0
    exported: set[str] = field(default_factory=set)
    functions: dict[str, syntax.Command] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    traps: dict[str, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    last_job: int = 0  # $!
    tty: bool = False
    all_traps: set[str] = field(default_factory=set)  # of this shell and all below it
    tested: int = 0  # inside of a condition -e does not apply
    held: int = 0
    above: Words | None = None
    _depth: int = 0

    @staticmethod
    def started(machine: Machine, runner: Runner, env: Mapping[str, str], cwd: str) -> Shell:
        return Shell(machine, runner, dict(env), cwd, exported=set(env))

    def environment(self) -> dict[str, str]:
        return {key: text for key, text in self.variables.items() if key in self.exported}

    def child(self) -> Shell:
        """A subshell: what it changes stays its own."""
        if self.depth >= DEPTH_MAX:
            raise CommandError("maximum nesting level exceeded")
        return replace(
            self,
            variables=dict(self.variables),
            exported=set(self.exported),
            jobs=[],
            functions=dict(self.functions),
            args=list(self.args),
            options=set(self.options),
            traps={},
            depth=self.depth + 1,
            held=0,
            above=self,
        )

    # -- running --------------------------------------------------------------------------------

    async def run_text(self, source: str, io: Io) -> int:
        """Run a program; its exit code. Raises Exit when it says `exit`."""
        code = 0
        try:
            program = syntax.Program(source)
            while True:
                try:
                    line = program.line()
                finally:
                    await self.runner.work(program.taken * LETTER)
                if line is None:
                    return code
                code = await self.run(line, io)
        except ShellSyntaxError as error:
            io.err(self.words(str(error)))
            self.code = 2
            return 2

    async def run_script(self, source: str, io: Io) -> int:
        """Run it as a process of its own: its end is the process's end."""
        try:
            code = await self.run_text(source, io)
        except Exit as error:
            code = error.code
        except Break:
            code = 0
        return await self.end(code, io)

    async def end(self, code: int, io: Io) -> int:
        """What happens when the shell ends: its trap runs, its jobs end; the exit code."""
        if "EXIT" in self.traps:
            try:
                await self.run_text(self.traps.pop("EXIT"), io)
            except Exit as error:
                code = error.code
        self.end_jobs()
        return code

    def end_jobs(self) -> None:
        for job in self.jobs:
            job.kill("HUP")
        self.jobs.clear()

    def words(self, text: str) -> bytes:
        """A complaint of the shell itself."""
        where = {"sh": "sh: ", "bash": "bash: "}.get(self.name, f"{self.name}: ")
        if not self.machine.is_busybox and self.name == "sh":
            where = "sh: 1: "
        elif self.name == "bash" and not self.tty:
            where = "bash: line 1: "
        return f"{where}{text}\n".encode("utf-8", "surrogateescape")

    async def run(self, command: syntax.Command, io: Io) -> int:
        """Run one command of any sort."""
        try:
            self.code = await self._run(command, io)
        except CommandError as error:
            io.err(self.words(str(error)))
            self.code = error.code
        except arithmetic.MathError as error:
            io.err(self.words(str(error)))
            self.code = 2
        except ShellSyntaxError as error:
            io.err(self.words(str(error)))
            self.code = 2
        except FileError as error:
            io.err(self.words(str(error)))
            self.code = 1
        return self.code

    async def _run(self, command: syntax.Command, io: Io) -> int:
        if isinstance(command, Simple):
            code = await self._simple(command, io)
            if self.runner.signals:
                await self.trapped(io)
            if code and "e" in self.options and not self.tested:
                raise Exit(code)
            return code
        if command.redirects:
            io, written = await self._redirected(command.redirects, io)
            try:
                return await self._compound(command, io)
            finally:
                self._keep(written)
        return await self._compound(command, io)

    async def _compound(self, command: Compound, io: Io) -> int:
        kind, items = command.kind, command.items
        if kind == "list":
            code = 0
            for item, background in items:
                code = self._spawn(item, io) if background else await self.run(item, io)
            return code
        if kind == "andor":
            return await self._and_or(items, io)
        if kind == "pipe":
            return await jobs.pipe(self, items, io)
        if kind == "not":
            return int(not await self._condition(items[0], io))
        if kind == "if":
            for condition, body in items:
                if condition is None or not await self._condition(condition, io):
                    return await self.run(body, io)
            return 0
        if kind in ("while", "until"):
            return await self._loop(kind, items[0], items[1], io)
        if kind == "for":
            return await self._for(command, io)
        if kind == "case":
            return await self._case(items, io)
        if kind == "function":
            self.hold(command.size)
            self.functions[command.name] = items[0]
            return 0
        if kind == "group":
            return await self.run(items[0], io)
        try:
            return await self.child().run(items[0], io)
        except Exit as error:
            return error.code

    async def _condition(self, command: syntax.Command, io: Io) -> int:
        self.tested += 1
        try:
            return await self.run(command, io)
        finally:
            self.tested -= 1

    async def _and_or(self, items: list[tuple[str, syntax.Command]], io: Io) -> int:
        code = 0
        for number, (op, command) in enumerate(items):
            if (op == "&&" and code) or (op == "||" and not code):
                continue
            last = number == len(items) - 1
            code = await (self.run(command, io) if last else self._condition(command, io))
            self.code = code
        return code

    def _spawn(self, command: syntax.Command, io: Io) -> int:
        job = jobs.spawn(self, command, io)
        if self.tty and self.name == "bash":
            io.err(f"[{len(self.jobs)}] {job.pid}\n".encode())
        return 0

    async def trapped(self, io: Io) -> None:
        """Run the traps of signals that came meanwhile, between two commands."""
        for signal in [signal for signal in self.runner.signals if signal in self.traps]:
            self.runner.signals.remove(signal)
            code = self.code
            await self.run_text(self.traps[signal], io)
            self.code = code

    async def _loop(
        self, kind: str, condition: syntax.Command, body: syntax.Command, io: Io
    ) -> int:
        code = 0
        while bool(await self._condition(condition, io)) == (kind == "until"):
            await self.runner.step()
            code, goes_on = await self._round(body, code, io)
            if not goes_on:
                break
        return code

    async def _for(self, command: Compound, io: Io) -> int:
        words, body = command.items
        values = self.args if words is None else await self.fields(words)
        code = 0
        for value in list(values):
            await self.runner.step()
            self.variables[command.name] = value
            code, goes_on = await self._round(body, code, io)
            if not goes_on:
                break
        return code

    async def _round(self, body: syntax.Command, code: int, io: Io) -> tuple[int, bool]:
        """One round of a loop: its code, or that of the last one if it is left early, and whether
        another may follow."""
        try:
            return await self.run(body, io), True
        except Break as error:
            if error.levels > 1:
                raise Break(error.levels - 1, again=error.again) from None
            return code, error.again

    async def _case(self, items: list[Any], io: Io) -> int:
        text = await self.text(items[0])
        for patterns, body in items[1:]:
            for word in patterns:
                pattern = await self.pattern(word)
                await self.runner.work(1 + (len(text) + len(pattern)) // LETTERS)
                if globbing.matches(pattern, text):
                    return await self.run(body, io)
        return 0

    # -- one command ----------------------------------------------------------------------------

    async def _simple(self, command: Simple, io: Io) -> int:
        if self.runner.signals:
            await self.trapped(io)
        await self.runner.step()
        words = await self.fields(command.words)
        written: list[tuple[str, Kept, bool]] = []
        if command.redirects:
            io, written = await self._redirected(command.redirects, io)
        try:
            if not words:
                self.code = 0
                for name, word in command.assigns:
                    self.assign(name, await self.text(word))
                return self.code
            if command.assigns:
                return await self._with(command, words, io)
            return await self.call(words, io)
        except CommandError as error:
            io.err(self.words(str(error)))
            return error.code
        finally:
            self._keep(written)

    async def _with(self, command: Simple, words: list[str], io: Io) -> int:
        """A command with variables of its own."""
        before, exported = dict(self.variables), set(self.exported)
        for name, word in command.assigns:
            self.assign(name, await self.text(word))
            self.exported.add(name)
        try:
            return await self.call(words, io)
        finally:
            self.variables, self.exported = before, exported

    async def call(self, words: list[str], io: Io) -> int:
        """Run a command by its words: a function, a builtin, or what the image has."""
        name, *args = words
        body = self.functions.get(name)
        if body is not None:
            return await self._call_function(body, args, io)
        program = name.rpartition("/")[2] or name
        builtin = self.machine.builtin(name)
        if builtin is not None:
            return await builtin(Call(program, args, io, self))
        run = self.machine.program(name)
        if run is None:
            raise CommandError(self._missing(name), 127)
        held = self.held
        try:
            return await run(Call(program, args, io, self))
        except CommandError as error:
            io.err(f"{error}\n".encode("utf-8", "surrogateescape"))
            return error.code
        except FileError as error:
            io.err(f"{program}: {error}\n".encode("utf-8", "surrogateescape"))
            return 1
        finally:
            self.held = held

    def _missing(self, name: str) -> str:
        if "/" in name:
            file = self.machine.files.find(joined(self.cwd, name))
            if isinstance(file, Folder) or file is not None:
                return f"{name}: Permission denied"
            return f"{name}: " + ("not found" if self.name == "sh" else "No such file or directory")
        return f"{name}: " + ("command not found" if self.name == "bash" else "not found")

    async def _call_function(self, body: syntax.Command, args: list[str], io: Io) -> int:
        if self.depth >= DEPTH_MAX:
            raise CommandError("maximum nesting level exceeded")
        self.hold(size := sum(map(len, args)))
        before, self.args = self.args, args
        self.depth += 1
        try:
            return await self.run(body, io)
        except Return as error:
            return error.code
        finally:
            self.held -= size
            self.args = before
            self.depth -= 1

    async def _redirected(
        self, redirects: list[Redirect], io: Io
    ) -> tuple[Io, list[tuple[str, Kept, bool]]]:
        """The streams with these in place of theirs; what is written goes to files at the end."""
        written: list[tuple[str, Kept, bool]] = []
        files = self.machine.files
        for redirect in redirects:
            if redirect.body is not None:
                text = await self.text(redirect.body)
                stdin = Taken(text.encode("utf-8", "surrogateescape"))
                io = msgspec.structs.replace(io, stdin=stdin)
                continue
            target = await self.text(redirect.word)
            path = joined(self.cwd, target)
            if redirect.op == "<":
                try:
                    io = msgspec.structs.replace(io, stdin=Taken(self.machine.read(path)))
                except FileError as error:
                    raise CommandError(f"can't open {target}: {_lower(error)}", 1) from None
                continue
            if redirect.op in (">&", "<&") and target in ("1", "2", "0", "-"):
                sink: Sink = {"1": io.out, "2": io.err}.get(target, _nothing)
            elif path in (
                "/dev/null",
                "/dev/stdout",
                "/dev/stderr",
                "/proc/1/fd/1",
                "/proc/1/fd/2",
            ):
                sink = self._device(path, io)
            else:
                kept = Kept()
                try:
                    if redirect.op == ">>" and isinstance(old := files.find(path), File):
                        await self.runner.work(len(old.data) // COPIED)
                    files.write(path, b"", self.runner.now, append=redirect.op == ">>")
                except FileError as error:
                    raise CommandError(f"can't create {target}: {_lower(error)}", 1) from None
                written.append((path, kept, redirect.op == ">>"))
                sink = kept
            both = redirect.op == "&>" or (
                redirect.op == ">&" and target not in ("1", "2", "0", "-")
            )
            if both:
                io = msgspec.structs.replace(io, out=sink, err=sink)
            elif redirect.number == 2:
                io = msgspec.structs.replace(io, err=sink)
            elif redirect.number == 1:
                io = msgspec.structs.replace(io, out=sink)
        return io, written

    def _device(self, path: str, io: Io) -> Sink:
        if path == "/dev/null":
            return _nothing
        if path.startswith("/proc/1/"):
            stream = "stdout" if path.endswith("1") else "stderr"
            return lambda data: self.machine.emit(stream, data)
        return io.out if path == "/dev/stdout" else io.err

    def _keep(self, written: list[tuple[str, Kept, bool]]) -> None:
        for path, kept, _append in written:
            if kept.parts:
                self.machine.files.write(path, kept.data, self.runner.now, append=True)

    async def captured(self, source: str) -> str:
        """What a command writes, without the line ends at its end."""
        kept = Kept()
        child = self.child()
        try:
            code = await child.run_text(source, Io(Taken(), kept, self.machine.stderr))
        except Exit as error:
            code = error.code
        except OutputFull:
            code = 141
        self.code = code
        text = kept.data.decode("utf-8", "surrogateescape")
        return text.replace("\0", "").rstrip("\n")


def _nothing(_data: bytes) -> None:
    """/dev/null"""


def _lower(error: FileError) -> str:
    text = str(error)
    return "no such file" if text == "No such file or directory" else text
