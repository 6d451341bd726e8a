"""Errors of expressions: they do not compile, or they have no value.

Models cel-go common/error.go and common/errors.go (the wording and the drawn position).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """One error at an offset of the source; -1 stands for the whole source."""

    at: int
    text: str


class CompileError(Exception):
    """An expression that does not compile; the message is upstream's, with the position."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.issues = tuple(sorted(issues, key=lambda issue: issue.at))
        self.detail = "\n".join(_draw(source, issue) for issue in self.issues)
        super().__init__(f"compilation failed: {self.detail}")


class ResultTypeError(CompileError):
    """An expression whose value has the wrong type."""

    def __init__(self, text: str) -> None:
        super().__init__("", ())
        self.detail = text
        self.args = (text,)


class InstantiationError(CompileError):
    """An expression with a part that can never have a value."""

    def __init__(self, text: str) -> None:
        super().__init__("", ())
        self.detail = f"program instantiation failed: {text}"
        self.args = (self.detail,)


class EvaluationError(Exception):
    """An expression without a value for these variables; `cost` is the cost so far."""

    cost = 0


class CostExceeded(EvaluationError):
    """Evaluation exceeded its cost limit; no operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def _draw(source: str, issue: Issue) -> str:
    if issue.at < 0:
        return f"ERROR: <input>:-1:0: {issue.text}"
    before = source[: issue.at]
    line = before.count("\n")
    column = issue.at - (before.rfind("\n") + 1)
    text = source.split("\n")[line].replace("\t", " ")
    dots = "".join("." if ord(char) < 0x80 else "．" for char in text[:column])
    dots = dots.ljust(column, ".")
    caret = "^" if column >= len(text) or ord(text[column]) < 0x80 else "＾"
    head = f"ERROR: <input>:{line + 1}:{column + 1}: {issue.text}"
    return f"{head}\n | {text}\n | {dots}{caret}"
