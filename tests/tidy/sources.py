"""The project's own files, as the tidy tests see them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("apiserver_app", "controllers_app", "lifecycle")
_PYTHON = ("manage.py", *(f"{package}/**/*.py" for package in (*PACKAGES, "tests")))
_SCRIPT = ("static/js/**/*.js", "static/js/*.d.ts", "tests/js/**/*.mjs")
_TEXT = (
    *_PYTHON, *_SCRIPT, "*.md", "docs/**/*.md", "Makefile", "pyproject.toml", ".ci/*",
    "tests/setup", "templates/**/*.html", "static/css/**/*.css", "lifecycle/catalog/**/*.yaml",
)  # fmt: skip


def name(path: Path) -> str:
    """As the tests' messages and their lists of exceptions write it."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def python() -> tuple[Path, ...]:
    return _found(_PYTHON)


@functools.cache
def product() -> tuple[Path, ...]:
    """Python that ships: everything but the tests."""
    return tuple(path for path in python() if not name(path).startswith("tests/"))


@functools.cache
def scripts() -> tuple[Path, ...]:
    return _found(_SCRIPT)


@functools.cache
def texts() -> tuple[Path, ...]:
    """Everything a reader of the project reads."""
    return _found(_TEXT)


@functools.cache
def text(path: Path) -> str:
    return path.read_text()


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a file's, in the order of `ast.walk`, which takes as long as to parse it."""
    return tuple(ast.walk(tree(path)))


def dotted(node: ast.expr) -> str:
    """`a.b.c` for that expression, else the empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


@functools.cache
def imported(path: Path) -> tuple[str, ...]:
    """Every module or name the file imports, dotted, wherever in the file it does."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _found(patterns: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(
        sorted(
            path
            for pattern in patterns
            for path in ROOT.glob(pattern)
            if path.is_file() and "node_modules" not in path.parts
        )
    )
