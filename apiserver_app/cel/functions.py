"""Functions that expressions can call: signatures, implementations and costs.

A library declares with `declare("string.charAt(int) string", implementation)`. Which overload a
call means is decided by the classes of its arguments, remembered per combination of classes.

Models cel-go common/decls and interpreter/runtimecost.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from apiserver_app.cel import types, values
from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.types import Type
from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release

Impl = Callable[..., Any]
Cost = Callable[..., int]  # takes the arguments and the result

NO_OVERLOAD = "no such overload"
TRAVERSAL = 0.1  # per character


class Overload(msgspec.Struct):
    member: bool
    params: tuple[Type, ...]
    result: Type
    impl: Impl
    cost: Cost | None = None
    since: Release = releases.ALWAYS


class Function(msgspec.Struct):
    name: str
    overloads: list[Overload] = msgspec.field(default_factory=list)
    _resolved: dict[tuple[Any, ...], Overload | None] = msgspec.field(default_factory=dict)

    def resolve(self, member: bool, args: Sequence[Any]) -> Overload:
        """Returns the overload for these values. Raises EvaluationError."""
        key = (member, *map(type, args))
        try:
            overload = self._resolved[key]
        except KeyError:
            overload = self._resolved[key] = self._search(member, args)
        if overload is None:
            raise EvaluationError(NO_OVERLOAD)
        return overload

    def _search(self, member: bool, args: Sequence[Any]) -> Overload | None:
        names = [type_name(arg) for arg in args]
        for overload in self.overloads:
            if overload.member == member and len(overload.params) == len(args):
                if all(map(_fits, overload.params, names)):
                    return overload
        return None


FUNCTIONS: dict[str, Function] = {}


def declare(
    signature: str, impl: Impl, cost: Cost | None = None, since: Release = releases.ALWAYS
) -> None:
    """Declares an overload: `string.f(int) bool` is a member, `f(string, int) bool` is not."""
    head, _, tail = signature.rpartition(") ")
    before, params = _head(head)
    receiver, dot, name = before.rpartition(".")
    member = bool(dot) and not receiver.startswith("$")
    if not member:
        name = before.lstrip("$")
    parameters = [receiver] if member else []
    parameters += types.split(params)
    FUNCTIONS.setdefault(name, Function(name)).overloads.append(
        Overload(member, tuple(map(types.parse, parameters)), types.parse(tail), impl, cost, since)
    )


def _head(head: str) -> tuple[str, str]:
    """Splits a signature's head into name and parameter list."""
    depth = 0
    for index in range(len(head) - 1, -1, -1):
        depth += (head[index] == ")") - (head[index] == "(")
        if depth < 0:
            return head[:index], head[index + 1 :]
    raise ValueError(head)


def _fits(parameter: Type, name: str) -> bool:
    return parameter.name == name or parameter.name == "dyn" or types.is_variable(parameter)


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    values.UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    values.Duration: "google.protobuf.Duration",
    values.Timestamp: "google.protobuf.Timestamp",
    values.TypeValue: "type",
    values.Optional: "optional_type",
}


def type_name(value: Any) -> str:
    """Returns the name of a value's type."""
    name = _NAMES.get(type(value))
    if name is not None:
        return name
    if isinstance(value, values.Message):
        return value.type_name
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "list"
    return str(getattr(value, "cel_type", type(value).__name__))


def size(value: Any) -> int:
    """Returns a value's size for cost estimation."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, values.Optional) and value.has:
        return size(value.value)
    return 1


def traversal(*args: Any) -> int:
    """Cost of reading the first argument once."""
    return math.ceil(size(args[0]) * TRAVERSAL)


def matching(*args: Any) -> int:
    """Cost of matching a regular expression."""
    text = math.ceil((1 + size(args[0])) * TRAVERSAL)
    return text * math.ceil(size(args[1]) * 0.25)


def items(*args: Any) -> int:
    """Cost of visiting every item of a list once."""
    return _within(args[0])


def _within(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode()) // 10
    if isinstance(value, bytes):
        return len(value) // 10
    if isinstance(value, list):
        return sum(map(_within, value))
    if isinstance(value, dict):
        return sum(_within(key) + _within(item) for key, item in value.items())
    return 1
