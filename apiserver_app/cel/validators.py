"""Validates literals of well-typed expressions: durations, times and patterns that do not parse,
lists and maps of mixed types, and wrong `format` calls.

Models cel-go cel/validator.go and ext/formatting.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from apiserver_app.cel.errors import EvaluationError, Issue
from apiserver_app.cel.library import core, formatting
from apiserver_app.cel.library.regex import compiled
from apiserver_app.cel.syntax.tree import Call, Const, ListNode, MapNode, Node, walk
from apiserver_app.cel.types import Type, optional_item
from apiserver_app.machinery.releases import Release

_VALIDATED = Release(29)


def literal_issues(tree: Node, kinds: Mapping[int, Type], version: Release) -> list[Issue]:
    """Returns the issues. `kinds` has the type of each node by id."""
    issues = list(_mixed(tree, kinds, exempt=False))
    if version < _VALIDATED:
        return issues
    for node in walk(tree):
        if isinstance(node, Call) and node.name in _CHECKS:
            issues += _unreadable(node)
        elif isinstance(node, Call) and node.name == "format":
            issues += _misfits(node, kinds)
    return issues


_CHECKS: dict[str, tuple[Callable[[str], Any], str]] = {
    "duration": (core.duration_of, "duration"),
    "timestamp": (core.timestamp_of, "timestamp"),
    "matches": (compiled, "matches"),
}


def _unreadable(node: Call) -> Iterator[Issue]:
    check, word = _CHECKS[node.name]
    arg = node.args[0] if node.args else None
    if isinstance(arg, Const) and type(arg.value) in (str, int):
        try:
            check(arg.value)
        except EvaluationError:
            yield Issue(arg.at, f"invalid {word} argument")


def _misfits(node: Call, kinds: Mapping[int, Type]) -> Iterator[Issue]:
    if not isinstance(node.target, Const) or type(node.target.value) is not str:
        return
    if len(node.args) == 1 and isinstance(node.args[0], ListNode):
        args = [item for item, _ in node.args[0].items]
        wrong = formatting.issue(node.target.value, args, kinds)
        if wrong is not None:
            place, text = wrong
            yield Issue(args[place].at if place >= 0 else node.at, text)


def _mixed(node: Node, kinds: Mapping[int, Type], *, exempt: bool) -> Iterator[Issue]:
    """Finds literals of mixed types, which arguments of `format` may have."""
    if isinstance(node, ListNode) and not exempt:
        wrong = list(_differing(node.items, kinds))
        yield from wrong[:1]
    if isinstance(node, MapNode) and not exempt:
        yield from _differing([(key, False) for key, _, _ in node.entries], kinds)
        yield from _differing([(value, optional) for _, value, optional in node.entries], kinds)
    exempt = exempt or (isinstance(node, Call) and node.name == "format")
    for child in node.children():
        yield from _mixed(child, kinds, exempt=exempt)


def _differing(items: list[tuple[Node, bool]], kinds: Mapping[int, Type]) -> Iterator[Issue]:
    first: Type | None = None
    unknown = any(optional for _, optional in items)  # the type an empty optional would hold
    for node, optional in items:
        kind = kinds[id(node)]
        if optional:
            kind = optional_item(kind)
        if first is None:
            first = kind
        elif not _equivalent(first, kind, inner=unknown):
            yield Issue(node.at, f"expected type '{first}' but found '{kind}'")


def _equivalent(left: Type, right: Type, *, inner: bool) -> bool:
    """Compares types; inside containers an unknown type equals any, for empty lists and maps."""
    if inner and "dyn" in (left.name, right.name):
        return True
    if left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(
        _equivalent(mine, its, inner=True)
        for mine, its in zip(left.params, right.params, strict=True)
    )
