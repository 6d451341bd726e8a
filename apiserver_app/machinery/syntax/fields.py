"""Field selectors: `metadata.name=x,spec.nodeName!=y`, matched through a getter.

A kind's strategy decides which fields can be selected. Parsed selectors are immutable and cached.
An invalid selector raises a 400 with upstream's message.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/fields/selector.go.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from apiserver_app.machinery import errors

SELECTORS_CACHED_MAX = 2048

EQUALS, NOT_EQUALS = "=", "!="

_ESCAPES = str.maketrans({"\\": "\\\\", ",": "\\,", "=": "\\="})


class Requirement(NamedTuple):
    """One term; its operator is `=` or `!=`."""

    field: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape(self.value)}"


class FieldSelector:
    """A conjunction of requirements."""

    __slots__ = ("empty", "requirements")

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.requirements = tuple(requirements)
        self.empty = not requirements

    def matches(self, get: Callable[[str], str | None]) -> bool:
        """`get` returns a field's value; None counts as empty."""
        for field, operator, value in self.requirements:
            if ((get(field) or "") == value) != (operator == EQUALS):
                return False
        return True

    def paths(self) -> tuple[str, ...]:
        """The selected fields, in order."""
        return tuple(requirement.field for requirement in self.requirements)

    def exact(self, field: str) -> str | None:
        """The only value that the field may have, if any."""
        for requirement in self.requirements:
            if requirement.field == field and requirement.operator == EQUALS:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"


@functools.lru_cache(maxsize=SELECTORS_CACHED_MAX)
def parse(text: str) -> FieldSelector:
    """Parses a selector; "" selects everything. Raises a 400."""
    requirements: list[Requirement] = []
    for term in sorted(_terms(text)):
        if not term:
            continue
        position = term.find("=")
        if position < 0:
            raise errors.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        if position > 0 and term[position - 1] == "!":
            requirements.append(
                Requirement(term[: position - 1], NOT_EQUALS, unescape(term[position + 1 :]))
            )
            continue
        value = term[position + 2 :] if term.startswith("==", position) else term[position + 1 :]
        requirements.append(Requirement(term[:position], EQUALS, unescape(value)))
    return FieldSelector(requirements)


def exactly(field: str, value: str) -> FieldSelector:
    """A selector of one value of one field."""
    return FieldSelector((Requirement(field, EQUALS, value),))


def escape(value: str) -> str:
    """A literal value as it is written in a selector."""
    return value.translate(_ESCAPES)


def unescape(text: str) -> str:
    """The literal value. Raises a 400 on a stray backslash, comma or equals sign."""
    if "\\" not in text and "," not in text and "=" not in text:
        return text
    out: list[str] = []
    escaped = False
    for char in text:
        if escaped:
            if char not in "\\,=":
                raise _bad_escape(f"\\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise errors.bad_request(
                f"invalid field selector: unescaped character in value: {ord(char)}"
            )
        else:
            out.append(char)
    if escaped:
        raise _bad_escape("\\")
    return "".join(out)


def _bad_escape(sequence: str) -> errors.ApiError:
    return errors.bad_request(f"invalid field selector: invalid escape sequence: {sequence}")


def _terms(text: str) -> list[str]:
    """Split at the commas that are not escaped; the backslashes stay."""
    if "\\" not in text:
        return text.split(",")
    terms: list[str] = []
    start = 0
    escaped = False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            terms.append(text[start:index])
            start = index + 1
    terms.append(text[start:])
    return terms
