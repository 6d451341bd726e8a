"""Texts: the string extension.

Models cel-go ext/strings.go (version 2, Kubernetes' since 1.29).
"""

from __future__ import annotations

import math
from typing import Any

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare, size, traversal
from apiserver_app.cel.values import plain
from apiserver_app.machinery.errors import ESCAPES
from apiserver_app.machinery.releases import Release

_WHITE = (
    " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise EvaluationError(f"index out of range: {at}")
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    if part == "":
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is None:
        return text.rfind(part)
    if last < 0:
        raise EvaluationError(f"index out of range: {last}")
    if part == "":
        return min(last, len(text))
    return text.rfind(part, 0, last + len(part)) if last < len(text) else -1


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, by: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if by == "":
        parts = list(text)
        if 0 < count < len(parts):
            parts = [*parts[: count - 1], "".join(parts[count - 1 :])]
        return parts
    return text.split(by, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, stop):
        if not 0 <= place <= len(text):
            raise EvaluationError(f"index out of range: {place}")
    return text[start:stop]


def _join(parts: list[Any], by: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {plain(part)}")
    return by.join(parts)


def quote(text: str) -> str:
    return '"' + "".join(ESCAPES.get(char, char) for char in text) + '"'


def _joined(parts: list[Any], by: str = "") -> int:
    length = sum(map(size, parts)) + len(by) * max(0, len(parts) - 1)
    return math.ceil(length * 0.2)


def _searched(text: str, *rest: Any) -> int:
    return len(text.encode()) // 10


def _rebuilt(text: str, *rest: Any) -> int:
    return math.ceil(len(text) * 0.2)


def _declare() -> None:
    member: dict[str, tuple[Any, Any]] = {
        "string.charAt(int) string": (_char_at, None),
        "string.indexOf(string) int": (_index_of, _searched),
        "string.indexOf(string, int) int": (_index_of, _searched),
        "string.lastIndexOf(string) int": (_last_index_of, _searched),
        "string.lastIndexOf(string, int) int": (_last_index_of, _searched),
        "string.lowerAscii() string": (lambda text: text.translate(_LOWER), traversal),
        "string.upperAscii() string": (lambda text: text.translate(_UPPER), traversal),
        "string.replace(string, string) string": (_replace, _rebuilt),
        "string.replace(string, string, int) string": (_replace, _rebuilt),
        "string.split(string) list(string)": (_split, _rebuilt),
        "string.split(string, int) list(string)": (_split, _rebuilt),
        "string.substring(int) string": (_substring, traversal),
        "string.substring(int, int) string": (_substring, traversal),
        "string.trim() string": (lambda text: text.strip(_WHITE), traversal),
        "list(string).join() string": (_join, _joined),
        "list(string).join(string) string": (_join, _joined),
    }
    for signature, (impl, cost) in member.items():
        declare(signature, impl, cost)
    declare("$strings.quote(string) string", quote, traversal, Release(29))


_declare()
