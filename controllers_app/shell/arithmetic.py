"""Arithmetic of the shell: $((...)). Pure and bounded.

Models POSIX.1-2017, Shell Command Language 2.6.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable

TOKENS_MAX = 512
NUMBER_MAX = 40  # letters
_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<=?|>>=?|<=|>=|==|!=|&&|\|\||[-+*/%]=|[-+*/%<>!()~^&|?:=,])",
    re.ASCII,
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip


class MathError(Exception):
    """The expression has no value."""


class Arithmetic:
    """One expression; variables are read and set by name."""

    def __init__(
        self, text: str, get: Callable[[str], str], put: Callable[[str, str], None]
    ) -> None:
        self._tokens: list[str] = []
        at = 0
        text = text.strip()
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None or len(self._tokens) > TOKENS_MAX:
                raise MathError("arithmetic syntax error")
            self._tokens.append(token[1])
            at = token.end()
        self._at = 0
        self._get, self._put = get, put
        self._depth = 0

    def value(self) -> int:
        if not self._tokens:
            return 0
        result = self._assignment()
        if self._at < len(self._tokens):
            raise MathError("arithmetic syntax error")
        return result

    def _assignment(self) -> int:
        self._depth += 1
        if self._depth > 40:
            raise MathError("expression recursion loop detected")
        name = self._peek()
        after = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""
        if (name[:1].isalpha() or name[:1] == "_") and after in ("=", "+=", "-=", "*=", "/=", "%="):
            self._at += 2
            value = self._assignment()
            if after != "=":
                value = _apply(after[0], self._variable(name), value)
            self._put(name, str(value))
            out = value
        else:
            out = self._choice()
        self._depth -= 1
        return out

    def _choice(self) -> int:
        condition = self._binary(0)
        if self._peek() != "?":
            return condition
        self._at += 1
        first = self._assignment()
        self._expect(":")
        second = self._assignment()
        return first if condition else second

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            op = self._tokens[self._at]
            self._at += 1
            left = _apply(op, left, self._binary(level + 1))
        return left

    def _unary(self) -> int:
        signs = []
        while self._peek() in ("-", "+", "!", "~") and self._peek():
            signs.append(self._tokens[self._at])
            self._at += 1
        token = self._peek()
        self._at += 1
        if token == "(":
            value = self._assignment()
            self._expect(")")
        elif token[:1].isdigit():
            hexadecimal = token[:2] in ("0x", "0X")
            value = int(token[:NUMBER_MAX], 16) if hexadecimal else int(token[:NUMBER_MAX])
        elif token[:1].isalpha() or token[:1] == "_":
            value = self._variable(token)
        else:
            raise MathError("arithmetic syntax error")
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        return _wrapped(value)

    def _variable(self, name: str) -> int:
        text = self._get(name).strip()
        try:
            return _wrapped(int(text[:24], 10)) if text else 0
        except ValueError:
            raise MathError(f"bad number '{text[:40]}'") from None

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise MathError("arithmetic syntax error")
        self._at += 1


def _apply(op: str, left: int, right: int) -> int:
    if op in ("/", "%"):
        if right == 0:
            raise MathError("divide by zero")
        whole = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrapped(whole if op == "/" else left - whole * right)
    if op in ("<<", ">>"):
        return _wrapped(left << (right & 63) if op == "<<" else left >> (right & 63))
    known: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "&": lambda: left & right,
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&&": lambda: int(bool(left and right)),
        "||": lambda: int(bool(left or right)),
    }
    return _wrapped(known[op]())


def _wrapped(value: int) -> int:
    """As a signed integer of 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
