"""Finds the syntax error in invalid JSON, as Go's encoding/json words it.

Used after a fast parser has refused a body; never builds values.

Models Go's encoding/json/scanner.go.
"""

from __future__ import annotations

import re
from typing import NoReturn

DEPTH_MAX = 10_000

END = "unexpected end of JSON input"

_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
# what may repeat is skipped at once: a body can be of nothing else
_SPACE = re.compile(rb"[ \t\r\n]*+")
_NUMERALS = re.compile(rb"[0-9]*+")
_PLAIN = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_TEXT = rb'"' + _PLAIN.pattern + rb'"'
_SCALAR = _TEXT + rb"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|true|false|null"
_ITEM = _SPACE.pattern + rb"(?:" + _SCALAR + rb")" + _SPACE.pattern + rb","
_ITEMS = re.compile(rb"(?:" + _ITEM + rb")*+")
_PAIRS = re.compile(rb"(?:" + _SPACE.pattern + _TEXT + _SPACE.pattern + rb":" + _ITEM + rb")*+")


class _SyntaxError(Exception):
    pass


def syntax_error(data: bytes) -> str:
    """Go's message for the first syntax error; empty if the text is valid."""
    try:
        _Scanner(data).run()
    except _SyntaxError as error:
        return str(error)
    return ""


class _Scanner:
    """Walks one document. `stack` holds the open brackets."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack = bytearray()

    def run(self) -> None:
        self._value()
        while self.stack:
            self._next()
        self._skip()
        if self.at < len(self.data):
            raise self._error("after top-level value")

    def _next(self) -> None:
        """What may follow a value inside a list or an object."""
        in_list = self.stack[-1] == ord("[")
        letter = self._peek()
        if letter == ord(","):
            self.at += 1
            if in_list:
                self._pass(_ITEMS)
                self._value()
            else:
                self._pass(_PAIRS)
                self._pair("looking for beginning of object key string")
        elif letter == (ord("]") if in_list else ord("}")):
            self.at += 1
            self.stack.pop()
        else:
            raise self._error("after array element" if in_list else "after object key:value pair")

    def _value(self) -> None:
        """A scalar, or the opening of a list or an object with its first element."""
        while True:
            letter = self._peek()
            if letter == ord("["):
                self._open()
                if self._peek() != ord("]"):
                    continue
                self._close()
            elif letter == ord("{"):
                self._open()
                if self._peek() != ord("}"):
                    self._key("looking for beginning of object key string")
                    continue
                self._close()
            else:
                self._scalar(letter)
            return

    def _pair(self, where: str) -> None:
        self._peek()
        self._key(where)
        self._value()

    def _key(self, where: str) -> None:
        if self._peek() != ord('"'):
            raise self._error(where)
        self._string()
        if self._peek() != ord(":"):
            raise self._error("after object key")
        self.at += 1

    def _open(self) -> None:
        self.stack.append(self.data[self.at])
        self.at += 1
        if len(self.stack) > DEPTH_MAX:
            raise _SyntaxError(f"invalid character '{chr(self.stack[-1])}' exceeded max depth")

    def _close(self) -> None:
        self.at += 1
        self.stack.pop()

    def _scalar(self, letter: int) -> None:
        if letter == ord('"'):
            self._string()
        elif letter in b"-0123456789":
            self._number()
        elif letter in b"tfn":
            self._literal({116: b"true", 102: b"false", 110: b"null"}[letter])
        else:
            raise self._error("looking for beginning of value")

    def _string(self) -> None:
        self.at += 1
        self._pass(_PLAIN)
        letter = self._here()
        if letter == ord("\\"):
            self.at += 1
            self._bad_escape()
        if letter != ord('"'):
            raise self._error("in string literal")
        self.at += 1

    def _bad_escape(self) -> NoReturn:
        if self._here() != ord("u"):
            raise self._error("in string escape code")
        self.at += 1
        while self._here() in _HEX:
            self.at += 1
        raise self._error("in \\u hexadecimal character escape")

    def _number(self) -> None:
        if self._here() == ord("-"):
            self.at += 1
            if self._here() not in _DIGITS:
                raise self._error("in numeric literal")
        if self._here() == ord("0"):
            self.at += 1
        else:
            self._digits()
        if self._at_one_of(b"."):
            self.at += 1
            if self._here() not in _DIGITS:
                raise self._error("after decimal point in numeric literal")
            self._digits()
        if self._at_one_of(b"eE"):
            self.at += 1
            if self._here() in b"+-":
                self.at += 1
            if self._here() not in _DIGITS:
                raise self._error("in exponent of numeric literal")
            self._digits()

    def _literal(self, word: bytes) -> None:
        for letter in word:
            if self._here() != letter:
                raise self._error(f"in literal {word.decode()} (expecting '{chr(letter)}')")
            self.at += 1

    def _digits(self) -> None:
        self._pass(_NUMERALS)

    def _at_one_of(self, chars: bytes) -> bool:
        return self.at < len(self.data) and self.data[self.at] in chars

    def _skip(self) -> None:
        self._pass(_SPACE)

    def _pass(self, what: re.Pattern[bytes]) -> None:
        match = what.match(self.data, self.at)
        assert match is not None, "it matches nothing too"
        self.at = match.end()

    def _peek(self) -> int:
        """The next byte that is not white space."""
        self._skip()
        return self._here()

    def _here(self) -> int:
        if self.at >= len(self.data):
            raise _SyntaxError(END)
        return self.data[self.at]

    def _error(self, context: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quoted(self.data[self.at])} {context}")


def _quoted(letter: int) -> str:
    named = {39: "'\\''", 92: "'\\\\'", 9: "'\\t'", 10: "'\\n'", 13: "'\\r'"}
    if letter in named:
        return named[letter]
    if letter < 32 or letter == 127:
        return f"'\\x{letter:02x}'"
    text = chr(letter)
    return f"'{text}'" if text.isprintable() else f"'\\u{letter:04x}'"
