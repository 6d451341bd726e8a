"""Literals that can never be good: durations, times and patterns written out.

Models cel-go cel/validator.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.cel.errors import EvaluationError, Issue
from apiserver_app.cel.library.regex import compiled
from apiserver_app.cel.tree import Call, Const, Node, walk
from apiserver_app.cel.values import duration, timestamp


def literal_issues(tree: Node) -> list[Issue]:
    """What is wrong with the literals of a tree, in order."""
    found: list[Issue] = []
    for node in walk(tree):
        if isinstance(node, Call) and node.name in _CHECKS:
            place, check, word = _CHECKS[node.name]
            if len(node.args) <= place:
                continue
            arg = node.args[place]
            if isinstance(arg, Const) and type(arg.value) is str:
                try:
                    check(arg.value)
                except EvaluationError:
                    found.append(Issue(arg.at, f"invalid {word} argument"))
    return found


_CHECKS: dict[str, tuple[int, Callable[[str], Any], str]] = {
    "duration": (0, duration, "duration"),
    "timestamp": (0, timestamp, "timestamp"),
    "matches": (0, compiled, "matches"),
}
