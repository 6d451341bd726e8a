"""The shell's language: from a text to a tree of commands. Pure; every nesting is bounded.

Models the Shell Command Language of POSIX.1-2017 as busybox's ash reads it; functions, here
documents and arithmetic are in it, aliases and job control are not.
"""

from __future__ import annotations

from typing import Any

import msgspec

from controllers_app.shell.lexer import (
    DEPTH_MAX,
    RESERVED,
    SOURCE_MAX,
    Letters,
    Part,
    Redirect,
    ShellSyntaxError,
    Word,
    parse_quoted,
)

LINE_MAX = 16 * 1024  # of commands that are read before the first of them is run
LETTER_BYTES = 32  # that a letter of a command takes once it is read


class Simple(msgspec.Struct):
    assigns: list[tuple[str, Word]] = msgspec.field(default_factory=list)
    words: list[Word] = msgspec.field(default_factory=list)
    redirects: list[Redirect] = msgspec.field(default_factory=list)


class Compound(msgspec.Struct):
    """`kind`: pipe, not, list, andor, if, while, until, for, case, group, subshell, function."""

    kind: str
    items: list[Any] = msgspec.field(default_factory=list)
    name: str = ""
    redirects: list[Redirect] = msgspec.field(default_factory=list)
    size: int = 0  # bytes that a function takes


Command = Simple | Compound


def parse(source: str) -> Compound:
    """The program. Raises ShellSyntaxError."""
    if len(source) > SOURCE_MAX:
        raise ShellSyntaxError("syntax error: out of memory")
    parser = Parser(source)
    program = parser.list_until(())
    if parser.at < len(source):
        raise parser.unexpected()
    return program


class Program:
    """A text, of which a line is read when those before have been run. `taken` is how many letters
    the last one had."""

    def __init__(self, source: str) -> None:
        if len(source) > SOURCE_MAX:
            raise ShellSyntaxError("syntax error: out of memory")
        self._parser = Parser(source)
        self.taken = 0

    def line(self) -> Compound | None:
        """The commands of the next line; None at the end. Raises ShellSyntaxError."""
        parser = self._parser
        begins = parser.begins = parser.at
        try:
            commands = parser.list_until((), whole=False)
            if parser.at == begins and parser.at < len(parser.source):
                raise parser.unexpected()
        finally:
            self.taken = parser.at - begins
        return commands if commands.items or self.taken else None


