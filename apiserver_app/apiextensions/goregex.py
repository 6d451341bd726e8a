"""Patterns in Go's regular expression syntax, compiled for Python's engine.

Models the syntax of Go's regexp/syntax as far as it differs: classes by name, `\\z`, `$` at the
very end only.
"""

from __future__ import annotations

import functools
import re

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED = re.compile(r"\[:(\w+):\]")
_UNSUPPORTED = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]")


@functools.lru_cache(1024)
def compile(pattern: str) -> re.Pattern[str]:
    """Raises re.error for what Go would not take, too."""
    found = _UNSUPPORTED.search(pattern)
    if found is not None:
        raise re.error(f"invalid or unsupported Perl syntax: `{found.group(0)}`")
    return re.compile(_translated(pattern), re.ASCII)


def matches(pattern: str, text: str) -> bool:
    """Whether the text contains a match; a pattern that cannot be compiled matches nothing."""
    try:
        return compile(pattern).search(text) is not None
    except (re.error, RecursionError):
        return False


def _translated(pattern: str) -> str:
    out: list[str] = []
    at, in_class = 0, False
    multiline = "(?m" in pattern
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            following = pattern[at + 1]
            out.append("\\Z" if following == "z" and not in_class else char + following)
            at += 2
            continue
        if in_class and char == "[":
            named = _NAMED.match(pattern, at)
            if named is not None and named.group(1) in _CLASSES:
                out.append(_CLASSES[named.group(1)])
                at = named.end()
                continue
            char = "\\["
        elif char == "[":
            in_class = True
            if pattern[at + 1 : at + 2] == "]":
                char, at = "[\\]", at + 1
            elif pattern[at + 1 : at + 3] == "^]":
                char, at = "[^\\]", at + 2
        elif char == "]":
            in_class = False
        elif char == "$" and not in_class and not multiline:
            char = "\\Z"
        out.append(char)
        at += 1
    return "".join(out)
