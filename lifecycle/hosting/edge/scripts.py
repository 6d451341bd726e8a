"""Reads the source of a script far enough to leave out its comments and to find its imports.

A run of white space and comments becomes one line break when it has one, else one blank, or
nothing beside a sign that parts words anyhow. All else stays as it is written, inside strings,
templates and regular expressions too. Where it cannot be told for sure whether a slash begins a
regular expression, the source is refused.

Follows the lexical grammar of ECMA-262: sections 12.4 (comments), 12.9 (literals) and the goal
symbols of section 12.
"""

from __future__ import annotations

import re
from array import array

import msgspec

_PART = re.compile(
    r"""
    (?P<gap> (?: [ \t\r\n]+ | //[^\n\u2028\u2029]* | /\*.*?\*/ )+ )
  | (?P<code> (?: [^ \t\r\n'"`/{}]+ | [ ](?=[^ \t\r\n'"`/{}]) )+ )
  | (?P<brace> [{}] )
  | (?P<string> '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" )
  | (?P<template> ` )
  | (?P<slash> / )
    """,
    re.DOTALL | re.VERBOSE,
)
# a blank beside one of these parts nothing
_SIGNS = "()[];,=<>?:&|*!"
_BARE = frozenset(_SIGNS + "{}'\"`")
_BLANKS = re.compile(f" (?=[{re.escape(_SIGNS)}])|(?<=[{re.escape(_SIGNS)}]) ")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?P<end>`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+/\w*")
_STATEMENT = re.compile(r"(?<![\w$.#])(?:import(?!\s*[(.])|export|var)(?![\w$])")
_CALL = re.compile(r"(?<![\w$.#])import\s*\(")
_VALUE = re.compile(r"(?:(?<![\w$.#])([a-z]+)|\+\+|--|[\w$)\]}'\"`])\s*\Z")
# after these a value is wanted, so that a slash begins a regular expression
_WORDS = frozenset(
    "await case delete do else in instanceof new of return throw typeof void yield".split()
)


class Unreadable(ValueError):
    """What a source has that is not understood here."""


class Source(msgspec.Struct):
    """`lines` and `columns` tell of each line of `text` where it begins in what was read.
    `statements` are the places of the words import, export and var that stand in no braces,
    `loads` those of the names in import('...')."""

    text: str
    lines: array[int]
    columns: array[int]
    statements: list[int]
    loads: list[int]


def read(text: str) -> Source:
    """Returns the source without comments. Raises Unreadable."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[str] = []
        self._length = 0  # of what was put
        self._last = ""  # letter of it
        self._line = 0  # in what is read
        self._open: list[str] = []  # braces; ${ for those in a template
        self._regex = ""  # the last part that is one
        self._source = Source("", array("L", [0]), array("L", [0]), [], [])

    def read(self) -> Source:
        text, at = self._text, 0
        ways = {
            "gap": self._gap,
            "code": self._code,
            "brace": self._brace,
            "string": self._string,
            "template": self._template,
            "slash": self._slash,
        }
        while at < len(text):
            match = _PART.match(text, at)
            if match is None or match.lastgroup is None:
                raise self._unreadable(repr(text[at : at + 20]))
            at = ways[match.lastgroup](match.group(), match.end())
        if self._open:
            raise self._unreadable(f"{self._open[-1]} is not closed")
        self._source.text = "".join(self._parts)
        return self._source

    def _gap(self, part: str, end: int) -> int:
        breaks = part.count("\n")
        if breaks:
            self._line += breaks
            self._begin_line(len(part) - part.rindex("\n") - 1)
            self._put("\n")
        elif self._last not in _BARE and self._text[end : end + 1] not in _BARE:
            self._put(" ")
        return end

    def _code(self, part: str, end: int) -> int:
        part = _BLANKS.sub("", part)
        if not self._open:
            for statement in _STATEMENT.finditer(part):
                self._source.statements.append(self._length + statement.start())
        for call in _CALL.finditer(part):
            if call.end() != len(part) or self._text[end : end + 1] not in ("'", '"'):
                raise self._unreadable("import() of a name that is not written out")
            self._source.loads.append(self._length + len(part))
        self._put(part)
        return end

    def _brace(self, part: str, end: int) -> int:
        if part == "{":
            self._open.append(part)
        elif not self._open:
            raise self._unreadable("nothing is open for }")
        elif self._open.pop() == "${":
            return self._template(part, end)
        self._put(part)
        return end

    def _string(self, part: str, end: int) -> int:
        self._put_lines(part)
        return end

    def _template(self, part: str, end: int) -> int:
        rest = _TEMPLATE.match(self._text, end)
        if rest is None:
            raise self._unreadable("a template does not end")
        if rest["end"] == "${":
            self._open.append("${")
        self._put_lines(part + rest.group())
        return rest.end()

    def _slash(self, part: str, end: int) -> int:
        if self._is_division(self._text[end : end + 1]):
            self._put(part)
            return end
        regex = _REGEX.match(self._text, end - 1)
        if regex is None:
            raise self._unreadable("a regular expression does not end")
        self._regex = regex.group()
        self._put(self._regex)
        return regex.end()

    def _is_division(self, after: str) -> bool:
        if self._regex and self._regex is next(filter(str.strip, reversed(self._parts))):
            return True
        value = _VALUE.search("".join(self._parts[-3:]))
        if value is None or value[1] in _WORDS:
            return False
        # the end of a condition or a block as well as of a value
        if value.group()[0] in ")}" and not after.isspace():
            raise self._unreadable("a division or a regular expression?")
        return True

    def _put(self, part: str) -> None:
        self._parts.append(part)
        self._length += len(part)
        self._last = part[-1:]

    def _put_lines(self, part: str) -> None:
        for _ in range(part.count("\n")):
            self._line += 1
            self._begin_line(0)
        self._put(part)

    def _begin_line(self, column: int) -> None:
        self._source.lines.append(self._line)
        self._source.columns.append(column)

    def _unreadable(self, why: str) -> Unreadable:
        return Unreadable(f"line {self._line + 1}: {why}")
