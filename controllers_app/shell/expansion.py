"""Words of the shell: expanded, split and matched with files.

Models POSIX.1-2017, Shell Command Language 2.6 (word expansions).
"""

from __future__ import annotations

from controllers_app.shell import arithmetic, globbing, syntax
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import Folder, joined
from controllers_app.shell.machine import Machine
from controllers_app.shell.streams import Runner
from controllers_app.shell.syntax import Part

TEXT_MAX = 128 * 1024  # of one word
WORDS_MAX, WORDS_BYTES_MAX = 8192, 1 << 20  # of one command
DEPTH_MAX = 24  # of arithmetic in arithmetic
NAME = 4  # operations for each name of a folder that is compared
LETTERS, EXPANDED = 50, 8  # that an operation reads or writes, and that it expands


class Words:
    """What a shell makes of words. The shell itself gives the variables and runs $(..)."""

    machine: Machine
    variables: dict[str, str]
    args: list[str]
    options: set[str]
    name: str
    cwd: str
    code: int
    last_job: int
    runner: Runner
    held: int  # bytes that its variables and functions take
    above: Words | None  # the shell in whose process this one runs
    _depth: int

    async def captured(self, source: str) -> str:
        """What the commands write, without the line ends at its end."""
        raise NotImplementedError

    def assign(self, name: str, text: str) -> None:
        if len(text) > TEXT_MAX:
            raise CommandError("out of memory")
        if len(self.variables) > WORDS_MAX:
            raise CommandError("out of memory")
        self.hold(len(text) - len(self.variables.get(name, "")))
        self.variables[name] = text

    def hold(self, size: int) -> None:
        """Allocates memory, as long as the shell runs. What subshells held that have ended is free
        again."""
        total, shell = size, self
        while True:
            total += shell.held
            if shell.above is None or shell.above.runner is not self.runner:
                break
            shell = shell.above
        self.runner.hold(total)
        self.held = max(0, self.held + size)

    def value(self, name: str) -> str | None:
        """A variable or a special parameter; None when it is not set."""
        if name in self.variables:
            return self.variables[name]
        if name.isdigit():
            number = int(name[:6])
            if number == 0:
                return self.name
            return self.args[number - 1] if number <= len(self.args) else None
        return self._special(name)

    def _special(self, name: str) -> str | None:
        if name == "?":
            return str(self.code)
        if name == "#":
            return str(len(self.args))
        if name in ("@", "*"):
            return " ".join(self.args)
        if name == "!":
            return str(self.last_job or "")
        if name == "-":
            return "".join(sorted(self.options))
        if name == "$":
            return str(self.machine.seen_pid())
        if name == "RANDOM":
            return str(self.machine.random() % 32768)
        return self.cwd if name == "PWD" else None

    async def text(self, word: syntax.Word) -> str:
        """A word as one text, neither split nor matched with files."""
        out, size = [], 0
        for part in word:
            text = part.text if part.kind == "text" else await self._part(part)
            size = await self._grown(size, text)
            out.append(text)
        text = "".join(out)
        if word and word[0].kind == "text" and not word[0].quoted and text.startswith("~"):
            text = self._home(text)
        return text

    async def pattern(self, word: syntax.Word) -> str:
        out, size = [], 0
        for part in word:
            text = part.text if part.kind == "text" else await self._part(part)
            size = await self._grown(size, text)
            out.append(globbing.quoted(text) if part.quoted else text)
        return "".join(out)

    async def _grown(self, size: int, text: str) -> int:
        """How long a word is with this text. Raises CommandError when it is too long."""
        size += len(text)
        if size > TEXT_MAX:
            raise CommandError("out of memory")
        if len(text) > LETTERS:
            await self.runner.work(len(text) // EXPANDED)
        return size

    async def fields(self, words: list[syntax.Word]) -> list[str]:
        """The words of a command: expanded, split, matched with files."""
        out: list[str] = []
        size = 0
        for word in words:
            if len(word) == 1 and word[0].kind == "text":
                text = word[0].text
                if word[0].quoted or not any(letter in text for letter in "*?[~\\"):
                    out.append(text)
                    continue
            begins = len(out)
            for field_ in await self._split(word):
                if globbing.has_pattern(field_):
                    out.extend(await self._files(field_))
                else:
                    out.append(globbing.plain(field_))
            size += sum(map(len, out[begins:]))
            if len(out) > WORDS_MAX or size > WORDS_BYTES_MAX:
                raise CommandError("argument list too long", 126)
        return out

    async def _split(self, word: syntax.Word) -> list[str]:
        """Fields of one word, as patterns."""
        fields: list[str] = []
        current: list[str] | None = None  # the pieces of a field
        size = 0
        for number, part in enumerate(word):
            if part.kind == "var" and part.text == "@" and part.quoted and not part.op:
                for place, value in enumerate(self.args):
                    if place:
                        fields.append("".join(current or ()))
                        current = None
                    current = [*(current or ()), globbing.quoted(value)]
                continue
            text = part.text if part.kind == "text" else await self._part(part)
            size = await self._grown(size, text)
            if part.quoted:
                text = globbing.quoted(text)
            elif part.kind == "text" and number == 0 and text.startswith("~"):
                text = self._home(text)
            if part.quoted or part.kind == "text":
                current = current or []
                current.append(text)
                continue
            for place, piece in enumerate(_pieces(text, self.variables.get("IFS", " \t\n"))):
                if place:
                    if current is not None:
                        fields.append("".join(current))
                    current = None
                if piece:
                    current = current or []
                    current.append(piece)
        if current is not None:
            fields.append("".join(current))
        return fields

    async def _files(self, pattern: str) -> list[str]:
        """The files that are as the pattern says; the pattern itself when none is."""
        absolute = pattern.startswith("/")
        paths = [""]
        parts = [part for part in pattern.split("/") if part]
        for number, part in enumerate(parts):
            deeper: list[str] = []
            is_wanted = globbing.matcher(part)
            for base in paths:
                at = "/" + base if absolute else joined(self.cwd, base)
                node = self.machine.files.find(at)
                if not isinstance(node, Folder):
                    continue
                await self.runner.work(NAME * (1 + len(node.entries)))
                for name in sorted(node.entries):
                    if name.startswith(".") and not part.startswith("."):
                        continue
                    if is_wanted(name):
                        deeper.append(f"{base}/{name}" if base else name)
                if len(deeper) > WORDS_MAX:
                    break
            paths = deeper[:WORDS_MAX]
            if not paths:
                break
            if number == len(parts) - 1:
                return [f"/{path}" if absolute else path for path in paths]
        return [globbing.plain(pattern)]

    def _home(self, text: str) -> str:
        head, slash, rest = text.partition("/")
        if head != "~":
            return text
        return self.variables.get("HOME", "/") + slash + rest

    async def _part(self, part: Part) -> str:
        if part.kind == "cmd":
            return await self.captured(part.text)
        if part.kind == "math":
            return await self._math(part.text)
        if part.kind == "length":
            return str(len(self.value(part.text) or ""))
        value = self.value(part.text)
        if not part.op:
            if value is None and "u" in self.options and part.text not in "@*":
                raise CommandError(f"{part.text}: parameter not set")
            return value or ""
        return await self._operator(part, value)

    async def _math(self, source: str) -> str:
        if self._depth >= DEPTH_MAX:
            raise CommandError("maximum nesting level exceeded")
        self._depth += 1
        try:
            await self.runner.work(len(source) // LETTERS)
            text = await self.text(syntax.parse_quoted(source))
        finally:
            self._depth -= 1
        await self.runner.work(len(text))
        known = arithmetic.Arithmetic(text, lambda name: self.value(name) or "", self.assign)
        return str(known.value())

    async def _operator(self, part: Part, value: str | None) -> str:
        """${name:-word} and its kin."""
        op, word = part.op, part.word or ()
        if op in (":-", ":=", ":+", ":?") and value == "":
            value = None
        kind = op[-1] if op in (":-", ":=", ":+", ":?") else op
        if kind == "+":
            return "" if value is None else await self.text(word)
        if kind in ("-", "=", "?") and value is not None:
            return value
        if kind == "-":
            return await self.text(word)
        if kind == "=":
            text = await self.text(word)
            self.assign(part.text, text)
            return text
        if kind == "?":
            message = await self.text(word) or "parameter not set"
            raise CommandError(f"{part.text}: {message}")
        value = value or ""
        if op in ("#", "##", "%", "%%"):
            pattern = await self.pattern(word)
            await self.runner.work((len(value) + len(pattern)) // LETTERS)
            return globbing.trimmed(value, op, pattern)
        text = await self.text(word)
        if op in ("/", "//"):
            old, _, new = text.partition("/")
            if not old:
                return value
            most = value.count(old) if op == "//" else 1
            if len(value) + most * len(new) > TEXT_MAX:
                raise CommandError("out of memory")
            return value.replace(old, new, most)
        first, _, length = text.partition(":")
        try:
            start = int(first or 0)
            return value[start : start + int(length)] if length else value[start:]
        except ValueError:
            raise CommandError("bad substitution") from None


def _pieces(text: str, separators: str) -> list[str]:
    if not separators:
        return [text]
    if len(separators) > 1:
        text = text.translate(dict.fromkeys(map(ord, separators), separators[0]))
    return text.split(separators[0])
