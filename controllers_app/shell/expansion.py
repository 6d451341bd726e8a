"""Words of the shell: expanded, split and matched with files.

Models POSIX.1-2017, Shell Command Language 2.6 (word expansions).
"""

from __future__ import annotations

from controllers_app.shell import arithmetic, globbing, syntax
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import Folder, joined
from controllers_app.shell.machine import Machine
from controllers_app.shell.syntax import Part

TEXT_MAX = 256 * 1024  # of one word
WORDS_MAX = 8192
TRIMMED_MAX = 2048  # of a value whose ends are compared with a pattern


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

    async def captured(self, source: str) -> str:
        """What the commands write, without the line ends at its end."""
        raise NotImplementedError

    def assign(self, name: str, text: str) -> None:
        if len(text) > TEXT_MAX:
            raise CommandError("out of memory")
        if len(self.variables) > WORDS_MAX:
            raise CommandError("out of memory")
        self.variables[name] = text

    def value(self, name: str) -> str | None:
        """A variable or a special parameter; None when it is not set."""
        if name in self.variables:
            return self.variables[name]
        if name.isdigit():
            number = int(name[:6])
            if number == 0:
                return self.name
            return self.args[number - 1] if number <= len(self.args) else None
        special = {
            "?": str(self.code), "#": str(len(self.args)), "$": "",
            "!": str(self.last_job or ""), "-": "".join(sorted(self.options)),
            "@": " ".join(self.args), "*": " ".join(self.args), "PWD": self.cwd, "RANDOM": "",
        }  # fmt: skip
        if name == "$":
            return str(self.machine.seen_pid())
        if name == "RANDOM":
            return str(self.machine.random() % 32768)
        return special.get(name)

    async def text(self, word: syntax.Word) -> str:
        """A word as one text, neither split nor matched with files."""
        out = []
        for part in word:
            out.append(part.text if part.kind == "text" else await self._part(part))
        text = "".join(out)
        if word and word[0].kind == "text" and not word[0].quoted and text.startswith("~"):
            text = self._home(text)
        return self._bounded(text)

    async def pattern(self, word: syntax.Word) -> str:
        out = []
        for part in word:
            text = part.text if part.kind == "text" else await self._part(part)
            out.append(globbing.quoted(text) if part.quoted else text)
        return self._bounded("".join(out))

    async def fields(self, words: list[syntax.Word]) -> list[str]:
        """The words of a command: expanded, split, matched with files."""
        out: list[str] = []
        for word in words:
            if len(word) == 1 and word[0].kind == "text":
                text = word[0].text
                if word[0].quoted or not any(letter in text for letter in "*?[~\\"):
                    out.append(text)
                    continue
            for field_ in await self._split(word):
                if globbing.has_pattern(field_):
                    out.extend(self._files(field_))
                else:
                    out.append(globbing.plain(field_))
            if len(out) > WORDS_MAX:
                raise CommandError("argument list too long", 126)
        return out

    async def _split(self, word: syntax.Word) -> list[str]:
        """Fields of one word, as patterns."""
        fields: list[str] = []
        current: str | None = None
        for number, part in enumerate(word):
            if part.kind == "var" and part.text == "@" and part.quoted and not part.op:
                for place, value in enumerate(self.args):
                    if place:
                        fields.append(current or "")
                        current = None
                    current = (current or "") + globbing.quoted(value)
                continue
            text = part.text if part.kind == "text" else await self._part(part)
            if part.quoted:
                current = (current or "") + globbing.quoted(text)
            elif part.kind == "text":
                if number == 0 and text.startswith("~"):
                    text = self._home(text)
                current = (current or "") + text
            else:
                separators = self.variables.get("IFS", " \t\n")
                pieces = _pieces(text, separators)
                for place, piece in enumerate(pieces):
                    if place:
                        if current is not None:
                            fields.append(current)
                        current = None
                    if piece:
                        current = (current or "") + piece
        if current is not None:
            fields.append(current)
        return [self._bounded(one) for one in fields]

    def _files(self, pattern: str) -> list[str]:
        """The files that are as the pattern says; the pattern itself when none is."""
        absolute = pattern.startswith("/")
        found = [""]
        parts = [one for one in pattern.split("/") if one]
        for number, part in enumerate(parts):
            deeper = []
            for base in found:
                at = "/" + base if absolute else joined(self.cwd, base)
                node = self.machine.files.find(at)
                if not isinstance(node, Folder):
                    continue
                for name in sorted(node.entries):
                    if name.startswith(".") and not part.startswith("."):
                        continue
                    if globbing.matches(part, name):
                        deeper.append(f"{base}/{name}" if base else name)
            found = deeper[:WORDS_MAX]
            if not found:
                break
            if number == len(parts) - 1:
                return [f"/{one}" if absolute else one for one in found]
        return [globbing.plain(pattern)]

    def _home(self, text: str) -> str:
        head, slash, rest = text.partition("/")
        if head != "~":
            return text
        return self.variables.get("HOME", "/") + slash + rest

    def _bounded(self, text: str) -> str:
        if len(text) > TEXT_MAX:
            raise CommandError("out of memory")
        return text

    async def _part(self, part: Part) -> str:
        if part.kind == "cmd":
            return await self.captured(part.text)
        if part.kind == "math":
            source = await self.text(syntax.parse_word(part.text, quoted=True))
            known = arithmetic.Arithmetic(source, lambda name: self.value(name) or "", self.assign)
            return str(known.value())
        if part.kind == "length":
            return str(len(self.value(part.text) or ""))
        value = self.value(part.text)
        if not part.op:
            if value is None and "u" in self.options and part.text not in "@*":
                raise CommandError(f"{part.text}: parameter not set")
            return value or ""
        return await self._operator(part, value)

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
            said = await self.text(word) or "parameter not set"
            raise CommandError(f"{part.text}: {said}")
        value = value or ""
        if op in ("#", "##", "%", "%%"):
            return _trimmed(value, op, await self.pattern(word))
        text = await self.text(word)
        if op in ("/", "//"):
            old, _, new = text.partition("/")
            if not old:
                return value
            return self._bounded(value.replace(old, new, -1 if op == "//" else 1))
        first, _, length = text.partition(":")
        try:
            start = int(first or 0)
            return value[start : start + int(length)] if length else value[start:]
        except ValueError:
            raise CommandError("bad substitution") from None


def _trimmed(value: str, op: str, pattern: str) -> str:
    if len(value) > TRIMMED_MAX:
        return value
    places = range(len(value) + 1)
    order = list(places) if op in ("#", "%%") else list(reversed(places))
    for place in order:
        if op[0] == "#" and globbing.matches(pattern, value[:place]):
            return value[place:]
        if op[0] == "%" and globbing.matches(pattern, value[place:]):
            return value[:place]
    return value


def _pieces(text: str, separators: str) -> list[str]:
    if not separators:
        return [text]
    for letter in separators[1:]:
        text = text.replace(letter, separators[0])
    return text.split(separators[0])
