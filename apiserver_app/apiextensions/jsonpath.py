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
    """A path outside the supported subset."""


@functools.lru_cache(1024)
def compile(text: str) -> tuple[Step, ...]:
    """Compiles a path into steps. Raises BadPath."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        if text.startswith("..", position):
            raise BadPath(text)
        if text[position] == ".":
            position += 1
            if position == len(text) or text[position] == "[":
                continue
            match = _NAME.match(text, position)
            if match is None:
                raise BadPath(text)
            name = re.sub(r"\\(.)", r"\1", match.group(1))
            steps.append(_every if name == "*" else functools.partial(_field, name))
        else:
            match = _bracket(text, position, steps)
        position = match.end()
    return tuple(steps)


def find(value: Any, text: str) -> list[Any]:
    """The values at the path; a missing key is no error."""
    values = [value]
    for step in compile(text):
        values = step(values)
    return values


def printed(value: Any) -> str:
    """A result as kubectl prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _bracket(text: str, position: int, steps: list[Step]) -> re.Match[str]:
    if text.startswith("[*]", position):
        steps.append(_every)
        match = re.compile(r"\[\*\]").match(text, position)
        assert match is not None
        return match
    for pattern, make in _BRACKETS:
        match = pattern.match(text, position)
        if match is not None:
            steps.append(make(*match.groups()))
            return match
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
    number = int(index)
    return lambda values: [
        value[number]
        for value in values
        if isinstance(value, list) and -len(value) <= number < len(value)
    ]


def _part(first: str, last: str) -> Step:
    part = slice(int(first) if first else None, int(last) if last else None)
    return lambda values: [
        item for value in values if isinstance(value, list) for item in value[part]
    ]


def _named(single: str | None, double: str | None) -> Step:
    name = re.sub(r"\\(.)", r"\1", single if single is not None else double or "")
    return functools.partial(_field, name)


def _filter(path: str, operator: str | None, literal: str | None) -> Step:
    expected = _literal(literal) if literal is not None else None
    compare = _OPERATORS.get(operator or "")

    def keep(item: Any) -> bool:
        matches: Sequence[Any] = find(item, path)
        if compare is None:
            return bool(matches)
        return any(type(match) is type(expected) and compare(match, expected) for match in matches)

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
    (_INDEX, _item),
    (_SLICE, _part),
    (_QUOTED, _named),
    (_FILTER, _filter),
)
