"""Letters and words of the shell's language: quotes, $ and what follows it. Pure.

Models POSIX.1-2017, Shell Command Language 2.2 (quoting) and 2.3 (token recognition).
"""

from __future__ import annotations

import msgspec

DEPTH_MAX = 24
SOURCE_MAX = 256 * 1024
_META = " \t\n;&|<>()"
OPERATORS = ("&&", "||", ";;", "<<-", "<<", ">>", ">&", "<&", "&>", "<>", ">|")
RESERVED = tuple("if then else elif fi do done case esac while until for { } !".split())


class ShellSyntaxError(Exception):
    """The text is no program; ash's message about it."""


class Part(msgspec.Struct, frozen=True):
    """A piece of a word. `kind`: text, var, length, cmd, math. `word` is what follows `op`."""

    kind: str
    text: str
    quoted: bool = False
    op: str = ""
    word: Word | None = None


Word = tuple[Part, ...]


class Redirect(msgspec.Struct):
    number: int
    op: str
    word: Word
    body: Word | None = None  # of a here document


class Letters:
    """One text, read once from left to right."""

    def __init__(self, source: str, depth: int = 0) -> None:
        self.source = source
        self.at = 0
        self._depth = depth
        self._heres: list[tuple[Redirect, str, bool, bool]] = []

    # -- words ----------------------------------------------------------------------------------

    def _word(self) -> Word | None:
        if self.at >= len(self.source) or self.source[self.at] in _META:
            return None
        return self.word_parts(stop=_META)

    def word_parts(self, *, stop: str) -> Word:
        """Parts up to one of the characters; quotes are taken off."""
        out: list[Part] = []
        text = ""
        while self.at < len(self.source):
            letter = self.source[self.at]
            if letter in stop:
                break
            if letter not in "\\'\"$`":
                text += letter
                self.at += 1
                continue
            if text:
                out.append(Part("text", text))
                text = ""
            self.at += 1
            if letter == "\\":
                escaped = self.source[self.at : self.at + 1]
                self.at += 1
                if escaped != "\n":
                    out.append(Part("text", escaped or "\\", True))
            elif letter == "'":
                end = self.source.find("'", self.at)
                if end < 0:
                    raise ShellSyntaxError("syntax error: unterminated quoted string")
                out.append(Part("text", self.source[self.at : end], True))
                self.at = end + 1
            elif letter == '"':
                parts = self.quoted_parts('"')
                out.extend(parts or (Part("text", "", True),))
            else:
                out.append(self._dollar(letter, quoted=False))
        if text:
            out.append(Part("text", text))
        return tuple(out)

    def quoted_parts(self, end: str) -> Word:
        """Parts up to the closing quote, or to the end of the text when there is none."""
        out: list[Part] = []
        text = ""
        while True:
            if self.at >= len(self.source):
                if end:
                    raise ShellSyntaxError("syntax error: unterminated quoted string")
                break
            letter = self.source[self.at]
            self.at += 1
            if letter == end:
                break
            if letter == "\\":
                escaped = self.source[self.at : self.at + 1]
                if escaped and escaped in '$`"\\\n':
                    self.at += 1
                    text += "" if escaped == "\n" else escaped
                else:
                    text += letter
            elif letter in "$`":
                if text:
                    out.append(Part("text", text, True))
                    text = ""
                out.append(self._dollar(letter, quoted=True))
            else:
                text += letter
        if text:
            out.append(Part("text", text, True))
        return tuple(out)

    def _dollar(self, letter: str, *, quoted: bool) -> Part:
        """What stands behind a $ or a backquote, which is taken already."""
        source = self.source
        if letter == "`":
            end = source.find("`", self.at)
            if end < 0:
                raise ShellSyntaxError("syntax error: EOF in backquote substitution")
            inner = source[self.at : end]
            self.at = end + 1
            return Part("cmd", inner, quoted)
        if self._starts("(("):
            inner = self._balanced(2, "(", ")")
            if inner.endswith(")"):
                return Part("math", inner[:-1], quoted)
            raise ShellSyntaxError("syntax error: missing '))'")
        if self._starts("("):
            return Part("cmd", self._balanced(1, "(", ")"), quoted)
        if self._starts("{"):
            return self._braced(self._balanced(1, "{", "}"), quoted)
        name = self._name()
        if name:
            return Part("var", name, quoted)
        special = source[self.at : self.at + 1]
        if special and (special in "?#@*$!-" or special.isdigit()):
            self.at += 1
            return Part("var", special, quoted)
        return Part("text", "$", True)

    def _balanced(self, skip: int, opening: str, closing: str) -> str:
        """The text between brackets of which the first stand here, quotes respected."""
        self.at += skip
        start, level, source = self.at, 1, self.source
        if skip == 2:
            level = 2
        while self.at < len(source):
            letter = source[self.at]
            if letter == "\\":
                self.at += 1
            elif letter == "'" and opening == "(":
                end = source.find("'", self.at + 1)
                self.at = end if end > 0 else len(source)
            elif letter == opening:
                level += 1
            elif letter == closing:
                level -= 1
                if level == 0:
                    self.at += 1
                    return source[start : self.at - 1]
            self.at += 1
        raise ShellSyntaxError(f'syntax error: unexpected end of file (expecting "{closing}")')

    def _braced(self, inner: str, quoted: bool) -> Part:
        """${name}, ${#name}, ${name:-word} and the like."""
        if inner.startswith("#") and len(inner) > 1:
            return Part("length", inner[1:], quoted)
        reader = Letters(inner, self._depth + 1)
        reader._enter()
        name = reader._name()
        if not name and inner[:1] and (inner[0] in "?#@*$!-" or inner[0].isdigit()):
            name = inner[0]
            reader.at = 1
            while name.isdigit() and inner[reader.at : reader.at + 1].isdigit():
                name += inner[reader.at]
                reader.at += 1
        if not name:
            raise ShellSyntaxError("syntax error: bad substitution")
        for op in (
            ":-",
            ":=",
            ":+",
            ":?",
            "##",
            "%%",
            "//",
            "-",
            "=",
            "+",
            "?",
            "#",
            "%",
            "/",
            ":",
        ):
            if reader._take(op):
                word = reader.quoted_parts("") if quoted else reader.word_parts(stop="")
                return Part("var", name, quoted, op, word)
        if reader.at < len(inner):
            raise ShellSyntaxError("syntax error: bad substitution")
        return Part("var", name, quoted)

    # -- letters --------------------------------------------------------------------------------

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX * 2:
            raise ShellSyntaxError("syntax error: nested too deeply")

    def _blank(self, *, newlines: bool = False) -> None:
        source = self.source
        while self.at < len(source):
            letter = source[self.at]
            if letter == "#":
                end = source.find("\n", self.at)
                self.at = end if end >= 0 else len(source)
            elif letter == "\\" and self._starts("\\\n"):
                self.at += 2
            elif letter == "\n":
                if not newlines:
                    return
                self.at += 1
                self._here_documents()
            elif letter in " \t\r":
                self.at += 1
            else:
                return

    def _here_documents(self) -> None:
        for redirect, end, expands, tabs in self._heres:
            lines = []
            while self.at < len(self.source):
                stop = self.source.find("\n", self.at)
                stop = len(self.source) if stop < 0 else stop
                line = self.source[self.at : stop]
                self.at = stop + 1
                line = line.lstrip("\t") if tabs else line
                if line == end:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            redirect.body = parse_quoted(text) if expands else (Part("text", text, True),)
        self.at = min(self.at, len(self.source))
        self._heres.clear()

    def _starts(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if text and self._starts(text):
            self.at += len(text)
            return True
        return False

    def _expect(self, text: str) -> None:
        self._blank(newlines=True)
        if not self._take(text):
            raise self.unexpected()

    def _name(self) -> str:
        start = self.at
        source = self.source
        while (
            self.at < len(source)
            and source[self.at].isascii()
            and (
                source[self.at].isalpha()
                or source[self.at] == "_"
                or (self.at > start and source[self.at].isdigit())
            )
        ):
            self.at += 1
        return source[start : self.at]

    def _word_here(self, word: str) -> bool:
        if not self._starts(word):
            return False
        after = self.source[self.at + len(word) : self.at + len(word) + 1]
        return after == "" or after in _META

    def _keyword(self, word: str) -> None:
        self._blank(newlines=True)
        if not self._word_here(word):
            raise self.unexpected(word)
        self.at += len(word)

    def _peek_end(self, closing: tuple[str, ...]) -> bool:
        for end in closing:
            if end in (")", ";;"):
                if self._starts(end):
                    return True
            elif self._word_here(end):
                return True
        return False

    def unexpected(self, wanted: str = "") -> ShellSyntaxError:
        expecting = f' (expecting "{wanted}")' if wanted else ""
        if self.at >= len(self.source):
            return ShellSyntaxError(f"syntax error: unexpected end of file{expecting}")
        rest = self.source[self.at :]
        if rest[0] == "\n":
            return ShellSyntaxError(f"syntax error: unexpected newline{expecting}")
        token = next((op for op in OPERATORS if rest.startswith(op)), "") or rest[0]
        if token not in _META and not token.isspace() and token not in OPERATORS:
            word = rest
            for letter in _META:
                word = word.partition(letter)[0]
            return ShellSyntaxError(f'syntax error: unexpected "{word[:40]}"{expecting}')
        return ShellSyntaxError(f'syntax error: unexpected "{token}"{expecting}')


def parse_quoted(source: str) -> Word:
    """A whole text as one word, as in a here document or in $((."""
    return Letters(source).quoted_parts("")
