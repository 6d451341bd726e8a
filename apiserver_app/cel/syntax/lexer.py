"""Expressions as tokens.

Models cel-go parser/gen/CEL.g4 (the lexer's rules) and parser/unescape.go.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from apiserver_app.cel.errors import Issue

END = "<EOF>"
INT, UINT, FLOAT, STRING, BYTES = "NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES"
IDENT, ESCAPED = "IDENTIFIER", "ESC_IDENTIFIER"

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_TEXT = (
    r'[rR]"""[\s\S]*?"""|[rR]' + r"'''[\s\S]*?'''"
    r"""|[rR]"[^"\n\r]*"|[rR]'[^'\n\r]*'"""
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""' + rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"' + rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_TOKEN = re.compile(
    r"(?P<skip>[\t \r\n\f]+|//[^\n]*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|\d+)"
    rf"|(?P<bytes>[bB](?:{_TEXT}))"
    rf"|(?P<string>{_TEXT})"
    r"|(?P<ident>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
    re.ASCII,
)
_NAMES = {
    "float": FLOAT, "uint": UINT, "int": INT, "bytes": BYTES, "string": STRING,
    "ident": IDENT, "escaped": ESCAPED,
}  # fmt: skip
_WORDS = frozenset(("in", "true", "false", "null"))
# no identifiers
RESERVED = frozenset(
    """
    as break const continue else for function if import let loop package namespace return var void
    while
    """.split()
)
KEYWORDS = _WORDS | RESERVED
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Token(NamedTuple):
    kind: str  # an operator or a word stands for itself
    text: str
    at: int


def tokens(source: str, issues: list[Issue]) -> list[Token]:
    """Every token and the end; other text is reported and left out."""
    out: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            end = _unknown(source, at)
            text = source[at:end]
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{text}'"))
            at = end
            continue
        name = match.lastgroup or ""
        text = match.group()
        if name != "skip":
            kind = _NAMES.get(name, text)
            out.append(Token(text if text in _WORDS else kind, text, at))
        at = match.end()
    out.append(Token(END, END, len(source)))
    return out


def _unknown(source: str, at: int) -> int:
    """Where the text that is no token ends: a string that is not closed reaches far."""
    if source[at] in "\"'":
        end = at + 1
        while end < len(source) and source[end] not in "\n\r":
            end += 1
        return end
    if source[at] in "&|=" and at + 1 < len(source):
        return at + 2
    return at + 1


def unquoted(text: str, is_bytes: bool) -> str | bytes:
    """The value of a string or bytes literal."""
    if is_bytes:
        text = text[1:]
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    text = text[quotes:-quotes]
    if raw or "\\" not in text:
        return text.encode() if is_bytes else text
    return _bytes(text) if is_bytes else _string(text)


def _string(text: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            out.append(char)
            at += 1
            continue
        code, at = _escape(text, at + 1)
        if isinstance(code, int):
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise ValueError("invalid unicode code point")
            code = chr(code)
        out.append(code)
    return "".join(out)


def _bytes(text: str) -> bytes:
    out = bytearray()
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            out += char.encode()
            at += 1
            continue
        if text[at + 1] in "uU":
            raise ValueError("unable to unescape string")
        code, at = _escape(text, at + 1)
        out += code.encode() if isinstance(code, str) else bytes((code,))
    return bytes(out)


def _escape(text: str, at: int) -> tuple[str | int, int]:
    """What stands behind a backslash, and where it ends."""
    char = text[at]
    if char in "xX":
        return int(text[at + 1 : at + 3], 16), at + 3
    if char == "u":
        return int(text[at + 1 : at + 5], 16), at + 5
    if char == "U":
        return int(text[at + 1 : at + 9], 16), at + 9
    if char in "0123":
        return int(text[at : at + 3], 8), at + 3
    return _SIMPLE.get(char, char), at + 1
