"""Label selectors: parsed from text or from a LabelSelector, matched against an object's labels.

Parsed selectors are immutable and kept in bounded caches. An invalid selector raises a 400 with
upstream's message.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/labels/selector.go and
pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import names

REQUIREMENTS_MAX, CHARACTERS_MAX = 200, 30_000  # of a selector; upstream has no limits
SELECTORS_CACHED_MAX = 2048

EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "=", "==", "!="
IN, NOT_IN = "in", "notin"
EXISTS, DOES_NOT_EXIST = "exists", "!"
GREATER, LESS = "gt", "lt"

_OPERATORS = (IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER, LESS, EXISTS, DOES_NOT_EXIST)
_BINARY = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = {"=": EQUALS, "==": DOUBLE_EQUALS, "!=": NOT_EQUALS, ">": GREATER, "<": LESS,
            "in": IN, "notin": NOT_IN}  # fmt: skip
_TYPED = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": DOES_NOT_EXIST}


class Requirement(NamedTuple):
    """One term. `values` are sorted if parsed from text, otherwise in the given order."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        operator = self.operator
        if operator in (EQUALS, IN, DOUBLE_EQUALS):
            return value is not None and value in self.values
        if operator in (NOT_EQUALS, NOT_IN):
            return value is None or value not in self.values
        if operator == EXISTS:
            return value is not None
        if operator == DOES_NOT_EXIST:
            return value is None
        number, limit = parse_int64(value or ""), parse_int64(self.values[0])
        if number is None or limit is None:
            return False
        return number > limit if operator == GREATER else number < limit

    def __str__(self) -> str:
        operator = self.operator
        if operator == EXISTS:
            return self.key
        if operator == DOES_NOT_EXIST:
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if operator in (IN, NOT_IN):
            return f"{self.key} {operator} ({values})"
        sign = {GREATER: ">", LESS: "<"}.get(operator, operator)
        return f"{self.key}{sign}{values}"


