"""A name that begins with an underscore belongs to its module: no test reaches for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.tidy import sources

OWNERS = {"self", "cls"}
NAMED_TUPLE = {"_asdict", "_fields", "_replace"}
TESTS = tuple(path for path in sources.python() if sources.name(path).startswith("tests/"))


def test_no_test_uses_a_private_of_the_product() -> None:
    private = _private_names(sources.product())
    assert [use for path in TESTS for use in _uses(path, private)] == []


def _private_names(paths: tuple[Path, ...]) -> set[str]:
    """Functions, classes, variables and attributes that the files define."""
    names = set()
    for path in paths:
        for node in sources.nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return {name for name in names if _is_private(name)}


def _uses(path: Path, private: set[str]) -> Iterator[str]:
    foreign = _foreign_modules(path)
    for node in sources.nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in private:
            owner = sources.dotted(node.value)
            if owner not in OWNERS | foreign:
                yield f"{sources.name(path)}:{node.lineno} {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
            for alias in node.names:
                if _is_private(alias.name):
                    yield f"{sources.name(path)}:{node.lineno} {alias.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            for argument in node.args:
                if isinstance(argument, ast.Constant) and argument.value in private:
                    yield f"{sources.name(path)}:{node.lineno} {ast.unparse(node)}"


def _foreign_modules(path: Path) -> set[str]:
    """The names of modules that are not ours in a file."""
    return {
        alias.asname or alias.name
        for node in sources.nodes(path)
        if isinstance(node, ast.Import)
        for alias in node.names
        if not _is_ours(alias.name)
    }


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in sources.PACKAGES


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE
