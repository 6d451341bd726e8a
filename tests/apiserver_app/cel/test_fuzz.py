"""Whatever is written, an expression compiles or does not, and has a value or has none."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app import cel
from tests.fuzz.samples import examples

NAMES = ("object", "x", "size", "has", "self", "y", "type", "matches", "string", "Object")
WORDS = (
    "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "%", "!", "&&", "||",
    "==", "!=", "<", "<=", ">", ">=", " in ", "'a'", "\"b\"", "1", "2u", "1.5", "0x1F", "true",
    "null", "b'c'", "r'\\d'", "1e9", "'", "`a-b`", "\\", "\n", "é", "//", "😁", ".?", "[?",
    ".all(x, ", ".map(x, ", ".exists(y, ", ".filter(x, ", ".size()", ".orValue(", ".matches(",
    ".split(", ".format([", ".sum()", "optional.of(", "duration('1h')", "timestamp(",
    "9223372036854775807", *NAMES,
)  # fmt: skip
REFUSALS = ("compilation failed: ERROR: <input>:", "program instantiation failed: ")
BOUND: dict[str, Any] = {
    "object": {"a": [1, "b", {"c": None}], "b": 1.5, "n": {"x": True}},
    "x": [1, 2, 3],
    "y": None,
}


def evaluated(text: str) -> None:
    """Nothing but these errors may come out."""
    try:
        program = cel.compile(text, tuple(BOUND))
    except cel.CompileError as error:
        assert str(error).startswith(REFUSALS)
        return
    try:
        program(BOUND)
    except cel.EvaluationError as error:
        assert str(error)


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_words_in_any_order(words: list[str]) -> None:
    evaluated("".join(words))


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    evaluated(text)


LEAVES = st.sampled_from((
    "object", "object.a", "object.b", "object.n.x", "x", "y", "1", "-2", "3u", "0.5",
    "'abc'", "''", "true", "null", "[]", "{}", "[1, 2]", "{'k': 1}", "b'x'",
))  # fmt: skip
FORMS = st.sampled_from((
    "({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} % {1})", "({0} == {1})",
    "({0} < {1})", "({0} && {1})", "({0} || {1})", "({0} ? {1} : {1})", "({0})[{1}]",
    "{0}.all(i, {1})", "{0}.map(i, {1})", "dyn({0}).filter(i, {1})", "{0}.exists_one(i, {1})",
    "size({0})", "string({0})", "int({0})", "[{0}, {1}]", "{{'a': {0}, 'b': {1}}}", "!({0})",
    "-({0})", "({0} in {1})", "dyn({0}).indexOf({1})", "dyn({0}).split({1})",
    "dyn({0}).matches(string({1}))", "type({0})", "optional.of({0}).orValue({1})",
    "dyn({0}).?a.orValue({1})", "dyn({0}).substring({1})", "duration({0})", "timestamp({0})",
    "'%s %d'.format([dyn({0}), dyn({1})])", "dyn({0}).sum()", "dyn({0}).max()",
    "sets.contains(dyn({0}), dyn({1}))", "quantity(string({0}))", "dyn({0}).join(dyn({1}))",
    "dyn({0}).transformMap(k, v, {1})", "double({0})", "bytes({0})", "cidr(dyn({0}))",
    "url(dyn({0})).getPort()", "dyn({0}).getHours(dyn({1}))", "semver(dyn({0}))",
    "dyn({0}).replace('a', dyn({1}))", "format.dns1123Label().validate(dyn({0}))",
))  # fmt: skip


def _nested(depth: int) -> st.SearchStrategy[str]:
    """Grammatical expressions, whatever their types. Half of all are leaves."""
    if depth == 0:
        return LEAVES
    part = _nested(depth - 1)
    return st.booleans().flatmap(
        lambda is_leaf: LEAVES if is_leaf else st.builds(str.format, FORMS, part, part)
    )


@settings(max_examples=examples(1500), deadline=None)
@given(_nested(4))
def test_grammatical_expressions(text: str) -> None:
    evaluated(text)


def test_deep_expressions_are_refused() -> None:
    for text in ("(" * 5000 + "1" + ")" * 5000, "!" * 9001 + "true", "-" * 400 + "x",
                 "1" + "+1" * 5000, "object" + ".a" * 5000, "[" * 5000, "x[" * 3000):  # fmt: skip
        evaluated(text)
