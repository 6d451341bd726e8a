"""The types of expressions, and their text form: `list(A).indexOf(A) int`.

Models cel-go common/types/types.go and checker/types.go (assignability), simplified: unknown
types are dyn, and dyn is assignable to everything.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Type:
    """A named type. `fields` are those of an object type; None when it may have any field."""

    name: str
    params: tuple[Type, ...] = ()
    fields: Mapping[str, Type] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        name = _SHOWN.get(self.name, self.name)
        if not self.params:
            return name
        return f"{name}({', '.join(map(str, self.params))})"


_SHOWN = {
    "null_type": "null",
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
}

DYN = Type("dyn")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
BOOL = Type("bool")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
TIMESTAMP = Type("google.protobuf.Timestamp")
DURATION = Type("google.protobuf.Duration")
TYPE = Type("type")
ERROR = Type("*error*")

_BY_WORD = {
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "null": NULL,
    "URL": Type("kubernetes.URL"),
    "quantity": Type("kubernetes.Quantity"),
    "format": Type("kubernetes.NamedFormat"),
    "IP": Type("net.IP"),
    "CIDR": Type("net.CIDR"),
    "semver": Type("kubernetes.Semver"),
    "authorizer": Type("kubernetes.authorization.Authorizer"),
    "pathCheck": Type("kubernetes.authorization.PathCheck"),
    "groupCheck": Type("kubernetes.authorization.GroupCheck"),
    "resourceCheck": Type("kubernetes.authorization.ResourceCheck"),
    "decision": Type("kubernetes.authorization.Decision"),
    "optional": Type("optional_type"),
}


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def optional_item(type_: Type) -> Type:
    """Returns the type inside an optional."""
    return type_.params[0] if type_.name == "optional_type" and type_.params else DYN


def is_variable(type_: Type) -> bool:
    return len(type_.name) == 1


@functools.cache
def parse(text: str) -> Type:
    """Parses `list(map(string, A))` and the like; a single capital letter is a type variable."""
    name, paren, inner = text.strip().partition("(")
    base = _BY_WORD.get(name, Type(name))
    if not paren:
        return base
    return Type(base.name, tuple(parse(part) for part in split(inner[:-1])))


def split(text: str) -> list[str]:
    """Splits at the commas outside of parentheses."""
    parts: list[str] = []
    depth = start = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    if text.strip():
        parts.append(text[start:])
    return [part.strip() for part in parts]


def assignable(wanted: Type, given: Type, known: dict[str, Type]) -> bool:
    """Reports whether a value of one type can be used as another; binds type variables."""
    if is_variable(wanted):
        bound = known.get(wanted.name)
        if bound is None or bound.name == "dyn" or _has_dyn(bound):
            if bound is None or assignable(bound, given, {}):
                known[wanted.name] = given if bound is None else bound
                return True
            return False
        return assignable(bound, given, known)
    if wanted.name in ("dyn", "*error*") or given.name in ("dyn", "*error*"):
        return True
    if wanted.name != given.name:
        names = {wanted.name, given.name}
        return "null_type" in names and not names & _NEVER_NULL
    if wanted.name == "type" or not wanted.params or not given.params:
        return True
    return all(map(lambda type_, its: assignable(type_, its, known), wanted.params, given.params))


# times, objects and library types may be null; these types, and types themselves, may not
_NEVER_NULL = frozenset(("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type"))


def _has_dyn(type_: Type) -> bool:
    return type_.name == "dyn" or any(map(_has_dyn, type_.params))


def filled(left: Type, known: Mapping[str, Type]) -> Type:
    """Returns a result type with its variables replaced; unbound ones are dyn."""
    if is_variable(left):
        return known.get(left.name, DYN)
    if not left.params:
        return left
    return Type(left.name, tuple(filled(param, known) for param in left.params), left.fields)


def joined(left: Type, right: Type) -> Type:
    """Returns the common type of two types."""
    if left == right or right.name in ("*error*",):
        return left
    if left.name == right.name and len(left.params) == len(right.params) and left.params:
        return Type(left.name, tuple(map(joined, left.params, right.params)))
    return DYN


def general(left: Type, right: Type) -> Type:
    """Returns the more general of two types when one is assignable to the other, else dyn."""
    if not assignable(left, right, {}):
        return DYN
    if left.name == "dyn" or right.name == "dyn":
        return DYN
    if left.name != right.name:  # null and a nullable type
        return right
    if len(left.params) != len(right.params):
        return left
    return Type(left.name, tuple(map(_filled_up, left.params, right.params)), left.fields)


def _filled_up(left: Type, right: Type) -> Type:
    """Unifies type parameters: an empty list takes the item type of the other."""
    if left.name == "dyn":
        return right
    return left if right.name == "dyn" else general(left, right)
