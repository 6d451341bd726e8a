"""Small changes that break the product, each one place of a source file: a test must notice it.

A verdict turned round, a list cut, a wrong revision, a missing write. A mutation is the text to put
in the place of another; whether it is applied is somebody else's business (`mutants`).
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
JAVASCRIPT = (
    (r"!==", "==="), (r"(?<![!=])===", "!=="), (r"&&", "||"), (r"\|\|", "&&"), (r" < ", " >= "),
    (r" > ", " <= "), (r" <= ", " > "), (r" >= ", " < "), (r" \+ 1\b", ""), (r" - 1\b", ""),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\.filter\(", ".map("),
    (r"if \(!", "if ("),
)  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """Of one file: from `start` to `end`, counted in characters, `new` is put."""

    line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def of_python(text: str) -> list[Mutation]:
    """All mutations of a module, in the order of their places."""
    tree = ast.parse(text)
    offsets = _offsets(text)
    found: list[Mutation] = []
    for node in _walk(tree):
        for new in _changes(node):
            start = offsets(node.lineno, node.col_offset)
            end = offsets(node.end_lineno, node.end_col_offset)
            old, put = text[start:end], ast.unparse(new)
            if isinstance(node, ast.expr):
                put = f"({put})"
            found.append(Mutation(node.lineno, start, end, old, put))
    return found


def of_javascript(text: str) -> list[Mutation]:
    """The same of a module of the page: by its signs, outside of comments and texts."""
    code = re.sub(
        r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`",
        lambda found: re.sub(r"[^\n]", " ", found[0]),
        text,
        flags=re.DOTALL,
    )
    found = [
        Mutation(code.count("\n", 0, at.start()) + 1, at.start(), at.end(), at[0], new)
        for sign, new in JAVASCRIPT
        for at in re.finditer(sign, code)
    ]
    return sorted(found, key=lambda mutation: mutation.start)


def _walk(node: ast.AST) -> Iterator[Any]:
    """The nodes that run when the product works: no annotation, no docstring, no assertion."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "keywords_only"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Assert, ast.JoinedStr)):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            yield child
            yield from _walk(child)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    change = _CHANGES.get(type(node))
    if change is not None:
        yield from change(node)


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    if len(node.ops) == 1:
        new = copy.copy(node)
        new.ops = [COMPARISONS[type(node.ops[0])]()]
        yield new


def _both(node: ast.BoolOp) -> Iterator[ast.AST]:
    new = copy.copy(node)
    new.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield new


def _negation(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, ast.Not):
        yield node.operand


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1)


def _sum(node: ast.BinOp) -> Iterator[ast.AST]:
    if isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        yield node.left


def _list(node: ast.List | ast.Tuple) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        new = copy.copy(node)
        new.elts = node.elts[:-1]
        yield new


def _filter(node: ast.ListComp | ast.GeneratorExp) -> Iterator[ast.AST]:
    last = node.generators[-1]
    if last.ifs:
        new = copy.deepcopy(node)
        new.generators[-1].ifs = []
        yield new


def _call(node: ast.Expr) -> Iterator[ast.AST]:
    """A statement that is only a call does something: a write, an event, a record."""
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    if isinstance(call, ast.Call) and not ast.unparse(call).startswith("super()"):
        yield ast.Pass()


def _raise(node: ast.Raise) -> Iterator[ast.AST]:
    yield ast.Pass()


def _assignment(node: ast.Assign) -> Iterator[ast.AST]:
    if isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
        yield ast.Pass()


_CHANGES: dict[type[ast.AST], Callable[[Any], Iterator[ast.AST]]] = {
    ast.Compare: _comparison, ast.BoolOp: _both, ast.UnaryOp: _negation, ast.Constant: _constant,
    ast.BinOp: _sum, ast.List: _list, ast.Tuple: _list, ast.ListComp: _filter,
    ast.GeneratorExp: _filter, ast.Expr: _call, ast.Raise: _raise, ast.Assign: _assignment,
}  # fmt: skip


def _offsets(text: str) -> Callable[[int, int], int]:
    """From a line and its column in bytes, as syntax trees count, to a character of the text."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    return offset
