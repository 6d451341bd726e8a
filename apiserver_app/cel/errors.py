"""What can go wrong with an expression: it does not compile, or it has no value.

Models cel-go common/error.go and common/errors.go (the wording and the drawn position).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """One finding at an offset of the source; -1 is the whole of it."""

    at: int
    text: str


class CompileError(Exception):
    """An expression that cannot be used; the text is upstream's, position and all."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        self.issues = tuple(sorted(issues, key=lambda issue: issue.at))
        self.detail = "\n".join(_draw(source, issue) for issue in self.issues)
        super().__init__(f"compilation failed: {self.detail}")


class ResultTypeError(CompileError):
    """An expression whose value is not of the type that is wanted there."""

    def __init__(self, text: str) -> None:
        super().__init__("", ())
        self.detail = text
        self.args = (text,)


class InstantiationError(CompileError):
    """An expression of which a part can never have a value, as is known beforehand."""

    def __init__(self, text: str) -> None:
        super().__init__("", ())
        self.detail = f"program instantiation failed: {text}"
        self.args = (self.detail,)


class EvaluationError(Exception):
    """An expression without a value for these bindings; `cost` is what finding out has cost."""

    cost = 0


class CostExceeded(EvaluationError):
    """Evaluation was stopped: nothing absorbs this."""

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
    mark = "^" if column >= len(text) or ord(text[column]) < 0x80 else "＾"
    head = f"ERROR: <input>:{line + 1}:{column + 1}: {issue.text}"
    return f"{head}\n | {text}\n | {dots}{mark}"