class Selector:
    """A conjunction of requirements in key order; `NOTHING` is the one that selects nothing."""

    __slots__ = ("_equal", "_rest", "empty", "requirements")

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=_key_of))
        self.empty = not requirements
        equal: list[tuple[str, str]] = []
        rest: list[Requirement] = []
        for requirement in self.requirements:
            if requirement.operator in (EQUALS, DOUBLE_EQUALS, IN) and len(requirement.values) == 1:
                equal.append((requirement.key, requirement.values[0]))
            else:
                rest.append(requirement)
        self._equal = tuple(equal)
        self._rest = tuple(rest)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if not labels:
            labels = _NO_LABELS
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        for requirement in self._rest:
            if not requirement.matches(labels):
                return False
        return True

    def exact(self, key: str) -> str | None:
        """The only value that the key may have, if the selector requires one."""
        return next((value for required, value in self._equal if required == key), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector({str(self)!r})"


class _Nothing(Selector):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(())
        self.empty = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        return False


def _key_of(requirement: Requirement) -> str:
    return requirement.key


_NO_LABELS: Mapping[str, str] = {}
EVERYTHING = Selector(())
NOTHING: Selector = _Nothing()


@functools.lru_cache(maxsize=SELECTORS_CACHED_MAX)
def parse(text: str) -> Selector:
    """Parses a selector; "" selects everything. Raises a 400."""
    if len(text) > CHARACTERS_MAX:
        raise errors.bad_request(
            f"unable to parse requirement: a selector may have {CHARACTERS_MAX} characters"
        )
    requirements = _Parser(text).parse()
    if len(requirements) > REQUIREMENTS_MAX:
        raise errors.bad_request(
            f"unable to parse requirement: {len(requirements)} requirements, at most "
            f"{REQUIREMENTS_MAX} are allowed"
        )
    return Selector(requirements)


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """The selector of a LabelSelector: None selects nothing, {} everything. Raises a 400."""
    if selector is None:
        return NOTHING
    equal = selector.get("matchLabels")
    expressions = selector.get("matchExpressions")
    if not expressions:
        return _from_parts(tuple(equal.items()), ()) if equal else EVERYTHING
    parts = tuple(
        (item.get("key", ""), item.get("operator", ""), tuple(item.get("values") or ()))
        for item in expressions
    )
    return _from_parts(tuple(equal.items()) if equal else (), parts)


def go_struct(selector: Mapping[str, Any]) -> str:
    """A LabelSelector as Go prints the struct, which is not a query."""
    matches = selector.get("matchLabels") or {}
    pairs = "".join(f"{key}: {matches[key]}," for key in sorted(matches))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{term.get('key', '')},Operator:{term.get('operator', '')},"
        f"Values:[{' '.join(term.get('values') or ())}],}},"
        for term in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def from_set(labels: Mapping[str, str] | None) -> Selector:
    """Selects exactly these labels, unvalidated, as a service does; no labels select everything."""
    if not labels:
        return EVERYTHING
    return _from_set(tuple(labels.items()))


@functools.lru_cache(maxsize=SELECTORS_CACHED_MAX)
def _from_set(labels: tuple[tuple[str, str], ...]) -> Selector:
    return Selector([Requirement(key, EQUALS, (value,)) for key, value in labels])


@functools.lru_cache(maxsize=SELECTORS_CACHED_MAX)
def _from_parts(
    equal: tuple[tuple[str, str], ...], expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> Selector:
    requirements = [requirement(key, EQUALS, (value,)) for key, value in equal]
    for key, operator, values in expressions:
        if operator not in _TYPED:
            raise errors.bad_request(
                f"{errors.go_value(operator)} is not a valid label selector operator"
            )
        requirements.append(requirement(key, _TYPED[operator], values))
    return Selector(requirements)


def requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """Validates a requirement. Raises a 400 with all errors."""
    messages = names.qualified_name_errors(key)
    problems = [_bad("key", key, "; ".join(messages))] if messages else []
    problems += _count_errors(operator, values)
    for index, value in enumerate(values):
        messages = names.label_value_errors(value)
        if messages:
            problems.append(_bad(f"values[{index}][{key}]", value, "; ".join(messages)))
    if problems:
        raise errors.bad_request(errors.aggregate(problems))
    return Requirement(key, operator, values)


def _count_errors(operator: str, values: tuple[str, ...]) -> list[str]:
    printed = list(values)
    if operator in (IN, NOT_IN):
        if not values:
            text = "for 'in', 'notin' operators, values set can't be empty"
            return [_bad("values", printed, text)]
    elif operator in (EQUALS, DOUBLE_EQUALS, NOT_EQUALS):
        if len(values) != 1:
            return [_bad("values", printed, "exact-match compatibility requires one single value")]
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            text = "values set must be empty for exists and does not exist"
            return [_bad("values", printed, text)]
    elif operator in (GREATER, LESS):
        problems: list[str] = []
        if len(values) != 1:
            text = "for 'Gt', 'Lt' operators, exactly one value is required"
            problems.append(_bad("values", printed, text))
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        for index, value in enumerate(values):
            if parse_int64(value) is None:
                problems.append(_bad(f"values[{index}]", value, text))
        return problems
    else:
        return [str(errors.not_supported("operator", operator, _OPERATORS))]
    return []


def _bad(path: str, value: Any, text: str) -> str:
    return str(errors.invalid_value(path, value, text))


def parse_int64(text: str) -> int | None:
    """What Go's strconv.ParseInt reads in base 10; None for what it refuses."""
    if _is_integer(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _DIGITS_MAX:  # which Python would refuse to read at some length
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else None


_DIGITS_MAX = 19


_is_integer = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_next_token = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)").match
_SIGNS = {"==", "!=", "=", "!", "(", ")", ",", "<", ">"}
_END = ""


class _Parser:
    """Recursive descent over tokens; "" is the end of the text."""

    __slots__ = ("_at", "_tokens")

    def __init__(self, text: str) -> None:
        tokens: list[str] = []
        position = 0
        while token := _next_token(text, position):
            tokens.append(token.group(1))
            position = token.end()
        tokens.append(_END)
        self._tokens = tokens
        self._at = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token = self._peek()
            if token == _END:
                return requirements
            if token != "!" and token in _SIGNS:
                raise _unexpected(token, "!, identifier, or 'end of string'")
            requirements.append(self._requirement())
            token = self._take()
            if token == _END:
                return requirements
            if token != ",":
                raise _unexpected(token, "',' or 'end of string'")
            token = self._peek()
            if token == _END or (token != "!" and token in _SIGNS):
                raise _unexpected(token, "identifier after ','")

    def _requirement(self) -> Requirement:
        try:
            key, operator = self._key()
            if operator:
                return requirement(key, operator, ())
            operator = _SYMBOLS.get(token := self._take(), "")
            if not operator:
                raise _unexpected(token, _BINARY)
            values = self._values() if operator in (IN, NOT_IN) else self._value()
            return requirement(key, operator, tuple(sorted(values)))
        except errors.ApiError as error:
            raise errors.bad_request(f"unable to parse requirement: {error.message}") from error

    def _key(self) -> tuple[str, str]:
        operator = ""
        key = self._take()
        if key == "!":
            operator = DOES_NOT_EXIST
            key = self._take()
        if not _is_identifier(key):
            raise _unexpected(key, "identifier")
        messages = names.qualified_name_errors(key)
        if messages:
            raise errors.bad_request(_bad("<nil>", key, "; ".join(messages)))
        if self._peek() in (_END, ",") and not operator:
            operator = EXISTS
        return key, operator

    def _value(self) -> set[str]:
        if self._peek() in (_END, ","):
            return {""}
        token = self._take()
        if not _is_identifier(token):
            raise _unexpected(token, "identifier")
        return {token}

    def _values(self) -> set[str]:
        token = self._take()
        if token != "(":
            raise errors.bad_request(f"found '{token}' expected: '('")
        token = self._peek()
        if token == ")":
            self._take()
            return {""}
        if token != "," and not _is_identifier(token):
            raise _unexpected(token, "',', ')' or identifier")
        values = self._list()
        self._take()  # the ')' at which the list ended
        return values

    def _list(self) -> set[str]:
        """Identifiers up to the closing parenthesis; an empty place is an empty value."""
        values: set[str] = set()
        while True:
            token = self._take()
            following = self._peek()
            if _is_identifier(token):
                values.add(token)
                if following == ")":
                    return values
                if following != ",":
                    raise _unexpected(following, "',' or ')'")
            elif token == ",":
                if not values or following == ",":
                    values.add("")
                if following == ")":
                    values.add("")
                    return values
            else:
                raise _unexpected(token, "',', or identifier")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]


def _is_identifier(token: str) -> bool:
    return token != _END and token not in _SIGNS


def _unexpected(token: str, expected: str) -> errors.ApiError:
    return errors.bad_request(f"found '{token}', expected: {expected}")