class Parser(Letters):
    """One text, read into commands."""

    begins = 0  # where the line begins that is read

    # -- commands -------------------------------------------------------------------------------

    def list_until(self, closing: tuple[str, ...], *, whole: bool = True) -> Compound:
        """Commands up to one of these words, which is left; items are (command, in background).
        `whole`: beyond the end of the line."""
        self._enter()
        out = Compound("list")
        while True:
            self._blank(newlines=True)
            if self.at >= len(self.source) or self._peek_end(closing):
                if closing and not out.items and ";;" not in closing:
                    raise self.unexpected()
                break
            command = self._and_or()
            self._blank()
            background = False
            if self._take("&"):
                background = True
            elif not self._starts(";;"):
                self._take(";")
            out.items.append((command, background))
            self._blank()
            rest = self.source[self.at : self.at + 1]
            if rest and rest == ")" and ")" not in closing:
                raise self.unexpected()
            if rest == "\n" and not whole:
                self._blank(newlines=True)
                break
        self._depth -= 1
        return out

    def _and_or(self) -> Command:
        first = self._pipeline()
        items: list[Any] = [("", first)]
        while True:
            self._blank()
            for op in ("&&", "||"):
                if self._take(op):
                    self._blank(newlines=True)
                    items.append((op, self._pipeline()))
                    break
            else:
                return first if len(items) == 1 else Compound("andor", items)

    def _pipeline(self) -> Command:
        self._blank()
        negated = False
        while self._word_here("!"):
            self._keyword("!")
            negated = not negated
        items = [self._command()]
        while True:
            self._blank()
            if self._starts("||") or not self._take("|"):
                break
            self._take("&")
            self._blank(newlines=True)
            items.append(self._command())
        whole = items[0] if len(items) == 1 else Compound("pipe", list(items))
        return Compound("not", [whole]) if negated else whole

    def _command(self) -> Command:
        self._enter()
        self._blank()
        if self.at - self.begins > LINE_MAX:
            raise ShellSyntaxError("syntax error: out of memory")
        made: Command
        if self._starts("("):
            self.at += 1
            body = self.list_until((")",))
            self._expect(")")
            made = Compound("subshell", [body])
        else:
            for word, read in (
                ("{", self._group),
                ("if", self._if),
                ("while", self._loop),
                ("for", self._for),
                ("until", self._loop),
                ("case", self._case),
                ("function", self._function),
            ):
                if self._word_here(word):
                    made = read()
                    break
            else:
                made = self._simple()
        if isinstance(made, Compound) and made.kind != "function":
            self._blank()
            while (redirect := self._redirect()) is not None:
                made.redirects.append(redirect)
                self._blank()
        self._depth -= 1
        return made

    def _group(self) -> Compound:
        self._keyword("{")
        body = self.list_until(("}",))
        self._keyword("}")
        return Compound("group", [body])

    def _if(self) -> Compound:
        self._keyword("if")
        out = Compound("if")
        while True:
            condition = self.list_until(("then",))
            self._keyword("then")
            body = self.list_until(("elif", "else", "fi"))
            out.items.append((condition, body))
            if self._word_here("elif"):
                self._keyword("elif")
                continue
            if self._word_here("else"):
                self._keyword("else")
                out.items.append((None, self.list_until(("fi",))))
            self._keyword("fi")
            return out

    def _loop(self) -> Compound:
        kind = "while" if self._word_here("while") else "until"
        self._keyword(kind)
        condition = self.list_until(("do",))
        return Compound(kind, [condition, self._do()])

    def _do(self) -> Compound:
        self._keyword("do")
        body = self.list_until(("done",))
        self._keyword("done")
        return body

    def _for(self) -> Compound:
        self._keyword("for")
        self._blank()
        name = self._name()
        if not name:
            raise ShellSyntaxError("syntax error: bad for loop variable")
        self._blank(newlines=True)
        words: list[Word] | None = None
        if self._word_here("in"):
            self._keyword("in")
            words = []
            self._blank()
            while (word := self._word()) is not None:
                words.append(word)
                self._blank()
        self._take(";")
        self._blank(newlines=True)
        return Compound("for", [words, self._do()], name)

    def _case(self) -> Compound:
        self._keyword("case")
        self._blank()
        subject = self._word()
        if subject is None:
            raise self.unexpected()
        self._blank(newlines=True)
        self._keyword("in")
        out = Compound("case", [subject])
        while True:
            self._blank(newlines=True)
            if self._word_here("esac"):
                self._keyword("esac")
                return out
            self._take("(")
            patterns = []
            while True:
                self._blank()
                pattern = self._word()
                if pattern is None:
                    raise self.unexpected()
                patterns.append(pattern)
                self._blank()
                if not self._take("|"):
                    break
            self._expect(")")
            body = self.list_until((";;", "esac"))
            self._take(";;")
            out.items.append((patterns, body))

    def _function(self) -> Compound:
        self._keyword("function")
        self._blank()
        name = self._name()
        self._blank()
        if self._take("("):
            self._expect(")")
        self._blank(newlines=True)
        return self._defined(name)

    def _defined(self, name: str) -> Compound:
        start = self.at
        body = self._command()
        return Compound("function", [body], name, size=(self.at - start) * LETTER_BYTES)

    def _simple(self) -> Command:
        out = Simple()
        while True:
            self._blank()
            redirect = self._redirect()
            if redirect is not None:
                out.redirects.append(redirect)
                continue
            if not out.words:
                name = self._name()
                if name and self._take("="):
                    out.assigns.append((name, self._word() or ()))
                    continue
                if name and not out.assigns and not out.redirects and self._call_ahead():
                    self._blank(newlines=True)
                    return self._defined(name)
                self.at -= len(name)
            if not out.words and any(self._word_here(word) for word in RESERVED):
                break
            word = self._word()
            if word is None:
                break
            out.words.append(word)
        if not (out.words or out.assigns or out.redirects):
            raise self.unexpected()
        return out

    def _call_ahead(self) -> bool:
        """Take the () of a function's definition."""
        start = self.at
        self._blank()
        if self._take("("):
            self._blank()
            if self._take(")"):
                return True
        self.at = start
        return False

    def _redirect(self) -> Redirect | None:
        start = self.at
        digits = ""
        while self.source[self.at : self.at + 1].isdigit() and len(digits) < 2:
            digits += self.source[self.at]
            self.at += 1
        for op in ("<<-", "<<", "<&", ">>", ">&", ">|", "&>", "<>", "<", ">"):
            if self._starts(op) and not (digits and op == "&>"):
                self.at += len(op)
                self._blank()
                begins = self.at
                word = self._word()
                if word is None:
                    raise self.unexpected()
                number = int(digits) if digits else (0 if op[0] == "<" else 1)
                out = Redirect(number, op, word)
                if op in ("<<", "<<-"):
                    raw = self.source[begins : self.at]
                    plain = raw.replace("'", "").replace('"', "").replace("\\", "")
                    self._heres.append((out, plain, raw == plain, op == "<<-"))
                return out
        self.at = start
        return None


__all__ = [
    "DEPTH_MAX",
    "Compound",
    "Part",
    "Redirect",
    "ShellSyntaxError",
    "Simple",
    "Word",
    "parse",
    "parse_quoted",
]
