"""The simple JSON paths of printer columns, scale and selectable fields.

`.spec.replicas`, `.spec.ports[0].port`, `.metadata.labels['a.b/c']`,
`.status.conditions[?(@.type=="Ready")].status`.

Models kubernetes staging/src/k8s.io/client-go/util/jsonpath.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[[list[Any]], list[Any]]

_NAME = re.compile(r"((?:[^.\[\]\\]|\\.)+)")
_INDEX = re.compile(r"\[(-?\d+)\]")
_SLICE = re.compile(r"\[(-?\d*):(-?\d*)\]")
_QUOTED = re.compile(r"\[(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\]")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:\.(?:[^.\[\]=<>!()\s\\]|\\.)+|\['[^']*'\])+)\s*"
    r"(?:(==|!=|<=|>=|<|>)\s*(\"[^\"]*\"|'[^']*'|[^\s)]+)\s*)?\)\]"
)


class BadPath(ValueError):
    """No path of the kind that is understood."""


@functools.lru_cache(1024)
def compile(text: str) -> tuple[Step, ...]:
    """The steps of a path; BadPath when it is none."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if text.startswith("..", at):
            raise BadPath(text)
        if text[at] == ".":
            at += 1
            if at == len(text) or text[at] == "[":
                continue
            found = _NAME.match(text, at)
            if found is None:
                raise BadPath(text)
            name = re.sub(r"\\(.)", r"\1", found.group(1))
            steps.append(_every if name == "*" else functools.partial(_field, name))
        else:
            found = _bracket(text, at, steps)
        at = found.end()
    return tuple(steps)


def find(value: Any, text: str) -> list[Any]:
    """What is at the path; missing keys are no error."""
    found = [value]
    for step in compile(text):
        found = step(found)
    return found


def printed(value: Any) -> str:
    """A result as `kubectl` would print it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _bracket(text: str, at: int, steps: list[Step]) -> re.Match[str]:
    if text.startswith("[*]", at):
        steps.append(_every)
        found = re.compile(r"\[\*\]").match(text, at)
        assert found is not None
        return found
    for pattern, make in _BRACKETS:
        found = pattern.match(text, at)
        if found is not None:
            steps.append(make(*found.groups()))
            return found
    raise BadPath(text)


def _field(name: str, values: list[Any]) -> list[Any]:
    return [value[name] for value in values if isinstance(value, dict) and name in value]


def _every(values: list[Any]) -> list[Any]:
    out: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            out += [value[key] for key in sorted(value)]
        elif isinstance(value, list):
            out += value
    return out


def _item(index: str) -> Step:
    at = int(index)
    return lambda values: [
        value[at] for value in values if isinstance(value, list) and -len(value) <= at < len(value)
    ]


def _part(first: str, last: str) -> Step:
    part = slice(int(first) if first else None, int(last) if last else None)
    return lambda values: [
        one for value in values if isinstance(value, list) for one in value[part]
    ]


def _named(single: str | None, double: str | None) -> Step:
    name = re.sub(r"\\(.)", r"\1", single if single is not None else double or "")
    return functools.partial(_field, name)


def _filter(path: str, operator: str | None, literal: str | None) -> Step:
    wanted = _literal(literal) if literal is not None else None
    compare = _OPERATORS.get(operator or "")

    def keep(item: Any) -> bool:
        found: Sequence[Any] = find(item, path)
        if compare is None:
            return bool(found)
        return any(type(one) is type(wanted) and compare(one, wanted) for one in found)

    return lambda values: [
        item for value in values if isinstance(value, list) for item in value if keep(item)
    ]


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}
_BRACKETS: tuple[tuple[re.Pattern[str], Callable[..., Step]], ...] = (
    (_INDEX, _item), (_SLICE, _part), (_QUOTED, _named), (_FILTER, _filter),
)  # fmt: skip
