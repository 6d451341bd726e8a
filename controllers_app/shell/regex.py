"""Regular expressions of containers: POSIX and GNU syntax, run on RE2, so that no pattern takes
more than linear time. Pure.

RE2 has no back-references; they are refused in the program's own words.

Models POSIX.1-2017, Base Definitions 9 (Regular Expressions), and glibc's regcomp.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from controllers_app.shell.exits import CommandError

PATTERN_MAX = 1024  # letters
PROGRAM_MAX = 400  # instructions of a pattern
WORK_MAX = 4_000_000  # instructions times letters, of all that is searched at once
MEMORY_MAX = 256 << 10  # bytes of a pattern's automaton
CACHED_MAX = 64
TEXT_MAX = 8192  # of a line that is searched
COMPILE = 3  # operations for each letter of a pattern that is compiled
SEARCH = 10  # operations that a search takes, besides those for its length
_CLASSES = frozenset(
    """
    digit alpha alnum space upper lower punct xdigit blank cntrl print graph
    """.split()
)
_PERL = {"w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S", "d": r"\d", "D": r"\D"}
_EDGES = {"b": r"\b", "B": r"\B", "<": r"\b", ">": r"\b", "`": r"\A", "'": r"\z"}
_CONTROLS = {"n": r"\n", "t": r"\t", "r": r"\r", "f": r"\f", "v": r"\v", "a": r"\a"}
_INTERVAL = re.compile(r"(\d{0,5})(,?)(\d{0,5})")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Pattern:
    """A compiled expression."""

    def __init__(
        self,
        source: str,
        *,
        longest: bool = True,
        ignore_case: bool = False,
        size_max: int = PROGRAM_MAX,
    ) -> None:
        import re2  # with the first pattern

        options = re2.Options()
        options.max_mem = MEMORY_MAX
        options.log_errors = False
        options.longest_match = longest
        options.case_sensitive = not ignore_case
        options.dot_nl = True
        try:
            self._compiled = re2.compile(_clean(source), options)
        except re2.error:
            raise CommandError("bad regex", 2) from None
        self.size: int = self._compiled.programsize
        self.groups: int = self._compiled.groups
        if self.size > size_max:
            raise CommandError("regular expression too big", 2)

    def search(self, text: str) -> Any | None:
        """The leftmost longest match in the beginning of a text, as Python's re.Match."""
        return self._compiled.search(_clean(text[:TEXT_MAX]))

    def finditer(self, text: str) -> Iterator[Any]:
        """All matches, from left to right. Raises CommandError when one might take long."""
        self._bound(text)
        before = -1
        for match in self._compiled.finditer(_clean(text)):
            start, end = match.span()
            if not start == end == before:  # an empty match right after another does not count
                yield match
            before = end

    def _bound(self, text: str) -> None:
        if len(text) * self.size > WORK_MAX:
            raise CommandError("out of memory", 1)

    def end(self, text: str) -> int:
        """Where the match ends; -1: there is none. Raises CommandError when it would take long."""
        self._bound(text)
        match = self._compiled.search(_clean(text))
        return -1 if match is None else int(match.end())

    def cost(self, length: int) -> int:
        """Operations of a search in a text of that length."""
        return SEARCH + min(length, TEXT_MAX) * self.size // 2000


def _clean(text: str) -> str:
    """A text that RE2 takes: bytes that are no letter count as one letter each."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


@functools.lru_cache(CACHED_MAX)
def glob(source: str, *, longest: bool) -> Pattern:
    """A pattern of the shell, which is written as an expression already."""
    return Pattern(source, longest=longest, size_max=WORK_MAX)


@functools.lru_cache(CACHED_MAX)
def posix(
    pattern: str, *, extended: bool, ignore_case: bool = False, around: str = "%s"
) -> Pattern:
    """A program's expression. `around` is an expression for RE2 in which it stands."""
    if len(pattern) > PATTERN_MAX:
        raise CommandError("regular expression too big", 2)
    source = around.replace("%s", _Translation(pattern, extended=extended).done())
    return Pattern(source, ignore_case=ignore_case)


def literal(text: str, *, ignore_case: bool = False, around: str = "%s") -> Pattern:
    """The text itself."""
    return Pattern(around.replace("%s", re.escape(text)), ignore_case=ignore_case)


