"""Label selectors: what they select, how they print, and upstream's words when they are wrong."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import labels

POD = {"app": "web", "tier": "front", "generation": "7", "example.com/team": "blue"}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("gone!=x", True),
        ("app in (db, web)", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("gone notin (db)", True),
        ("app", True),
        ("gone", False),
        ("!gone", True),
        ("!app", False),
        ("generation>5", True),
        ("generation<5", False),
        ("generation>7", False),
        ("app>5", False),
        ("gone>5", False),
        ("app=web,tier in (front,back),!gone", True),
        ("app=web,tier=back", False),
        ("example.com/team=blue", True),
        ("gone in ()", False),
        ("gone=", False),
        ("in in (in,notin)", False),
    ],
)
def test_selector_text_selects_labels(text: str, selected: bool) -> None:
    assert labels.parse(text).matches(POD) is selected


def test_labels_that_are_missing_are_an_empty_set() -> None:
    assert labels.parse("!app").matches(None)
    assert not labels.parse("app").matches({})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("  z = y , a!=b ", "a!=b,z=y"),
        ("x==y", "x==y"),
        ("x in (c,a,b,a)", "x in (a,b,c)"),
        ("x notin (,b)", "x notin (,b)"),
        ("x in ()", "x in ()"),
        ("!x,y", "!x,y"),
        ("x>1,x<5", "x>1,x<5"),
        ("x=", "x="),
        ("x=,z= ", "x=,z="),
    ],
)
def test_selector_prints_sorted_by_key(text: str, canonical: str) -> None:
    assert str(labels.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=a||y=b", ('unable to parse requirement: values[0][x]: Invalid value: "a||y": a valid '
         "label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
         "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
         "or '12345', regex used for validation is "
         "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")),
        ("x==a==b", "found '==', expected: ',' or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        ("x<a", ("unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' "
         "operators, the value must be an integer")),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("x a", "unable to parse requirement: found 'a', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,=", "found '=', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a_=b", ('unable to parse requirement: <nil>: Invalid value: "a_": name part must consist '
         "of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
         "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")),
    ],
)  # fmt: skip
def test_selector_text_is_refused_in_upstreams_words(text: str, message: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        labels.parse(text)
    assert caught.value.code == 400
    assert caught.value.message == message


def test_a_number_longer_than_python_reads_is_no_integer_as_in_go() -> None:
    with pytest.raises(errors.ApiError, match="the value must be an integer") as caught:
        labels.parse("x>" + "9" * 5000)
    assert caught.value.code == 400
    assert labels.parse_int64("0" * 5000 + "7") == 7
    assert labels.parse_int64("-9223372036854775808") == -(1 << 63)
    assert labels.parse_int64("9223372036854775808") is None


def test_label_selector_none_selects_nothing_and_empty_everything() -> None:
    assert not labels.from_label_selector(None).matches(POD)
    assert not labels.from_label_selector(None).empty
    assert labels.from_label_selector({}).matches(POD)
    assert labels.from_label_selector({}).empty
    assert labels.from_label_selector({"matchLabels": {}}).matches({})


def test_label_selector_joins_labels_and_expressions() -> None:
    selector = labels.from_label_selector(
        {
            "matchLabels": {"tier": "front", "app": "web"},
            "matchExpressions": [
                {"key": "generation", "operator": "In", "values": ["8", "7"]},
                {"key": "gone", "operator": "DoesNotExist"},
                {"key": "app", "operator": "Exists"},
                {"key": "app", "operator": "NotIn", "values": ["db"]},
            ],
        }
    )
    assert selector.matches(POD)
    assert not selector.matches({**POD, "gone": ""})
    assert str(selector) == "app=web,app,app notin (db),generation in (7,8),!gone,tier=front"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"key": "a", "operator": "Is"}, '"Is" is not a valid label selector operator'),
        ({"key": "a", "operator": "In"}, ("values: Invalid value: []string{}: for 'in', 'notin' "
         "operators, values set can't be empty")),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, ('values: Invalid value: '
         '[]string{"x"}: values set must be empty for exists and does not exist')),
    ],
)  # fmt: skip
def test_label_selector_is_refused_in_upstreams_words(
    expression: dict[str, object], message: str
) -> None:
    with pytest.raises(errors.ApiError) as caught:
        labels.from_label_selector({"matchExpressions": [expression]})
    assert caught.value.message == message


def test_exact_names_the_one_value_asked_for() -> None:
    selector = labels.parse("app=web,tier in (front),kind in (a,b)")
    assert selector.exact("app") == "web"
    assert selector.exact("tier") == "front"
    assert selector.exact("kind") is None


def test_the_same_text_is_parsed_once() -> None:
    assert labels.parse("app=web") is labels.parse("app=web")
    first = labels.from_label_selector({"matchLabels": {"app": "web"}})
    assert labels.from_label_selector({"matchLabels": {"app": "web"}}) is first


def test_set_selects_all_its_labels() -> None:
    assert labels.from_set({"app": "web"}).matches(POD)
    assert not labels.from_set({"app": "web", "gone": ""}).matches(POD)
    assert labels.from_set(None).matches(POD)
