"""Literals that can never be good: durations, times and patterns written out.

Models cel-go cel/validator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from apiserver_app.cel.errors import EvaluationError, Issue
from apiserver_app.cel.library.regex import compiled
from apiserver_app.cel.tree import Bind, Call, Const, Fold, ListNode, MapNode, Node, Select, Struct
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


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> list[Node]:
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return [node.target, *node.args] if node.target is not None else list(node.args)
    if isinstance(node, ListNode):
        return [item for item, _ in node.items]
    if isinstance(node, MapNode):
        return [part for key, value, _ in node.entries for part in (key, value)]
    if isinstance(node, Struct):
        return [value for _, _, value, _ in node.fields]
    if isinstance(node, Fold):
        return [one for one in (node.range, node.filter, node.body) if one is not None]
    if isinstance(node, Bind):
        return [node.value, node.body]
    return []