class _Translation:
    """One expression, read once from left to right."""

    def __init__(self, pattern: str, *, extended: bool) -> None:
        self._pattern = pattern
        self._extended = extended
        self._at = 0
        self._out: list[str] = []
        self._atom = -1  # where in `out` that begins which a repetition would repeat; -1: nothing
        self._repeats = False  # whether it is repeated already
        self._open: list[int] = []

    def done(self) -> str:
        while self._at < len(self._pattern):
            letter = self._pattern[self._at]
            self._at += 1
            if letter == "\\":
                self._escaped()
            elif letter == "[":
                self._single(self._bracket())
            elif letter == ".":
                self._single(".")
            elif letter in "*^$" or (self._extended and letter in "(){|+?"):
                self._special(letter)
            else:
                self._single(re.escape(letter))
        if self._open:
            raise CommandError("Unmatched ( or \\(", 2)
        return "".join(self._out)

    def _escaped(self) -> None:
        letter = self._pattern[self._at : self._at + 1]
        if not letter:
            raise CommandError("Trailing backslash", 2)
        self._at += 1
        if letter in "123456789":
            raise CommandError("back-references are not simulated", 2)
        if not self._extended and letter in "(){|+?":
            self._special(letter)
        elif letter in _EDGES:
            self._edge(_EDGES[letter])
        else:
            self._single(_PERL.get(letter) or _CONTROLS.get(letter) or re.escape(letter))

    def _special(self, letter: str) -> None:
        if letter == "(":
            self._open.append(len(self._out))
            self._edge("(")
        elif letter == ")":
            if not self._open:
                if not self._extended:
                    raise CommandError("Unmatched ) or \\)", 2)
                self._single(r"\)")
                return
            self._out.append(")")
            self._atom, self._repeats = self._open.pop(), False
        elif letter == "|":
            self._edge("|")
        elif letter == "^":
            begins = not self._out or self._out[-1] in ("(", "|")
            (self._edge if self._extended or begins else self._single)(
                "^" if begins or self._extended else r"\^"
            )
        elif letter == "$":
            is_special = self._extended or self._is_last()
            (self._edge if is_special else self._single)("$" if is_special else r"\$")
        elif letter == "{":
            self._interval()
        else:
            self._repeat(letter)

    def _is_last(self) -> bool:
        rest = self._pattern[self._at : self._at + 2]
        return rest in ("", r"\)", r"\|")

    def _single(self, source: str) -> None:
        self._atom, self._repeats = len(self._out), False
        self._out.append(source)

    def _edge(self, source: str) -> None:
        self._atom = -1
        self._out.append(source)

    def _repeat(self, operator: str) -> None:
        if self._atom < 0:
            self._single(re.escape(operator))
            return
        if self._repeats:
            if self._out[-1] == operator:
                return
            self._out[self._atom :] = ["(?:" + "".join(self._out[self._atom :]) + ")"]
        self._out.append(operator)
        self._repeats = True

    def _interval(self) -> None:
        match = _INTERVAL.match(self._pattern, self._at)
        end = "}" if self._extended else r"\}"
        assert match is not None
        if not (match[1] or match[2]) or not self._pattern.startswith(end, match.end()):
            if not self._extended:
                raise CommandError(r"Invalid content of \{\}", 2)
            self._single(r"\{")
            return
        self._at = match.end() + len(end)
        low, high = int(match[1] or 0), int(match[3]) if match[3] else None
        if high is None and not match[2]:
            high = low
        if max(low, high or 0) > 1000 or (high is not None and high < low):
            raise CommandError(r"Invalid content of \{\}", 2)
        self._repeat(f"{{{low},{'' if high is None else high}}}")

    def _bracket(self) -> str:
        """[...] as RE2 writes it."""
        pattern, out = self._pattern, ""
        negated = pattern.startswith("^", self._at)
        self._at += negated
        first = True
        while True:
            letter = pattern[self._at : self._at + 1]
            if not letter:
                raise CommandError("Unmatched [, [^, [:, [., or [=", 2)
            if letter == "]" and not first:
                self._at += 1
                return f"[{'^' * negated}{out}]"
            first = False
            end = pattern.find(":]", self._at) if pattern.startswith("[:", self._at) else -1
            if end > 0:
                name = pattern[self._at + 2 : end]
                if name not in _CLASSES:
                    raise CommandError("Invalid character class name", 2)
                out += f"[:{name}:]"
                self._at = end + 2
                continue
            out += self._member()

    def _member(self) -> str:
        """A letter, a range or an escape between brackets."""
        low, is_class = self._letter()
        pattern = self._pattern
        if is_class or pattern[self._at : self._at + 1] != "-":
            return low
        if pattern[self._at + 1 : self._at + 2] in ("]", ""):
            return low
        self._at += 1
        high, is_class = self._letter()
        if is_class or int(low[3:-1], 16) > int(high[3:-1], 16):
            raise CommandError("Invalid range end", 2)
        return f"{low}-{high}"

    def _letter(self) -> tuple[str, bool]:
        letter = self._pattern[self._at]
        self._at += 1
        following = self._pattern[self._at : self._at + 1]
        if letter == "\\" and following:
            self._at += 1
            if following in _PERL:
                return _PERL[following], True
            letter = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}.get(
                following, following
            )
        return f"\\x{{{ord(_clean(letter)):x}}}", False
