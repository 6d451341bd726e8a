"""Patterns of the shell, for names of files and for texts. Pure; no pattern takes more than linear
time.

Models POSIX.1-2017, Shell Command Language 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from controllers_app.shell import regex

_CLASSES = frozenset(("digit", "alpha", "space", "upper", "lower", "alnum", "punct", "xdigit"))
Token = tuple[str, str]  # is, *, ? or [, and the letter or what stands between the brackets


def matches(pattern: str, text: str) -> bool:
    """Whether all of the text is as the pattern of *, ?, and [..] says; \\ takes meaning off."""
    return matcher(pattern)(text)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text is so."""
    tokens = _tokens(pattern)
    return lambda text: _start(text, tokens, longest=True) == len(text)


def trimmed(value: str, op: str, pattern: str) -> str:
    """The value without the shortest (#, %) or longest (##, %%) start or end that is as the pattern
    says."""
    tokens = _tokens(pattern)
    if op[0] == "#":
        return value[max(0, _start(value, tokens, longest=op == "##")) :]
    end = _start(value[::-1], tokens[::-1], longest=op == "%%")
    return value[: len(value) - max(0, end)]


def _start(text: str, tokens: list[Token], *, longest: bool) -> int:
    """How long the shortest or longest start of the text is that is as the tokens say; -1: none
    is."""
    if any(kind in "?[" for kind, _ in tokens):
        source = "".join(_SOURCES.get(kind) or _one_of(kind, token) for kind, token in tokens)
        return regex.glob(f"^(?:{source})", longest=longest).end(text)
    pieces = [""]
    for kind, letter in tokens:
        if kind == "*":
            pieces.append("")
        else:
            pieces[-1] += letter
    return _literally(text, pieces, longest=longest)


def _literally(text: str, pieces: list[str], *, longest: bool) -> int:
    """The same of texts with anything between them."""
    first, *more = pieces
    if not text.startswith(first):
        return -1
    at = len(first)
    if not more:
        return at
    *middle, last = more
    for piece in middle:
        place = text.find(piece, at)
        if place < 0:
            return -1
        at = place + len(piece)
    if not longest:
        place = text.find(last, at)
        return -1 if place < 0 else place + len(last)
    place = text[at:][::-1].find(last[::-1])
    return -1 if place < 0 else len(text) - place


_SOURCES = {"*": ".*?", "?": "."}


def _one_of(kind: str, text: str) -> str:
    """One letter as a regular expression."""
    if kind == "is":
        return re.escape(text)
    negated, text = text[:1] in ("!", "^"), text[text[:1] in ("!", "^") :]
    out, at = "", 0
    while at < len(text):
        end = text.find(":]", at) if text.startswith("[:", at) else -1
        if end > 0 and text[at + 2 : end] in _CLASSES:
            out += text[at : end + 2]
            at = end + 2
        elif text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            if text[at] <= text[at + 2]:
                out += f"{_escaped(text[at])}-{_escaped(text[at + 2])}"
            at += 3
        else:
            out += _escaped(text[at])
            at += 1
    if not out:
        return "." if negated else NEVER
    return f"[{'^' * negated}{out}]"


NEVER = r"[^\x00-\x{10FFFF}]"


def _escaped(letter: str) -> str:
    return f"\\x{{{ord(letter):x}}}" if not letter.isalnum() else letter


def _tokens(pattern: str) -> list[Token]:
    out: list[Token] = []
    at, last = 0, pattern.rfind("]")
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\" and at + 1 < len(pattern):
            at += 1
            out.append(("is", pattern[at]))
        elif letter in "*?":
            if not (letter == "*" and out and out[-1][0] == "*"):
                out.append((letter, ""))
        elif letter == "[" and last > at + 1 and (match := _BRACKET.match(pattern, at)):
            out.append(("[", match[0][1:-1]))
            at = match.end() - 1
        else:
            out.append(("is", letter))
        at += 1
    return out


def quoted(text: str) -> str:
    """The text as a pattern that means itself."""
    return _SPECIAL.sub(r"\\\g<0>", text) if _SPECIAL.search(text) else text


_BRACKET = re.compile(r"\[[!^]?(?:\[:\w+:\]|.)(?:\[:\w+:\]|[^\]])*\]", re.DOTALL)
_SPECIAL = re.compile(r"[*?\[\]\\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def has_pattern(pattern: str) -> bool:
    if not _SPECIAL.search(pattern):
        return False
    bare = _ESCAPED.sub("", pattern)
    if "*" in bare or "?" in bare:
        return True
    return "[" in bare and any(kind == "[" for kind, _ in _tokens(pattern))


def plain(pattern: str) -> str:
    """A pattern without meaning, as the text it stands for."""
    return _ESCAPED.sub(r"\1", pattern) if "\\" in pattern else pattern
