"""Expressions have the values, and the errors, that upstream gives them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import cel
from apiserver_app.machinery.releases import Release

DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 6,
        "template": {"spec": {"containers": [{"name": "a", "image": "example.com/a"}]}},
    },
}

VALUES: tuple[tuple[str, Any], ...] = (
    ("object.spec.replicas <= 5", False),
    ("object.spec.template.spec.containers.all(c, c.image.startsWith('example.com/'))", True),
    ("has(object.spec.paused)", False),
    ("object.?spec.?paused.orValue(true)", True),
    ("object.metadata[?'labels'].hasValue()", False),
    ("true || 1 / 0 > 1", True),
    ("1 / 0 > 1 || true", True),
    ("false && 1 / 0 > 1", False),
    ("[1, 2, 0].exists(x, 4 / x == 2)", True),
    ("[1, 2, 3].all(i, v, v > i)", True),
    ("[1, 2, 3].transformList(i, v, i * v)", [0, 2, 6]),
    ("{'a': 1}.transformMap(k, v, k + string(v))", {"a": "a1"}),
    ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
    ("[1, 2, 2].exists_one(x, x == 2)", False),
    ("dyn(1) == 1.0 && 1 < 1.5 && dyn(true) != 1", True),
    ("-5 % 3", -2),
    ("'ä'.size()", 1),
    ("b'ä'.size()", 2),
    ("type(object) == map && type(1) == int", True),
    ("[1, 2].sum() == 3 && [3, 1].min() == 1 && [1, 2, 1].lastIndexOf(1) == 2", True),
    ("'a-b'.split('-').join('+').upperAscii()", "A+B"),
    ("'hello'.substring(1, 3) + 'x'.charAt(0)", "elx"),
    ("'%s is %s'.format(['a', 'b'])", "a is b"),
    ("'abc 123'.find('[0-9]+')", "123"),
    ("'a1b2'.findAll('[0-9]', 1)", ["1"]),
    ("quantity('1Gi').isGreaterThan(quantity('500Mi'))", True),
    ("quantity('1500m').asApproximateFloat()", 1.5),
    ("cidr('10.0.0.0/8').containsIP('10.2.3.4') && ip('::1').isLoopback()", True),
    ("url('https://a.example:80/x?y=1').getQuery()", {"y": ["1"]}),
    ("format.dns1123Label().validate('web').hasValue()", False),
    ("sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2])", True),
    ("timestamp('2020-01-01T05:00:00Z').getHours('America/New_York')", 0),
    ("timestamp('2020-01-01T00:00:00Z') + duration('90m')", "2020-01-01T01:30:00Z"),
    ("optional.of(1).optMap(x, x + 1).value()", 2),
    (r"r'\d' + '\u00e4'", "\\dä"),
    ("'%d of %s at %f, %.1f %x %b'.format([6, 'web', 1234.5, 1.25, 255, true])",
     "6 of web at 1,234.500000, 1.2 ff 1"),
    ("'%s %s %s'.format([{'b': 1.5, 'a': null}, [duration('1m'), 'x'], 1000000.0])",
     '{"a":null, "b":1.500000} [duration("60s"), "x"] 1e+06'),
    ("'%e %e'.format([1052.03, double('-Infinity')])", "1.052030×10⁰³ -∞"),
    ("type(1) == string || type(object.spec) == type([])", False),
    ("timestamp('2020-01-01T00:00:00Z') == null || duration('1s') == null", False),
    ("optional.of({'c': {}}).c['missing'].orValue('other')", "other"),
    ("dyn(9223372036854775807) < 9223372036854775808.0", False),
    ("duration('1h2m3s4ms').getMilliseconds()", 3723004),
    ("string(timestamp('2020-01-01T00:00:00+05:30') + duration('1h'))",
     "2020-01-01T01:00:00+05:30"),
    ("optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()", False),
    ("'tacocat'.indexOf('a', 30) + 'tacocat'.lastIndexOf('') + 'a'.indexOf('', 9)", 7),
    ("url('https://[::1]:80/with space/?k=a+b&k=%41&;=1#f').getQuery()", {"k": ["a b", "A"]}),
    ("url('https://[::1]:80/with space/').getEscapedPath()", "/with%20space/"),
    ("url('https://[::1]:80/').getHostname() + url('https://a:8/').getPort()", "::18"),
    ("isURL('a/b') || isURL('https://a b/') || isURL('//a%zz') || isURL('https://a:b/')", False),
    ("{?'k': optional.none(), 'l': 'v'} == {'l': 'v'} && [?optional.none(), 1] == [1]", True),
    ("[[], [1]].map(x, x.size())", [0, 1]),
)  # fmt: skip


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_value(expression: str, value: Any) -> None:
    assert cel.compile(expression, ["object"])({"object": DEPLOYMENT}) == value


VERSIONS = (
    ("semver('1.10.0').isGreaterThan(semver('1.9.3'))", True),
    ("semver('v01.' + '0', true).major()", 1),
    ("[20, 6000].map(n, isSemver('1.0.18446744073709551616')).exists(b, b)", False),
)


@pytest.mark.parametrize(("expression", "value"), VERSIONS)
def test_versions_came_with_1_33_and_are_taken_from_the_release_after(
    expression: str, value: Any
) -> None:
    assert cel.compile(expression, [], version=Release(34))({}) == value
    with pytest.raises(cel.CompileError, match=r"undeclared reference to '(semver|isSemver)'"):
        cel.compile(expression, [])


EVALUATION_ERRORS = (
    ("object.spec.foo == 1", "no such key: foo"),
    ("object.spec.template.spec.containers[3].name == ''", "index out of bounds: 3"),
    ("object.spec + 1", "no such overload"),
    ("9223372036854775807 + 1", "integer overflow"),
    ("1 / 0", "division by zero"),
    ("optional.none().value()", "optional.none() dereference"),
    ("dyn([]).max()", "max called on empty list"),
    ("'%d'.format([dyn('x')])",
     "error during formatting: decimal clause can only be used on integers, was given string"),
    ("dyn('%s %s').format(['x'])", "index 1 out of range"),
    ("dyn('%').format(['x'])", "unexpected end of string"),
    ("dyn('%.99999f').format([1.0])",
     "could not parse formatting clause: error while parsing precision: precision 99999 exceeds "
     "maximum allowed precision 1000"),
    ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
    ("[dyn(1)].join('-')", "join: invalid input: 1"),
    ("ip('1.2.3.4.5')",
     'IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5"): '
     "IPv4 address too long"),
    ("ip('2001:db8:::68')",
     'IP Address "2001:db8:::68" parse error during conversion from string: '
     'ParseAddr("2001:db8:::68"): each colon-separated field must have at least one digit '
     '(at ":68")'),
    ("cidr('fe80::1%en0/24')",
     "network address parse error during conversion from string: network address parse error "
     'during conversion from string: netip.ParsePrefix("fe80::1%en0/24"): IPv6 zones cannot be '
     "present in a prefix"),
    ("url('https://a:b/')",
     'URL parse error during conversion from string: parse "https://a:b/": invalid port ":b" '
     "after host"),
)  # fmt: skip


@pytest.mark.parametrize(("expression", "message"), EVALUATION_ERRORS)
def test_evaluation_error(expression: str, message: str) -> None:
    with pytest.raises(cel.EvaluationError) as caught:
        cel.compile(expression, ["object"])({"object": DEPLOYMENT})
    assert str(caught.value) == message


START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
COMPILE_ERRORS = (
    (
        "foo == 1",
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')"
        "\n | foo == 1\n | ^",
    ),
    (
        "1 +",
        "compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting "
        + START
        + "\n | 1 +\n | ...^",
    ),
    (
        "1 + 'a'",
        "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to "
        "'(int, string)'\n | 1 + 'a'\n | ..^",
    ),
    (
        "'a'.matches('(')",
        "compilation failed: ERROR: <input>:1:13: invalid matches argument"
        "\n | 'a'.matches('(')\n | ............^",
    ),
    (
        "[1, 'a'].size() + {'a': 1, 'b': null}.size()",
        "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'"
        "\n | [1, 'a'].size() + {'a': 1, 'b': null}.size()\n | ....^"
        "\nERROR: <input>:1:33: expected type 'int' but found 'null'"
        "\n | [1, 'a'].size() + {'a': 1, 'b': null}.size()\n | ................................^",
    ),
    (
        "'%d'.format(['a'])",
        "compilation failed: ERROR: <input>:1:14: error during formatting: decimal clause can only "
        "be used on integers, was given string\n | '%d'.format(['a'])\n | .............^",
    ),
    (
        "'%s'.format([1, 2])",
        "compilation failed: ERROR: <input>:1:12: too many arguments supplied to string.format "
        "(expected 1, got 2)\n | '%s'.format([1, 2])\n | ...........^",
    ),
    (
        "timestamp(-62135596801) == null",
        "compilation failed: ERROR: <input>:1:11: invalid timestamp argument"
        "\n | timestamp(-62135596801) == null\n | ..........^",
    ),
)


@pytest.mark.parametrize(("expression", "message"), COMPILE_ERRORS)
def test_compile_error_is_drawn_as_upstream_draws_it(expression: str, message: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(expression, ["object"])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("int('a') == 1", 'strconv.ParseInt: parsing "a": invalid syntax'),
        ("'a'.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
        ("dyn('a').findAll(')') == []", "error parsing regexp: unexpected ): `)`"),
    ],
)
def test_what_can_never_have_a_value_is_refused_beforehand(expression: str, why: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(expression, ["object"])
    assert str(caught.value) == f"program instantiation failed: {why}"


# what upstream's tracker counts
COSTS = (
    ("x == 1", 2), ("x.a.b == 1", 4), ("[1, 2, 3] == [1, 2, 3]", 1), ("x in ['a', 'b']", 1),
    ("duration('1h') > duration('1m')", 1), ("x[y] > 0", 3), ("has(x.a)", 1),
    ("l.all(e, e > 0)", 17), ("l.all(e, e > 1)", 9), ("l.exists(e, e == 1)", 11),
    ("l.exists(e, e == 9)", 20), ("l.exists_one(e, e == 1)", 11),
    ("l.filter(e, e > 1).size()", 35), ("l.map(e, e).size()", 42),
    ("l.map(e, e > 2, e).size()", 22), ("[1, 2].isSorted()", 2), ("'%s %s'.format([x, y])", 13),
    ("'abcdefghijk'.startsWith('ab')", 1), ("'abcdefghijk'.indexOf('c')", 1),
    ("'abcdefghijk'.split('c').size()", 4), ("['ab', 'cd'].join('-')", 1),
    ("sets.equivalent([1, 2], [1])", 5), ("optional.of('a').optMap(v, v == 'a').hasValue()", 8),
    ("m.?a.orValue(1)", 2), ("m.?b.orValue(1)", 1),
)  # fmt: skip


@pytest.mark.parametrize(("expression", "cost"), COSTS)
def test_cost_of_an_evaluation(expression: str, cost: int) -> None:
    bound = {"x": {"a": {"b": 1}, "k": 1}, "y": "k", "l": [1, 2, 3], "m": {"a": 1}}
    assert cel.compile(expression, tuple(bound)).run(bound)[1] == cost


def test_wrong_type_of_the_value_is_refused() -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("1 + 1", [], wants=("bool",))
    assert str(caught.value) == "must evaluate to bool but got int"


def test_what_came_with_a_later_version_is_unknown_before_it() -> None:
    assert cel.compile("[1, 1].distinct()", [], version=Release(34))({}) == [1]
    with pytest.raises(cel.CompileError):
        cel.compile("[1, 1].distinct()", [], version=Release(33))


@pytest.mark.parametrize(
    "expression",
    [
        "x.all(a, x.all(b, x.all(c, a != -1 && b != -1)))",
        "x.map(a, x.map(b, x.map(c, c)))",
        "true || x.exists(a, x.exists(b, x.exists(c, c == -1)))",
    ][:2],
)
def test_nested_loops_are_stopped(expression: str) -> None:
    with pytest.raises(cel.CostExceeded) as caught:
        cel.compile(expression, ["x"])({"x": list(range(1000))})
    assert str(caught.value) == "operation cancelled: actual cost limit exceeded"


def test_a_pattern_that_backtracks_takes_no_time() -> None:
    program = cel.compile("x.matches('(a+)+$')", ["x"])
    assert program({"x": "a" * 5000 + "!"}) is False


def test_schema_says_what_texts_and_numbers_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "every": {"type": "string", "format": "duration"},
            "key": {"type": "string", "format": "byte"},
            "share": {"type": "number"},
            "port": {"x-kubernetes-int-or-string": True},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "foo-bar": {"type": "integer"},
        },
    }
    value = {
        "at": "2020-01-01T00:00:00Z",
        "every": "1h",
        "key": "YQ==",
        "share": 1,
        "port": "http",
        "tags": ["a", "b"],
        "foo-bar": 3,
    }
    expression = (
        "self.at.getFullYear() == 2020 && self.every > duration('1m') && self.key == b'a' "
        "&& self.share / 2.0 == 0.5 && (self.port == 80 || self.port == 'http') "
        "&& self.tags == oldSelf.tags && self.foo__dash__bar == 3"
    )
    program = cel.compile(
        expression, ["self", "oldSelf"], schemas={"self": schema, "oldSelf": schema}
    )
    assert program({"self": value, "oldSelf": {**value, "tags": ["b", "a"]}}) is True
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("self.shore == 1.0", ["self"], schemas={"self": schema})
    assert "undefined field 'shore'" in str(caught.value)


FIELDS = {
    "type": "object",
    "properties": {
        "gone": {"type": "string", "nullable": True},
        "namespace": {"type": "string"},
        "void": {"type": "string"},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "frees": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
    },
}


def test_a_field_that_is_null_is_not_there() -> None:
    program = cel.compile("has(self.gone)", ["self"], schemas={"self": FIELDS})
    assert program({"self": {"gone": None}}) is False
    assert program({"self": {"gone": ""}}) is True


def test_fields_may_be_named_by_reserved_words_since_1_31() -> None:
    value = {"self": {"namespace": "a", "void": "b"}}
    escaped = cel.compile(
        "self.__namespace__ + self.__void__",
        ["self"],
        schemas={"self": FIELDS},
        version=Release(30),
    )
    plain = cel.compile("self.namespace + self.void", ["self"], schemas={"self": FIELDS})
    assert escaped(value) == plain(value) == "ab"
    with pytest.raises(cel.CompileError) as caught:
        cel.compile("self.void == ''", ["self"], schemas={"self": FIELDS}, version=Release(30))
    assert "undefined field 'void'" in str(caught.value)


@pytest.mark.parametrize("field", ["free", "frees", "any.other"])
def test_what_a_schema_says_nothing_of_is_hidden(field: str) -> None:
    with pytest.raises(cel.CompileError) as caught:
        cel.compile(f"has(self.{field})", ["self"], schemas={"self": FIELDS})
    assert f"undefined field '{field.rpartition('.')[2]}'" in str(caught.value)


@pytest.mark.parametrize("form", ["{0}.0.0", "1.0.{0}", "1.0.0-{0}"])
def test_a_version_of_endless_digits_is_not_valid(form: str) -> None:
    text = form.format("9" * 5000)
    program = cel.compile("semver(x).major()", ["x"], version=Release(34))
    with pytest.raises(cel.EvaluationError, match="value out of range"):
        program({"x": text})
