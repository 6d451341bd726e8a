"""Functions, modules and lines stay small enough to read."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.tidy import sources

FUNCTION_LINES_MAX = 70
MODULE_LINES_MAX = 500
LINE_CHARACTERS_MAX = 100


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{sources.name(path)}:{node.lineno} {node.name} has {_lines(node)} lines"
        for path in sources.python()
        for node in sources.nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _lines(node) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_modules_are_short() -> None:
    long = [
        f"{sources.name(path)} has {count} lines"
        for path in (*sources.python(), *sources.scripts())
        if (count := len(sources.text(path).splitlines())) > MODULE_LINES_MAX
    ]
    assert long == []


def test_lines_of_python_are_short() -> None:
    """By ruff, which knows the few blocks that are marked because they are somebody's output."""
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--select=E501", "--output-format=concise", "."],
        cwd=sources.ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, f"\n{ran.stdout}{ran.stderr}"


def test_lines_of_scripts_are_short() -> None:
    long = [
        f"{sources.name(path)}:{number} has {len(line)} characters"
        for path in sources.scripts()
        for number, line in enumerate(sources.text(path).splitlines(), 1)
        if len(line) > LINE_CHARACTERS_MAX
    ]
    assert long == []


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
