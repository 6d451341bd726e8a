"""Patterns of the shell, for names of files and for texts. Pure and bounded.

Models POSIX.1-2017, Shell Command Language 2.13.
"""

from __future__ import annotations

import re


def matches(pattern: str, text: str) -> bool:
    """Whether all of the text is as the pattern of *, ?, and [..] says; \\ takes meaning off."""
    return _match(_tokens(pattern), text)


def _tokens(pattern: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\" and at + 1 < len(pattern):
            at += 1
            out.append(("is", pattern[at]))
        elif letter in "*?":
            if not (letter == "*" and out and out[-1][0] == "*"):
                out.append((letter, ""))
        elif letter == "[" and (end := pattern.find("]", at + 2)) > 0:
            out.append(("[", pattern[at + 1 : end]))
            at = end
        else:
            out.append(("is", letter))
        at += 1
    return out


def _match(tokens: list[tuple[str, str]], text: str) -> bool:
    """Greedy with one place to go back to, so that no pattern takes longer than a product."""
    t = p = 0
    star, mark = -1, 0
    while t < len(text):
        if p < len(tokens) and tokens[p][0] == "*":
            star, mark = p, t
            p += 1
        elif p < len(tokens) and _is(tokens[p], text[t]):
            p, t = p + 1, t + 1
        elif star >= 0:
            mark += 1
            p, t = star + 1, mark
        else:
            return False
    return all(kind == "*" for kind, _ in tokens[p:])


def _is(token: tuple[str, str], letter: str) -> bool:
    kind, said = token
    if kind == "is":
        return said == letter
    if kind == "?":
        return True
    negated = said[:1] in ("!", "^")
    said = said[negated:]
    classes = {
        "[:digit:": str.isdigit, "[:alpha:": str.isalpha, "[:space:": str.isspace,
        "[:upper:": str.isupper, "[:lower:": str.islower, "[:alnum:": str.isalnum,
    }  # fmt: skip
    if said in classes:
        return classes[said](letter) != negated
    at, found = 0, False
    while at < len(said):
        if said[at + 1 : at + 2] == "-" and at + 2 < len(said):
            found = found or said[at] <= letter <= said[at + 2]
            at += 3
        else:
            found = found or said[at] == letter
            at += 1
    return found != negated


def quoted(text: str) -> str:
    """The text as a pattern that means itself."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


def has_pattern(pattern: str) -> bool:
    return any(kind != "is" for kind, _ in _tokens(pattern))


def plain(pattern: str) -> str:
    """A pattern without meaning, as the text it stands for."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
